"""In which call does a rank without a flight record wait, by its own log?

A watchdog's line names group, number, operation and sizes of the call that timed out. It is believed where the lines of
recorded ranks name the calls that their records show as their first open ones, where the operation is the one that the
members recorded under that number, and where most of those who print of the call agree on the sizes: a rank in another
call than its peers is no mere victim. A lone send runs beside what follows and tells nothing.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import NamedTuple

import polars as pl

from forensics.facts.rows.event_rows import reference
from forensics.facts.waits.states import States
from forensics.model.ref import Ref
from parsers.text.patterns import regex

_SIZES = regex(r"NumelIn=(\d+), NumelOut=(\d+)")
_TRANSFERS = ("recv", "coalesced")
_WRONG = 10  # of so many lines of recorded ranks one may name another call than the record


class Waiting(NamedTuple):
    """A call, and where the rank's log says so."""

    gid: int
    seq: int
    is_p2p: bool
    ref: Ref


def logged_waits(events: pl.DataFrame, states: States) -> dict[int, Waiting]:
    """Events of one attempt, ranks made global → rank → the call that it timed out in, of ranks without an open record."""
    rows = events.filter((pl.col("kind") == "collective_timeout") & (pl.col("rank_space") == "global"))
    rows = rows.drop_nulls(["rank", "seq", "group"]).sort("rank", "file", "line")
    rows = rows.unique("rank", keep="first", maintain_order=True)
    gids = _groups(states)
    said: dict[int, tuple[Waiting, str | None, tuple[str, ...]]] = {}
    for row in rows.iter_rows(named=True):
        gid = gids.get((row["group"], row["rank"]))
        sizes = _SIZES.search(row["text"] or "")
        if gid is not None and row["op"] != "send":
            waiting = Waiting(gid, row["seq"], row["op"] in _TRANSFERS, reference(row))
            said[row["rank"]] = (waiting, row["op"], sizes.groups() if sizes else ())
    if not _is_reliable({rank: waiting for rank, (waiting, _, _) in said.items()}, states):
        return {}
    kinds = _recorded_kinds(states)
    usual = _usual(said)
    recorded = frozenset(states.open["rank"].to_list())
    return {
        rank: waiting
        for rank, (waiting, op, sizes) in said.items()
        if rank not in recorded
        and (waiting.is_p2p or (kinds.get(waiting[:2], op) == op and usual.get(waiting[:2]) == (op, sizes)))
    }


def _groups(states: States) -> dict[tuple[str, int], int]:
    """(name of a group, member) → gid; names that two groups of a rank share are left out."""
    found: dict[tuple[str, int], int] = {}
    twice = set()
    for gid, name, members in states.groups.filter("whole").select("gid", "group", "members").iter_rows():
        for rank in members:
            if (name, rank) in found:
                twice.add((name, rank))
            found[name, rank] = gid
    return {key: gid for key, gid in found.items() if key not in twice}


def _is_reliable(said: Mapping[int, Waiting], states: States) -> bool:
    """Do the lines of recorded ranks name the calls that their records show as first open?"""
    first = states.open.select("rank", "gid", "seq", "is_p2p").unique("rank", keep="first", maintain_order=True)
    same = [said[rank][:3] == (gid, seq, is_p2p) for rank, gid, seq, is_p2p in first.iter_rows() if rank in said]
    return sum(same) > 1 and _WRONG * (len(same) - sum(same)) <= len(same)


def _recorded_kinds(states: States) -> dict[tuple[int, int], str]:
    """What the observed members recorded under a number: (gid, seq) → the operation that most of them did."""
    rows = states.entries.filter(~pl.col("is_p2p") & pl.col("gid").is_not_null() & pl.col("kind").is_not_null())
    counts = rows.group_by("gid", "seq", "kind").len().sort("len", "kind")
    return {(gid, seq): kind for gid, seq, kind, _ in counts.iter_rows()}


def _usual(
    said: Mapping[int, tuple[Waiting, str | None, tuple[str, ...]]],
) -> dict[tuple[int, int], tuple[str | None, tuple[str, ...]]]:
    """Operation and sizes that more than half of those who print of a call name."""
    votes: dict[tuple[int, int], Counter[tuple[str | None, tuple[str, ...]]]] = defaultdict(Counter)
    for waiting, op, sizes in said.values():
        if not waiting.is_p2p:
            votes[waiting.gid, waiting.seq][op, sizes] += 1
    best = {call: count.most_common(1)[0] for call, count in votes.items()}
    return {call: form for call, (form, number) in best.items() if 2 * number > votes[call].total()}
