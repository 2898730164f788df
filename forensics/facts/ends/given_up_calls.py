"""What the lines of calls that were given up tell besides: the member that they waited for, and the sizes that were brought.

A member is told by its number within a group: in one whose members nobody lists it stands for no rank, in the group of all it is the rank. Sizes differ in a fault only where all
bring the same, and within one group, which such lines do not tell: so it is said with that doubt, and accuses nobody.
"""

from collections import defaultdict

import polars as pl

from forensics.facts.rows.event_rows import detail, refs
from forensics.model.finding import Claim
from forensics.model.said import joined
from forensics.model.texts import ranks_text
from forensics.words import facts as words

# To which every member brings as much.
_ALIKE = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "coalesced")
_SHOWN = 4


def told_of_call(events: pl.DataFrame, waits: pl.DataFrame, *, is_whole: bool) -> Claim | None:
    """Table of events and the waits of the group that most gave up in, which is the whole job or a part of it → what its lines tell besides."""
    named = _naming(events, waits)
    if (member := called(events, waits)) is not None:
        form = words.WAITED_FOR_RANK if is_whole else words.WAITED_FOR_MEMBER
        return Claim(form(member=member), "for", refs(named.iter_rows(named=True)))
    return _sizes(events.filter(pl.col("kind") == "collective_timeout"))


def called(events: pl.DataFrame, waits: pl.DataFrame) -> int | None:
    """The one member that the lines of these waits call as the one they waited for, as their group counts; in that of the whole job it is the rank."""
    members = _naming(events, waits)["names_ranks"].list.first().unique().to_list()
    return members[0] if len(members) == 1 else None


def _naming(events: pl.DataFrame, waits: pl.DataFrame) -> pl.DataFrame:
    said = events.filter(pl.col("kind") == "collective_timeout")
    at = said.join(waits.select("file", "line").unique(), on=["file", "line"], how="semi")
    return at.filter((pl.col("names_rank_space") == "group") & (pl.col("names_ranks").list.len() == 1))


def _sizes(said: pl.DataFrame) -> Claim | None:
    """Where every line is of one number and kind, and they tell different sizes."""
    calls = said.filter(pl.col("seq").is_not_null() & pl.col("rank").is_not_null())
    if calls.is_empty() or calls.select("seq", "op").n_unique() != 1 or calls["op"][0] not in _ALIKE:
        return None
    brought: dict[int, set[int]] = defaultdict(set)
    for row in calls.iter_rows(named=True):
        if isinstance(size := detail(row).get("numel_in"), int):
            brought[size].add(row["rank"])
    ranks = [rank for own in brought.values() for rank in own]
    if not 1 < len(brought) <= _SHOWN or len(ranks) != len({*ranks}):
        return None
    sizes = joined((words.SIZE_OF(size=size, who=ranks_text(brought[size])) for size in sorted(brought)), ", ")
    text = words.SIZES_DIFFER(call=f"{calls['op'][0]} {calls['seq'][0]}", sizes=sizes)
    return Claim(text, "for", refs(calls.iter_rows(named=True)))
