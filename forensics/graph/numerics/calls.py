"""Matching of calls: which operations of different ranks are one collective, or the two ends of one message.

With the column `call` its number matches; else the n-th call within a step. A group that no row states is taken for
all ranks that show the same call (same step, microbatch, phase and module), and the call says so: `stated` is False.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec
import polars as pl

from parsers.text.rank_list import rank_list

_ROOTED = ("broadcast", "scatter", "reduce", "gather")


class Call(msgspec.Struct):
    """One instance. `rows`: rank → index of its operation; `members`: in group order, None where unknown."""

    kind: str
    rows: dict[int, int] = msgspec.field(default_factory=dict)
    members: tuple[int, ...] | None = None
    stated: bool = False
    site: tuple[object, ...] = ()  # module, phase and group name: what an assumed group has in common
    root: int | None = None
    conflict: bool = False  # ranks state different members of one group


def match(ops: pl.DataFrame) -> list[Call]:
    """Communications among `tensor_ops.operations` → calls; `rows` hold indices into `ops`."""
    comms = ops.with_row_index("at").filter(pl.col("kind").is_not_null() & (pl.col("kind") != "barrier"))
    groups = _Groups(comms)
    lock_step = _in_lock_step(comms, groups)
    calls: dict[tuple[object, ...], Call] = {}
    counts: dict[tuple[object, ...], int] = {}
    for row in comms.iter_rows(named=True):
        key, number = _call_key(row, groups, lock_step), 0
        if row["call"] is None:
            mine = (row["rank"], row["kind"], *key)
            number = counts[mine] = counts.get(mine, 0) + 1
        _join(calls.setdefault((*key, number), Call(row["kind"])), row, groups)
    return list(calls.values())


def _members(row: Mapping[str, Any]) -> tuple[int, ...] | None:
    return rank_list(row["group_ranks"]) if row["group_ranks"] else None


@lru_cache(maxsize=4096)
def rank_set(members: tuple[int, ...]) -> frozenset[int]:
    """One set for equal lists: thousands of groups may be the whole job."""
    return frozenset(members)


class _Cluster(msgspec.Struct, eq=False):
    """Ranks that are one group, and the lists of them that were stated; `number` stands for it in keys."""

    number: int
    ranks: frozenset[int]
    lists: set[tuple[int, ...]]
    names: set[str] = msgspec.field(default_factory=set)  # that rows give to just this list
    least: tuple[int, ...] = ()
    conflict: bool = False


class _Groups:
    """Names and member lists → one key per group, for the rank that shows them.

    A name without a list takes the list that others state for it and that holds the rank; one name with several
    disjoint lists ("dp" on every replica) is several groups; lists of one name that overlap and differ are in conflict.
    Two names with the same members are two groups, each with its own count of calls.
    """

    def __init__(self, comms: pl.DataFrame) -> None:
        self._clusters: dict[str | None, list[_Cluster]] = {}
        self._unnamed: dict[str, _Cluster] = {}
        names: dict[frozenset[int], set[str]] = {}
        stated = comms.select("group", "group_ranks").unique(maintain_order=True)
        for row in stated.iter_rows(named=True):
            members = _members(row)
            if members is not None:
                self._add(row["group"], members)
                if row["group"] is not None:
                    names.setdefault(rank_set(members), set()).add(row["group"])
        numbers: dict[frozenset[int], int] = {}
        for text in stated.filter(pl.col("group").is_null())["group_ranks"].drop_nulls():
            members = rank_list(text) or ()
            self._unnamed[text] = _Cluster(0, rank_set(members), {members})
        for cluster in [*(one for many in self._clusters.values() for one in many), *self._unnamed.values()]:
            cluster.number = numbers.setdefault(cluster.ranks, len(numbers))
            cluster.names = names.get(cluster.ranks, set())
            cluster.least = min(cluster.lists)
            cluster.conflict = len(set(map(rank_set, cluster.lists))) > 1

    def _add(self, name: str | None, members: tuple[int, ...]) -> None:
        union, lists = rank_set(members), {members}
        apart = []
        for other in self._clusters.get(name, []):
            if name is not None and other.ranks & union:
                union, lists = union | other.ranks, lists | other.lists
            else:
                apart.append(other)
        self._clusters[name] = [*apart, _Cluster(0, union, lists)]

    def _cluster(self, row: Mapping[str, Any]) -> _Cluster | None:
        if row["group"] is None and row["group_ranks"]:
            return self._unnamed.get(row["group_ranks"])
        known = self._clusters.get(row["group"], []) if row["group"] is not None else []
        holding = [cluster for cluster in known if row["rank"] in cluster.ranks]
        return holding[0] if holding else known[0] if len(known) == 1 else None

    def key(self, row: Mapping[str, Any]) -> object:
        """None where nothing is said of a group. A list without a name takes the only name that others give it."""
        cluster = self._cluster(row)
        if cluster is None:
            return row["group"]
        names = {row["group"]} if row["group"] is not None else cluster.names
        return (min(names) if len(names) == 1 else None, cluster.number)

    def members(self, row: Mapping[str, Any]) -> tuple[tuple[int, ...] | None, bool]:
        """(members in group order or None, whether lists are in conflict)."""
        cluster = self._cluster(row)
        if cluster is None:
            return None, False
        own = _members(row)
        return (tuple(sorted(cluster.ranks)) if cluster.conflict else own or cluster.least), cluster.conflict


def _in_lock_step(comms: pl.DataFrame, groups: _Groups) -> set[object]:
    """Keys (launch, kind, group, step) in which every rank makes equally many calls: there the n-th match by number."""
    counts: dict[tuple[object, ...], dict[int, int]] = {}
    some = comms.filter(pl.col("call").is_null() & ~pl.col("kind").is_in(["send", "recv"]))
    by = ("launch", "kind", "group", "group_ranks", "step", "rank")
    for row in some.group_by(*by, maintain_order=True).len().iter_rows(named=True):
        mine = counts.setdefault((row["launch"], row["kind"], groups.key(row), row["step"]), {})
        mine[row["rank"]] = mine.get(row["rank"], 0) + row["len"]
    return {key for key, ranks in counts.items() if key[2] is not None and len(set(ranks.values())) == 1}


def _call_key(row: Mapping[str, Any], groups: _Groups, lock_step: set[object]) -> tuple[object, ...]:
    if row["kind"] in ("send", "recv"):
        return _message_key(row)
    key: tuple[object, ...] = (row["launch"], row["kind"], groups.key(row))
    if row["call"] is not None:
        return (*key, "call", row["call"]) if key[2] is not None else (*key, "call", row["call"], row["module"])
    key += (row["step"],)
    return key if key in lock_step else (*key, row["microbatch"], row["chunk"], row["phase"], row["module"])


def _ends(row: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """(sender, receiver) of a send or recv; a group of two tells the other end."""
    rank, peer, members = row["rank"], row["peer"], _members(row)
    if peer is None and members is not None and len(members) == 2 and rank in members:
        peer = members[1 - members.index(rank)]
    return (rank, peer) if row["kind"] == "send" else (peer, rank)


def _message_key(row: Mapping[str, Any]) -> tuple[object, ...]:
    """Both ends of a message have one key: sender, receiver, tag, and the step where no call number is given."""
    key = (row["launch"], "message", *_ends(row), row["tag"])
    return (*key, row["step"]) if row["call"] is None else (*key, "call", row["call"])


def _join(call: Call, row: Mapping[str, Any], groups: _Groups) -> None:
    call.rows[row["rank"]] = row["at"]
    call.site = (row["module"], row["phase"], row["group"])
    if row["kind"] in ("send", "recv"):
        sender, receiver = _ends(row)
        call.kind, call.root = "send", sender
        call.stated = sender is not None and receiver is not None
        call.members = (sender, receiver) if sender is not None and receiver is not None else None
        return
    if call.kind in _ROOTED and row["peer"] is not None:
        call.root = row["peer"]
    members, conflict = groups.members(row)
    if members is not None:
        call.members, call.stated = members, not row["inferred"]
    call.conflict |= conflict
