"""Tables of a step each, under headings that count them: what a program prints anew for every step, of all ranks.

    step 12                                             ### iteration 15
              host  loss_local  post_nonfinite
    rank                                                | rank | loss   | head   |
    0     amd-mi-3    0.854095               0          |------|--------|--------|
    1     amd-mi-3    0.811618               7          | 0    | 0.9519 | 0.8691 |

A row is a record of its step. A line of names follows each heading; the first column of a frame of pandas has its name in a line of
its own, or none. What stands between the tables is no record.
"""

from collections.abc import Iterator, Sequence

from parsers.forms.reading import HEADER, Row, text_lines
from parsers.schema.parser import Source
from parsers.text.patterns import regex

_HEADING = regex(
    r"(?i)[\s#=*>|_-]{0,12}(?P<name>(?:global[_ ])?step|iter(?:ation)?|it|update|batch)[\s#:=]{1,4}(?P<count>\d{1,15})[\s=*_#:|-]{0,12}"
)
_RULE = regex(r"[\s|:+=-]{3,}")
_NAME = regex(r"[A-Za-z_|][\w./@()%|-]{0,79}")
_FEWEST = 2  # columns


def section_names(lines: Sequence[str]) -> list[str]:
    """The names of the first table that stands under such a heading, that of the count first; none where none does."""
    for at, line in enumerate(lines):
        heading = _HEADING.fullmatch(line)
        if heading is not None:
            told = [one for one in lines[at + 1 : at + 5] if one.strip() and not _RULE.fullmatch(one)]
            header = _header(told[:2]) if len(told) > 1 else []
            return [heading["name"], *header] if header else []
    return []


def section_rows(source: Source) -> Iterator[Row]:
    """(line, text, record) of a file of such tables."""
    name = count = ""
    named: list[str] = []
    for number, text in text_lines(source):
        if heading := _HEADING.fullmatch(text):
            name, count, named = heading["name"], heading["count"], []
            yield number, text, HEADER
        elif not text.strip() or not name or _RULE.fullmatch(text):
            if text.strip():
                yield number, text, HEADER if name else None
        elif not named:
            named = _header([text])
            yield number, text, HEADER if named else None
        else:
            cells = _cells(text)
            if named and len(cells) == 1 and len(named) >= _FEWEST and _NAME.fullmatch(cells[0]):
                named = [cells[0], *named]  # of the column before the first
                yield number, text, HEADER
            elif len(cells) == len(named):
                yield number, text, {name: count} | dict(zip(named, cells, strict=True))
            elif len(cells) == len(named) + 1 and cells[0].isdigit():
                yield number, text, {name: count} | dict(zip(named, cells[1:], strict=True))
            else:
                yield number, text, None


def _header(lines: Sequence[str]) -> list[str]:
    """The names in the first line, and before them the one that stands alone in the second."""
    cells = _cells(lines[0])
    if len(cells) < _FEWEST or not all(map(_NAME.fullmatch, cells)) or len(set(cells)) < len(cells):
        return []
    index = _cells(lines[1]) if len(lines) > 1 else []
    is_index = len(index) == 1 and "|" not in lines[0] and _NAME.fullmatch(index[0]) is not None
    return [*(index if is_index else ()), *cells]


def _cells(text: str) -> list[str]:
    return [cell.strip() for cell in text.strip().strip("|").split("|")] if "|" in text else text.split()
