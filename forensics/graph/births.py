"""From the table `tensors` to the births of NaN and Inf: cuts the data to what matters, then simulates the spread."""

from dataclasses import dataclass
from itertools import pairwise

import polars as pl

from forensics.graph.taint import Spread, spread
from forensics.graph.tensor_ops import operations, read_rows


@dataclass(frozen=True, slots=True)
class Births:
    """`ops` and `rows` of the launch that `spread` is about, cut to the steps that matter; `spread` indexes `ops`.

    `gapped`: ranks whose first bad step does not follow the step observed before.
    """

    rows: pl.DataFrame
    history: pl.DataFrame  # all rows of the launch
    ops: pl.DataFrame
    spread: Spread
    ranks: frozenset[int]
    gapped: frozenset[int]
    silent: frozenset[int]  # ranks without any row
    recorded_calls: bool  # the dump holds communications at all
    warnings: tuple[str, ...]

    def unseen_at(self, step: int) -> frozenset[int]:
        """Ranks without a row in that step: silent ones, and those whose file ends before."""
        return (self.silent | self.ranks) - frozenset(self.rows.filter(pl.col("step") == step)["rank"].to_list())

    def row(self, place: int) -> dict[str, object]:
        """One row of the statistics by its place."""
        return self.rows.filter(pl.col("place") == place).row(0, named=True)


def find_births(tensors: pl.DataFrame, expected: frozenset[int]) -> Births | None:
    """None where nothing bad was observed. Of several launches the newest that holds anything bad is taken."""
    read = read_rows(tensors)
    frame = read.frame
    bad = frame.filter(pl.col("bad") & pl.col("role").is_not_null())
    if not bad.height:
        return None
    launch = bad["launch"].max()
    frame = frame.filter(pl.col("launch") == launch)
    bad = bad.filter(pl.col("launch") == launch)
    clean = _clean_boundaries(frame)
    first, last = _span(bad, clean)
    ranks = frozenset(frame["rank"].unique().to_list())
    steps = frame.select("rank", "step").unique().sort("rank", "step")
    gaps = steps.with_columns(pl.col("step").diff().over("rank").alias("leap"))
    gapped = gaps.join(bad.group_by("rank").agg(pl.col("step").min()), on=["rank", "step"]).filter(
        pl.col("leap").fill_null(1) > 1
    )
    ops = operations(frame.filter(pl.col("step").is_between(first - 1, last)))
    ops = ops.filter(pl.col("step") >= first)
    kept = _telling(ops)
    return Births(
        rows=frame.filter(pl.col("step").is_between(first - 1, last)),
        history=frame,
        ops=kept,
        spread=spread(kept, clean, expected),
        ranks=ranks,
        gapped=frozenset(gapped["rank"].to_list()),
        silent=(expected | frozenset(range(max(ranks) + 1))) - ranks,  # ranks are numbered without holes
        recorded_calls=bool(frame["kind"].is_not_null().any()),
        warnings=read.warnings,
    )


def _clean_boundaries(frame: pl.DataFrame) -> set[tuple[int, int]]:
    """(rank, step) after which the rank's parameters were clean: by its optimizer, on arrival in the next step, or by
    what the next step computed with them."""
    states = frame.filter(pl.col("base").is_in(["param", "optimizer_state"]) & pl.col("bad").is_not_null())
    params = (pl.col("base") == "param").any() & ~pl.col("bad").any()
    after = states.filter(pl.col("phase") == "optimizer").group_by("rank", "step").agg(params.alias("ok"))
    updates = (
        frame.filter(pl.col("phase") == "optimizer").group_by("rank", "step").agg(pl.col("place").min().alias("update"))
    )
    arrived = states.join(updates, on=["rank", "step"], how="left")
    arrived = arrived.filter(
        pl.col("update").is_null() | (pl.col("place") < pl.col("update"))
    )  # a gather may follow it
    arrived = arrived.group_by("rank", "step").agg(params.alias("ok"))
    steps = frame.select("rank", "step").unique().sort("rank", "step")
    steps = steps.with_columns(pl.col("step").shift(1).over("rank").alias("before"))
    proven = pl.concat([arrived.filter("ok"), _sound_steps(frame)]).unique()
    spoiled = arrived.filter(~pl.col("ok")).select("rank", "step")
    proven = proven.join(spoiled, on=["rank", "step"], how="anti").join(steps, on=["rank", "step"])
    found = set(after.filter("ok").select("rank", "step").iter_rows())
    gathered = frame.filter(pl.col("bad") & pl.col("role").is_not_null()).join(updates, on=["rank", "step"])
    gathered = gathered.filter(pl.col("place") > pl.col("update"))  # shards of others, after the own one
    bad_after = set(after.filter(~pl.col("ok")).select("rank", "step").iter_rows())
    bad_after |= set(gathered.select("rank", "step").iter_rows())
    before = proven.filter(pl.col("before").is_not_null()).select("rank", "before")
    return (found | set(before.iter_rows())) - bad_after


def _sound_steps(frame: pl.DataFrame) -> pl.DataFrame:
    """Steps that show that a rank's parameters were clean when they began: forward and later rows, all of them clean; or
    a first bad row in a module that had computed a clean output before."""
    here = ["rank", "step"]
    local = frame.filter(pl.col("role").is_not_null() & pl.col("kind").is_null())
    made = local.filter((pl.col("phase").fill_null("forward") == "forward") & (pl.col("role") == "out"))
    later = frame.filter(pl.col("phase").is_in(["backward", "grad_sync", "optimizer"]) & (pl.col("bad") == False))  # noqa: E712
    bad = frame.filter(pl.col("bad") & pl.col("role").is_not_null())
    clean = made.select(here).unique().join(later.select(here).unique(), on=here).join(bad, on=here, how="anti")
    first = bad.unique(here, keep="first", maintain_order=True).filter(pl.col("kind").is_null())
    name = pl.col("module").str.replace(r"\.(?:weight|bias)$", "")
    first = first.select(*here, name.alias("module"), pl.col("place").alias("end"))
    sound = made.filter(pl.col("bad") == False).join(first, on=[*here, "module"])  # noqa: E712
    sound = sound.filter(pl.col("place") < pl.col("end")).select(here).unique()
    return pl.concat([clean, sound]).unique().with_columns(pl.lit(True).alias("ok"))


def _span(bad: pl.DataFrame, clean: set[tuple[int, int]]) -> tuple[int, int]:
    """First and last step to simulate: up to each rank's first bad step after the last boundary that cleaned it."""
    first = last = None
    for rank, steps in bad.group_by("rank").agg(pl.col("step").unique().sort()).iter_rows():
        start = steps[0]
        for before, after in pairwise(steps):
            if any((rank, step) in clean for step in range(before, min(after, before + 100_000))):
                start = after
        first = steps[0] if first is None else min(first, steps[0])
        last = start if last is None else max(last, start)
    assert first is not None and last is not None
    return first, last


def _telling(ops: pl.DataFrame) -> pl.DataFrame:
    """Communications, and of the rest what marks a rank's way: its first bad operation per step, the begin of the
    optimizer, the last of a step."""
    here = ("rank", "step")
    bad = pl.col("first_bad").is_not_null()
    optimizer = pl.col("phase") == "optimizer"
    return ops.filter(
        pl.col("kind").is_not_null()
        | (bad & (bad.cum_sum().over(here) == 1))
        | (optimizer & (optimizer.cum_sum().over(here) == 1)).fill_null(False)
        | (pl.col("place") == pl.col("place").max().over(here))
    )
