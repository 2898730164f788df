"""The forms in which programs write records, each read once: a file → rows of name and value.

    {"rank": 3, "step": 5, "loss": NaN}                  a line each; also an object in a text of an object, as collectors wrap it
    [{"rank": 3, "step": 5}, …]  {"rank": [3, 3], "step": [5, 6]}  {'rank': 3,⏎ 'step': 5}   documents, literals of Python
    rank,step,loss   rank⇥step⇥loss   rank;step;loss     tables with a line of names
    | rank | step | loss |   +------+------+             of Markdown, psql and drawn ones
    rank  step  loss                                     in columns
    rank=3 step=5 loss=nan msg="two words"               logfmt
    rank: 3 | step 5 | loss: 2.1                         pairs in prose
    - rank: 3⏎  step: 5                                  reports in blocks, also with parts of their own (YAML)
             rank0  rank1⏎  step⏎  1  2.1  2.2        frames of pandas
    wq: {nan: 0, absmax: 0.1}                            sets of statistics that documents nest
    | train/ | |⏎|   n_updates | 22 |⏎|   loss | 2.1 |      boxes of names and values, one for each step
    step 12⏎  rank  loss⏎     [step.12]⏎ loss = 2.1      tables of a step each, under headings; reports with a part for each step, or a document
    <step n="5"><rank id="3" loss="nan"/></step>         elements of XML
    name,step_10,step_20                                 a column for each step
    step,node-1,node-2                                   a column for each process; of what, the name of the path or of the series
    1790000000 2.31 5                                    without names: a stamp or a count, and the name of the path (MLflow)

`FRAMINGS` holds a row for each. What is no row of its file's form is None, never an error. Of names parsers/text/vocabulary.py knows the meaning.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from io import BytesIO
from itertools import chain, islice
from typing import NamedTuple

from parsers.forms.boxed import boxed_names, boxed_rows
from parsers.forms.curves import NUMBER, column_kinds, curve_rows
from parsers.forms.documents import document_rows, first_names
from parsers.forms.frames import frame_names, frame_rows
from parsers.forms.marked import marked_names, marked_rows
from parsers.forms.nested import nested_names, nested_rows
from parsers.forms.numbered import numbered
from parsers.forms.outlined import outlined_names, outlined_rows
from parsers.forms.pairs import COUNT as COUNT
from parsers.forms.pairs import NAME, SAYS, cell, logfmt, mentions, prose
from parsers.forms.reading import CELL, RULE, Row, Said, cells_of, json_object, text_lines, undrawn, whole
from parsers.forms.reading import HEADER as HEADER
from parsers.forms.seated import seated
from parsers.forms.sections import section_names, section_rows
from parsers.forms.turned import turned_names, turned_rows
from parsers.forms.wide import wide_names, wide_rows
from parsers.schema.names import Names
from parsers.schema.parser import Source
from parsers.schema.tables import TableName, Tables, table
from parsers.text import lenient, vocabulary
from parsers.text.patterns import regex
from parsers.text.quantities import bare_numbers

_HEAD_CHARACTERS = 16384
_PAIR = 2  # columns of a table of settings
_HEAD_LINES, _TITLE_LINES, _BLOCK_LINES = 6, 40, 64
_BEFORE_OBJECT = 64
_ONE_NAME = regex(rf"{NAME}|[^\W\d_][\w./@()%-]{{0,79}}")  # in any script
_CLOCK = regex(r"\d\d:\d\d:\d\d$")  # of a line of a log, before a comma and its milliseconds
_MARK = regex(r"\S[\s,;|=:]|[{\[|<]|\+-")  # without one a line holds no two cells
_LEVELS = "TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|CRITICAL|FATAL"
# What a logger sets before a line.
_LEVEL = regex(rf"^\s{{0,8}}\[\s{{0,8}}(?:{_LEVELS})\s{{0,8}}\]:?\s{{0,8}}(?:- (?=\S))?")
_WRITER = regex(
    rf"\s{{0,8}}(?:(?:{_LEVELS})\b[^:;|,=]{{0,80}}|[^:;|,=]{{1,80}}[\])>]):\s{{1,4}}(?=[A-Za-z_][\w./-]{{0,60}}[ =#]{{1,2}}\d)"
)  # who it says writes it, before a count
_WORDS = regex(r"[A-Za-z_]{2,40}")
_DOCUMENT = "---"  # begins one of YAML
_BLOCK_OPENS = regex(r"\s*[A-Za-z_][\w./-]{0,60}:\s*")  # of a part that is indented below it
_BLOCK_ENDS = regex(r"\s*(?:-{3,}|={3,}|\*{3,}).*|\s*")
_REMARK = ("#", "//", "%", ";;", "$ ")
TABLES = ("drawn", "tabs", "semicolons", "commas", "aligned", "frames")  # framings with a line of names
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
    return frozenset(found[1]) if (found := _found(path, head[:_HEAD_CHARACTERS])) else frozenset()


def framing(path: str, head: bytes) -> str | None:
    """The name of a file's form."""
    return found[0].name if (found := _found(path, head[:_HEAD_CHARACTERS])) else None


