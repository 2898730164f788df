"""Who is behind in what all ranks print again and again, whatever the lines say.

    rank 0: … batch 11 in hand, batch 11 upstream pass over, batch 11 downstream pass over
    rank 3: … batch 11 in hand, batch 11 upstream pass over                                   and goes no further

Method: a line is its template (numbers as #) and the whole numbers in it. A template that most ranks print is a mark where one of its
numbers counts: it grows by the same step in each file, and most files end at the same count. Whoever is one step short of a mark, and
ahead of the others at none, is behind them. Whoever is further back had its log cut or copied earlier, and tells nothing. What a rank
prints alone (the loss of a last stage, evaluations of the first) is no mark, nor is what stages count each for itself, nor a count that not
all take in the same steps. Behind is, too, who is level in all marks and printed none of the lines that all others did after their last one.

Where no mark is short, a **unit** may be open: what one file prints of one and the same counts, line after line. Whoever's last line has each time been
followed by another one of its unit, while the others stopped where a new unit always began and one of them ended that very unit, is within it: a stage
that received what it did not send on. What all but a few are within (a call that waits for the rest), is nobody's.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any

import msgspec
import polars as pl

from forensics.assemble.starts.apart import first_line
from forensics.model.ref import Ref
from parsers.text.whole_numbers import whole_numbers
from parsers.who.lines.prefixes import strip

_LEAST_LINES, _LEAST_RANKS = 4, 3
_FEWEST_UNITS = 3  # that were ended before, in what is left of a log
_MOST = 0.6  # of the ranks print a mark, and end at the same count

_Course = Mapping[str, Sequence[tuple[tuple[int, ...], int]]]  # template → its numbers and its place, in order


class Behind(msgspec.Struct, frozen=True):
    """`ranks` are short of what `others` printed. `last`: rank → its last words; `further`: of one of the others, the line that
    those behind did not come to; `is_by_last_words`: all came equally far by count, and what all others printed last stands in none of theirs;
    `is_within`: a unit is open, and `further` is who ended it."""

    ranks: tuple[int, ...]
    others: tuple[int, ...]
    last: Mapping[int, Ref]
    further: Ref
    is_by_last_words: bool = False
    is_within: bool = False


class _Mark(msgspec.Struct, frozen=True):
    """`counts`: rank → its last count and the place of that line; `most`: where most end, `step` after the count before."""

    counts: Mapping[int, tuple[int, int]]
    most: int
    step: int

    def off(self, rank: int) -> int | None:
        """How many steps ahead of most; None where its last lines do not hold this one."""
        return (self.counts[rank][0] - self.most) // self.step if rank in self.counts else None


def behind(files: pl.DataFrame) -> Behind | None:
    """Table `files` of one attempt → who is behind; None where nobody is, or half of the ranks and more.

    A rank of several files speaks by the longest; files of no rank tell nothing."""
    told = files.filter(pl.col("rank").is_not_null() & (pl.col("last_lines").list.len() >= _LEAST_LINES))
    own = told.sort("lines", "file", descending=[True, False]).unique("rank", keep="first", maintain_order=True)
    rows = {row["rank"]: row for row in own.sort("rank").iter_rows(named=True)}
    if len(rows) < _LEAST_RANKS:
        return None
    courses = {rank: _course(row["last_lines"]) for rank, row in rows.items()}
    marks = list(_marks(courses))
    stands = {rank: {off for mark in marks if (off := mark.off(rank)) is not None} for rank in rows}
    late = tuple(rank for rank, offs in stands.items() if -1 in offs and offs <= {-1, 0})
    level = tuple(rank for rank, offs in stands.items() if offs == {0})
    if not late:
        return (_without_last_words(rows, courses, marks, level) if marks else None) or _within(rows, courses)
    if 2 * len(late) >= len(rows) or len(level) < _MOST * (len(rows) - len(late)):
        return None
    passed = [mark for mark in marks if mark.off(late[0]) == -1 and mark.off(level[0]) == 0]
    if not passed:
        return None
    place = min(mark.counts[level[0]][1] for mark in passed)
    last = {rank: _ref(rows[rank], len(rows[rank]["last_lines"]) - 1) for rank in late}
    return Behind(late, level, last, _ref(rows[level[0]], place))


def _without_last_words(
    rows: Mapping[int, Mapping[str, Any]], courses: Mapping[int, _Course], marks: Sequence[_Mark], level: Sequence[int]
) -> Behind | None:
    """Who printed nothing of what all others of those that are level did after the last mark."""
    after = {rank: max(mark.counts[rank][1] for mark in marks if rank in mark.counts) for rank in level}
    said = {rank: {template for template, own in courses[rank].items() if own[-1][1] > after[rank]} for rank in level}
    held = Counter(template for own in said.values() for template in own)
    common = {template for template, times in held.items() if times >= _MOST * len(rows)}
    late = tuple(rank for rank in level if not said[rank] & common)
    others = tuple(rank for rank in level if said[rank] >= common)
    if not common or not late or len(late) + len(others) < len(rows) or 2 * len(late) >= len(rows):
        return None
    first = others[0]
    place = min(courses[first][template][-1][1] for template in common)
    last = {rank: _ref(rows[rank], len(rows[rank]["last_lines"]) - 1) for rank in late}
    return Behind(late, others, last, _ref(rows[first], place), is_by_last_words=True)


def _within(rows: Mapping[int, Mapping[str, Any]], courses: Mapping[int, _Course]) -> Behind | None:
    """Who stopped within a unit that another one ended, while all others stopped between two."""
    ends = {rank: _end(course) for rank, course in courses.items()}
    open_ones = {rank: end[0] for rank, end in ends.items() if end is not None and end[1]}
    ended = {rank: end[0] for rank, end in ends.items() if end is not None and not end[1]}
    if not open_ones or 2 * len(open_ones) >= len(rows) or len(open_ones) + len(ended) < len(rows):
        return None
    if not {*open_ones.values()} <= {*ended.values()}:
        return None
    first = next(rank for rank, unit in ended.items() if unit in open_ones.values())
    last = {rank: _ref(rows[rank], len(rows[rank]["last_lines"]) - 1) for rank in open_ones}
    further = _ref(rows[first], len(rows[first]["last_lines"]) - 1)
    return Behind((*open_ones,), (*ended,), last, further, is_by_last_words=True, is_within=True)


def _end(course: _Course) -> tuple[tuple[int, ...], bool] | None:
    """The counts of the last line, and whether each line of its form before was followed by another one with its counts; None where that was now so, now
    otherwise, or too seldom."""
    units: dict[int, tuple[int, ...]] = {}
    for own in course.values():
        columns = enumerate(zip(*(numbers for numbers, _ in own), strict=True))
        changing = [at for at, column in columns if len({*column}) > 1]
        units |= {place: tuple(numbers[at] for at in changing) for numbers, place in own}
    last = max(units)
    before = next(own for own in course.values() if own[-1][1] == last)[:-1]
    goes_on = {units[place] == units[place + 1] for _, place in before}
    if len(before) < _FEWEST_UNITS or len(goes_on) > 1 or not units[last]:
        return None
    return units[last], goes_on.pop()


def _course(lines: Sequence[str]) -> _Course:
    found: dict[str, list[tuple[tuple[int, ...], int]]] = defaultdict(list)
    for place, line in enumerate(lines):
        _, template, numbers = whole_numbers(strip(line).text)
        found[template].append((numbers, place))
    return found


def _marks(courses: Mapping[int, _Course]) -> Iterator[_Mark]:
    by_template: dict[str, list[int]] = defaultdict(list)
    for rank, course in courses.items():
        for template in course:
            by_template[template].append(rank)
    for template, ranks in by_template.items():
        if len(ranks) >= _MOST * len(courses):
            said = {rank: courses[rank][template] for rank in ranks}
            numbers = range(len(said[ranks[0]][0][0]))
            yield from islice(filter(None, (_mark(said, at) for at in numbers)), 1)


def _mark(said: Mapping[int, Sequence[tuple[tuple[int, ...], int]]], at: int) -> _Mark | None:
    """The number at that place of a template as a mark, if it counts."""
    counts = {rank: (occurrences[-1][0][at], occurrences[-1][1]) for rank, occurrences in said.items()}
    most, share = Counter(last for last, _ in counts.values()).most_common(1)[0]
    runs = [[numbers[at] for numbers, _ in occurrences] for occurrences in said.values()]
    steps = {after - before for run in runs for before, after in pairwise(run)}
    if share < _MOST * len(said) or len(steps) != 1 or (step := steps.pop()) <= 0:
        return None
    if any((last - most) % step for last, _ in counts.values()):
        return None
    return _Mark(counts, most, step)


def _ref(row: Mapping[str, Any], place: int) -> Ref:
    return Ref(file=row["file"], line=first_line(row) + place, text=row["last_lines"][place])
