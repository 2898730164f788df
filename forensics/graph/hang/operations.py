"""One operation instance as people speak of it: name, group, number, who is in, who is missing, where it is recorded."""

from collections.abc import Container, Iterable
from typing import Any

import msgspec
import polars as pl

from forensics.facts.waits.memberships import group_name
from forensics.facts.waits.states import SENDS, States
from forensics.model.incident import FirstAnomaly
from forensics.model.ref import Ref
from forensics.model.said import Said
from forensics.model.texts import group_text, iso, ranges
from forensics.words import facts as words


class Call(msgspec.Struct, frozen=True):
    """What one member says of its call."""

    rank: int
    kind: str | None
    numel: int | None
    dtype: str | None
    root: int | None
    code: str | None
    time_created_ns: int | None
    file: str
    record: int | None

    @property
    def signature(self) -> tuple[object, ...]:
        """What all members must agree on; `numel` is null where sizes may differ."""
        return (self.kind, self.numel, self.dtype, self.root if self.kind in ("broadcast", "reduce") else None)

    def ref(self, operation: str) -> Ref:
        """Its record in the dump."""
        called = f", called at {self.code}" if self.code else ""
        text = f"rank {self.rank}: {operation}, {self.kind}, not completed{called}"
        return Ref(file=self.file, line=self.record, text=text)


class Operation(msgspec.Struct, frozen=True):
    """op: id in the graph. group: the telling name; number: the name that the library gave it. backend: nccl, gloo, ….
    members: state → ranks. calls: of the members that recorded it as their first open one."""

    op: str
    kind: str
    group: str
    number: str | None
    seq: int | None
    size: int
    whole: bool
    backend: str | None
    members: dict[str, tuple[int, ...]]
    calls: tuple[Call, ...]

    @property
    def label(self) -> Said:
        """all_reduce #25 of default_pg."""
        return words.CALL(kind=self.kind, number=self.seq, group=group_text(self.group))

    @property
    def all_ranks(self) -> tuple[int, ...]:
        """Every member, whatever its state, ascending."""
        return tuple(sorted(rank for ranks in self.members.values() for rank in ranks))

    def refs(self, limit: int = 3, subjects: Container[int] = ()) -> tuple[Ref, ...]:
        """Where its first few waiting members recorded it: one of the subjects and others, whatever their numbers."""
        own = [call for call in self.calls if call.rank in subjects]
        others = [call for call in self.calls if call.rank not in subjects]
        return tuple(call.ref(self.label) for call in (*own[:1], *others, *own[1:])[:limit])


def describe(states: States, ops: Iterable[str]) -> dict[str, Operation]:
    """Operation ids → Operation."""
    wanted = sorted(set(ops))
    groups = {row["gid"]: row for row in states.groups.iter_rows(named=True)}
    held = states.open.filter(pl.col("op").is_in(wanted)).sort("op", "rank").partition_by("op", as_dict=True)
    members = states.members.filter(pl.col("op").is_in(wanted)).partition_by("op", as_dict=True)
    return {op: _one(op, groups, held[(op,)], members[(op,)]) for op in wanted if (op,) in held}


def _one(op: str, groups: dict[int, dict[str, Any]], held: pl.DataFrame, members: pl.DataFrame) -> Operation:
    by_state = {
        str(state): tuple(sorted(rows["rank"].to_list()))
        for (state,), rows in members.partition_by("state", as_dict=True).items()
    }
    calls = tuple(Call(*row) for row in held.select(Call.__struct_fields__).iter_rows())
    first = held.row(0, named=True)
    group = groups[first["gid"]]
    kinds = [call.kind for call in calls]
    kind = max(sorted({kind for kind in kinds if kind}), key=kinds.count, default="operation")
    if first["is_p2p"]:
        ends = (first["rank"], first["peer_rank"])
        sender, receiver = ends if first["kind"] in SENDS else ends[::-1]
        kind = f"send {sender} → {receiver}"
    return Operation(
        op, kind, group_name(group["group"], group["desc"]), group["group"], first["seq"], len(group["members"]), group["whole"],
        group["backend"], by_state, calls,
    )  # fmt: skip


def anomaly_at(operation: Operation, step: int | None, signature: str, rank: int | None = None) -> FirstAnomaly:
    """An operation as the first anomaly. Its time: when the first of those that stand in it made its call, by that host's
    clock: since then it is open."""
    opened = min((call.time_created_ns for call in operation.calls if call.time_created_ns), default=None)
    return FirstAnomaly(
        time_utc=iso(opened), rank=rank, step=step, op=operation.kind, group=operation.group, group_ranks=ranges(operation.all_ranks),
        seq=operation.seq, signature=signature,
    )  # fmt: skip
