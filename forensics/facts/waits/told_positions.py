"""What watchdogs, desync reports, monitored barriers and fingerprints say of ranks and calls, as rows of positions."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from forensics.facts.rows.event_rows import Row, detail, is_later_barrier, line_of, of_kinds, own_rank, rows
from forensics.facts.waits.memberships import Memberships, is_default, label
from forensics.model.texts import UNNAMED_GROUP
from parsers.schema.tables import Tables

SERVICE_BARRIER, STALL_INSPECTOR = "barrier", "Horovod's stall inspector"  # how groups of theirs are called
_MS_NS = 1_000_000
_CLOCKS = ("utc", "local", "boot")
# Printed names of operations to which every member brings as many elements; others allow uneven ones.
_EVEN = ("ALLREDUCE", "BROADCAST", "REDUCE", "_ALLGATHER_BASE", "_REDUCE_SCATTER_BASE")
_COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce", "gather", "scatter",
                "barrier")  # fmt: skip
Position = dict[str, Any]
_Group = tuple[str | None, str | None]


def told(
    events: pl.DataFrame, memberships: Memberships, expected: frozenset[int], has_steps: bool
) -> Iterator[Position]:
    """Rows of positions from reports: few, and a member or more in each. `has_steps`: a barrier of the coordination service is
    no longer that of the start."""
    yield from _of_desync(events, memberships)
    yield from _of_barriers(events, memberships, expected)
    yield from _of_service(events, has_steps, max(len(expected), len(memberships.seen)))
    yield from _of_fingerprints(events, memberships, expected)


def _place(row: Row, source: str, **more: Any) -> Position:
    clock = row["time_basis"] if row["time_basis"] in _CLOCKS else None
    place = {"file": row["file"], "line": line_of(row), "text": row["text"]}
    return {"source": source, "certain": True, "time_ns": row["time_ns"], "clock": clock, **place, **more}


def _key(group: _Group) -> str | None:
    """What tells groups apart; a description alone may stand for many."""
    return "default" if is_default(*group) else group[0]


# --- watchdogs -------------------------------------------------------------------------------------------------------


class TimedOut(NamedTuple):
    """`rows`: of positions, one for each line of a watchdog, columns of these alone. `groups`: who spoke in which."""

    rows: pl.DataFrame
    groups: Mapping[_Group, set[int]]
    sizes: Mapping[_Group, int | None]


def timed_out(events: pl.DataFrame, memberships: Memberships) -> TimedOut:
    """Whom watchdogs gave up for. A log may hold a line of each of a hundred thousand calls: what depends on few of their
    columns is asked once of those alike."""
    found = _with_details(memberships.with_groups(of_kinds(events, "collective_timeout")))
    own = pl.when(pl.col("rank_space") == "global").then("rank")
    found = found.with_columns(own.alias("rank"))
    groups: list[_Group] = found.select("_name", "_desc").unique(maintain_order=True).rows()
    sizes = {group: _size(memberships, group) or _by_elements(found, group) for group in groups}
    words = pl.DataFrame(
        [(*group, _key(group), label(group), sizes[group]) for group in groups],
        schema={"_name": pl.String, "_desc": pl.String, "_key": pl.String, "label": pl.String, "size": pl.Int32}, orient="row",
    )  # fmt: skip
    all_tell = pl.col("_elements").is_not_null().all().over("_name", "_desc", "seq")
    elements = pl.when(all_tell).then(pl.format(" of {} elements", "_elements")).otherwise(pl.lit(""))
    call = pl.concat_str(pl.when(pl.col("op").is_in(_COLLECTIVES)).then("op"), elements)
    since = pl.col("time_ns") - (pl.col("value") * _MS_NS).cast(pl.Int64, strict=False)
    found = found.with_columns(call.alias("call"), since.alias("since_ns"))
    found = found.filter(pl.col("seq").is_not_null() | pl.col("rank").is_not_null())
    found = found.join(words, on=["_name", "_desc"], how="left", nulls_equal=True, maintain_order="left")
    spoke = found.group_by("_name", "_desc", maintain_order=True).agg(pl.col("rank").drop_nulls().unique())
    rows_of = found.select(
        "rank", pl.lit(True).alias("certain"), pl.col("_key").alias("group"), "label", "size", pl.col("op").alias("kind"),
        pl.col("seq").alias("number"), pl.lit("timed_out").alias("state"), "call", "since_ns", "time_ns",
        pl.when(pl.col("time_basis").is_in(_CLOCKS)).then("time_basis").alias("clock"), pl.lit("watchdog").alias("source"),
        "file", pl.coalesce("line", "record").alias("line"), "text",
    )  # fmt: skip
    return TimedOut(rows_of, {(name, desc): set(ranks) for name, desc, ranks in spoke.iter_rows()}, sizes)


def beside_timeouts(
    waits: TimedOut, tables: Tables, memberships: Memberships, expected: frozenset[int]
) -> Iterator[Position]:
    """The counters that watchdogs printed, and members of groups that gave up of whom they say nothing."""
    world = tuple(sorted(expected))
    for group, ranks in waits.groups.items():
        spoke, size = set(ranks), waits.sizes[group]
        same = {"group": _key(group), "label": label(group), "size": size, "certain": True}
        for made in _counters(tables["progress"], group):
            spoke.add(made["rank"])
            yield made | same
        members = memberships.members_of(*group) or (world if size == len(world) else ())
        for rank in sorted(set(members) - spoke):
            yield {"rank": rank, "state": "unknown", "source": "watchdog", **same}


def _size(memberships: Memberships, group: _Group) -> int | None:
    return len(memberships.members_of(*group)) or memberships.size_of(*group)


def _with_details(found: pl.DataFrame) -> pl.DataFrame:
    """With `_elements`: how many the member brought, where all must bring as many; and `_times`: by which factor the call
    made more of them or fewer."""
    texts = found["detail"].unique().to_list()
    said = [(text, *_counts(detail({"detail": text}))) for text in texts]
    schema = {"detail": pl.String, "_elements": pl.Int64, "_times": pl.Int64}
    known = pl.DataFrame(said, schema=schema, orient="row")
    return found.join(known, on="detail", how="left", nulls_equal=True, maintain_order="left")


def _counts(said: Mapping[str, Any]) -> tuple[int | None, int | None]:
    numbers = [one if isinstance(one, int) else None for one in (said.get("numel_in"), said.get("numel_out"))]
    low, high = sorted(one or 0 for one in numbers)
    is_multiple = 0 < low < high and high % low == 0
    return numbers[0] if said.get("op_type") in _EVEN else None, high // low if is_multiple else None


def _by_elements(found: pl.DataFrame, group: _Group) -> int | None:
    """A gather makes as many times more elements as the group has members; a scatter of sums as many times fewer."""
    if group == (None, None):
        return None
    own = pl.col("_name").eq_missing(pl.lit(group[0])) & pl.col("_desc").eq_missing(pl.lit(group[1]))
    sizes = found.filter(own & pl.col("op").is_in(["all_gather", "reduce_scatter"]))["_times"].drop_nulls().unique()
    return int(sizes[0]) if len(sizes) == 1 else None


def _counters(progress: pl.DataFrame, group: _Group) -> Iterator[Position]:
    """Counters of a group that is told apart: how far each member called, and how far it completed."""
    if group == (None, None):
        return
    own = [pl.col(name).eq_missing(pl.lit(one, pl.String)) for name, one in zip(("group", "desc"), group, strict=True)]
    here = progress.filter(*own, ~pl.col("how").eq_missing(pl.lit("ras"))).drop_nulls("rank")
    for row in here.sort("file", "line", "rank").iter_rows(named=True):
        text = f"rank {row['rank']}: last enqueued {row['last_enqueued']}, last completed {row['last_completed']}"
        place = {"file": row["file"], "line": line_of(row), "text": text}
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
    """Who did not come, by the list of the group's rank 0: others list whom they happened to wait for. Or who brings what, where everybody is
    waited for by somebody."""
    told, crossed = _crossed(rows(events, "barrier_missing"), len(expected) or len(memberships.seen))
    yield from crossed
    several = len({rank for row in told for rank in row["names_ranks"] or ()}) > 1
    for row in told:
        group = memberships.group_of(row)
        members = memberships.members_for(row)
        leader = members[0] if members and not is_default(*group) else 0
        known = max(len(expected), len(memberships.seen))
        ready = detail(row).get("ready") or []  # of a list of those that came, the rest is told as far as it is counted
        absent = row["names_ranks"] or sorted({*range(max([known, *ready]))} - {*ready})
        if not absent or row["rank"] not in (None, 0, leader):
            continue
        mapped = memberships.to_global(row, absent, assume=True) or {}
        numbered = max([*absent, *ready]) + 1  # it has whom it numbers; that these are two tells of no pair
        is_stall = row["code"] == "horovod_stall"  # its numbers are of the whole job
        is_counted = known > 1 or (numbered > 2 and known) or (is_stall and several)
        size = len(members) or (max(known, numbered) if is_counted else None)
        same = {"group": _key(group) or "barrier", "label": label(group), "size": size, "kind": "barrier"}
        if is_stall:
            same |= {
                "label": STALL_INSPECTOR,
                "kind": row["op"] or "a collective",
                "certain": not ready or known >= numbered,
            }
            leader = _who_came(absent)
        for number in absent:
            yield _place(row, "barrier", rank=mapped.get(number), count=1, number=0, state="absent", **same)
        for number in ready or [leader]:
            yield _place(row, "barrier", rank=number, number=1, state="entered", **same)


def _who_came(absent: Sequence[int]) -> int:
    """The first whom a list of all that are missing does not hold."""
    return next(rank for rank in range(len(absent) + 1) if rank not in absent)


def _crossed(told: Sequence[Row], world: int) -> tuple[Sequence[Row], list[Position]]:
    """Rows; how many ranks the job has → the rows that tell of absence, and what two sides bring, each what the other lacks, where the stall
    inspector lists every rank as missing something, and no tensor is missing on both sides. Whoever is only late is waited for, and waits for
    nobody."""
    stalled = [row for row in told if row["code"] == "horovod_stall" and row["names_ranks"]]
    lacks: dict[int, set[str]] = defaultdict(set)
    shown: dict[int, Row] = {}
    for row in stalled:
        for rank in row["names_ranks"]:
            lacks[rank] |= set(detail(row)["tensors"])
            shown[rank] = row
    if not lacks or lacks.keys() != set(range(max(world, len(lacks)))):
        return told, []
    one = {rank for rank in lacks if lacks[rank] & lacks[0]}
    other = lacks.keys() - one
    lack_one, lack_other = (set[str]().union(*(lacks[rank] for rank in side)) for side in (one, other))
    is_one = bool(other) and all(lacks[rank] & lacks[min(other)] for rank in other)
    if not is_one or lack_one & lack_other:
        return told, []
    brought = {**dict.fromkeys(one, min(lack_other)), **dict.fromkeys(other, min(lack_one))}
    same = {"group": "barrier", "label": STALL_INSPECTOR, "size": len(lacks), "state": "entered"}
    listed = [
        _place(row, "barrier", rank=rank, kind=row["op"] or "a collective", call=brought[rank], **same)
        for rank, row in sorted(shown.items())
    ]
    return [row for row in told if row["code"] != "horovod_stall"], listed


def _of_service(events: pl.DataFrame, has_steps: bool, known: int) -> Iterator[Position]:
    """Who did not come to a barrier of XLA's coordination service, or another's: it counts all tasks, and tells every one of them. Where
    more ranks are known, it counts something else (hosts)."""
    for row in rows(events, "missing_members"):
        if not is_later_barrier(row, has_steps):
            continue
        size = int(detail(row)["expected"])
        if known > size:
            continue
        absent = row["names_ranks"]
        label_of = f"{SERVICE_BARRIER} {detail(row).get('barrier') or ''}".strip()
        same = {"group": "service", "label": label_of, "size": size, "kind": "barrier"}
        for rank in absent:
            yield _place(row, "barrier", rank=rank, number=0, state="absent", **same)
        yield _place(row, "barrier", rank=_who_came(absent), number=1, state="entered", **same)


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
