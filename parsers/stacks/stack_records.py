"""Stacks as records of any service: JSON, a line or a document for each process, with a list of frames somewhere in it.

    {"r": 9, "h": "dgx2", "p": 8917, "th": [{"n": "MainThread", "fr": ["socket.py:704 readinto", "comm/ring.py:155 all_reduce"]}]}
    {"rank": 3, "pid": 910, "threads": [{"name": "main", "frames": [{"function": "poll", "file": "libc.so.6", "line": 0}]}]}
    [{"rank": 3, "stack": ["#0 poll at libc.so.6:0", "#1 ring_allreduce at /app/comm/ring.cc:88"]}]
    {"tcp://10.2.4.7:40213": {"train-59ab": ["  File \"/opt/train.py\", line 9, in main\\n\\tstep()\\n", …]}, …}         by what a process is called

What its fields are called does not matter: a list of two and more things of which each tells a function and its place, a text in one of the usual
forms or fields for both, is a stack, and so is a text of several lines of frames. Whose it is tells the field for a rank, or what the bundle calls a rank's
in a field or as the key of a mapping; where none is called so, the only field whose numbers are just
0 … N-1 over all records, each once in a file. Frames stand innermost first but where the outermost ones (main, <module>, run) come first, or where a head
says so. The main thread is the one that is called so, the only one, or the first.

Printed by: watchdogs and stack services of one's own. py-spy's own JSON is read by py_spy.py.
Versions: any.
Source: not read: these are forms of programs of one's own.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from parsers.forms.reading import all_bytes, json_object, whole
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, tables_of
from parsers.text import vocabulary
from parsers.text.patterns import regex
from parsers.text.stamps import parse_time

_BYTES = 1 << 28
_DEPTH = 4
_STAMP = 40  # characters
_FEWEST = 3  # records of which a field without a known name tells the ranks
_PLACE = r"[\w./<>+-]{1,300}\.[A-Za-z]\w{0,5}(?:\.\d{1,2})*"
_FORMS = (
    regex(rf"(?:#?\d{{1,4}}:? +)?(?P<file>{_PLACE}):(?P<line>\d{{1,7}}):? +(?:in +)?(?P<function>[\w:.<>~$*&, ]{{1,200}}?)\(?\)?"),
    regex(rf"(?:#?\d{{1,4}}:? +)?(?P<function>[\w:.<>~$*&]{{1,200}})(?:\([^)]{{0,200}}\))?,? +(?:at|in|@|\()? ?\(?(?P<file>{_PLACE}):(?P<line>\d{{1,7}})\)?"),
    regex(r'(?s)File "(?P<file>[^"]{1,300})", line (?P<line>\d{1,7}), in (?P<function>\S{1,200}).{0,300}'),
)  # fmt: skip
_FUNCTION = ("function", "func", "fn", "name", "symbol", "method", "fun", "f")
_FILE = ("file", "filename", "path", "source", "src", "module", "unit", "lib", "library")
_LINE = ("line", "lineno", "line_number", "ln", "l")
_OUTERMOST = regex(r"(?:__libc_start_\w+|_start|main|<module>|start_thread|clone3?|_?run\w{0,20}|_bootstrap\w{0,20})")
_MAIN = regex(r"(?i)main(?:[ _-]?thread)?")
_OUTER_FIRST = regex(rb"(?i)outermost[ _-]first|most recent (?:call )?last|innermost[ _-]last")
_LIST = regex(rb'\[\s*(?:"(?:[^"\\]|\\.){3,300}"|\{[^{}\[\]]{8,400}\})\s*[,\]]')
_TEXT = regex(rb'"(?:\s|\\[nt])*File \\"(?:[^"\\]|\\.){3,300}?\\", line \d{1,7}, in ')
_RAISED = "Traceback (most recent call last)"
_THREAD_NAMES = ("name", "thread", "thread_name", "n", "title")
_STATES = ("state", "status")
_KEY = "\0key"  # no name of a field: what a record is called in a mapping
_OF_RANK = regex(r"(?i)(?:global[_ -]?)?rank[_ .:#-]{0,2}(\d{1,7})")
_HOST, _PID = regex(r"[A-Za-z][\w.-]{1,252}|(?:\d{1,3}\.){3}\d{1,3}"), 100
_TEXTS = regex(r'(?m)^\s*(?:#\d{1,4} )?File "[^"\n]{1,300}", line \d{1,7}, in \S[^\n]{0,300}')

_Frame = dict[str, Any]


def accepts(_path: str, head: bytes) -> bool:
    """JSON, with a stack in one of its first records."""
    start = head.lstrip()
    has_texts = start[:1] in (b"{", b"[") and _TEXT.search(head[:65536]) is not None
    if start[:1] not in (b"{", b"[") or not (has_texts or _LIST.search(head[:65536])):
        return False
    lines = [line for line in start[:65536].split(b"\n") if line.strip()]
    records = [found for line in lines[:4] if (found := json_object(line)) is not None]
    if records:
        return any(_threads(one) for one in records)
    if has_texts:
        return True
    texts = (found.group()[1:].rstrip(b",] \n") for found in _LIST.finditer(start[:65536]))
    return any(_frame(value) is not None for text in list(texts)[:64] if (value := _value(text)) is not None)


def _value(text: bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError):
        return None


def parse(source: Source) -> Tables:
    """stacks, ranks; records without a stack are left to nobody."""
    data = all_bytes(source, _BYTES)
    if data is None:
        return {}
    records = [*_records(data)]
    known = [(line, one, threads) for line, one in records if (threads := _threads(one))]
    if not known:
        return {}
    by = _rank_field([one for _, one, _ in known])
    is_outer_first = bool(_OUTER_FIRST.search(data[:4096]))
    stamps = {time for _, one in records if (time := _time(one)) is not None}
    stamp = stamps.pop() if len(stamps) == 1 else None
    rows: list[dict[str, Any]] = []
    claims: list[dict[str, Any]] = []
    for line, one, threads in known:
        place = {"file": source.path, "line": line}
        rank = whole(one.get(by)) if by is not None else None
        rank = rank if rank is not None else _called(one, source)
        told = {meaning: value for name, value in one.items() if (meaning := vocabulary.meant(name))}
        pid, host = whole(told.get("pid", one.get("p"))), told.get("host", one.get("h"))
        if (key := str(one.get(_KEY, ""))) and rank is None:
            pid = int(key) if pid is None and key.isdecimal() and int(key) >= _PID else pid
            host = key if host is None and _HOST.fullmatch(key) else host
        who = {"rank": rank, "pid": pid, "host": host if isinstance(host, str) else source.host}
        main = next((at for at, (name, _, _) in enumerate(threads) if _MAIN.fullmatch(name or "")), 0)
        for at, (name, state, frames) in enumerate(threads):
            whole_stack = frames[::-1] if is_outer_first or _is_outer_first(frames) else frames
            own = {"thread": name, "thread_name": name, "is_main": at == main, "status": state, "snapshot": 0}
            rows.append(who | own | {"time_ns": stamp, "frames": whole_stack, "source": "records"} | place)
        if rank is not None:
            claims.append(who | {"how": "stack record"} | place)
    return tables_of(stacks=rows, ranks=claims)


def _called(record: Mapping[str, Any], source: Source) -> int | None:
    """Whose a record is by what it is called: as a rank, or as the bundle calls one."""
    if found := _OF_RANK.fullmatch(str(record.get(_KEY, ""))):
        return int(found[1])
    texts = ((name, value) for name, value in record.items() if isinstance(value, str))
    return source.labels.names.of_cells(value for name, value in texts if not vocabulary.points_elsewhere(name))


def _records(data: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line, record) of lines of JSON, or of one document."""
    document = _value(data)
    if isinstance(document, dict):
        below = [one for value in document.values() if isinstance(value, dict) for one in _by_name(value)]
        if named := _by_name(document) or below:
            yield from ((1, one) for one in named)
            return
        inner = [value for value in document.values() if isinstance(value, list) and _has_stacks(value)]
        others = {name: value for name, value in document.items() if inner and value is not inner[0]}
        if not inner or _threads(others) or _is_one(document):
            yield 1, document
            return
        document = inner[0]
    if isinstance(document, list):
        yield from ((1, one) for one in document if isinstance(one, dict))
        return
    for number, line in enumerate(data.split(b"\n"), 1):
        if (found := json_object(line)) is not None:
            yield number, found


