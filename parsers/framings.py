"""The forms in which programs write records, each read once: a file → rows of name and value.

    {"rank": 3, "step": 5, "loss": NaN}                  a line each; also an object in a text of an object, as collectors wrap it
    [{"rank": 3, "step": 5}, …]  {"rank": [3, 3], "step": [5, 6]}  {'rank': 3,⏎ 'step': 5}   documents, literals of Python
    rank,step,loss   rank⇥step⇥loss   rank;step;loss     tables with a line of names
    | rank | step | loss |   +------+------+             of Markdown, psql and drawn ones
    rank  step  loss                                     in columns
    rank=3 step=5 loss=nan msg="two words"               logfmt
    rank: 3 | step 5 | loss: 2.1                         pairs in prose
    - rank: 3⏎  step: 5                                  reports in blocks
    1790000000 2.31 5                                    without names: a stamp or a count, and the name of the path (MLflow)

`FRAMINGS` holds a row for each. What is no row of its file's form is None, never an error. What the names mean is for
parsers/vocabulary.py to say.
"""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Any, NamedTuple

from parsers import lenient, vocabulary
from parsers.curves import HEADER, NUMBER, column_kinds, curve_rows
from parsers.documents import document_rows, first_names
from parsers.parser import Source
from parsers.patterns import regex
from parsers.reading import Row, Said, csv_cells, json_object, text_lines
from parsers.tables import TableName, Tables, table

_HEAD_CHARACTERS = 16384
_HEAD_LINES = 6
_BLOCK_LINES = 64
_CELL = 65536
_LINE = 4096
_RULE = regex(r"[\s|:+=-]{3,}")
_NAME = r"[A-Za-z_@#][\w./@()%-]{0,79}"
_ONE_NAME = regex(_NAME)
_PAIR = regex(
    rf"(?:^|(?<=[\s,;|(\[{{]))(?P<name>{_NAME})=(?P<value>\"(?:[^\"\\]|\\.)*\"|'[^']*'|[\[(][^\])]{{0,4096}}[\])]|[^\s,;|]*)"
)
_MARK = regex(r"\S[\s,;|=:]|[{\[|]|\+-")  # without one a line holds no two cells
_APART = regex(r"\s*\|\s*|[,;]\s+|\t|\s{2,}")
_SAYS = regex(
    rf"(?:- )?(?P<name>{_NAME}(?: [A-Za-z_()/][\w./()-]{{0,40}}){{0,4}}?)(?:\s*[:=]\s*| +(?=[-+.\d]|nan|inf|NaN|Inf))(?P<value>\S.{{0,4096}})"
)
_MENTION = regex(
    r"(?<![\w./-])(?P<name>[A-Za-z_][\w./@-]{0,60}(?: [A-Za-z_][\w./@-]{0,30}){0,2})(?: ?[:=] ?| )"
    r"(?P<value>[+-]?(?:\d[\d.]{0,30}(?:[eE][+-]?\d{1,3})?|(?i:nan|inf(?:inity)?))(?![\w./:-])|\"[^\"]{0,200}\")"
)
_WORD = regex(r"[A-Za-z]{2,}")
_BLOCK_ENDS = regex(r"\s*(?:-{3,}|={3,}|\*{3,}).*|\s*")
_TEXTS = ("log", "message", "msg", "line", "text", "body", "event", "data", "MESSAGE")


class Head(NamedTuple):
    """How a file begins. `lines`: its first ones that are not empty."""

    path: str
    text: str
    lines: Sequence[str]


class Framing(NamedTuple):
    """`names`: of the first record, none where the file has another form; `rows`: of a file of this form."""

    name: str
    names: Callable[[Head], Sequence[str]]
    rows: Callable[[Source], Iterator[Row]]


def names(path: str, head: bytes) -> frozenset[str]:
    """The names in the first record of a file; none where it has no form that is known."""
    found = _found(path, head)
    return frozenset(found[1]) if found else frozenset()


def framing(path: str, head: bytes) -> str | None:
    """The name of a file's form."""
    found = _found(path, head)
    return found[0].name if found else None


def rows(source: Source) -> Iterator[Row]:
    """(1-based line, text, row) of each record of a file whose first one tells its form. The row of a line of names is
    HEADER itself, of what does not fit it is None."""
    with source.open() as stream:
        found = _found(source.path, stream.read(_HEAD_CHARACTERS))
    return found[0].rows(source) if found else ((number, text, None) for number, text in text_lines(source))


def record(text: str) -> Said | None:
    """One line as a record, whatever its form; None where it is none."""
    start = text.lstrip()
    return _object(start) if start.startswith("{") else logfmt(text) or prose(text) or mentions(text)


