"""Which lost ranks must be absent? Replays what the positions of observed ranks allow.

A lost rank u is needed by an open operation X. Some member r of X is in it, and its record shows the order of calls before
X. The last of them that u took part in, too, and that is done, u has passed. If u has also passed its own counterpart of
every call between that one and X (same kind of group, same number, completed by an observed member of u's group), then
X is the next call of u. Where u is the only member that X still needs, u is not in it because it never came (were two
members missing, one of them might wait in X for the other).

Ranks of one communicator run the same program between two of its calls up to the groups that each uses; that is what the
word counterpart stands on (tensor-parallel mates, replicas of a stage).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from forensics.graph.states import States
from forensics.graph.waits import Waits

_LOOK_BACK = 400  # entries before the open one
_WITNESSES = 2  # members of an operation whose order is read
_SENDS = ("send", "isend")


@dataclass(slots=True)
class _Records:
    """What is needed of the records, as plain dictionaries, filled for the ranks in question."""

    members: dict[int, list[int]]
    role: dict[int, str | None]
    of_role: dict[tuple[str | None, int], list[int]]  # (role, rank) → gids
    completed: Mapping[tuple[int, int], int]  # (rank, gid) → newest collective done
    sent: Mapping[tuple[int, int, int, bool], int] = field(
        default_factory=dict
    )  # (rank, gid, peer index, sends) → newest


def _records(states: States, lost: frozenset[int]) -> _Records:
    groups = states.groups.filter("whole")
    members = {gid: list(ranks) for gid, ranks in groups.select("gid", "members").iter_rows()}
    role: dict[int, str | None] = dict(groups.select("gid", "desc").iter_rows())
    of_role: dict[tuple[str | None, int], list[int]] = {}
    for gid, ranks in members.items():
        for rank in lost.intersection(ranks):
            of_role.setdefault((role[gid], rank), []).append(gid)
    counted = states.counters.filter(pl.col("completed").is_not_null()).select("rank", "gid", "completed")
    completed = {(rank, gid): done for rank, gid, done in counted.iter_rows()}
    p2p = (
        states.entries.filter(pl.col("is_p2p") & pl.col("peer").is_not_null() & (pl.col("done") | pl.col("superseded")))
        .group_by("rank", "gid", "peer", pl.col("kind").is_in(_SENDS).alias("sends"))
        .agg(pl.col("seq").max())
    )
    sent = {(rank, gid, peer, sends): seq for rank, gid, peer, sends, seq in p2p.iter_rows()}
    return _Records(members, role, of_role, completed, sent)


def _counterparts(known: _Records, gid: int, lost: int) -> list[int]:
    """The groups of the lost rank that play the part of this one."""
    return [other for other in known.of_role.get((known.role.get(gid), lost), ()) if other != gid]


def _has_passed(known: _Records, row: Mapping[str, object], witness: int, lost: int) -> bool:
    """Whether the lost rank has its counterpart of this entry of the witness behind it."""
    gid = int(str(row["gid"])) if row["gid"] is not None else None
    if gid is None or gid not in known.members:
        return False
    own = [gid] if lost in known.members[gid] else _counterparts(known, gid, lost)
    if len(own) != 1:
        return False
    mine = known.members[own[0]]
    if not row["is_p2p"]:
        newest = max((known.completed.get((rank, own[0]), -1) for rank in mine if rank != lost), default=-1)
        return newest >= int(str(row["seq"]))
    if row["peer"] is None or len(mine) != len(known.members[gid]):
        return False
    place, at = int(str(row["peer"])), known.members[gid].index(witness)
    if lost != mine[at] or place >= len(mine):
        return False
    sends = row["kind"] in _SENDS
    reference = known.sent.get((known.members[gid][place], gid, at, not sends))
    observed = known.sent.get((mine[place], own[0], at, not sends))
    return reference is not None and observed is not None and observed >= reference


def _next_call_is(known: _Records, before: list[dict[str, object]], witness: int, lost: int) -> bool:
    """`before`: the witness's entries before the operation, newest first."""
    for row in before:
        shared = row["gid"] is not None and lost in known.members.get(int(str(row["gid"])), ())
        if shared and not row["is_p2p"] and row["done"]:
            return True
        if not (row["kind"] == "coalesced" or _has_passed(known, row, witness, lost)):
            return False
    return False


def surely_absent(states: States, waits: Waits, lost: frozenset[int]) -> frozenset[int]:
    """Ranks of which one must be the culprit: lost ones that are absent from an operation that observed ranks wait in,
    with the one rank that waits in it where it is alone."""
    needed: dict[str, int] = {}
    for rank in sorted(lost):
        for _, op in waits.graph.predecessors(("rank", rank)):
            if not op.startswith("p2p:") and waits.graph.out_degree(("op", op)) == 1:
                needed[op] = rank
    held = states.open.filter(pl.col("op").is_in(sorted(needed))).sort("op", "rank")
    firsts = held.group_by("op", maintain_order=True).head(_WITNESSES).select("op", "rank", "record")
    if not firsts.height:
        return frozenset()
    known = _records(states, lost)
    order = states.entries.join(firsts.select("rank").unique(), on="rank", how="semi").partition_by(
        "rank", as_dict=True
    )
    found: set[int] = set()
    for op, witness, record in firsts.iter_rows():
        rows = order[(witness,)].filter(pl.col("record") < record).sort("record", descending=True).head(_LOOK_BACK)
        before = rows.select("gid", "seq", "is_p2p", "kind", "peer", "done").rows(named=True)
        if _next_call_is(known, before, witness, needed[op]):
            # One member alone in it may itself be what stopped, after the other was through; two at once are not.
            found |= {needed[op]} if waits.graph.in_degree(("op", op)) > 1 else {needed[op], witness}
    return frozenset(found)