def _by_name(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The records of a mapping of processes, each with what it is called; nothing of one of a process's threads."""
    if len(document) < 2 or any(map(_MAIN.fullmatch, document)) or _is_one(document):
        return []
    told = [value if isinstance(value, dict) else {"stack": value} for value in document.values()]
    if not all(map(_threads, told)):
        return []
    inner = [_by_name(value) if isinstance(value, dict) else [] for value in document.values()]
    return [
        {"host": key} | own if own is not one else {**one, _KEY: key}
        for key, one, below in zip(document, told, inner, strict=True)
        for own in below or [one]
    ]


def _is_one(document: Mapping[str, Any]) -> bool:
    """Is a document of one process, which tells its own rank or pid beside its threads?"""
    return any(vocabulary.meant(name) in ("rank", "pid") for name in document)


def _has_stacks(values: Sequence[Any]) -> bool:
    return any(isinstance(one, dict) and _threads(one) for one in values[:4])


def _threads(record: Mapping[str, Any], depth: int = _DEPTH) -> list[tuple[str | None, str | None, list[_Frame]]]:
    """(name, state, frames as they stand) of the threads of one record, wherever in it their lists of frames are."""
    found: list[tuple[str | None, str | None, list[_Frame]]] = []
    for value in record.values():
        if isinstance(value, str):
            is_stack = "\n" in value and 'File "' in value and _RAISED not in value
            value = _TEXTS.findall(value) if is_stack else value
        if isinstance(value, list) and len(value) > 1 and all(frames := [_frame(one) for one in value]):
            told = [one for one in frames if one]
            found.append((_first_text(record, _THREAD_NAMES), _first_text(record, _STATES), told))
        elif depth and isinstance(value, dict):
            found += _threads(value, depth - 1)
        elif depth and isinstance(value, list):
            found += [one for inner in value if isinstance(inner, dict) for one in _threads(inner, depth - 1)]
    return found


def _first_text(record: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    return next((record[key] for key in keys if isinstance(record.get(key), str)), None)


def _frame(value: Any) -> _Frame | None:
    """A frame of a list; None where it is none."""
    if isinstance(value, str):
        told = next((found for form in _FORMS if (found := form.fullmatch(value.strip()))), None)
        return told and {"function": told["function"].strip(), "file": told["file"], "line": int(told["line"])}
    if not isinstance(value, dict):
        return None
    function, file = _first_text(value, _FUNCTION), _first_text(value, _FILE)
    line = next((number for key in _LINE if (number := whole(value.get(key))) is not None), None)
    is_frame = function is not None and (file is not None or line is not None)
    return {"function": function, "file": file, "line": line or None} if is_frame else None


def _is_outer_first(frames: Sequence[_Frame]) -> bool:
    """Do the outermost frames come first, and not last?"""
    first, last = (str(one["function"]).rpartition("::")[2].rpartition(".")[2] for one in (frames[0], frames[-1]))
    return _OUTERMOST.fullmatch(first) is not None and _OUTERMOST.fullmatch(last) is None


def _rank_field(records: Sequence[Mapping[str, Any]]) -> str | None:
    """The field that tells whose a record is."""
    if named := [name for name in records[0] if vocabulary.meant(name) == "rank"]:
        return named[0]
    columns = {name: [whole(one.get(name)) for one in records] for name in records[0] if len(records) >= _FEWEST}
    fitting = [name for name, own in columns.items() if None not in own and sorted(own) == [*range(len(own))]]  # type: ignore[type-var]
    return fitting[0] if len(fitting) == 1 else None


def _time(record: Mapping[str, Any]) -> int | None:
    """The one time with a zone that a record tells."""
    told = {parse_time(value) for value in record.values() if isinstance(value, str) and len(value) <= _STAMP}
    times = {time for time, basis in told if basis == "utc"}
    return times.pop() if len(times) == 1 else None


PARSER = FileParser(name="stack_records", accepts=accepts, parse=parse)
