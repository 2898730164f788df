"""Tables whose columns are told by a line of words in capitals, however they are set below it: those of `ps`, `top`, `squeue`.

        PID    PPID S COMMAND
       7044    7031 S bash ./one.sh 1 de

Each row has a word for each column, the last one the rest of its line.
"""

from collections.abc import Iterator, Mapping, Sequence

from parsers.text.patterns import regex
from parsers.who.beginnings import Said

_HEADER = regex(r"\s{0,40}%?[A-Z][A-Z0-9_%+/]{0,24}(?:\s{1,40}%?[A-Z][A-Z0-9_%+/]{0,24}){1,30}\s{0,40}")
_LINES, _CHARACTERS = 400, 2000
_FEWEST = 2


def rows_of_columns(own: Sequence[Said]) -> Iterator[tuple[int, Mapping[str, str]]]:
    """The lines of a file → the number of each row, and its cells by their columns."""
    columns: list[str] = []
    for one in own[:_LINES]:
        text = one.line.text[:_CHARACTERS]
        if _HEADER.fullmatch(text):
            names = text.split()
            columns = names if len({*names}) == len(names) >= _FEWEST else []
        elif columns:
            cells = text.split(None, len(columns) - 1)
            if len(cells) == len(columns):
                yield one.number, dict(zip(columns, cells, strict=True))
            else:
                columns = []
