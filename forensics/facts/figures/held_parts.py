"""Figures of parts that each rank holds of its own, as experts or shards: beside each other, though no two ranks tell one of the same name.

    rank 0: experts/e0/w_norm 4.95 experts/e1/w_norm 4.94      rank 2: experts/e4/w_norm 5.01 experts/e5/w_norm nan

Names that one rank alone tells are those of parts where, but for their numbers, all ranks of the job tell the same, and equally many. Then they are called by what
they have in common (`experts/e#/w_norm`), and a rank has it as a number where it has so in all of its parts.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import polars as pl

from parsers.text.patterns import regex

_FEWEST = 3  # ranks, of which one is unlike the others
_DIGITS = regex(r"\d+")
Key = tuple[str, str]  # of, name


def form_of(key: Key) -> Key:
    """The same without its numbers."""
    return _DIGITS.sub("#", key[0]), _DIGITS.sub("#", key[1])


def in_common(values: pl.DataFrame, job: frozenset[int]) -> pl.DataFrame:
    """Rows of `values` of a job → the same with such names."""
    parts = _parts(values, job) if len(job) >= _FEWEST else frozenset()
    if not parts:
        return values
    made = [_called(row, parts) for row in values.select("of", "fine", "bad").iter_rows(named=True)]
    columns = (pl.Series(name, [row[name] for row in made], pl.String).cast(values.schema[name]) for name in made[0])
    return values.with_columns(*columns)


def _parts(values: pl.DataFrame, job: frozenset[int]) -> frozenset[Key]:
    """The keys of parts that one rank alone holds."""
    if not values["bad"].is_not_null().any():
        return frozenset()
    names = pl.col("bad").str.replace_all(r"=\S+", "")
    own = values.filter(pl.col("rank").is_in(sorted(job))).select(
        "rank", pl.col("of").cast(pl.String).fill_null(""), pl.concat_str(pl.col("fine").cast(pl.String), names, separator=" ", ignore_nulls=True).alias("names")
    )  # fmt: skip
    told: defaultdict[Key, set[int]] = defaultdict(set)
    for rank, of, said in own.unique().iter_rows():
        for name in str(said).split(" "):
            told[of, name].add(rank)
    held: defaultdict[Key, defaultdict[int, set[Key]]] = defaultdict(lambda: defaultdict(set))
    for key, ranks in told.items():
        if len(ranks) == 1 and (form := form_of(key)) != key:
            held[form][min(ranks)].add(key)
    return frozenset(
        key
        for by_rank in held.values()
        if {*by_rank} == job and len({len(keys) for keys in by_rank.values()}) == 1
        for keys in by_rank.values()
        for key in keys
    )


def _called(row: Mapping[str, Any], parts: frozenset[Key]) -> dict[str, str | None]:
    of = str(row["of"] or "")
    pairs = {name: [one.partition("=") for one in str(row[name] or "").split()] for name in ("fine", "bad")}
    told = [(of, name) for said in pairs.values() for name, _, _ in said]
    made: dict[str, str | None] = {"of": form_of((of, ""))[0] if told and parts.issuperset(told) else row["of"]}
    for column, said in pairs.items():
        shown = (
            f"{form_of((of, name))[1] if (of, name) in parts else name}{sign}{value}" for name, sign, value in said
        )
        made[column] = " ".join(shown) or None
    return made


def as_told(values: pl.DataFrame, file: str, line: int, called: Key) -> Key | None:
    """What the first bad figure of that place is called by its rank, where that is a part that it holds alone."""
    rows = values.filter((pl.col("file").cast(pl.String) == file) & (pl.col("line") == line))
    for of, bad in rows.select(pl.col("of").cast(pl.String).fill_null(""), "bad").iter_rows():
        keys = [(of, pair.partition("=")[0]) for pair in str(bad or "").split(" ")]
        for key in keys:
            if key != called and called in (form_of(key), (of, form_of(key)[1])):
                return key
    return None