def read_table(
    source: Source, name: TableName, made: Callable[[Said, str], Iterable[Mapping[str, Any]]], otherwise: str
) -> Tables:
    """The rows of a file → what is made of each (row, text) in the table `name`, lines of names `claimed`, and `unread`, with
    `otherwise` as reason, where nothing is made."""
    found: list[Mapping[str, Any]] = []
    claimed: list[Mapping[str, Any]] = []
    unread: list[Mapping[str, Any]] = []
    for number, text, said in rows(source):
        place = {"file": source.path, "line": number}
        if said is HEADER:
            claimed.append(place)
        elif said is not None and (own := [place | one for one in made(said, text)]):
            found += own
        else:
            unread.append(place | {"reason": otherwise})
    return {name: table(name, found), "claimed": table("claimed", claimed), "unread": table("unread", unread)}


@lru_cache(maxsize=2)  # of one head, which a dozen parsers ask for
def _found(path: str, head: bytes) -> tuple[Framing, Sequence[str]] | None:
    text = head[:_HEAD_CHARACTERS].decode("utf-8", "replace").lstrip("\ufeff \t\r\n\u3000")
    lines = [line.rstrip("\r") for line in islice(filter(str.strip, text.split("\n")), _HEAD_LINES)]
    if not lines or "\x00" in text[:64] or _MARK.search(lines[0]) is None:
        return None
    told = Head(path, text, lines)
    return next(((one, found) for one in FRAMINGS if (found := one.names(told))), None)


# --- an object a line ------------------------------------------------------------------------------------------------


def _object(text: str) -> Said | None:
    """The object on a line; one inside a text of it, as collectors wrap lines, says more."""
    said = json_object(text)
    if said is None and text.startswith("{") and (found := lenient.value(text[:_CELL])):
        said = found if isinstance(found, dict) else None
    if said is None:
        return None
    for name in _TEXTS:
        inner = said.get(name)
        if (
            isinstance(inner, str)
            and inner.lstrip()[:1] == "{"
            and isinstance(own := lenient.value(inner.strip()), dict)
        ):
            return {key: cell for key, cell in said.items() if vocabulary.meaning_of(key) and key != name} | own
    return said


def _object_names(head: Head) -> Sequence[str]:
    said = _object(head.lines[0].strip()) if head.text.startswith("{") else None
    return list(said) if said else []


def _document_names(head: Head) -> Sequence[str]:
    return first_names(head.text, _object(head.lines[0].strip()) if head.text.startswith("{") else None)


def _object_rows(source: Source) -> Iterator[Row]:
    for number, text in text_lines(source):
        if text.strip():
            yield number, text, _object(text.strip())


# --- tables with a line of names -------------------------------------------------------------------------------------


def _cells(text: str, mark: str) -> list[str]:
    if mark == "|":
        return [cell.strip() for cell in text.strip().strip("|").split("|")]
    if mark == " ":
        return text.split()
    if '"' not in text:
        return text.split(mark)
    try:
        return [cell.strip() for cell in next(csv.reader([text[:_CELL]], delimiter=mark), [])]
    except csv.Error:
        return csv_cells(text[:_CELL]) if mark == "," else text.split(mark)


def _table_names(mark: str) -> Callable[[Head], Sequence[str]]:
    def found(head: Head) -> Sequence[str]:
        told = [line for line in head.lines if not _is_rule(line, mark)]
        if not told or mark not in told[0] or told[0].startswith("{"):
            return []
        named = _header(told[0], mark)
        if mark == ",":
            return [] if NUMBER.fullmatch(named[0]) else named
        if len(named) < 2 or not all(map(_ONE_NAME.match, named)) or len(told) < 2:
            return []
        count = len(_cells(told[1], mark))
        return named if count == len(named) or (mark == " " and count == len(named) + 1) else []

    return found


def _header(line: str, mark: str) -> list[str]:
    cells = _cells(line.strip().removeprefix("#").strip() if mark != "|" else line, mark)
    return [cell.strip() for cell in cells]


def _is_rule(line: str, mark: str) -> bool:
    return mark in "| " and _RULE.fullmatch(line) is not None


def _table_rows(mark: str) -> Callable[[Source], Iterator[Row]]:
    def read(source: Source) -> Iterator[Row]:
        named: list[str] = []
        has_rules = mark in "| "
        for number, text in text_lines(source):
            start = text.lstrip()
            if not start:
                continue
            if start[0] == "{":
                yield number, text, json_object(text)
            elif not named or (has_rules and _is_rule(text, mark)):
                if not _is_rule(text, mark):
                    named = _header(text.lstrip("\ufeff"), mark)
                yield number, text, HEADER
            else:
                cells = _cells(text, mark)
                if len(cells) == len(named):
                    is_header = cells[0] == named[0] and cells == named  # who began again wrote the names again
                    yield number, text, HEADER if is_header else dict(zip(named, cells, strict=True))
                elif (
                    mark == " " and len(cells) == len(named) + 1 and cells[0].isdigit()
                ):  # pandas counts the rows before them
                    yield number, text, dict(zip(named, cells[1:], strict=True))
                else:
                    yield number, text, None

    return read


