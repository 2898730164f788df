"""What watchdogs, desync reports, monitored barriers and fingerprints say of ranks and calls, as rows of positions."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from forensics.facts.event_rows import Row, detail, own_rank, rows
from forensics.facts.memberships import Memberships, is_default, label
from forensics.model.texts import UNNAMED_GROUP
from parsers.tables import TableName

_MS_NS = 1_000_000
# Printed names of operations to which every member brings as many elements; others allow uneven ones.
_EVEN = ("ALLREDUCE", "BROADCAST", "REDUCE", "_ALLGATHER_BASE", "_REDUCE_SCATTER_BASE")
_COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce", "gather", "scatter",
                "barrier")  # fmt: skip
Position = dict[str, Any]
_Group = tuple[str | None, str | None]


def told(
    events: pl.DataFrame, tables: Mapping[TableName, pl.DataFrame], memberships: Memberships, expected: frozenset[int]
) -> Iterator[Position]:
    """Rows of positions."""
    yield from _of_watchdogs(events, tables, memberships, expected)
    yield from _of_desync(events, memberships)
    yield from _of_barriers(events, memberships, expected)
    yield from _of_fingerprints(events, memberships, expected)


def _place(row: Row, source: str, **more: Any) -> Position:
    basis = row["time_basis"]
    clock = basis if basis in ("utc", "local", "boot") else None
    place = {
        "file": row["file"],
        "line": row["line"] if row["line"] is not None else row["record"],
        "text": row["text"],
    }
    return {"source": source, "certain": True, "time_ns": row["time_ns"], "clock": clock, **place, **more}


def _key(group: _Group) -> str | None:
    """What tells groups apart; a description alone may stand for many."""
    return "default" if is_default(*group) else group[0]


# --- watchdogs -------------------------------------------------------------------------------------------------------


def _of_watchdogs(
    events: pl.DataFrame, tables: Mapping[TableName, pl.DataFrame], memberships: Memberships, expected: frozenset[int]
) -> Iterator[Position]:
    """Whom watchdogs gave up for, the counters that they printed, and members of those groups of whom they say nothing."""
    groups: dict[_Group, set[int]] = {}
    found = [(row, memberships.group_of(row)) for row in rows(events, "collective_timeout")]
    elements = [_elements(row) for row, _ in found]
    unsized = {(group, row["seq"]) for (row, group), count in zip(found, elements, strict=True) if count is None}
    sizes = {group: _size(memberships, group) or _by_elements(found, group) for group in {group for _, group in found}}
    world = tuple(sorted(expected))
    for (row, group), count in zip(found, elements, strict=True):
        rank = own_rank(row)
        if row["seq"] is None and rank is None:
            continue
        groups.setdefault(group, set()).update(() if rank is None else (rank,))
        known = row["time_ns"] is not None and row["value"] is not None
        since = row["time_ns"] - int(row["value"] * _MS_NS) if known else None
        yield _place(
            row, "watchdog", rank=rank, group=_key(group), label=label(group), size=sizes[group],
            kind=row["op"], number=row["seq"], state="timed_out", since_ns=since,
            call=_call(row, None if (group, row["seq"]) in unsized else count),
        )  # fmt: skip
    for group, spoke in groups.items():
        same = {"group": _key(group), "label": label(group), "size": sizes[group], "certain": True}
        for made in _counters(tables["progress"], group):
            spoke.add(made["rank"])
            yield made | same
        members = memberships.members_of(*group) or (world if sizes[group] == len(world) else ())
        for rank in sorted(set(members) - spoke):
            yield {"rank": rank, "state": "unknown", "source": "watchdog", **same}


def _size(memberships: Memberships, group: _Group) -> int | None:
    return len(memberships.members_of(*group)) or memberships.size_of(*group)


def _by_elements(found: list[tuple[dict[str, Any], _Group]], group: _Group) -> int | None:
    """A gather makes as many times more elements as the group has members; a scatter of sums as many times fewer."""
    sizes = set()
    for row, own in found:
        if own == group and group != (None, None) and row["op"] in ("all_gather", "reduce_scatter"):
            said = detail(row)
            pair = sorted(
                one for one in (said.get("numel_in"), said.get("numel_out")) if isinstance(one, int) and one > 0
            )
            if len(pair) == 2 and pair[0] < pair[1] and pair[1] % pair[0] == 0:
                sizes.add(pair[1] // pair[0])
    return sizes.pop() if len(sizes) == 1 else None


def _elements(row: Row) -> int | None:
    """How many elements the member brought, where all must bring as many."""
    said = detail(row)
    count = said.get("numel_in") if said.get("op_type") in _EVEN else None
    return count if isinstance(count, int) else None


def _call(row: Row, elements: int | None) -> str | None:
    """What all members must bring alike; `elements`: how many, where every member tells it."""
    if row["op"] not in _COLLECTIVES:
        return None
    return str(row["op"]) if elements is None else f"{row['op']} of {elements} elements"


def _counters(progress: pl.DataFrame, group: _Group) -> Iterator[Position]:
    """Counters of a group that is told apart: how far each member called, and how far it completed."""
    if group == (None, None):
        return
    here = progress.filter(
        pl.col("group").eq_missing(pl.lit(group[0], pl.String)) & pl.col("desc").eq_missing(pl.lit(group[1], pl.String))
        & pl.col("rank").is_not_null() & ~pl.col("how").eq_missing(pl.lit("ras"))
    )  # fmt: skip
    for row in here.sort("file", "line", "rank").iter_rows(named=True):
        text = f"rank {row['rank']}: last enqueued {row['last_enqueued']}, last completed {row['last_completed']}"
        place = {"file": row["file"], "line": row["line"] if row["line"] is not None else row["record"], "text": text}
        same = {"rank": row["rank"], "source": "watchdog", "time_ns": row["time_ns"], **place}
        if row["last_enqueued"] is not None:
            yield same | {"number": row["last_enqueued"], "state": "enqueued"}
        if row["last_completed"] is not None and row["how"] == "watchdog line":
            yield same | {"number": row["last_completed"], "state": "completed"}


# --- desync reports --------------------------------------------------------------------------------------------------


def _of_desync(events: pl.DataFrame, memberships: Memberships) -> Iterator[Position]:
    """Members that lag by a report, and those that it saw in the call or behind it."""
    found = rows(events, "desync")
    sure = any(_is_own_number(row) for row in found)
    for row in found:
        at = _desync_numbers(row)
        known = memberships.to_global(row, sorted(at), assume=sure)
        guess = memberships.to_global(row, sorted(at), assume=True) if known is None else None
        mapped = known or guess or {}
        group = memberships.group_of(row)
        front = max(at.values(), default=0)
        if known is not None and (own := own_rank(row)) is not None and own not in known.values():
            at, mapped = at | {-1: front}, mapped | {-1: own}
        for number, count in at.items():
            state = "entered" if count == front else "completed"
            yield _place(
                row, "desync", rank=mapped.get(number), count=1, certain=known is not None, group=_key(group) or "reported",
                label=label(group), kind=row["op"], number=count, state=state,
            )  # fmt: skip


def _is_own_number(row: Row) -> bool:
    """A reporter above 0 whose number in the group is its global rank: then the group begins with ranks 0, 1, …"""
    rank = own_rank(row)
    return rank is not None and rank > 0 and detail(row).get("reported_by") == rank


def _desync_numbers(row: Row) -> dict[int, int]:
    """Number in the group → number of the last call that it joined, for all whom a report mentions."""
    said = detail(row)
    lagging, snapshot = said.get("lagging", []), said.get("snapshot", [])
    missing = [entry["missing"] for entry in lagging if isinstance(entry.get("missing"), int)]
    counts = [entry["count"] for entry in snapshot if isinstance(entry.get("count"), int)]
    front = max([*missing, *counts, *([said["count"]] if isinstance(said.get("count"), int) else [])], default=1)
    own = {row["rank"]} if row["rank"] is not None and row["rank_space"] == "group" else set()
    at = dict.fromkeys((*own, *(rank for entry in snapshot for rank in entry["ranks"])), front)
    for entry in lagging:
        last = entry["missing"] - 1 if isinstance(entry.get("missing"), int) else front - 1
        at |= dict.fromkeys(entry["ranks"], min(last, front - 1))
    return at if lagging else at | dict.fromkeys(row["names_ranks"] or (), front - 1)


# --- monitored barriers ----------------------------------------------------------------------------------------------


def _of_barriers(events: pl.DataFrame, memberships: Memberships, expected: frozenset[int]) -> Iterator[Position]:
    """Who did not come, by the list of the group's rank 0: others list whom they happened to wait for."""
    for row in rows(events, "barrier_missing"):
        group = memberships.group_of(row)
        members = memberships.members_of(*group)
        leader = members[0] if members and not is_default(*group) else 0
        if not row["names_ranks"] or row["rank"] not in (None, 0, leader):
            continue
        known = memberships.to_global(row, row["names_ranks"], assume=True) or {}
        size = len(members) or max(len(expected), len(memberships.seen)) or None
        same = {"group": _key(group) or "barrier", "label": label(group), "size": size, "kind": "barrier"}
        if row["code"] == "horovod_stall":
            same |= {"label": "Horovod's stall inspector", "kind": row["op"] or "a collective"}
        for number in row["names_ranks"]:
            yield _place(row, "barrier", rank=known.get(number), count=1, number=0, state="absent", **same)
        yield _place(row, "barrier", rank=leader, number=1, state="entered", **same)


