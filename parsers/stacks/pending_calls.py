"""Ledgers of pending calls: in which call of communication each process stands, a row for each, by whoever watches the calls.

    # columns: rank host pid call args since_s                                                                a PMPI watcher of one's own
    r2  grace02  5134  MPI_Ssend      dst=5 tag=311 count=18432 MPI_FLOAT comm=halo              1752  918192
    r4  grace03  5148  MPI_Allreduce  count=1 MPI_DOUBLE op=MAX comm=world(8)                    1749  918204
    {"rank": 4, "call": "recv", "peer": 6, "tag": 7, "comm": "pp", "open_s": 600}
    rank,state,op,peer,waiting_s

Table `stacks`, a row per process, its frame the call, `peer` the other end of a message, source `ledger`. A peer is a rank of the job where no group is
told, or the world, or where the peers of all rows of that group are ranks of rows of it: a group may count its members anew.

Printed by: profilers of MPI and wrappers of collectives of one's own.
Versions: any.
Source: not read: these are forms of programs of one's own.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from parsers.forms.reading import csv_cells, json_object, text_lines, whole
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, tables_of
from parsers.text import vocabulary
from parsers.text.op_types import spoken
from parsers.text.patterns import regex

_FEWEST = 3  # processes
_HEAD_LINES = 64
_PEERS = (
    "peer", "peer_rank", "dst", "dest", "destination", "src", "source", "partner", "other", "to", "from", "remote",
)  # fmt: skip
_GROUPS = ("comm", "group", "communicator", "pg", "process_group")
_CALLS = ("call", "op", "operation", "collective", "coll", "function", "fn", "what", "api")
_ROW = regex(
    r"\s{0,8}\[?(?:rank|r|p)?[ _=:]{0,2}(?P<rank>\d{1,7})\]?[:,|]?\s(?=.{0,200}?\b(?P<call>P?MPI_(?!FLOAT|DOUBLE|INT|BYTE|COMM|CHAR|LONG|MAX|MIN|SUM|[A-Z]+\b)[A-Z]\w{1,30}|[nrm]ccl[A-Z]\w{1,30})\b)"
)
_PAIR = regex(r"(?<![\w.])(?P<name>[a-z_]{2,20})=(?P<value>[\w.-]{1,80})")
_PID = regex(r"\s(\d{3,8})\s")
_MESSAGE = regex(r"(?i)(?:P?MPI_|[nrm]ccl)?(?:I?[bsr]?(?P<send>send)|I?m?(?P<recv>recv))(?:_init)?")
_WORLD = regex(r"(?i)(?:mpi_comm_)?world\b.{0,20}|default\w{0,6}|0")


def accepts(_path: str, head: bytes) -> bool:
    """Rows of three processes and more, each once, that stand in calls of communication."""
    lines = head.decode("utf-8", "replace").split("\n")[:_HEAD_LINES]
    return _is_ledger([one for _, one in _rows(enumerate(lines, 1))])


def _is_ledger(rows: Sequence[Mapping[str, Any]]) -> bool:
    ranks = [one["rank"] for one in rows]
    return len(ranks) >= _FEWEST and len({*ranks}) == len(ranks) and any(one["peer"] is not None for one in rows)


def parse(source: Source) -> Tables:
    """stacks, ranks."""
    found = [*_rows(text_lines(source))]
    if not _is_ledger([one for _, one in found]):
        return {}
    members: defaultdict[str, set[int]] = defaultdict(set)
    peers: defaultdict[str, set[int]] = defaultdict(set)
    for _, one in found:
        members[one["group"]].add(one["rank"])
        peers[one["group"]] |= {one["peer"]} - {None}
    stacks, claims = [], []
    for number, one in found:
        group = one["group"]
        is_global = not group or _WORLD.fullmatch(group) or peers[group] <= members[group]
        who = {"rank": one["rank"], "pid": one["pid"], "host": one["host"] or source.host}
        who |= {"file": source.path, "line": number}
        frame = {"function": one["function"], "file": None, "line": None}
        told = {"is_main": True, "snapshot": 0, "frames": [frame], "peer": one["peer"] if is_global else None}
        stacks.append(who | told | {"source": "ledger"})
        claims.append(who | {"how": "ledger of calls"})
    claimed = [{"file": source.path, "line": number} for number, _ in found]
    return tables_of(stacks=stacks, ranks=claims, claimed=claimed)


def _rows(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, dict[str, Any]]]:
    names: list[str] = []
    for number, text in lines:
        if found := json_object(text) if text.startswith("{") else None:
            told = _told(found)
        elif names and len(cells := csv_cells(text)) == len(names):
            told = _told(dict(zip(names, cells, strict=True)))
        elif row := _ROW.match(text):
            pid = _PID.search(text)
            more = {one["name"]: one["value"] for one in _PAIR.finditer(text)}
            fields = {"rank": row["rank"], "call": row["call"], "pid": pid[1] if pid else None}
            told = _told({name: value for name, value in more.items() if name != "op"} | fields)
        else:
            header = [name.strip().lower() for name in text.split(",")]
            names = header if len(header) > 2 and {*header} & {*_CALLS} and {*header} & {*_PEERS} else []
            told = None
        if told is not None:
            yield number, told


def _told(fields: Mapping[str, Any]) -> dict[str, Any] | None:
    """rank, function, peer, group, pid, host of one row; None where it tells no rank, or no call of communication."""
    known = {meaning: value for name, value in fields.items() if (meaning := vocabulary.meant(name))}
    rank = whole(known.get("rank"))
    call = next((str(fields[name]) for name in _CALLS if fields.get(name)), "")
    message = _MESSAGE.fullmatch(call)
    if rank is None or not (message or spoken(call)):
        return None
    peer = next((whole(fields[name]) for name in _PEERS if whole(fields.get(name)) is not None), None)
    group = next((str(fields[name]) for name in _GROUPS if fields.get(name) is not None), "")
    function = call if message is None else "send" if message["send"] else "recv"
    host = known.get("host")
    return {
        "rank": rank, "function": function, "peer": peer if message else None, "group": group,
        "pid": whole(known.get("pid")), "host": str(host) if host else None,
    }  # fmt: skip


PARSER = FileParser(name="pending_calls", accepts=accepts, parse=parse)
