"""Tables of a step each, under headings that count them: what a program prints anew for every step, of all ranks.

    step 12                                             ### iteration 15
              host  loss_local  post_nonfinite
    rank                                                | rank | loss   | head   |
    0     amd-mi-3    0.854095               0          |------|--------|--------|
    1     amd-mi-3    0.811618               7          | 0    | 0.9519 | 0.8691 |

    == step 41 rank 3 of 4 (before the reduction) ==    of one rank each
       layer             |w|     |g|
       encoder.0.ffn    9.24   0.131

    ===== rank 2  step 299 =====                        two counts in a cell are each under its own word
    | phase   | module   | in nan/inf | out nan/inf |
    |---------|----------|------------|-------------|
    | forward | h.5.attn | 0/0        | 4096/0      |

A row is a record of its step, and of the rank that the heading tells. A line of names follows each heading; the first column of a frame of pandas has its name in a line of
its own, or none. What stands between the tables is no record.
"""

from collections.abc import Iterator, Sequence

from parsers.forms.reading import HEADER, Row, text_lines
from parsers.schema.parser import Source
from parsers.text import vocabulary
from parsers.text.patterns import regex

_EDGE = " \t#=*>|_-:[]<"
_COUNTED = regex(
    r"(?<![\w.-])(?P<name>[A-Za-z]{1,12}(?:[_ ][A-Za-z]{1,12})??)[\s#:=]{1,4}(?P<count>\d{1,15})(?: ?(?:/|of) ?\d{1,15})?(?![\w.])"
)
_ASIDE = regex(r"\([^()]{0,200}\)")
_COUNTS = ("step", "rank")
_HEADING_CHARACTERS = 200
_RULE = regex(r"[\s|:+=-]{3,}")
_NAME = regex(r"[A-Za-z_|][\w./@()%|-]{0,79}(?: [\w./@()%|-]{1,40}){0,3}")  # of a drawn table: in words
_TWO = regex(r"(?P<before>(?:.*[ _])?)(?P<one>[A-Za-z]{2,20})/(?P<other>[A-Za-z]{2,20})")
_COUNTS_OF_TWO = regex(r"(?P<one>\d{1,18}) ?/ ?(?P<other>\d{1,18})")
_FEWEST = 2  # columns


def section_names(lines: Sequence[str]) -> list[str]:
    """The names of the first table that stands under such a heading, that of the count first; none where none does."""
    for at, line in enumerate(lines):
        heading = _heading(line)
        if heading is not None:
            told = [one for one in lines[at + 1 : at + 5] if one.strip() and not _RULE.fullmatch(one)]
            header = _header(told[:2]) if len(told) > 1 else []
            cells = _cells(told[1]) if header else []
            header = [*_apart(dict(zip(header, cells, strict=True)))] if len(cells) == len(header) else header
            return [*heading, *header] if header else []
    return []


def section_rows(source: Source) -> Iterator[Row]:
    """(line, text, record) of a file of such tables."""
    told: dict[str, str] = {}
    named: list[str] = []
    for number, text in text_lines(source):
        if heading := _heading(text):
            told, named = heading, []
            yield number, text, HEADER
        elif not text.strip() or not told or _RULE.fullmatch(text):
            if text.strip():
                yield number, text, HEADER if told else None
        elif not named:
            named = _header([text])
            yield number, text, HEADER if named else None
        else:
            cells = _cells(text)
            if named and len(cells) == 1 and len(named) >= _FEWEST and _NAME.fullmatch(cells[0]):
                named = [cells[0], *named]  # of the column before the first
                yield number, text, HEADER
            elif len(cells) == len(named):
                yield number, text, told | _apart(dict(zip(named, cells, strict=True)))
            elif len(cells) == len(named) + 1 and cells[0].isdigit():
                yield number, text, told | dict(zip(named, cells[1:], strict=True))
            else:
                yield number, text, None


def _heading(line: str) -> dict[str, str] | None:
    """The counts of a heading, of a step and perhaps of a rank: it says nothing else."""
    if len(line) > _HEADING_CHARACTERS or not any(map(str.isdigit, line)):
        return None
    bare = _ASIDE.sub(" ", line.strip(_EDGE))
    counts = [(found["name"], found["count"]) for found in _COUNTED.finditer(bare)]
    meant = [said.meaning if (said := vocabulary.meaning_of(name)) is not None else "" for name, _ in counts]
    is_whole = "step" in meant and set(meant) <= set(_COUNTS) and not _COUNTED.sub(" ", bare).strip(_EDGE + ",;./@")
    return dict(counts) if is_whole and len(meant) == len(set(meant)) else None


def _header(lines: Sequence[str]) -> list[str]:
    """The names in the first line, and before them the one that stands alone in the second."""
    cells = _cells(lines[0])
    if len(cells) < _FEWEST or not all(map(_NAME.fullmatch, cells)) or len(set(cells)) < len(cells):
        return []
    index = _cells(lines[1]) if len(lines) > 1 else []
    is_index = len(index) == 1 and "|" not in lines[0] and _NAME.fullmatch(index[0]) is not None
    return [*(index if is_index else ()), *cells]


def _apart(said: dict[str, str]) -> dict[str, str]:
    """Two counts in a cell under two words, each by its own: `in nan/inf` 4/0 → in nan 4, in inf 0."""
    made: dict[str, str] = {}
    for name, cell in said.items():
        two, counts = _TWO.fullmatch(name), _COUNTS_OF_TWO.fullmatch(cell) if "/" in cell else None
        if two is None or counts is None:
            made[name] = cell
        else:
            made |= {two["before"] + two[which]: counts[which] for which in ("one", "other")}
    return made


def _cells(text: str) -> list[str]:
    is_drawn = text.lstrip().startswith("|") or " | " in text
    return [cell.strip() for cell in text.strip().strip("|").split("|")] if is_drawn else text.split()
