"""Tables with a column for each step and a row for each figure, as who pivots a table of records keeps them: each cell is a record.

    name,step_100,step_110,step_120            rank | metric | 12 | 13 | 14            worker<TAB>step 5<TAB>step 6      of what, the path says
    local_loss,2.31,2.30,nan                   0    | loss   | 2.1 | 2.0 | nan         w3<TAB>2.31<TAB>nan

The columns of steps are the last ones, three at least, each the same word that counts steps and a number that rises. Numbers without a word count steps only
where they cannot be as many processes: 0 … N-1, 1 … N. Before them stand the columns that say of what a row is and whose.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice, pairwise
from typing import NamedTuple

from parsers.forms.curves import NUMBER
from parsers.forms.reading import HEADER, RULE, Row, cells_of, text_lines, undrawn
from parsers.forms.wide import titles
from parsers.schema.parser import Source
from parsers.text import lenient
from parsers.text.patterns import regex
from parsers.text.vocabulary import meant

_MARKS = ("\t", ";", "|", ",")
_COUNT = regex(r"(?:(?P<word>[A-Za-z][A-Za-z_]{0,20}?)[ _.:=#-]{0,2})?(?P<step>\d{1,15})")
_NOTHING = frozenset(("", "-", "--", "null", "none", "n/a"))
_WHO = frozenset(("rank", "local_rank", "node_rank", "host", "pod", "device", "pid", "process_name", "address"))
_OF = ("loss", "part_loss", "grad_norm", "own_grad_norm")
_FEWEST = 3


class Turned(NamedTuple):
    """`who`: names of the columns that say whose a row is; `of`: the column that says of what, or null, and then `what` it is; `steps`: column → step."""

    mark: str
    who: Mapping[int, str]
    of: int | None
    what: str
    steps: Mapping[int, str]


def turned_names(path: str, lines: Sequence[str]) -> list[str]:
    """The names of the first records of a file that begins so; none where it is no such table."""
    rows = [line for line in lines if not RULE.fullmatch(line)]
    found = _table(path, tuple(rows[:2]))
    if found is None:
        return []
    first = _cells(rows[1], found.mark)
    return ["step", found.what if found.of is None else first[found.of], *found.who.values()]


def turned_rows(source: Source) -> Iterator[Row]:
    """Its records: of each line one for each step."""
    plain = ((number, text, undrawn(text)) for number, text in text_lines(source))
    filled = ((number, text, line) for number, text, line in plain if line.strip() and not RULE.fullmatch(line))
    head = [*islice(filled, 2)]
    found = _table(source.path, tuple(line for _, _, line in head))
    for at, (number, text, line) in enumerate(chain(head, filled)):
        cells = _cells(line, found.mark) if found is not None else []
        if found is None or len(cells) != len(found.steps) + len(found.who) + (found.of is not None):
            yield number, text, None
        elif not at:
            yield number, text, HEADER
        else:
            who = {name: cells[column] for column, name in found.who.items()}
            what = found.what if found.of is None else cells[found.of]
            for column, step in found.steps.items():
                if cells[column].lower() not in _NOTHING:
                    yield number, text, {"step": step, **who, what: lenient.word(cells[column])}


def _cells(line: str, mark: str) -> list[str]:
    return [cell.strip().strip('"') for cell in cells_of(line, mark)]


@lru_cache(maxsize=256)  # of one head, which a dozen parsers ask for
def _table(path: str, lines: tuple[str, ...]) -> Turned | None:
    for mark in _MARKS if len(lines) > 1 else ():
        heads, first = (_cells(line, mark) for line in lines)
        if len(heads) == len(first) > _FEWEST and (found := _turned(path, mark, heads, first)) is not None:
            return found
    return None


def _turned(path: str, mark: str, heads: Sequence[str], first: Sequence[str]) -> Turned | None:
    counts = [_COUNT.fullmatch(head) for head in heads]
    begin = next((at for at in range(len(heads)) if all(counts[at:])), len(heads))
    told = [one for one in counts[begin:] if one is not None]
    words = {one["word"] or "" for one in told}
    steps = [int(one["step"]) for one in told]
    is_rising = all(before < after for before, after in pairwise(steps))
    if begin == 0 or len(told) < _FEWEST or len(words) != 1 or not is_rising:
        return None
    word = words.pop()
    may_be_processes = not word and steps in ([*range(len(steps))], [*range(1, len(steps) + 1)])
    if may_be_processes or (word and meant(word) != "step"):
        return None
    if not all(NUMBER.fullmatch(cell) or cell.lower() in _NOTHING for cell in first[begin:]):
        return None
    who = {at: heads[at] for at in range(begin) if meant(heads[at]) in _WHO}
    others = [at for at in range(begin) if at not in who]
    what = next((title for title in titles(path) if meant(title) in _OF), "")
    is_told = len(others) == 1 and not NUMBER.fullmatch(first[others[0]]) if others else bool(who and what)
    if not is_told:
        return None
    columns = dict(zip(range(begin, len(heads)), map(str, steps), strict=True))
    return Turned(mark, who, others[0] if others else None, what, columns)
