"""TorchComms' ClogHook: a rank's collectives, as they were enqueued, started, ended and waited for.

    V|1|base_timestamp=1769854272.890
    new_comm|comm=world|rank=3|world_size=8
    split|parent=world|child=tp|ranks=0,1,2,3
    C1|sig|all_reduce|in_count=1024|out_count=1024|dtype=f32|red_op=sum|async_op=f|comm=world
    C1|Q|work_id=1|+0.001
    C1|S|+0.002
    C1|E|+0.005
    G42|R1|C1|S|+2.001

`C1` is a signature, not a call: a call begins with Q, and S and E belong to the oldest call of the signature that lacks them.
The number of a call is its place among the calls of its communicator, which TorchComms issues in the same order everywhere;
messages are counted apart. A call is `scheduled` until S, `started` until E, then `completed`; without
lifecycle events in the file its state is not known. Replays of graphs have no Q and are left out. Lines of WARN are `other`.

Printed by: ClogHook of TorchComms.
Versions: log format 1.
Source: comms/torchcomms/hooks/clog of meta-pytorch/torchcomms.
"""

import re
from collections import Counter, defaultdict, deque
from typing import Any

import msgspec

from parsers.forms.reading import integers, text_lines, whole
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

_ROWS = 2_000_000
_HEAD = regex(rb"\AV\|\d+\|base_timestamp=\d")
_BASE = regex(r"^V\|\d{1,9}\|base_timestamp=([0-3]?\d{1,9}(?:\.\d{1,9})?)$")
_EVENT = regex(
    r"^(?:G\d+\|)?C(?P<id>\d{1,9})\|(?P<what>[QSEW])(?:\|work_id=(?P<work>\d{1,18}))?\|\+(?P<at>\d{1,9}(?:\.\d{1,9})?)$"
)
_SIGNATURE = regex(r"^C(?P<id>\d{1,9})\|sig\|(?P<op>\w{1,40})\|(?P<rest>.*)$")
_NAMES = {"f32": "Float", "f64": "Double", "f16": "Half", "bf16": "BFloat16", "i32": "Int", "i64": "Long", "i16": "Short",
          "i8": "Char", "u8": "Byte", "bool": "Bool"}  # fmt: skip
_KINDS = regex(r"_(?:v_)?single$|_v$")


def accepts(_path: str, head: bytes) -> bool:
    """By the first line."""
    return _HEAD.match(head) is not None


class _File(msgspec.Struct):
    """What was read of one rank's log."""

    base_ns: int = 0
    signatures: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)
    comms: dict[str, tuple[int | None, int | None]] = msgspec.field(default_factory=dict)  # name → rank, size
    members: dict[str, list[int]] = msgspec.field(default_factory=dict)
    calls: list[dict[str, Any]] = msgspec.field(default_factory=list)
    waiting: dict[tuple[str, str], deque[dict[str, Any]]] = msgspec.field(default_factory=lambda: defaultdict(deque))
    counts: Counter[tuple[str, bool]] = msgspec.field(default_factory=Counter)
    has_lifecycle: bool = False


def parse(source: Source) -> Tables:
    """operations, ranks, groups; events other; lines of another form are `unread`."""
    read = _File()
    events: list[dict[str, Any]] = []
    unread: list[dict[str, Any]] = []
    claimed: list[dict[str, Any]] = []
    for number, text in text_lines(source):
        place = {"file": source.path, "line": number}
        if text.startswith("WARN|"):
            events.append(place | {"kind": "other", "code": "clog", "severity": "warning", "text": text[:2000]})
        elif _line(read, text, place):
            claimed.append(place)
        elif text.strip():
            unread.append(place | {"reason": "no line of a clog"})
    known = ((size or 0, rank) for rank, size in read.comms.values())
    size, own = max(known, key=lambda pair: pair[0], default=(0, None))
    rank = source.rank if source.rank is not None else own
    where = {"rank": rank, "host": source.host}
    unknown = {} if read.has_lifecycle else {"state": None, "retired": None}
    claim = where | {"file": source.path, "line": 1, "world_size": size or None, "how": "clog"}
    return tables_of(
        operations=[call | where | unknown for call in read.calls],
        ranks=[] if rank is None else [claim],
        groups=_groups(read, source, rank),
        events=[row | {"rank": rank, "rank_space": None if rank is None else "global"} for row in events],
        unread=unread[:100],
        claimed=claimed,
    )


