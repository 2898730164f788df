"""Lines in which a rank, or whoever watches it, says at which call of a group it stands: pairs of names and values, under whatever names.

    W0131 10:11:12.689 4711 comm_task_manager.cc:203] Find timeout start but not finish task:group_key:dp,group_ranks:[0,1,2],global_rank:1,
        comm_count:12,op:ALLREDUCE,started:1,completed:0,numel:1024,nranks:3                                             Paddle
    comm watchdog: rank=3 group=dp seq=4711 op=all_gather state=started elapsed=600s
    [hang detector] rank: 5, collective_id: 11, operation: AllReduce, status: enqueued

Needed: whose it is (a field, or the line's own rank), the number of the call, and how far it came: a flag or a word. The words of a
line that says that it took too long make it a watchdog's, of a call that was not completed.

Printed by: watchdogs of communication, of frameworks and of one's own.
Versions: any.
Source: not read: Paddle's comm_task_manager.cc and its tasks' trace messages; these and others by their fields alone.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from parsers.forms.reading import integers, pairs_of, whole
from parsers.schema.lines import claimed, event, reporter
from parsers.schema.parser import LineParser
from parsers.schema.rules import LINE_CHARACTERS
from parsers.schema.tables import Tables, tables_of
from parsers.text import vocabulary
from parsers.text.op_types import operation
from parsers.text.patterns import regex

_YES, _NO = frozenset(("1", "true", "yes")), frozenset(("0", "false", "no"))
_STATES: Mapping[str, str] = {
    **dict.fromkeys(("completed", "complete", "finished", "finish", "done", "retired"), "completed"),
    **dict.fromkeys(("started", "start", "running", "in_progress", "inflight", "in_flight", "active", "executing", "launched"), "started"),
    **dict.fromkeys(("scheduled", "enqueued", "queued", "pending", "issued", "submitted", "waiting", "created"), "enqueued"),
}  # fmt: skip
_TOO_LONG = regex(r"(?i)time[d]?[ _-]?out|\bhang|\bhung\b|\bstuck\b|\bstall|not finish|too long")


def parse(lines: pl.DataFrame) -> Tables:
    """events collective_timeout; progress, a row per line; groups and ranks as the lines tell them."""
    events: list[dict[str, Any]] = []
    progress: list[dict[str, Any]] = []
    groups: dict[tuple[Any, ...], dict[str, Any]] = {}
    ranks: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in lines.iter_rows(named=True):
        said = pairs_of(row["text"][:LINE_CHARACTERS])
        told = vocabulary.told(said)
        is_too_long = _TOO_LONG.search(row["text"]) is not None
        is_late = "operation" in told and is_too_long
        number, state = whole(told.get("call_number")), _state(said, told) or ("enqueued" if is_late else None)
        rank = whole(told.get("rank"))
        rank = reporter(row)["rank"] if rank is None else rank
        if number is None or state is None or (rank is None and not is_late):  # a name in the line may tell whose it is
            continue
        group = str(told["group"]) if "group" in told else "default"
        place = {"file": row["file"], "line": row["line"], "rank": rank}
        counters = {"last_enqueued": number, "last_completed": number if state == "completed" else number - 1}
        origin = {"group": group, "time_ns": row["time_ns"], "scope": "all", "how": "watchdog line"}
        progress.append(place | counters | origin)
        members, size = integers(str(told.get("group_ranks", ""))), whole(told.get("group_size"))
        if members or size:
            space = "global" if members else None
            made = {"group": group, "members": members or None, "members_space": space, "size": size}
            groups.setdefault((row["file"], rank, group), place | made | {"how": "call line"})
        if reporter(row)["rank"] is None and rank is not None:
            ranks.setdefault((row["file"], rank), place | {"host": reporter(row)["host"], "how": "call line"})
        if state != "completed" and is_too_long:
            op = operation(str(told["operation"])) if "operation" in told else None
            about = {"rank": rank, "rank_space": "global", "group": group, "seq": number, "op": op}
            events.append(event(row, "collective_timeout", severity="error", **about))
    known = claimed((row["file"], row["line"]) for row in progress)
    return tables_of(events=events, progress=progress, groups=groups.values(), ranks=ranks.values(), claimed=known)


def _state(said: Mapping[str, str], told: Mapping[str, Any]) -> str | None:
    """How far the call came: the furthest of the flags that is set, else what a word says."""
    flags = {_STATES[name.lower()]: value.lower() for name, value in said.items() if name.lower() in _STATES}
    if flags and set(flags.values()) <= _YES | _NO:
        reached = [state for state in ("completed", "started", "enqueued") if flags.get(state) in _YES]
        return reached[0] if reached else "enqueued"
    return _STATES.get(str(told.get("state", "")).lower().replace("-", "_"))


PARSER = LineParser(
    name="call_lines",
    anchors=(
        b"tarted", b"ompleted", b"inished", b"nqueued", b"cheduled", b"n_progress", b"nflight", b"n_flight", b"ending", b"unning",
        b"aiting", b"imed out", b"imeout", b"time-out",
    ),
    parse=parse,
    leftover=True,
)  # fmt: skip
