"""What a phase is that no word tells, by its course beside one that is known: the wait for that, or what that waits for.

    step,zorp_ms,sync_ms          rank 2: 20,912.4,18.1          the others: 20,104.2,826.3

What a rank spends more on the one than its peers do, in the same step, it spends less on the other: the early wait for the late, so both together take all as long. And few
are late at once. Where neither is known, it may as well be the other way round: one waits for all others. What nobody knows the name of is taken for the host's.
"""

from itertools import permutations

import polars as pl

_HEADS = 32  # of a table: of more, pairs are too many to be looked at
_FEWEST, _STEPS = 3, 5  # ranks, and steps in which the two differ much
_MUCH, _LEFT, _OFTEN = 0.2, 0.2, 0.8  # of what a step takes; of what they differ by; of that, where few have most of it


def with_wait_columns(told: pl.DataFrame) -> pl.DataFrame:
    """Rows with rank, step, `head`, `sort`, `ms` → the same, with `sort` of the phases without one that are so beside one that has it."""
    if not told["sort"].null_count():
        return told
    pairs = told.select("head", "sort").unique(maintain_order=True).drop_nulls("head")
    known = dict(pairs.filter(pl.len().over("head") == 1).iter_rows())
    if len(known) > _HEADS:
        return told
    found: dict[str, str] = {}
    for work, wait in permutations(sorted(known), 2):
        is_open = (known[work], known[wait]) in ((None, "wait"), ("work", None), ("host", None))
        if is_open and _is_wait(told, work, wait):
            found |= {head: sort for head, sort in ((work, "host"), (wait, "wait")) if known[head] is None}
    if not found:
        return told
    by_course = pl.col("head").replace_strict(found, default=None, return_dtype=pl.String)
    return told.with_columns(pl.coalesce("sort", by_course).alias("sort"))


def _is_wait(told: pl.DataFrame, work: str, wait: str) -> bool:
    """Does the wait take what the work leaves, and do most have it?"""
    both = _summed(told, work).join(_summed(told, wait), on=["rank", "step"], suffix="_wait")
    whole = pl.col("ms") + pl.col("ms_wait")
    steps = both.group_by("step").agg(
        pl.len().alias("ranks"),
        (pl.col("ms") - pl.col("ms").median()).abs().sum().alias("apart"),
        (whole - whole.median()).abs().sum().alias("left"),
        (pl.col("ms").max() - pl.col("ms").min()).alias("range"),
        whole.median().alias("whole"),
        (pl.col("ms") > (pl.col("ms").max() + pl.col("ms").min()) / 2).sum().alias("high"),
    )
    uneven = steps.filter((pl.col("ranks") >= _FEWEST) & (pl.col("range") > _MUCH * pl.col("whole")))
    if uneven.height < _STEPS:
        return False
    few = uneven.filter(2 * pl.col("high") < pl.col("ranks"))
    met = float(uneven["left"].sum()) <= _LEFT * float(uneven["apart"].sum())
    return met and float(few["range"].sum()) >= _OFTEN * float(uneven["range"].sum())


def _summed(told: pl.DataFrame, head: str) -> pl.DataFrame:
    return told.filter(pl.col("head") == head).group_by("rank", "step").agg(pl.col("ms").sum())
