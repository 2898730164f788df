"""Lines that differ only in numbers and in names of places, brought together (families.py says what their columns count).

A line's template is the line with marks for its numbers and names of places. What stands at the head of a line and comes again after others is a
speaker's name: what is behind it is a row as well. Lines of words alone above numbers are names of columns.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from msgspec.structs import replace

from parsers.forms.framings import rows_of_steps
from parsers.text.patterns import regex
from parsers.who.lines.beginnings import Begun, Said
from parsers.who.places.contexts import Places

LINES = 160  # of each file, the first
CHARACTERS = 400
_WORDS = 24  # parts of a line before a number that its label is made of
_TOKEN = regex(
    r"(?P<clock>\b[IWEF]\d{3,4} \d\d:\d\d:\d\d(?:\.\d+)?|\d{1,4}[-/]\d{1,2}[-/]\d{1,4}(?:[T -]\d{1,2}:\d\d[\d:.,Z+-]*)?|\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)*)"
    r"|(?P<address>\d{1,3}(?:\.\d{1,3}){3})"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*(?:[.-][A-Za-z0-9_]+)*)"
    r"|(?P<figure>0x[0-9a-fA-F]+|\d+\.\d+\w*|\d+[A-Za-z_%][\w.]*|\d{10,})"
    r"|(?P<number>\d+)"
)
# of a figure
_UNIT = regex(r" ?(?:[mun]?s|msec|secs?|(?:milli|micro)?seconds?|mins?|minutes?|hours?|[KMGT]i?B|bytes|percent)\b|%")
_NUMBERED = regex(r"([A-Za-z_][A-Za-z_.-]*?)[_.-]?(\d{1,7})")
_SPACES, _DIGITS = regex(r"\s+"), regex(r"\d+")
_COLUMN = regex(r"[^\W\d][^\s|│┃]*")  # a word of a line of names above columns
_CELL_BEFORE = regex(r"(?:.*(?:  |[|│┃\t]))?\s*")
_CELLS = regex(r"[^\s|│┃]+(?: [^\s|│┃]+)*")
_CELL = regex(r"[^\s|│┃]+")
_STATE = regex(r"[A-Za-z_+<>?-]+")  # a cell without a digit
_PREFIX = regex(r"[\[(][^\s\])]{1,40}[\])] (?:[A-Za-z][\w().-]{0,30} ?){1,3}[:|] ")  # `[0] MPI startup(): `
_HEADINGS = 3
_BESIDE = 2  # characters between a name and its column at most
_FEWEST = 2
_GLUED = regex(r"[A-Za-z][_-]?\d+\Z")  # a number of a name
_SKEW_NS = 5_000_000_000  # clocks of hosts, and when lines come out, differ by this at most


class Row(NamedTuple):
    """A line of a family: the numbers and the names that differ from line to line, in their order."""

    said: Said
    numbers: tuple[int, ...]
    names: tuple[str, ...]
    heading: str | None
    ends: tuple[int, ...]  # of the numbers, in the text
    columns: tuple[str, ...]  # the lines of words above it, nearest first
    speaker: str | None = None  # the name before it, which comes again after others


def speakers(said: Begun, *, are_numbered: bool) -> set[tuple[str, str, str]]:
    """(file, form, name) of what stands at the heads of lines and comes again after others, with a number in it or without."""
    again: set[tuple[str, str, str]] = set()
    for path, own in said.items():
        last: dict[str, str] = {}
        once: set[tuple[str, str]] = set()
        for head in (head for one in own for head in one.heads if any(map(str.isdigit, head.value)) is are_numbered):
            if last.get(head.form) != head.value:
                if (head.form, head.value) in once:
                    again.add((path, head.form, head.value))
                once.add((head.form, head.value))
                last[head.form] = head.value
    return again


def families_of(said: Begun, places: Places) -> dict[tuple[str, tuple[str, ...]], list[Row]]:
    """(template, what stands before each number) → its rows, of all files."""
    again = speakers(said, are_numbered=False)
    found: defaultdict[tuple[str, tuple[str, ...]], list[Row]] = defaultdict(list)
    for own in said.values():
        heading: str | None = None
        above: tuple[str, ...] = ()
        last = 0
        of_steps = rows_of_steps([one.raw for one in own[:LINES]])
        before = ""
        for at, one in enumerate(own[:LINES], 1):
            before = _shared([line.line.text for line in own[at - 1 : at + 1]], before)
            if at in of_steps:
                continue
            text = _bare(one.line.text[:CHARACTERS], before)
            has_cells, has_digits = len(_CELLS.findall(text)) >= _FEWEST, any(map(str.isdigit, text))
            is_table = one.number == last + 1 and (has_cells or not has_digits)
            above, last = above if is_table else (), one.number
            named = places.heading(text)
            if named is None and at < len(own) and indent(one.raw) < indent(own[at].raw):
                named = places.above(text)
            if named is not None:
                heading = named
            elif not has_digits:
                above = (text, *above[: _HEADINGS - 1]) if has_cells else above
            else:
                template, labels, numbers, names, ends = _apart(_without_states(text, above, places), places)
                if numbers:
                    one = replace(one, line=replace(one.line, text=text)) if before else one
                    found[template, labels].append(Row(one, numbers, names, heading, ends, above))
                for head in one.heads:
                    if (one.file, head.form, head.value) in again and any(map(str.isdigit, head.behind)):
                        template, labels, numbers, names, ends = _apart(head.behind[:CHARACTERS], places)
                        row = Row(one, numbers, names, heading, ends, (), head.value)
                        found[f"{head.form} {template}", labels].append(row)
    return found


def _shared(two: Sequence[str], before: str) -> str:
    """What stands before a line and the next alike, with a number in it, up to a colon or a bar; what stood before the lines above goes on."""
    if before and two[0].startswith(before):
        return before
    begins = found[0] if (found := _PREFIX.match(two[0])) is not None else ""
    return begins if two[-1].startswith(begins) and len(two) > 1 and any(map(str.isdigit, begins)) else ""


def _bare(text: str, before: str) -> str:
    """A line with blanks for what stands before it and the lines beside it: columns stay where they are."""
    return " " * len(before) + text[len(before) :]


def _without_states(text: str, above: Sequence[str], places: Places) -> str:
    """The row of a table below names in capitals, as `ps` and `squeue` print them, with a mark for each word before its last column: who a row is of,
    no state tells, and that of who is stuck is another one than that of the others."""
    names = _CELL.findall(above[0]) if above and above[0].isupper() else []
    cells = [*_CELL.finditer(text)]
    for cell in cells[: len(names) - 1] if 2 < len(names) <= len(cells) else []:
        if _STATE.fullmatch(cell[0]) and not places.is_place(cell[0]):
            text = text[: cell.start()] + "~".ljust(len(cell[0])) + text[cell.end() :]
    return text


def indent(text: str) -> int:
    """How far a line stands in."""
    return len(text) - len(text.lstrip())


def _apart(text: str, places: Places) -> tuple[str, tuple[str, ...], tuple[int, ...], tuple[str, ...], tuple[int, ...]]:
    """A line → its template, what stands before each of its numbers, the numbers, the names of places, where the numbers end."""
    parts: list[str] = []
    labels: list[str] = []
    numbers: list[int] = []
    names: list[str] = []
    ends: list[int] = []
    at = 0
    for found in _TOKEN.finditer(text):
        kind, word = found.lastgroup, found[0]
        mark = word
        if kind == "number" and len(word) < 10 and not _UNIT.match(text, found.end()):
            mark = "#"
            numbers.append(int(word))
            # with what differs from place to place as marks
            before = "".join(parts[-_WORDS:]) + text[at : found.start()]
            labels.append(_SPACES.sub(" ", _DIGITS.sub("#", before))[-24:])
        elif kind in ("name", "address") and places.is_place(word) and text[found.end() : found.end() + 1] != "=":
            mark = "@"
            names.append(word)
        elif kind == "name":
            if any(map(str.isdigit, word)):
                counted = _NUMBERED.fullmatch(word)
                mark = "~" if counted is None else f"{counted[1]}#"
                if counted is not None:
                    numbers.append(int(counted[2]))
                    labels.append(counted[1])
        else:
            mark = "~"
        if len(ends) < len(numbers):
            ends.append(found.end())
        parts += [text[at : found.start()], mark]
        at = found.end()
    template = _SPACES.sub(" ", "".join(parts) + text[at:])
    return template, tuple(labels), tuple(numbers), tuple(names), tuple(ends)


def headed(row: Row, labels: Sequence[str]) -> list[str]:
    """What stands before each number of a row; where that is no word, what stands above it, as above the columns of a table."""
    found = [*labels]
    text = row.said.line.text
    for at, (end, number) in enumerate(zip(row.ends, row.numbers, strict=True)):
        start = end - len(str(number))
        if not _CELL_BEFORE.fullmatch(text[:start]):
            continue
        found[at] = next((name for line in row.columns if (name := _above(line, start, end))), found[at])
    return found


def _above(line: str, start: int, end: int) -> str | None:
    """The word of a line that stands above a number, or nearest to it."""
    words = [(max(word.start() - end, start - word.end()), word[0]) for word in _COLUMN.finditer(line)]
    distance, name = min(words, default=(_BESIDE, None))
    return name if distance < _BESIDE else None


def leave_out(rows: Sequence[Row], column: int, said: Begun) -> bool:
    """Do other lines of their files begin as they do, up to the number in a column, with numbers there that no row has? Then the rows are some of many."""
    own = {row.numbers[column] for row in rows}
    texts = [row.said.line.text[: row.ends[column]] for row in rows]
    if not all(text.endswith(str(row.numbers[column])) for text, row in zip(texts, rows, strict=True)):
        return False  # they are read without a part of their line
    head, *others = {_DIGITS.sub("#", text) for text in texts}
    if others:
        return False
    begins = regex(re.escape(head).replace("\\#", r"(\d{1,10})") + r"(?!\d)")
    lines = (one.line.text for path in {row.said.file for row in rows} for one in said.get(path, ()))
    return any(int(found[begins.groups]) not in own for text in lines if (found := begins.match(text)))


def may_count_arrivals(rows: Sequence[Row], column: int) -> bool:
    """May a column of lines of several places count who has come, `joined, 3 of 8`? Unless one came clearly before somebody of a smaller number, as clocks
    tell, or no clock does; but one who hands numbers out says them first, `3 of 6 goes to node9`, and `r3` is what somebody is called."""
    if all(_GLUED.search(row.said.line.text[: row.ends[column]]) for row in rows):
        return False
    if len({row.said.file for row in rows}) == 1 and all(_is_before_names(row, column) for row in rows):
        return False
    times = [row.said.line.time_ns for row in sorted(rows, key=lambda row: row.numbers[column])]
    known = [time for time in times if time is not None]
    latest = accumulate(known, max)
    return len(known) == len(rows) and all(
        so_far - time <= _SKEW_NS for so_far, time in zip(latest, known, strict=True)
    )


def go_on(places: Sequence[str | None], numbers: Sequence[int], local: Sequence[int]) -> bool:
    """Do numbers count the processes of each place, several, as their local ranks do, from its first on? Who comes first is in no such order."""
    first: defaultdict[str | None, list[int]] = defaultdict(list)
    for place, number, own in zip(places, numbers, local, strict=False):
        first[place].append(number - own)
    return bool(first) and all(len(own) >= _FEWEST and len({*own}) == 1 for own in first.values())


def _is_before_names(row: Row, column: int) -> bool:
    return bool(row.names) and row.ends[column] <= row.said.line.text.find(row.names[0])
