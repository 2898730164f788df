"""A table of how far each rank came in each of its groups, as scripts print it from flight records: in any form of parsers/forms/framings.py.

    rank group    members  enqueued started completed open_op                   in columns
    0    mesh_tp  [0, 1]   4417     4417    4416      _ALLGATHER_BASE
    rank,pg,ranks,last_enqueued,last_completed                                  with names of its own
    {"rank": 0, "group": "tp", "members": [0, 1], "enqueued": 4417, "completed": 4416}

Groups of one name are told apart by their members. Rows: operations (the first that is open), progress, groups. When it was made,
it does not tell.

Printed by: scripts around a job.
Versions: 1 of this table.
Source: this project's own definition of the format; the names are those of PyTorch's flight recorder and its watchdog.
"""

from collections.abc import Mapping
from typing import Any

from parsers.forms import framings
from parsers.forms.reading import integers, whole
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, tables_of
from parsers.text.op_types import operation

_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "rank": ("rank", "global_rank"),
    "group": ("group", "pg", "process_group", "group_name", "pg_name", "pg_desc", "communicator", "comm"),
    "members": ("members", "ranks", "group_ranks", "global_ranks", "pg_ranks"),
    "enqueued": ("enqueued", "last_enqueued", "launched", "issued", "submitted"),
    "started": ("started", "last_started"),
    "completed": ("completed", "last_completed", "finished"),
    "op": ("open_op", "op", "operation", "collective", "op_type"),
}
_ASKED = ("rank", "group", "members", "enqueued", "completed")
_FEWEST = 2  # members
_HOW = "counters"


def _named(names: frozenset[str] | Mapping[str, Any]) -> dict[str, str]:
    """What a column means → its name."""
    lower = {name.lower().replace(" ", "_"): name for name in names}
    found = {what: next((lower[name] for name in among if name in lower), None) for what, among in _COLUMNS.items()}
    return {what: name for what, name in found.items() if name is not None}


def accepts(path: str, head: bytes) -> bool:
    """By its names."""
    return _named(framings.names(path, head)).keys() >= {*_ASKED}


def _read(said: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a row tells; None where it lacks a number, or the rank is no member."""
    told = {what: said[name] for what, name in _named(said).items()}
    counts = {what: whole(told.get(what)) for what in ("rank", "enqueued", "started", "completed")}
    members = sorted(set(integers(str(told.get("members") or ""))))
    if None in (counts["rank"], counts["enqueued"], counts["completed"]) or counts["rank"] not in members:
        return None
    name = str(told.get("group") or "")
    group = f"{name}[{','.join(map(str, members))}]"
    op = operation(str(told.get("op") or "").strip("- ") or None)
    return {**counts, "desc": name, "group": group, "members": members, "op": op} if len(members) >= _FEWEST else None


def _open(row: Mapping[str, Any]) -> dict[str, Any]:
    is_started = (row["started"] if row["started"] is not None else row["enqueued"]) > row["completed"]
    state = "started" if is_started else "scheduled"
    return {"seq": row["completed"] + 1, "kind": row["op"], "is_p2p": False, "state": state, "retired": False}


def parse(source: Source) -> Tables:
    """operations, progress, groups; rows without a number are `unread`."""
    operations: list[dict[str, Any]] = []
    progress: list[dict[str, Any]] = []
    groups: list[dict[str, Any]] = []
    claimed: list[dict[str, Any]] = []
    unread: list[dict[str, Any]] = []
    for number, _, said in framings.rows(source):
        place = {"file": source.path, "line": number}
        row = _read(said) if said is not None and said is not framings.HEADER else None
        if said is framings.HEADER:
            claimed.append(place)
        elif row is None:
            unread.append({**place, "reason": "no counters of a rank in a group"})
        else:
            own = {"rank": row["rank"], "group": row["group"], "desc": row["desc"], "record": number, **place}
            size = len(row["members"])
            groups.append({**own, "members": row["members"], "members_space": "global", "size": size, "how": _HOW})
            counts = {f"last_{name}": row[name] for name in ("enqueued", "started", "completed")}
            progress.append({**own, **counts, "how": _HOW})
            operations += [{**own, **_open(row)}] if row["enqueued"] > row["completed"] else []
    return tables_of(operations=operations, progress=progress, groups=groups, claimed=claimed, unread=unread)


PARSER = FileParser(name="counter_table", accepts=accepts, parse=parse)