# --- fingerprints ----------------------------------------------------------------------------------------------------


def _of_fingerprints(events: pl.DataFrame, memberships: Memberships, expected: frozenset[int]) -> Iterator[Position]:
    """Calls as TORCH_DISTRIBUTED_DEBUG=DETAIL compares them; the lines do not name the group."""
    found = [(row, _prints(row)) for row in rows(events, "fingerprint_mismatch")]
    found = [(row, prints) for row, prints in found if prints]
    if not found:
        return
    numbers = sorted({one["rank"] for _, prints in found for one in prints})
    reporters = {prints[0]["rank"] for _, prints in found}
    everybody = reporters == set(numbers) == set(range(len(numbers)))
    size = max(len(expected), len(numbers)) if expected else len(numbers) if everybody else None
    mappings = [
        memberships.to_global(row, numbers, assume=own_rank(row) in (None, prints[0]["rank"])) for row, prints in found
    ]
    known = mappings[0] if all(one == mappings[0] for one in mappings) else None
    for row, prints in found:
        for one in prints:
            call = None if one["incomplete"] else _announced(one)
            yield _place(
                row, "fingerprint", rank=(known or {}).get(one["rank"]), group="compared", label=UNNAMED_GROUP, size=size,
                kind=one["op"], number=found[0][0]["seq"], state="unknown" if call is None else "entered", call=call,
            )  # fmt: skip


def _prints(row: Row) -> list[dict[str, Any]]:
    said = detail(row)
    return [said[side] for side in ("a", "b") if isinstance(said.get(side), dict)]


def _announced(one: Mapping[str, Any]) -> str:
    parts = [str(one[name]) for name in ("op", "shape", "dtypes") if one[name]]
    return f"{' '.join(parts)} (#{one['seq']})"