def _line(read: _File, text: str, place: dict[str, Any]) -> bool:
    if found := _EVENT.match(text):
        _event(read, found, place)
    elif found := _SIGNATURE.match(text):
        pairs = dict(part.split("=", 1) for part in found["rest"].split("|") if "=" in part)
        read.signatures[found["id"]] = pairs | {"op": found["op"]}
    elif text.startswith("new_comm|"):
        pairs = dict(part.split("=", 1) for part in text.split("|") if "=" in part)
        read.comms[pairs.get("comm", "")] = whole(pairs.get("rank")), whole(pairs.get("world_size"))
    elif text.startswith("split|"):
        pairs = dict(part.split("=", 1) for part in text.split("|") if "=" in part)
        read.members[pairs.get("child", "")] = integers(pairs.get("ranks", ""))
    elif base := _BASE.match(text):
        read.base_ns = round(float(base[1]) * 1e3) * 10**6
    else:
        return re.match(r"G\d+\|R\d+\|", text) is not None
    return True


def _event(read: _File, found: re.Match[str], place: dict[str, Any]) -> None:
    key, what = found["id"], found["what"]
    at = read.base_ns + round(float(found["at"]) * 1e3) * 10**6
    if what == "Q":
        call = _call(read, key, place | {"time_created_ns": at})
        read.calls.append(call)
        for later in "SE":
            read.waiting[key, later].append(call)
    elif what in "SE" and read.waiting[key, what]:
        read.has_lifecycle = True
        call = read.waiting[key, what].popleft()
        if what == "S":
            call |= {"time_started_ns": at, "state": "started"}
        else:
            call |= {"time_completed_ns": at, "state": "completed", "retired": True}


def _call(read: _File, key: str, place: dict[str, Any]) -> dict[str, Any]:
    said = read.signatures.get(key, {})
    op, comm = said.get("op", ""), said.get("comm", "")
    is_p2p = op in ("send", "recv")
    read.counts[comm, is_p2p] += 1
    sizes = {
        name: f"[[{said[of]}]]" if of in said else None
        for name, of in (("input_sizes", "in_count"), ("output_sizes", "out_count"))
    }
    dtype = _NAMES.get(said.get("dtype", ""), said.get("dtype"))
    return place | sizes | {
        "group": comm or None, "desc": comm or None, "comm": comm or None, "backend": "torchcomms", "is_p2p": is_p2p,
        "kind": _KINDS.sub("", op) or None, "seq": read.counts[comm, is_p2p], "peer": whole(said.get("peer")), "root": whole(said.get("root")),
        "input_dtypes": f'["{dtype}"]' if dtype else None, "state": "scheduled", "retired": False,
    }  # fmt: skip


def _groups(read: _File, source: Source, rank: int | None) -> list[dict[str, Any]]:
    names = [name for name in dict.fromkeys([*read.comms, *read.members]) if name]
    return [
        {
            "rank": rank, "group": name, "desc": name, "comm": name, "size": (read.comms.get(name) or (None, None))[1] or len(read.members.get(name, [])) or None,
            "members": read.members.get(name), "members_space": "global" if name in read.members else None, "backend": "torchcomms", "how": "clog",
            "file": source.path, "line": 1,
        }
        for name in names
    ]  # fmt: skip


PARSER = FileParser(name="clog", accepts=accepts, parse=parse, whole=True)
