"""How far the members of each group came, by one source; and who, over all groups of it, is behind without waiting for
another that is further behind."""

from collections.abc import Iterable, Mapping

import msgspec
import polars as pl

from forensics.facts.rows.event_rows import reference
from forensics.facts.rows.series import in_order
from forensics.model.ref import Ref
from forensics.model.told import values

_MESSAGES = ("send", "recv", "isend", "irecv")


class Standing(msgspec.Struct, frozen=True):
    """A group as one source shows it.

    at: rank → number of the last call that it made (-1: none). behind: members that have not made the call that others
    wait in (where nobody gave up: the last one). waiting: rank → number that it gave up in. others: (number, members) of
    those not told by rank. lost: members of whom the source says nothing. unsure: ranks that may have come further than
    the source shows. disputed: ranks that one statement puts behind and another does not. uneven: holds messages."""

    source: str
    label: str
    size: int | None
    kind: str | None
    front: int
    at: Mapping[int, int]
    behind: frozenset[int]
    waiting: Mapping[int, int]
    others: tuple[tuple[int, int], ...]
    lost: frozenset[int]
    unsure: frozenset[int]
    disputed: frozenset[int]
    uneven: bool
    certain: bool
    refs: Mapping[int, Ref]  # rank → where its last call is told
    front_refs: tuple[Ref, ...]
    loose_refs: tuple[Ref, ...]  # where those are told of who are not told by rank
    kinds: Mapping[int, str]  # of calls by their number, where statements agree

    @property
    def known(self) -> int:
        """Members that the source speaks of."""
        return len(self.at) + sum(members for _, members in self.others)

    @property
    def late(self) -> int:
        """How many of them are behind."""
        return len(self.behind) + sum(members for number, members in self.others if number < self.front)

    @property
    def ahead(self) -> tuple[int, ...]:
        """Ranks that are not behind."""
        return tuple(sorted(self.at.keys() - self.behind))

    @property
    def is_few(self) -> bool:
        """Are those behind fewer than half? Else the few others may have made a call too many."""
        return 2 * self.late < max(self.size or 0, self.known)

    def first_missed(self, ranks: Iterable[int]) -> tuple[int, str | None]:
        """(number, kind) of the call that others wait in for these ranks: the first that somebody gave up; where nobody did,
        the first that these have not made, if its kind is told: others may have launched more since."""
        nearest = min((self.at[rank] + 1 for rank in ranks if rank in self.at), default=self.front)
        if self.waiting or nearest not in self.kinds:
            return self.front, self.kind
        return nearest, self.kinds[nearest]

    def holds(self, rank: int) -> bool:
        """Has another member not made a call that this rank has made? Then it may wait for that one."""
        mine = self.at.get(rank)
        least = min((*self.at.values(), *(number for number, _ in self.others)), default=0)
        return mine is not None and least < mine


def standings(positions: pl.DataFrame, source: str) -> list[Standing]:
    """Groups of one source in which somebody is known to have come somewhere; the one that tells of most members first."""
    if not positions.height:
        return []
    rows = positions.filter((pl.col("source") == source) & pl.col("group").is_not_null())
    if not rows.height:
        return []
    if source == "ras":
        rows = latest(rows)
    found = [_standing(source, part) for part in rows.partition_by("group")]
    return sorted((one for one in found if one is not None), key=lambda one: (-len(one.at), one.label))


def free(found: Iterable[Standing]) -> frozenset[int]:
    """Ranks that are behind and, in no group of the source, further than another member."""
    even = [one for one in found if not one.uneven]
    return frozenset(rank for one in even for rank in one.behind if not any(other.holds(rank) for other in even))


def latest(rows: pl.DataFrame) -> pl.DataFrame:
    """Of several reports the last one."""
    files = rows.group_by("file").agg(pl.col("time_ns").max()).rows()
    if len(files) < 2:
        return rows
    last = max(files, key=lambda one: (one[1] or 0, in_order(str(one[0]))))
    return rows.filter(pl.col("file") == last[0])


