"""Tables among lines, below a line of names of columns.

    CONTAINER ID   NAMES            %12,4711,sampler-b            PID    PPID S COMMAND
    4f0c11ab77de   sampler-b-1      %14,4713,sampler-a           7044    7031 S bash ./one.sh 1 de

Cells begin where the names do, or stand between marks; below words in capitals, as those of `ps` and `squeue`, they may be set otherwise: there
each row has a word for each column, the last one the rest of its line.
"""

from collections.abc import Iterator, Mapping, Sequence

from parsers.text.patterns import regex
from parsers.who.lines.beginnings import Said

_FEWEST, _LINES, _CHARACTERS = 2, 400, 2000
_NAME = r"[A-Za-z_#%][^\d\s,;|│]{0,60}(?: [^\d\s,;|│]{1,60}){0,6}"  # of a column
_HEADER = regex(rf"[|│ ]{{0,4}}{_NAME}(?:(?: [ ]+|\t|[,;] ?| ?[|│] ?){_NAME}){{1,30}}[|│ ]{{0,4}}")
_COLUMN = regex(r"[^\s](?:[^\s]| (?=[^\s]))*")
_MARKS = ("|", "│", "\t", ";", ",")
_RULE = regex(r"[\s|+:=─┼│-]*")
_CAPITALS = regex(r"\s{0,40}%?[A-Z][A-Z0-9_%+/]{0,24}(?:\s{1,40}%?[A-Z][A-Z0-9_%+/]{0,24}){1,30}\s{0,40}")
_NAMES = regex(
    r"(?i)(?<![a-z])(?:id|name|uid|uuid|ip|address|container|pod|task|pane|unit|alloc(?:ation)?|actor|worker|service|called)s?\Z"
)
_OF_OTHERS = regex(
    r"(?i)node|host|machine|server|image|volume|network|device|gpu|card|nic|port|parent|peer|master|gateway|remote|next|prev"
)
_Row = tuple[int, Mapping[str, str]]


def is_of_names(column: str) -> bool:
    """Does a column call processes, and not what they run on or use?"""
    return _NAMES.search(column) is not None and _OF_OTHERS.search(column) is None


def table_rows(own: Sequence[Said]) -> Iterator[_Row]:
    """The lines of a file → the number of each row, and its cells by their columns."""
    columns: list[str] = []
    begins: list[int] = []
    mark = None
    for one in own[:_LINES]:
        text = one.raw[:_CHARACTERS].rstrip()
        if columns and _RULE.fullmatch(text):
            continue
        cells = _cells(text, begins, mark) if columns else []
        if len(cells) == len(columns) >= _FEWEST:
            yield one.number, dict(zip(columns, cells, strict=True))
            continue
        columns = []
        if _HEADER.fullmatch(text):
            begins = [found.start() for found in _COLUMN.finditer(text)]
            mark = next((mark for mark in _MARKS if mark in text), None)
            columns = _cells(text, begins, mark)


def _cells(text: str, begins: Sequence[int], mark: str | None) -> list[str]:
    if mark is not None:
        return [cell.strip() for cell in text.strip().strip("|│").split(mark)]
    ends = [*begins[1:], len(text) + 1]
    is_apart = all(at >= len(text) or not at or text[at - 1] == " " for at in begins)
    return [text[begin:end].strip() for begin, end in zip(begins, ends, strict=True)] if is_apart else []


def rows_of_words(own: Sequence[Said]) -> Iterator[_Row]:
    """The same of rows of words below words in capitals."""
    columns: list[str] = []
    for one in own[:_LINES]:
        text = one.line.text[:_CHARACTERS]
        if _CAPITALS.fullmatch(text):
            columns = names if len({*(names := text.split())}) == len(names) else []
        elif columns:
            cells = text.split(None, len(columns) - 1)
            if len(cells) == len(columns):
                yield one.number, dict(zip(columns, cells, strict=True))
            else:
                columns = []
