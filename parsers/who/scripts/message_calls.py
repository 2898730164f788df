"""Where the sources of a bundle send or receive a message, and what their other end is computed from.

    right, left = (me + 1) % n, (me - 1) % n          comm.Send(edge, dest=right, tag=7)          MPI_Recv(buf, 8, MPI_DOUBLE, left, 7, comm, &st);

A row for each line of such a call: what it is by its name, its arguments as they stand, and what the names in them, and the names in that, are given. What a
name is given twice, in two ways, it is not given. Messages that nobody waits for (`isend`, `Irecv`), and those with two other ends (`Sendrecv`), are none. A stack that
stands at such a line of a source is in that call (forensics/assemble/who/called_peers.py).
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from parsers.schema.event_kinds import CALL, PRINTED
from parsers.schema.parser import Source
from parsers.text.patterns import regex
from parsers.text.unanimous import unanimous
from parsers.who.lines.beginnings import Begun, first_bytes

_SUFFIXES = (".py", ".pyx", ".c", ".cc", ".cpp", ".cxx", ".cu", ".f90", ".jl", ".rs", ".go", ".java")
_BYTES, _FILES, _CALLS, _LINES = 256 << 10, 256, 64, 6  # of a source; sources; calls of one; lines of a call
_MESSAGE = regex(
    r"(?<![\w])(?P<call>(?:[A-Za-z_]\w{0,40}(?:\.|::|->)){0,4}(?:P?MPI_)?(?P<op>[BSR]?[Ss]end|[Rr]ecv|[Rr]eceive)(?:_\w{1,30}|[A-Z]\w{0,30})?)\s{0,2}\("
)
_OTHERS = regex(
    r"(?i)sendrecv|send_?(?:init|recv|counts?|buf)|recv_?(?:init|counts?|buf)|_(?:rank|size|bytes|async|nowait)"
)
_DEFINES = regex(r"\b(?:def|class|void|int|func|fn|sub)\s+$")
_GIVEN = regex(
    r"(?:^|[;:{])\s*(?:(?:const|int|long|auto|let|var|final|unsigned|integer)\s+){0,3}(?P<names>[A-Za-z_]\w{0,40}(?:\s?,\s?[A-Za-z_]\w{0,40}){0,5})\s?:?=(?!=)\s?(?P<values>[^=;#\n][^;#\n]{0,300})"
)
_FILLED = regex(r"(?i)\b(?P<call>[A-Za-z]\w{0,20}(?:rank|size))\s?\([^()&\n]{0,60}&\s?(?P<name>[A-Za-z_]\w{0,40})\s?\)")
_NAME = regex(r"[A-Za-z_]\w{0,40}")
_NUMBER = regex(r"(?<![\w.-])(?P<name>[A-Za-z_]\w{0,40})[\"']?\s?[=:]\s?(?P<value>\d{1,7})(?![\w.:])")
_CHARACTERS, _DEPTH, _AGAIN = 400, 4, 64


def message_calls(sources: Iterable[Source], said: Begun) -> Iterator[dict[str, Any]]:
    """Rows of `ranks`, `name` a text of JSON: each line of such a call; and what lines of the bundle print of the names in them."""
    wanted: set[str] = set()
    scripts = [one for one in sources if one.path.endswith(_SUFFIXES) and 0 < one.size <= _BYTES]
    for source in scripts[:_FILES]:
        for row, names in _calls(source.path, first_bytes(source, _BYTES).decode("utf-8", "replace")):
            wanted |= names
            yield row
    told: Counter[tuple[str, int | None, str]] = Counter()  # what is said again and again is a count of steps
    for one in (one for own in said.values() for one in own) if wanted else ():
        found = {at["name"]: int(at["value"]) for at in _NUMBER.finditer(one.raw[:_CHARACTERS]) if at["name"] in wanted}
        found = {name: number for name, number in found.items() if told[one.file, one.line.rank, name] < _AGAIN}
        if found and not one.file.endswith(_SUFFIXES):
            told.update((one.file, one.line.rank, name) for name in found)
            place = {"file": one.file, "line": one.number, "rank": one.line.rank}
            yield {"how": PRINTED, "name": json.dumps(found), **place}


def _calls(path: str, text: str) -> Iterator[tuple[dict[str, Any], set[str]]]:
    found = [one for one in _MESSAGE.finditer(text) if not _OTHERS.search(one["call"])]
    found = [one for one in found if not _DEFINES.search(text[max(0, one.start() - 20) : one.start()])][:_CALLS]
    given = unanimous(_given(text) if found else ())
    for one in found:
        inside = _inside(text, one.end())
        if inside is None:
            continue
        arguments = apart(inside)
        names = {name for argument in arguments for name in _NAME.findall(argument)}
        for _ in range(_DEPTH):
            names |= {name for known in names & given.keys() for name in _NAME.findall(given[known])}
        told = {
            "op": "recv" if "rec" in one["op"].lower() else "send",
            "call": one["call"],
            "arguments": arguments,
            "given": {name: given[name] for name in sorted(names & given.keys())},
        }
        first = text.count("\n", 0, one.start()) + 1
        for line in range(first, first + min(inside.count("\n"), _LINES) + 1):
            yield {"how": CALL, "name": json.dumps(told), "file": path, "line": line}, names


def _given(text: str) -> Iterator[tuple[str, str]]:
    """Names, and what a source gives them."""
    for line in text.split("\n"):
        for one in _GIVEN.finditer(line[:_CHARACTERS]):
            names, values = [name.strip() for name in one["names"].split(",")], apart(one["values"])
            yield from zip(names, values, strict=True) if len(names) == len(values) else ()
        yield from ((one["name"], f"{one['call']}()") for one in _FILLED.finditer(line[:_CHARACTERS]))


def _inside(text: str, begin: int) -> str | None:
    """What stands between a parenthesis that has opened and the one that closes it."""
    depth = 1
    for at in range(begin, min(len(text), begin + _CHARACTERS)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return text[begin:at]
    return None


def apart(text: str) -> list[str]:
    """The parts of a list, by the commas that stand within nothing else."""
    parts, depth, begin = [], 0, 0
    for at, sign in enumerate(text):
        depth += 1 if sign in "([{" else -1 if sign in ")]}" else 0
        if sign == "," and depth == 0:
            parts.append(text[begin:at].strip())
            begin = at + 1
    return [*parts, text[begin:].strip()]
