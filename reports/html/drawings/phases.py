"""The map of who stands out in which phase: a row per phase and group of peers, a column per rank that stands out."""

from collections.abc import Sequence
from typing import NamedTuple

from forensics.model.drawn import Votes
from reports.html.drawings import labels
from reports.layout import cells, cut, duration, plain, ranks_phrase

_ROWS, _COLUMNS = 10, 40
_TOP, _ROW, _LETTER, _BOLD = 22, 34, 6, 8  # pixels; of letters at most
_FULL, _BAR = 24, 12  # pixels: the height of a bar that stands for all steps, and its width
_NAME = 40  # characters of a phase


class Bar(NamedTuple):
    """`x`, `y`: the upper left corner; `height`: the share of the steps in which the rank stands out."""

    x: int
    y: int
    height: int
    sort: str
    rank: int
    title: str


class Line(NamedTuple):
    """`y`: where its bars stand on; `first`: the phase; `second`: how, and among whom."""

    y: int
    first: str
    second: str


class Phases(NamedTuple):
    width: int
    height: int
    left: int
    full: int
    bar: int
    lines: list[Line]
    columns: list[tuple[int, str]]  # the middle, and the rank
    bars: list[Bar]
    cut_off: int  # of the votes


_Row = tuple[str, str, str]  # phase, sort, peers


def phases(votes: Sequence[Votes]) -> Phases | None:
    """Rows and ranks by their most votes, ranks then in order; one bar would say no more than its row of the table."""
    if len(votes) < 2:
        return None
    rows = list(dict.fromkeys(_row(one) for one in votes))[:_ROWS]
    drawn = [one for one in votes if _row(one) in rows]
    ranks = sorted(list(dict.fromkeys(one.rank for one in drawn))[:_COLUMNS])
    drawn = [one for one in drawn if one.rank in ranks]
    column = max(_BAR + 4, _LETTER * len(str(ranks[-1])) + 8)
    left = 12 + max(max(_BOLD * cells(_first(row)), _LETTER * cells(_second(row))) for row in rows)
    lines = [Line(_TOP + _ROW * (at + 1) - 4, _first(row), _second(row)) for at, row in enumerate(rows)]
    bars = []
    for one in drawn:
        x = left + column * ranks.index(one.rank) + (column - _BAR) // 2
        height = max(2, round(_FULL * one.votes / one.steps))
        bars.append(Bar(x, lines[rows.index(_row(one))].y - height, height, one.sort, one.rank, _title(one)))
    return Phases(
        left + column * len(ranks) + 8, _TOP + _ROW * len(rows) + 4, left, _FULL, _BAR, lines,
        [(left + column * at + column // 2, str(rank)) for at, rank in enumerate(ranks)], bars, len(votes) - len(drawn),
    )  # fmt: skip


def _row(one: Votes) -> _Row:
    return one.phase, one.sort, one.peers


def _first(row: _Row) -> str:
    return cut(plain(row[0]), _NAME)


def _second(row: _Row) -> str:
    _, sort, peers = row
    how = labels.VOTED[sort]
    return cut(labels.AMONG(how=how, ranks=ranks_phrase(peers, 2)) if peers else how, _NAME)


def _title(one: Votes) -> str:
    beyond = duration(abs(one.excess_ms) / 1000) if abs(one.excess_ms) >= 10_000 else f"{abs(one.excess_ms):.3g} ms"
    return (labels.ABOVE if one.excess_ms > 0 else labels.BELOW)(
        rank=one.rank, phase=one.phase, how=labels.VOTES[one.sort], votes=one.votes, steps=one.steps, beyond=beyond
    )
