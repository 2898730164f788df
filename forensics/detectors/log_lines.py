"""What detectors share that read log lines: which rows, whose numbers they are, and whether the run had begun."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from forensics.case import Case
from forensics.facts.places import OF_HOSTS
from forensics.facts.process_ends import reference
from forensics.identity import short_host
from forensics.model.incident import Ref, ranges

Row = Mapping[str, Any]
_NEAR = 40  # lines between a report and the counters that name its group
_DEFAULT = ("default_pg", "default", "world")


def rows(case: Case, *kinds: str) -> list[dict[str, Any]]:
    """Events of these kinds, by place."""
    events = case.events.filter(pl.col("kind").is_in(kinds))
    return list(events.sort("file", "line", "record", "kind", maintain_order=True).iter_rows(named=True))


def detail(row: Row) -> dict[str, Any]:
    """The JSON object of an event's `detail`; empty where there is none."""
    try:
        found = json.loads(row["detail"] or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def refs(found: Iterable[Row], most: int = 3) -> tuple[Ref, ...]:
    """Places of the first rows, each once."""
    return tuple(dict.fromkeys(reference(row) for row in found))[:most]


def own_rank(row: Row) -> int | None:
    """The global rank that printed the row, if known."""
    rank = row["rank"] if row["rank_space"] == "global" else None
    return None if rank is None else int(rank)


def host_of(case: Case, row: Row) -> str | None:
    """The host that printed the row: as printed, else that of its rank."""
    if row["host"]:
        return short_host(row["host"])
    rank = own_rank(row)
    known = case.identity.filter(pl.col("rank") == rank) if rank is not None and case.identity.height else None
    return known["host"][0] if known is not None and known.height else None


def is_only_about_hosts(case: Case) -> bool:
    """Does every file speak of hosts and devices alone, so that nothing of a job is there to be blamed or cleared?"""
    events = case.events
    about = set(events.filter(pl.col("kind").is_in(OF_HOSTS))["file"].to_list()) | set(case.tables["devices"]["file"])
    files = case.tables["files"].filter(pl.col("bytes").fill_null(0) > 0)["file"].to_list()
    processes = events.filter(~pl.col("kind").is_in(OF_HOSTS))
    return set(files) <= about and not (case.seen or processes.height or case.tables["steps"].height)


def has_begun(case: Case) -> bool:
    """Had the run come past its start: steps, recorded operations, or a communication that timed out?"""
    if case.tables["steps"].height or case.tables["operations"].height or case.tables["tensors"].height:
        return True
    return bool(case.events["kind"].is_in(["collective_timeout", "desync", "checkpoint_save"]).any())


def has_waited(case: Case) -> bool:
    """Did ranks wait for others until a timeout, or do records show them waiting?"""
    timed_out = case.events.filter(pl.col("kind").is_in(["collective_timeout", "desync"]))
    return timed_out.height > 0 or has_open_operations(case)


def has_open_operations(case: Case) -> bool:
    """Do flight records show operations that never ended? Then the graph tells more than lines do."""
    return case.states is not None and case.states.open.height > 0


def group_of(case: Case, row: Row) -> tuple[str | None, str | None]:
    """(name, description) of the group that a watchdog's report is about: the row's own, else that of the counters its
    rank printed near it."""
    counters = case.tables["progress"].filter(pl.col("file") == row["file"])
    if row["group"]:
        named = counters.filter(pl.col("group") == row["group"])["desc"].drop_nulls()
        return row["group"], named[0] if len(named) else None
    rank = own_rank(row)
    near = counters.filter(
        (pl.col("rank").eq_missing(rank) | pl.col("rank").is_null() | pl.lit(rank is None))
        & ((pl.col("line") - (row["line"] or 0)).abs() <= _NEAR)
    )
    found = near.select("group", "desc").unique()
    return (found["group"][0], found["desc"][0]) if found.height == 1 else (None, None)


def members_of(case: Case, group: str | None, desc: str | None) -> tuple[int, ...]:
    """Global ranks of a group in group order; empty where the bundle does not say."""
    known = case.tables["groups"].filter(pl.col("members_space") == "global")
    for column, value in (("group", group), ("desc", desc)):
        if value is not None:
            lists = known.filter(pl.col(column) == value)["members"].drop_nulls().unique()
            if len(lists) == 1:
                return tuple(lists[0].to_list())
    return tuple(sorted(case.expected)) if is_default(group, desc) else ()


def is_default(group: str | None, desc: str | None) -> bool:
    """Is this the group of all ranks, by its description or PyTorch's name "0"?"""
    return desc in _DEFAULT or (desc is None and group == "0")


def label(group: tuple[str | None, str | None]) -> str:
    """(name, description) of a group → how sentences call it."""
    return group[1] or (f"group {group[0]}" if group[0] else "a group that is not named")


def _only_default(case: Case) -> bool:
    """No record in the bundle knows a group besides the default one."""
    stated = case.tables["groups"].filter(pl.col("comm").is_null())  # a library's communicators have no group's name
    for frame in (case.tables["progress"], stated):
        for group, desc in frame.select("group", "desc").unique().iter_rows():
            if (group or desc) and not is_default(group, desc):
                return False
    return True


def to_global(case: Case, row: Row, numbers: Sequence[int], *, assume: bool = False) -> dict[int, int] | None:
    """Numbers printed for ranks → global ranks; None where membership is unknown.

    A number is global where the row says so, where its group is the default one, or where the numbers are just those of
    the whole job; else the group's members tell. `assume`: where the bundle knows no other group, take it for the
    default one."""
    same = {number: number for number in numbers}
    if row["names_rank_space"] == "global":
        return same
    group, desc = group_of(case, row)
    members = members_of(case, group, desc)
    if members and max(numbers, default=0) < len(members):
        return {number: members[number] for number in numbers}
    if is_default(group, desc) or (len(same) > 1 and set(same) == case.expected):
        return same
    covered = len(case.seen) > 1 and case.seen <= set(numbers)
    return same if group is None and _only_default(case) and (assume or covered) else None


def listed(numbers: Iterable[int]) -> str:
    """`3, 5-7`, for sentences about numbers that are not known to be global."""
    return ranges(numbers).replace(",", ", ")
