"""Records in documents: arrays and objects of JSON, literals of Python one after another, however they are broken into lines.

    [{"rank": 3, "step": 5, "loss": NaN},
     {"rank": 3, "step": 6, "loss": NaN}]
    {"rank": 3, "log_history": [{"step": 5, "loss": 2.1}, {"step": 6, "loss": 2.0}]}
    {"step": [5, 6], "loss": [2.1, 2.0]}
    {'step': 5,
     'loss': nan}
    torchrun train.py⏎ {'step': 5,⏎  'loss': nan}        a log in which each record begins a line: what is between them is for others

An object is a record itself, or holds a list of them, or a list for each column; what it says besides of somebody's identity is so of
all of them.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from parsers.forms.reading import HEADER, Row, Said, whole_text
from parsers.schema.parser import Source
from parsers.text import lenient
from parsers.text.patterns import regex
from parsers.text.vocabulary import meant

DOCUMENT_BYTES = 64 << 20
_TRIED = 8  # braces at the beginning of a document that goes on, of which one must be that of its first record
_SHOWN = 200
_OPENED = regex(r"(?m)^\{(?=\s*['\"][^{}\n]{1,400},\s*$)")  # a line that begins a record and leaves it open
_IDENTITY = ("rank", "host", "pid", "local_rank", "device", "attempt", "pod", "step", "epoch")


def first_names(text: str, alone: Said | None) -> list[str]:
    """The names of the first record of a document that begins so; none where it is none, or `alone`, the object on its first
    line, is a record itself."""
    if text[:1] not in ("{", "[") and (inside := _OPENED.search(text)):
        text, alone = text[inside.start() :], None
    if text[:1] not in ("{", "[") or (alone is not None and next(records(alone), alone) is alone):
        return []
    try:
        found = lenient.value_at(text)[0]
    except ValueError:  # longer than this: its first record is enough
        found = _cut(text)
    return list(next(records(found), ()))


def _cut(text: str) -> Any:
    """The first object in a document that goes on."""
    at = 0
    for _ in range(_TRIED):
        at = text.find("{", at + 1)
        if at < 0:
            break
        try:
            found = lenient.value_at(text, at)[0]
        except ValueError:
            continue
        return found if isinstance(found, dict) else None
    return None


def records(found: Any) -> Iterator[Said]:
    """The records of a decoded document."""
    if isinstance(found, list):
        yield from (one for one in found if isinstance(one, dict))
        return
    if not isinstance(found, dict):
        return
    lists = {name: cell for name, cell in found.items() if isinstance(cell, list) and cell}
    inner = [cell for cell in lists.values() if all(isinstance(one, dict) for one in cell)]
    plain = {name: cell for name, cell in found.items() if not isinstance(cell, list | dict)}
    if len(inner) == 1:
        common = {name: cell for name, cell in plain.items() if meant(name) in _IDENTITY}
        for one in inner[0]:
            own = {*map(meant, one)}  # under whatever name
            yield {name: cell for name, cell in common.items() if meant(name) not in own} | one
    elif len(lists) > 1 and len({len(cell) for cell in lists.values()}) == 1 and not inner:
        yield from (plain | dict(zip(lists, cells, strict=True)) for cells in zip(*lists.values(), strict=True))
    elif found:
        yield found


def document_rows(source: Source) -> Iterator[Row]:
    """(line where the first name of the record stands, its first line, record); None for what cannot be read, and then it ends."""
    if (text := whole_text(source, DOCUMENT_BYTES, "a document")) is None:
        return
    at, line, counted = 0, 1, 0
    own: set[int] = set()
    is_log = text.lstrip()[:1] not in ("{", "[")
    while (begin := _opened(text, at) if is_log else _next(text, at)) >= 0:
        line, counted = line + text.count("\n", counted, begin), begin
        try:
            found, at = _whole(text, begin)
        except ValueError:
            if is_log:
                at = begin + 1
                continue
            yield line, text[begin : begin + _SHOWN], None
            return
        first = line
        for place, one in _placed(text, begin, found):
            line, counted = line + text.count("\n", counted, place), place
            own.add(line)
            yield line, text[place : place + _SHOWN].split("\n", 1)[0], one
        line, counted = line + text.count("\n", counted, at), max(counted, at)
        yield from ((number, "", HEADER) for number in range(first, line + 1) if number not in own)


def _whole(text: str, begin: int) -> tuple[Any, int]:
    if begin == 0:
        try:
            return msgspec.json.decode(text), len(text.rstrip())
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            pass
    return lenient.value_at(text, begin)


def _placed(text: str, begin: int, found: Any) -> Iterator[tuple[int, Said]]:
    """(where its last name that is its own alone stands, record): rows of a list are looked for by it, one after another."""
    place, names = begin, [""]
    for at, one in enumerate(records(found)):
        if not at:
            own = list(one)[-1] if one else ""
            names = [name for quote in "\"'" if text.find(name := f"{quote}{own}{quote}", begin) >= 0][:1]
        if names and (later := text.find(names[0], place + bool(at))) >= 0:
            place = later
        else:
            names = []  # nothing more is to be found
        yield place, one


def _opened(text: str, at: int) -> int:
    found = _OPENED.search(text, at)
    return found.start() if found else -1


def _next(text: str, at: int) -> int:
    places = [place for mark in "{[" if (place := text.find(mark, at)) >= 0]
    return min(places, default=-1)