def _standing(source: str, rows: pl.DataFrame) -> Standing | None:
    called = rows.filter(pl.col("number").is_not_null())
    if not called.height:
        return None
    by_rank = called.filter(pl.col("rank").is_not_null()).sort("number", "file", "line", nulls_last=True)
    last = by_rank.group_by("rank", maintain_order=True).last()
    least = by_rank.group_by("rank", maintain_order=True).first()
    sizes = rows["size"].drop_nulls()
    size = int(sizes[0]) if len(sizes) else None
    if source == "ras":
        at, others = _launched(called, size)
    else:
        at, others = dict(last.select("rank", "number").iter_rows()), _others(called)
    at = dict(sorted(at.items()))
    gave_up = rows.filter(pl.col("state") == "timed_out").drop_nulls(["rank", "number"])
    waiting = dict(gave_up.group_by("rank").agg(pl.col("number").min()).sort("rank").iter_rows())
    told = (*at.values(), *(number for number, _ in others))
    if not told:
        return None
    front = min(waiting.values(), default=max(told))
    behind = frozenset(rank for rank, number in at.items() if number < front)
    low = frozenset(rank for rank, number in least.select("rank", "number").iter_rows() if number < front)
    refs = {row["rank"]: reference(row) for row in last.filter(pl.col("file").is_not_null()).iter_rows(named=True)}
    loose = called.filter(pl.col("rank").is_null() & pl.col("file").is_not_null()).sort("file", "line")
    unknown = frozenset(values(rows.filter(pl.col("state") == "unknown")["rank"]))
    shown = rows.drop_nulls("kind")
    kinds = [*shown.filter(pl.col("number") >= front).sort("number")["kind"].head(1), *shown["kind"].head(1)]
    return Standing(
        source=source,
        label=str(rows["label"].drop_nulls()[0]) if rows["label"].null_count() < rows.height else "a group",
        size=size,
        kind=kinds[0] if kinds else None,
        front=front,
        at=at,
        behind=behind,
        waiting=waiting,
        others=others,
        lost=unknown - at.keys(),
        unsure=unknown & at.keys(),
        disputed=(low - behind) if source == "desync" else frozenset(),
        uneven=bool(rows["kind"].is_in(_MESSAGES).any()),
        certain=bool(rows["certain"].all()),
        refs=refs,
        front_refs=tuple(refs[rank] for rank in sorted(at) if rank not in behind and rank in refs)[:2],
        loose_refs=tuple(reference(row) for row in loose.head(2).iter_rows(named=True)),
        kinds=_kinds(called) if source != "ras" else {},  # of RAS numbers are counted by kind
    )


def _kinds(called: pl.DataFrame) -> dict[int, str]:
    told = called.drop_nulls("kind").group_by("number").agg(pl.col("kind").unique())
    one = told.filter(pl.col("kind").list.len() == 1).select("number", pl.col("kind").list.first())
    return dict(one.sort("number").iter_rows())


def _others(called: pl.DataFrame) -> tuple[tuple[int, int], ...]:
    """(number, members) of statements about members that are not told by rank."""
    loose = called.filter(pl.col("rank").is_null() & pl.col("count").is_not_null())
    return tuple(loose.select("number", "count").sort("number").iter_rows())


def _launched(called: pl.DataFrame, size: int | None) -> tuple[dict[int, int], tuple[tuple[int, int], ...]]:
    """(rank → launched, others) over all kinds: their order among each other is not told, their sum is. A rank that is not
    listed for a kind stands where all others stand, if these stand in one place."""
    by_kind = called.partition_by("kind", maintain_order=True)
    if len(by_kind) == 1:
        told = called.filter(pl.col("rank").is_not_null())
        return dict(told.select("rank", "number").iter_rows()), _others(called)
    loose = [_others(part) for part in by_kind]
    rest = [found[0][0] if len(found) == 1 else 0 if not found else None for found in loose]
    listed = [dict(part.filter(pl.col("rank").is_not_null()).select("rank", "number").iter_rows()) for part in by_kind]
    at: dict[int, int] = {}
    for rank in sorted(set().union(*listed)):
        numbers = [own.get(rank, usual) for own, usual in zip(listed, rest, strict=True)]
        if None not in numbers:
            at[rank] = sum(number for number in numbers if number is not None)
    if not any(loose) or None in rest or size is None:
        return at, ()
    return at, ((sum(number for number in rest if number is not None), size - len(at)),)