def first(path: str, head: bytes) -> Said:
    """The first record of a file, as far as its first bytes hold it; empty where it cannot be read."""
    return next(records(path, head), {})


def records(path: str, data: bytes) -> Iterator[Said]:
    """The records that bytes of a file hold."""
    return (said for _, _, said in rows_in(path, data) if said)


def rows_in(path: str, data: bytes) -> Iterator[Row]:
    """The rows of bytes of a file."""
    return rows(Source(path, len(data), partial(BytesIO, data)))


def rows(source: Source) -> Iterator[Row]:
    """(1-based line, text, row) of each record of a file whose first one tells its form. The row of a line of names is
    HEADER itself, of what does not fit it is None."""
    with source.open() as stream:
        found = _found(source.path, stream.read(_HEAD_CHARACTERS))
    if found is None:
        return ((number, text, None) for number, text in text_lines(source))
    told = found[0].rows(source)
    names = source.labels.names
    if source.rank is not None or not names:
        return told
    return numbered(seated(_named(told, names), names), names)


def _named(told: Iterator[Row], names: Names) -> Iterator[Row]:
    """The same with the rank of whom a cell names, an address, a pod, a device of a host (two cells: its address there), where the record tells no rank and all its names
    are one's."""
    for number, text, said in told:
        if said is None or said is HEADER or "rank" in said:
            yield number, text, said
            continue
        rank = names.counted(said)
        if rank is None:
            own = {name: cell for name, cell in said.items() if not vocabulary.points_elsewhere(name)}
            rank = names.of_cells(own.values())
            rank = names.of_bus([*own.values(), said.get("node")]) if rank is None else rank
            rank = names.of_seat(own) if rank is None else rank
            rank = names.of_numbers(own) if rank is None and names.numbered else rank
        is_theirs = rank is not None and "rank" not in vocabulary.told(said)
        yield number, text, said | {"rank": rank} if is_theirs else said


def rows_of_steps(lines: Sequence[str]) -> frozenset[int]:
    """The 1-based numbers of the lines that are rows of a table which begins with its names and counts steps; none where they are no such
    table."""
    text = "\n".join(lines).encode()
    head = text[:_HEAD_CHARACTERS]
    found = _found("", head)
    if found is None or found[0].name not in TABLES or "step" not in vocabulary.meanings(sorted(found[1])):
        return frozenset()
    told = found[0].rows(Source("", len(text), partial(BytesIO, text)))
    return frozenset(number for number, _, said in told if said is not None)


def record(text: str) -> Said | None:
    """One line as a record, whatever its form; None where it is none. An object may stand behind a few words."""
    text = _LEVEL.sub("", bare_numbers(vocabulary.in_english(text)), count=1)
    start = text.strip()
    if (at := start.find("{", 0, _BEFORE_OBJECT)) >= 0 and (not at or start.endswith("}")):
        inner = _object(start[at:])
        if not at or (inner and "step" in vocabulary.meanings(inner)):
            return inner
        return mentions(text) or inner
    said = logfmt(text) or prose(text)
    # `it 17 fwd done, loss 2.1`: more words behind the count
    if said and _is_counted(said):
        return said
    if mentioned := mentions(text):
        return mentioned
    behind = prose(text[head.end() :]) if (head := _WRITER.match(text)) and not _is_judged(head[0]) else None
    return behind if behind and _is_counted(behind) else said


def _is_counted(said: Said) -> bool:
    return "step" in vocabulary.meanings(said) and whole(vocabulary.told(said).get("step")) is not None


def _is_judged(head: str) -> bool:
    return any(map(vocabulary.is_of_evaluation, _WORDS.findall(head)))


def read_table(source: Source, name: TableName, made: Callable[[Said, str], Iterable[Said]], otherwise: str) -> Tables:
    """The rows of a file → what is made of each (row, text) in the table `name`, lines of names `claimed`, and `unread`, with
    `otherwise` as reason, where nothing is made."""
    found: list[Said] = []
    claimed: list[Said] = []
    unread: list[Said] = []
    for number, text, said in rows(source):
        place = {"file": source.path, "line": number}
        if said is HEADER:
            claimed.append(place)
        elif said is not None and (own := [place | one for one in made(said, text)]):
            found += own
        else:
            unread.append(place | {"reason": otherwise})
    return {name: table(name, found), "claimed": table("claimed", claimed), "unread": table("unread", unread)}


