"""Pictures of numbers: curves around the onset, and the map of ranks × modules of first bad values."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from forensics.model.drawn import FirstBad, Series
from forensics.model.said import joined
from forensics.model.texts import PHASE
from reports.html.drawings import labels
from reports.layout import spans

_WIDTH, _HEIGHT, _EDGE = 300, 74, 6
CURVES = 8
_DOTS = 24
_MODULES, _COLUMNS = 14, 48
_CELL_W, _CELL_H = 14, 16


class Curve(NamedTuple):
    """`line`: the finite values; `bad`: crosses where they are NaN or Inf, at the top; `onset`, `limit`: pixels.
    `whole`: the curve in words."""

    title: str
    whole: str
    about: str
    first: str
    last: str
    low: str
    high: str
    line: str
    dots: str  # of the values, where there are few
    bad: str
    onset: int | None
    limit: int | None
    at_onset: str
    is_log: bool
    item: Series


class Map(NamedTuple):
    """A row per module, a column per rank or run of ranks; `cells` by step: how early."""

    width: int
    height: int
    rows: list[tuple[int, str]]
    columns: list[tuple[int, str]]
    cells: Sequence[tuple[int, int, str, bool, str]]  # x, y, path class, the first anomaly, title
    cut_off: int


SIZE = (_WIDTH, _HEIGHT)


def curves(series: Sequence[Series]) -> list[Curve]:
    """The first few, as the report orders them."""
    return [curve for item in series[:CURVES] if (curve := _curve(item)) is not None]


def _curve(item: Series) -> Curve | None:
    points = [(step, _number(value)) for step, value in zip(item.steps, item.values, strict=False)]
    finite = [value for _, value in points if math.isfinite(value)]
    if len(points) < 2 or not finite:
        return None
    low, high = min(finite), max(finite)
    limit = item.limit if item.limit is not None and high > 0 and item.limit <= high * 1e6 else None
    is_log = low > 0 and high / low > 100
    top = max(high, limit) if limit is not None else high
    first, last = points[0][0], points[-1][0]

    def x(step: int) -> int:
        return _EDGE + round((step - first) / max(1, last - first) * (_WIDTH - 2 * _EDGE))

    def y(value: float) -> float:
        scaled, bottom, ceiling = (math.log(one) if is_log else one for one in (value, low, top))
        share = (scaled - bottom) / (ceiling - bottom) if ceiling > bottom else 0.5
        return round(_HEIGHT - _EDGE - share * (_HEIGHT - 2 * _EDGE - 6), 1)

    line, dots, bad, is_down = [], [], [], False
    for step, value in points:
        if math.isfinite(value):
            line.append(f"{'L' if is_down else 'M'}{x(step)} {y(value):g}")
            if len(points) <= _DOTS:
                dots.append(f"M{x(step) - 2} {y(value) - 2:g}h4v4h-4z")
        else:
            bad.append(f"M{x(step) - 3} 2l6 6m0-6l-6 6")
        is_down = math.isfinite(value)
    phase = PHASE.get(item.phase, item.phase) if item.phase else ""
    about = joined((item.module or "", item.tensor or "", phase), ", ")
    who = f"rank {item.rank}" if item.rank is not None else labels.WHOSE[item.who]
    onset = item.onset if item.onset is not None and first <= item.onset <= last else None
    told = next((value for step, value in zip(item.steps, item.values, strict=False) if step == item.onset), None)
    at_onset = "" if told is None else told if isinstance(told, str) else _short(told)
    title = labels.CURVE(what=labels.QUANTITY[item.what], who=who)
    whole = labels.FROM_TO(title=title, first=f"step {first}", last=last, low=_short(low), high=_short(top))
    return Curve(
        title, labels.AT_ONSET(curve=whole, value=at_onset) if at_onset else whole, about, f"step {first}", str(last), _short(low), _short(top), "".join(line), "".join(dots), "".join(bad),
        None if onset is None else x(onset), None if limit is None else round(y(limit)),
        at_onset, is_log, item,
    )  # fmt: skip


def _number(value: float | str) -> float:
    named = {"NaN": math.nan, "Inf": math.inf, "-Inf": -math.inf}
    return named.get(value, math.nan) if isinstance(value, str) else value


def _short(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) and abs(value) < 1e6 else f"{value:.3g}"


def first_bad(rows: Sequence[FirstBad]) -> Map | None:
    """Modules in the order in which they turned bad, ranks from left to right; the earlier, the darker."""
    if not rows:
        return None
    modules = list(dict.fromkeys(row.module for row in rows))
    shown = modules[:_MODULES]
    ranks = sorted({rank for row in rows for first, last in spans(row.ranks) for rank in range(first, last + 1)})
    per_column = -(-len(ranks) // _COLUMNS)
    column = {rank: index // per_column for index, rank in enumerate(ranks)}
    steps = sorted({row.step for row in rows})
    cells: dict[tuple[int, int], FirstBad] = {}
    for row in rows:
        if row.module not in shown:
            continue
        for at in sorted({column[rank] for first, last in spans(row.ranks) for rank in range(first, last + 1)}):
            known = cells.get((at, shown.index(row.module)))
            if known is None or (not row.origin, row.step) < (not known.origin, known.step):
                cells[at, shown.index(row.module)] = row
    left, top = min(252, 7 * max(len(name or labels.WHOLE_MODEL) for name in shown) + 8), 22
    places = [
        (left + at * _CELL_W, top + line * _CELL_H, f"age-{min(3, 4 * steps.index(row.step) // len(steps))}", row.origin,
         labels.FIRST_BAD(module=row.module, value=row.value, step=row.step, ranks=row.ranks))
        for (at, line), row in sorted(cells.items())
    ]  # fmt: skip
    every = -(-(7 * len(str(ranks[-1])) + 6) // _CELL_W)  # so that no number stands on the next
    columns = [(left + at * _CELL_W, str(ranks[at * per_column])) for at in range(0, max(column.values()) + 1, every)]
    return Map(
        left + (max(column.values()) + 1) * _CELL_W + 8,
        top + len(shown) * _CELL_H + 4,
        [(top + line * _CELL_H + 11, name or labels.WHOLE_MODEL) for line, name in enumerate(shown)],
        columns,
        places,
        len(modules) - len(shown),
    )
