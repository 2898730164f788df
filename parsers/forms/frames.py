"""Frames of pandas as a notebook or a console shows them: a line of columns, the name of the index alone in the next, then a row for each value of it.

    In [7]: pnorm   # after the update, a column for each rank
    Out[7]:
                   r0           r1
    step
    1    40.453965239 40.453965239

What the columns are of, the nearest line of words above them says: its first name. A column that is called after a rank (`rank 0`, or `r0` where that line
speaks of ranks) is that figure of the rank. What stands between frames is no record.
"""

from collections.abc import Iterator, Sequence

from parsers.forms.reading import HEADER, Row, text_lines
from parsers.schema.parser import Source
from parsers.text.patterns import regex

_PROMPT = regex(r"(?:In ?\[\d{0,6}\]: ?|>>> |print\(|display\()")
_TITLE = regex(r"\s*(?P<name>[A-Za-z_]\w{0,60})\b(?P<rest>.{0,400})")
_NAME = regex(r"[A-Za-z_][\w./@-]{0,60}")
_OF_RANK = regex(r"(?:rank|r)_?(?P<rank>\d{1,7})")
_NUMBERS = regex(r"[+-]?(?:[\d.]{1,40}(?:e[+-]?\d{1,3})?|nan|NaN|inf)")
_FEWEST = 2


def frame_names(lines: Sequence[str]) -> list[str]:
    """The names of the first frame in these lines, that of its index first; none where there is none."""
    title = ""
    for at, line in enumerate(lines[:-2]):
        columns, index = line.split(), lines[at + 1].split()
        if named := _named(title, columns, index):
            # A log that shows one among its lines is for those who read logs.
            rows = [line for line in lines[at + 2 :] if line.strip() and _is_row(line, len(named))]
            is_most = 2 * len(rows) > sum(1 for line in lines if line.strip())
            return named if is_most and _is_row(lines[at + 2], len(named)) else []
        title = line if _PROMPT.match(line) or not title else title
    return []


def frame_rows(source: Source) -> Iterator[Row]:
    """(line, text, record) of a file of such frames."""
    title = ""
    named: list[str] = []
    columns: list[str] = []
    for number, text in text_lines(source):
        cells = text.split()
        if found := _named(title, columns, cells):
            named, columns = found, []
            yield number, text, HEADER
        elif named and _is_row(text, len(named)):
            yield number, text, dict(zip(named, cells, strict=True))
        elif cells:
            named, columns = [], cells
            title = text if _PROMPT.match(text) or not title else title
            yield number, text, HEADER


def _named(title: str, columns: Sequence[str], index: Sequence[str]) -> list[str]:
    """The names of a frame with these two lines at its head."""
    if len(index) != 1 or len(columns) < _FEWEST or not all(map(_NAME.fullmatch, (*index, *columns))):
        return []
    told = _TITLE.match(_PROMPT.sub("", title))
    what = told["name"] if told else ""
    is_of_ranks = told is not None and "rank" in told["rest"].lower()
    named = (name for name in columns if is_of_ranks or name.startswith("rank"))
    ranks = [found for name in named if (found := _OF_RANK.fullmatch(name))]
    if what and len(ranks) == len(columns):
        return [*index, *(f"{what}/rank_{found['rank']}" for found in ranks)]
    return [*index, *columns] if len(set(columns)) == len(columns) else []


def _is_row(text: str, count: int) -> bool:
    cells = text.split()
    return len(cells) == count and all(map(_NUMBERS.fullmatch, cells))