@lru_cache(maxsize=1024)  # of one head, which a dozen parsers ask for, before the files are read and then
def _found(path: str, head: bytes) -> tuple[Framing, Sequence[str]] | None:
    text = undrawn(head.decode("utf-8", "replace").lstrip("\ufeff \t\r\n\u3000"))
    lines = [line.rstrip("\r") for line in islice(filter(str.strip, text.split("\n")), _HEAD_LINES)]
    if not lines or "\x00" in text[:64] or _MARK.search(lines[lines[0] == _DOCUMENT and len(lines) > 1]) is None:
        return None
    told = Head(path, text, lines)
    return next(((one, found) for one in FRAMINGS if (found := one.names(told))), None)


# --- an object a line ------------------------------------------------------------------------------------------------


def _object(text: str) -> Said | None:
    """The object on a line; one inside a text of it, as collectors wrap lines, says more."""
    said = json_object(text)
    if said is None and text.startswith("{") and (found := lenient.value(text[:CELL])):
        said = found if isinstance(found, dict) else None
    if said is None:
        return None
    for name in _TEXTS:
        inner = said.get(name)
        text = inner.strip() if isinstance(inner, str) else ""
        if text.startswith("{") and isinstance(own := lenient.value(text), dict):
            return {key: cell for key, cell in said.items() if vocabulary.meaning_of(key) and key != name} | own
    return said


def _first_object(head: Head) -> Said | None:
    return _object(head.lines[0].strip()) if head.text.startswith("{") else None


# --- tables with a line of names -------------------------------------------------------------------------------------


def _table_names(mark: str) -> Callable[[Head], Sequence[str]]:
    def found(head: Head) -> Sequence[str]:
        told = [line for line in _below_title(head, mark) if not _is_rule(line, mark)]
        told = told[_remarks(told, mark) :]
        if not told or mark not in told[0] or told[0].startswith("{"):
            return []
        named = _header(told[0], mark)
        if len(named) < 2:
            return []
        if mark == ",":
            return [] if NUMBER.fullmatch(named[0].partition("  ")[0]) or _CLOCK.search(named[0]) else named
        if not all(map(_ONE_NAME.match, named)) or len(told) < 2:
            return []
        count = len(cells_of(told[1], mark))
        return named if count == len(named) or (mark == " " and count == len(named) + 1) else []

    return found


def _below_title(head: Head, mark: str) -> Sequence[str]:
    """The lines of a drawn table from that of its names on: a page has a title above it, and a rule below that line. A table of two columns, as of settings,
    may stand above the one of records."""
    if mark != "|" or "|" not in head.text or _is_record(cells_of(head.lines[0], mark)):
        return head.lines
    lines = [line for line in head.text.split("\n", _TITLE_LINES)[:_TITLE_LINES] if line.strip()]
    first = _names_at(lines)
    return head.lines if first is None else lines[first : first + _HEAD_LINES]


def _names_at(lines: Sequence[str]) -> int | None:
    """Which line, of those that are not empty, names the columns of the drawn table that the page is of."""
    named = (at for at, line in enumerate(lines[:-1]) if not _is_title(line) and not _is_rule(line, "|"))
    found = [at for at in named if _is_rule(lines[at + 1], "|")]
    return next((at for at in found if _is_record(cells_of(lines[at], "|"))), next(iter(found), None))


def _is_record(cells: Sequence[str]) -> bool:
    """More than a name and a value, or a count of steps among them."""
    return len(cells) > _PAIR or (len(cells) == _PAIR and "step" in vocabulary.meanings(cells))


def _remarks(lines: Sequence[str], mark: str) -> int:
    """How many lines above a table tell of it: behind a mark of a remark, with other cells than the first line that is none. Of several that have as many, as a title by
    chance, or units, the last that counts steps names them."""
    told = next((at for at, line in enumerate(lines[:-1]) if not line.startswith(_REMARK)), max(len(lines) - 1, 0))
    width = len(cells_of(lines[told], mark)) if told else 0
    named = {at: cells for at in range(told) if len(cells := _header(lines[at], mark)) == width}
    counted = [at for at, cells in named.items() if "step" in vocabulary.meanings(cells)]
    return counted[-1] if counted else min(named, default=told)


def _header(line: str, mark: str) -> list[str]:
    """The names above columns; of a remark that tells more, what stands behind its last colon."""
    bare = line if mark == "|" else line.strip().removeprefix("#").strip()
    named = bare.rpartition(": ")[2] if line.startswith("#") else bare
    return [cell.strip() for cell in cells_of(named.strip(), mark)]


def _is_title(line: str) -> bool:
    """A line above a drawn table that holds no two cells."""
    return len(cells_of(line, "|")) < 2 and not _is_rule(line, "|")