# --- pairs in a line -------------------------------------------------------------------------------------------------


def logfmt(text: str) -> Said | None:
    """`rank=3 step=5 msg="two words"`; None where the line holds anything else."""
    text = text[:_CELL]
    found = {match["name"]: _cell(match["value"]) for match in _PAIR.finditer(text)}
    return found if len(found) > 1 and not _PAIR.sub("", text).strip(" \t,;|(){}[]") else None


def prose(text: str) -> Said | None:
    """`rank: 3 | step 5 | loss: 2.1`; None where a part of the line is no pair."""
    parts = [part for part in _APART.split(text.strip()[:_CELL].strip("|")) if part.strip()]
    said: Said = {}
    for part in parts:
        match = _SAYS.fullmatch(part.strip())
        if match is None:
            return None
        said[match["name"].removeprefix("- ")] = _cell(match["value"])
    return said if len(said) > 1 else None


def mentions(text: str) -> Said | None:
    """The pairs of a line that says little else: names with numbers behind them, a name the last words before its number of which
    something is known. None where more words stand beside them than pairs: a sentence mentions figures, and is no record."""
    text = text[:_LINE]
    said: Said = {}
    for match in _MENTION.finditer(text):
        words = match["name"].split()
        said |= {" ".join(words): _cell(match["value"])}
    others = len(_WORD.findall(_MENTION.sub(" ", text)))
    return said if len(said) > 1 and others <= len(said) else None


def _cell(text: str) -> Any:
    text = text.strip()
    if text[:1] in ('"', "'") and text[-1:] == text[:1] and len(text) > 1:
        inner = lenient.value(text)
        return inner if isinstance(inner, str) else text[1:-1]
    return text


def _line_names(read: Callable[[str], Said | None]) -> Callable[[Head], Sequence[str]]:
    def found(head: Head) -> Sequence[str]:
        said = [read(line) for line in head.lines[:3]]
        return list(said[0]) if said[0] and all(one is not None and said[0].keys() & one.keys() for one in said) else []

    return found


def _line_rows(read: Callable[[str], Said | None]) -> Callable[[Source], Iterator[Row]]:
    def rows_of(source: Source) -> Iterator[Row]:
        for number, text in text_lines(source):
            if text.strip():
                yield number, text, read(text)

    return rows_of


# --- reports in blocks -----------------------------------------------------------------------------------------------


def _block_names(head: Head) -> Sequence[str]:
    said: Said = {}
    for line in islice(filter(str.strip, head.text.splitlines()), _BLOCK_LINES):
        match = _SAYS.fullmatch(line.strip())
        if match is None or match["name"] in said or (said and line.startswith("- ")):
            break
        said[match["name"]] = match["value"]
    return list(said) if len(said) > 1 else []


def _block_rows(source: Source) -> Iterator[Row]:
    """A record ends at an empty line, a rule, a dash of a list, or where a name comes again."""
    said: Said = {}
    begin, first = 0, ""
    for number, text in chain(text_lines(source), [(0, "")]):
        match = _SAYS.fullmatch(text.strip())
        if said and (match is None or match["name"] in said or text.startswith("- ")):
            yield begin, first, said
            said = {}
        if match is not None:
            begin, first = (number, text) if not said else (begin, first)
            said[match["name"]] = _cell(match["value"])
        elif text.strip() and not _BLOCK_ENDS.fullmatch(text):
            yield number, text, None


# The first whose names are found has the file.
FRAMINGS: tuple[Framing, ...] = (
    Framing("document", _document_names, document_rows),
    Framing("objects", _object_names, _object_rows),
    Framing("curve", lambda head: column_kinds(head.path, head.lines), curve_rows),
    Framing("logfmt", _line_names(logfmt), _line_rows(logfmt)),
    Framing("prose", _line_names(prose), _line_rows(prose)),
    Framing("drawn", _table_names("|"), _table_rows("|")),
    Framing("blocks", _block_names, _block_rows),
    Framing("tabs", _table_names("\t"), _table_rows("\t")),
    Framing("semicolons", _table_names(";"), _table_rows(";")),
    Framing("commas", _table_names(","), _table_rows(",")),
    Framing("aligned", _table_names(" "), _table_rows(" ")),
)
