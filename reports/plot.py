"""Drawings of a report for notebooks: those of the page, as SVG that needs no script, no style sheet and no network."""

from collections.abc import Iterable
from html import escape
from pathlib import Path

from forensics.model.incident import Document, Incident
from reports import outputs, summary, words
from reports.html.drawings import numbers, place, ranks, timeline
from reports.html.drawings.shapes import STATES, shape
from reports.sanitize import clean

_COLORS = {
    "ok": "#5b8c5a", "waiting": "#b98a2f", "culprit": "#b3261e", "suspect": "#c2571b", "dead": "#5b5b5b",
    "ended": "#8f8f9e", "no_data": "#9a9a9a", "system": "#4a6fa5",
}  # fmt: skip
_INK, _FAINT, _LINE, _PAPER = "#1f2328", "#6a737d", "#d0d7de", "#ffffff"
_FONT = "font-family='system-ui, sans-serif' font-size='12'"
_CURVE_HEIGHT = 118  # pixels of a curve with its words
_LEGEND = 150  # pixels of a state's name


class Drawing:
    """What a notebook shows, and `save` writes: `.svg` is the whole text."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Drawing: {len(self.svg):,} characters of SVG>"

    def save(self, file: str | Path) -> None:
        """Write it as an .svg, whole or not at all."""
        outputs.write(str(file), self.svg.encode())


class Plots:
    """`report.plot`: each method gives a Drawing. ValueError where the report holds nothing to draw of that sort."""

    def __init__(self, report: Document) -> None:
        self._report = report

    def timeline(self) -> Drawing:
        """What happened around the stop: time across, a track per class of ranks with its last operations, and numbered events."""
        incident = self._incident
        stopped = place.has_stopped(incident)
        views = incident.views
        drawn = timeline.timeline(views.timeline, views.tracks, place.zero(incident), has_stopped=stopped)
        if drawn is None:
            raise ValueError("nothing in this report has a time")
        return Drawing(_timeline(drawn))

    def ranks(self) -> Drawing:
        """The state of every rank: a mark each, a row per host."""
        incident = self._incident
        grid = ranks.by_host(incident.views.grid, incident.views.hosts)
        if grid is None:
            raise ValueError("this report knows no rank")
        return Drawing(_ranks(grid))

    def series(self) -> Drawing:
        """Loss, gradient norm, loss scale and largest values over steps, of who is named and of the others."""
        curves = numbers.curves(self._incident.views.series)
        if not curves:
            raise ValueError("this report holds no numbers over steps")
        return Drawing(_series(curves))

    @property
    def _incident(self) -> Incident:
        incident = summary.primary(self._report)
        if incident is None:
            raise ValueError("the report holds no incident")
        return incident


def _picture(width: int, height: int, title: str, parts: Iterable[str]) -> str:
    head = f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' viewBox='0 0 {width} {height}' role='img' {_FONT}>"
    ground = f"<title>{_text(title)}</title><rect width='{width}' height='{height}' fill='{_PAPER}'/>"
    return "\n".join([head, ground, *parts, "</svg>"]) + "\n"


def _text(text: str) -> str:
    return escape(clean(text, "space"))


def _words(x: float, y: float, text: str, fill: str = _INK, anchor: str = "start") -> str:
    return f"<text x='{x:g}' y='{y:g}' fill='{fill}' text-anchor='{anchor}'>{_text(text)}</text>"


def _path(line: str, fill: str = "none", stroke: str = "none", more: str = "") -> str:
    return f"<path d='{line}' fill='{fill}' stroke='{stroke}' {more}/>"


def _ranks(grid: ranks.Grid) -> str:
    parts = []
    for mark in grid.marks:
        name = f"forensics-{grid.step}-{mark.state}"
        tile = f"<path d='{mark.tile}' fill='{_COLORS[mark.state]}' fill-rule='evenodd'/>"
        size = f"width='{grid.step}' height='{grid.row}'"
        parts.append(f"<pattern id='{name}' {size} patternUnits='userSpaceOnUse'>{tile}</pattern>")
        parts.append(_path(mark.path, f"url(#{name})"))
    for x, y in grid.rings:
        parts.append(f"<circle cx='{x}' cy='{y}' r='9' fill='none' stroke='{_COLORS['culprit']}' stroke-width='2'/>")
    parts += [_words(label.x, label.y, label.text, _FAINT) for label in grid.labels]
    states = sorted(grid.marks, key=lambda mark: STATES.index(mark.state))
    for at, mark in enumerate(states):
        x, y = at * _LEGEND, grid.height + 8
        sign = _path(shape(mark.state), _COLORS[mark.state], more="fill-rule='evenodd'")
        parts.append(f"<g transform='translate({x} {y})'>{sign}</g>")
        parts.append(_words(x + 18, y + 11, f"{words.STATE[mark.state]} {mark.total:,}"))
    return _picture(max(grid.width, len(states) * _LEGEND), grid.height + 30, "Ranks", parts)


def _timeline(drawn: timeline.Timeline) -> str:
    parts = []
    for tick in drawn.ticks:
        parts.append(_path(f"M{tick.x} 20V{drawn.height - 4}", stroke=_LINE, more="stroke-dasharray='1 4'"))
        parts.append(_words(tick.x, 13, tick.text, _FAINT, "middle"))
    for lane in drawn.lanes:
        color = _COLORS[lane.state]
        parts.append(_path(f"M{drawn.left} {lane.y + 19}H{drawn.width - 8}", stroke=_LINE))
        for bar in lane.bars:
            shade = "fill-opacity='.35'" if bar.is_open else ""
            whole = f"<title>{_text(bar.text)}</title>"
            parts.append(
                f"<rect x='{bar.x:g}' y='{lane.y + 9}' width='{bar.width:g}' height='20' fill='{color}' {shade}>{whole}</rect>"
            )
        if lane.stopped is not None:
            red = _COLORS["culprit"]
            parts.append(_path(f"M{lane.stopped:g} {lane.y + 3}v34m0-34l-5-5h10z", red, red, "stroke-width='2.5'"))
        parts.append(_words(4, lane.y + (16 if lane.second else 24), lane.first))
        parts += [_words(4, lane.y + 30, lane.second, _FAINT)] if lane.second else []
    for gap in drawn.breaks:
        parts.append(f"<rect x='{gap.x - 17}' y='18' width='34' height='{drawn.height - 18}' fill='{_PAPER}'/>")
        turned = f"transform='translate({gap.x + 4} {drawn.height // 2 + 8}) rotate(-90)'"
        parts.append(f"<text {turned} fill='{_FAINT}' text-anchor='middle'>{_text(gap.text)}</text>")
    parts += [_moment(one) for one in drawn.moments if one.is_drawn]
    listed = [f"{one.number}  {one.relative}  {one.item.label}" for one in drawn.moments]
    parts += [_words(4, drawn.height + 18 * at, line) for at, line in enumerate(listed, 1)]
    return _picture(drawn.width, drawn.height + 18 * len(listed) + 8, f"Timeline, from the {drawn.zero}", parts)


def _moment(one: timeline.Moment) -> str:
    color = {"culprit": _COLORS["culprit"], "system": _COLORS["system"]}.get(one.item.lane, _FAINT)
    lead = _path(f"M{one.at:g} {one.y - 14}L{one.x:g} {one.y}", stroke=color) if one.at != one.x else ""
    sign = f"<circle cx='{one.x:g}' cy='{one.y}' r='9.5' fill='{color}'/>"
    return f"<g>{lead}{sign}{_words(one.x, one.y + 4, str(one.number), _PAPER, 'middle')}</g>"


def _series(curves: list[numbers.Curve]) -> str:
    width, height = numbers.SIZE
    parts = []
    for at, curve in enumerate(curves):
        lines = [_words(0, 14, curve.title), "<g transform='translate(0 20)'>"]
        lines.append(f"<rect width='{width}' height='{height}' fill='none' stroke='{_LINE}'/>")
        if curve.limit is not None:
            lines.append(_path(f"M0 {curve.limit}H{width}", stroke=_FAINT, more="stroke-dasharray='4 3'"))
        if curve.onset is not None:
            lines.append(_path(f"M{curve.onset} 0V{height}", stroke=_COLORS["culprit"]))
        lines.append(_path(curve.line, stroke=_COLORS["system"], more="stroke-width='1.5'"))
        lines.append(_path(curve.dots, _COLORS["system"]))
        lines.append(_path(curve.bad, stroke=_COLORS["culprit"], more="stroke-width='2'"))
        log = ", logarithmic" if curve.is_log else ""
        span = f"{curve.first} – {curve.last} · {curve.low} – {curve.high}{log}"
        lines += ["</g>", _words(0, height + 34, span, _FAINT)]
        x, y = at % 2 * (width + 30), at // 2 * _CURVE_HEIGHT
        parts += [f"<g transform='translate({x} {y})'>", *lines, "</g>"]
    rows = (len(curves) + 1) // 2
    return _picture(2 * width + 30 if len(curves) > 1 else width, rows * _CURVE_HEIGHT, "Numbers over steps", parts)