def _is_rule(line: str, mark: str) -> bool:
    return mark in "| " and RULE.fullmatch(line) is not None


def _table_rows(mark: str) -> Callable[[Source], Iterator[Row]]:
    def read(source: Source) -> Iterator[Row]:
        named: list[str] = []
        above: list[str] = []
        has_rules = mark in "| "
        told = [(number, text) for number, text in islice(text_lines(source), _TITLE_LINES) if text.strip()]
        first, begin = told[:_HEAD_LINES], told[_names_at([undrawn(text) for _, text in told]) or 0][0] if told else 0
        remarks = {number for number, _ in first[: _remarks([text for _, text in first], mark)]}
        for number, text in text_lines(source):
            plain = undrawn(text)
            start = plain.lstrip()
            if not start:
                continue
            if start[0] == "{":
                yield number, text, json_object(text)
            elif (mark == "|" and number < begin) or (
                not named and ((mark == "|" and _is_title(plain)) or number in remarks)
            ):
                yield number, text, HEADER
            elif not named or (has_rules and _is_rule(plain, mark)):
                if not _is_rule(plain, mark):
                    named = _header(plain.lstrip("\ufeff"), mark)
                elif mark == "|" and len(above) > 1 and all(map(_ONE_NAME.match, above)):
                    named = above  # a rule stands under the names of another table of the page
                above = []
                yield number, text, HEADER
            else:
                cells = above = cells_of(plain, mark)
                if len(cells) == len(named):
                    is_header = cells[0] == named[0] and cells == named  # who began again wrote the names again
                    yield number, text, HEADER if is_header else dict(zip(named, cells, strict=True))
                elif mark == " " and len(cells) == len(named) + 1 and cells[0].isdigit():  # pandas counts the rows
                    yield number, text, dict(zip(named, cells[1:], strict=True))
                else:
                    yield number, text, None

    return read


# --- a record in a line -------------------------------------------------------------------------------------------------


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
        if _BLOCK_OPENS.fullmatch(line) or (not said and _BLOCK_ENDS.fullmatch(line)):
            continue
        match = SAYS.fullmatch(line.strip())
        if match is None or match["name"] in said or (said and line.startswith("- ")):
            break
        said[match["name"]] = match["value"]
    return list(said) if len(said) > 1 else []


def _block_rows(source: Source) -> Iterator[Row]:
    """A record ends at an empty line, a rule, a dash of a list, or where a name comes again."""
    said: Said = {}
    begin, first = 0, ""
    for number, text in chain(text_lines(source), [(0, "")]):
        if _BLOCK_OPENS.fullmatch(text):
            yield number, text, HEADER
            continue
        match = SAYS.fullmatch(text.strip())
        if said and (match is None or match["name"] in said or text.startswith("- ")):
            yield begin, first, said
            said = {}
        if match is not None:
            if said:
                yield number, text, HEADER  # of a record that has its row
            else:
                begin, first = number, text
            said[match["name"]] = cell(match["value"])
        elif text.strip() and not _BLOCK_ENDS.fullmatch(text):
            yield number, text, None


# The first whose names are found has the file.
FRAMINGS: tuple[Framing, ...] = (
    Framing("marked", lambda head: marked_names(head.text), marked_rows),
    Framing("outlined", lambda head: outlined_names(head.text), outlined_rows),
    Framing("sections", lambda head: section_names(head.text.splitlines()[:_TITLE_LINES]), section_rows),
    Framing("boxed", lambda head: boxed_names(head.text.splitlines()), boxed_rows),
    Framing("nested", lambda head: nested_names(head.text), nested_rows),
    Framing("document", lambda head: first_names(head.text, _first_object(head)), document_rows),
    Framing("objects", lambda head: list(_first_object(head) or ()), _line_rows(lambda text: _object(text.strip()))),
    Framing("turned", lambda head: turned_names(head.path, head.lines), turned_rows),
    Framing("wide", lambda head: wide_names(head.path, head.lines), wide_rows),
    Framing("curve", lambda head: column_kinds(head.path, head.lines), curve_rows),
    Framing("frames", lambda head: frame_names(head.text.splitlines()[:_TITLE_LINES]), frame_rows),
    Framing("logfmt", _line_names(logfmt), _line_rows(logfmt)),
    Framing("prose", _line_names(prose), _line_rows(prose)),
    Framing("drawn", _table_names("|"), _table_rows("|")),
    Framing("blocks", _block_names, _block_rows),
    Framing("tabs", _table_names("\t"), _table_rows("\t")),
    Framing("semicolons", _table_names(";"), _table_rows(";")),
    Framing("commas", _table_names(","), _table_rows(",")),
    Framing("aligned", _table_names(" "), _table_rows(" ")),
)
