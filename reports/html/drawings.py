"""Geometry of the page's drawings: plain numbers and path texts for the templates. No colours, no text escaping."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from forensics.model.drawn import GraphEdge, GraphNode, GridCell, GridHost, TimelineItem
from reports.layout import cut, duration, spans

GRID_RANKS = 32_768
NODES = 30
ITEMS = 40
LANES = ("culprit", "peers", "system")
STATES = ("ok", "waiting", "suspect", "dead", "culprit", "no_data")  # as painted, the telling ones last
_PAGE = 920


# --- ranks -----------------------------------------------------------------------------------------------------------


class Label(NamedTuple):
    x: int
    y: int
    text: str


class Mark(NamedTuple):
    state: str
    total: int
    path: str


class Grid(NamedTuple):
    width: int
    height: int
    step: int
    marks: list[Mark]
    labels: list[Label]
    places: list[list[int]]  # x, y, first rank, length: one entry per run of cells, for the script
    cut_off: int


def grid(cells: Sequence[GridCell], hosts: Sequence[GridHost]) -> Grid | None:
    """One cell per rank, a block of cells per host; one path per state, never a node per rank."""
    states = _states(cells)
    ranks = sorted(states)
    if not ranks:
        return None
    shown = set(ranks[:GRID_RANKS])
    step = 16 if len(shown) <= 512 else 10 if len(shown) <= 4096 else 7
    blocks = _blocks(sorted(shown), hosts)
    places, labels, width, height = _placed(blocks, step)
    paths: dict[str, list[str]] = {state: [] for state in STATES}
    for x, y, first, length in places:
        for index in range(length):
            state = states[first + index]
            paths[state].append(_shape(state, x + index * step, y, step - max(2, step // 5)))
    total = {state: sum(1 for value in states.values() if value == state) for state in STATES}
    marks = [Mark(state, total[state], "".join(paths[state])) for state in STATES if paths[state]]
    return Grid(width, height, step, marks, labels, places, len(ranks) - len(shown))


def shape(state: str) -> str:
    """The mark of one state alone, for the legend."""
    return _shape(state, 1, 1, 12)


def _states(cells: Sequence[GridCell]) -> dict[int, str]:
    order = {state: index for index, state in enumerate(("no_data", "ok", "waiting", "suspect", "dead", "culprit"))}
    out: dict[int, str] = {}
    for cell in sorted(cells, key=lambda cell: order[cell.state]):
        for first, last in spans(cell.ranks):
            out.update(dict.fromkeys(range(first, last + 1), cell.state))
    return out


def _blocks(ranks: Sequence[int], hosts: Sequence[GridHost]) -> list[tuple[str, list[int]]]:
    left = set(ranks)
    blocks: list[tuple[str, list[int]]] = []
    for host in hosts:
        own = [rank for first, last in spans(host.ranks) for rank in range(first, last + 1) if rank in left]
        left.difference_update(own)
        blocks += [(host.host, own[start : start + 16]) for start in range(0, len(own), 16)]
    rest = [rank for rank in ranks if rank in left]
    unplaced = "place unknown" if hosts else ""
    blocks += [(unplaced or f"rank {rest[start]}", rest[start : start + 16]) for start in range(0, len(rest), 16)]
    return blocks


def _placed(blocks: Sequence[tuple[str, list[int]]], step: int) -> tuple[list[list[int]], list[Label], int, int]:
    """Blocks side by side as far as the page is wide; names stand before each block as long as there are few."""
    widest = max(len(ranks) for _, ranks in blocks)
    is_named = len(blocks) <= 64
    head = 112 if is_named else 0
    column = head + widest * step + 16
    start = 0 if is_named else 112
    most = max(1, min(len(blocks), (_PAGE - start) // column))
    columns = -(-len(blocks) // -(-len(blocks) // most))  # the rows equally full
    places: list[list[int]] = []
    labels = []
    sparse = 1 if step >= 10 else 2  # small cells: a name at every other row
    for index, (name, ranks) in enumerate(blocks):
        x, y = start + index % columns * column, index // columns * (step + 4) + 6
        if is_named or index % (columns * sparse) == 0:
            labels.append(Label(x if is_named else 0, y + min(step - 4, 8) + 2, cut(name, 16)))
        for offset, rank in enumerate(ranks):
            if offset and places[-1][2] + places[-1][3] == rank:
                places[-1][3] += 1
            else:
                places.append([x + head + offset * step, y, rank, 1])
    return places, labels, start + columns * column, -(-len(blocks) // columns) * (step + 4) + 8


def _shape(state: str, x: int, y: int, size: int) -> str:
    """A shape of its own for each state: the drawing must read without colour."""
    half, third = size // 2, max(2, size // 3)
    match state:
        case "culprit":  # full square with a hole
            hole = f"m{third} {third}v{size - 2 * third}h{size - 2 * third}v-{size - 2 * third}z"
            return f"M{x} {y}h{size}v{size}h-{size}z{hole}"
        case "suspect":  # triangle
            return f"M{x + half} {y}l{half} {size}h-{2 * half}z"
        case "dead":  # cross
            arm = size - 2
            falling = f"M{x} {y}h2l{arm} {arm}v2h-2l-{arm}-{arm}z"
            return f"{falling}M{x + size} {y}v2l-{arm} {arm}h-2v-2l{arm}-{arm}z"
        case "waiting":  # upper bar and lower bar
            return f"M{x} {y}h{size}v{third}h-{size}zM{x} {y + size - third}h{size}v{third}h-{size}z"
        case "no_data":  # hollow
            inner = size - 2
            return f"M{x} {y}h{size}v{size}h-{size}zm1 1v{inner}h{inner}v-{inner}z"
    return f"M{x} {y}h{size}v{size}h-{size}z"


# --- timeline --------------------------------------------------------------------------------------------------------


class Moment(NamedTuple):
    number: int
    item: TimelineItem
    relative: str
    x: int
    y: int


class Gap(NamedTuple):
    x: int
    text: str


class Timeline(NamedTuple):
    width: int
    lanes: list[tuple[str, int]]
    moments: list[Moment]
    gaps: list[Gap]
    cut_off: int


def timeline(items: Sequence[TimelineItem], zero: str | None) -> Timeline | None:
    """Events in order at equal steps, since their times lie too far apart for one scale; long gaps are written in."""
    shown = items[:ITEMS]
    if not shown:
        return None
    rows = {lane: 40 + 34 * index for index, lane in enumerate(LANES)}
    origin = _time(zero) or _time(shown[0].time_utc)
    times = [_time(item.time_utc) for item in shown]
    moments: list[Moment] = []
    gaps: list[Gap] = []
    x = 110
    for index, (item, time) in enumerate(zip(shown, times, strict=True)):
        previous = times[index - 1] if index else None
        elapsed = _between(previous, time)
        if elapsed is not None and elapsed >= 5:
            gaps.append(Gap(x + 14, duration(elapsed)))
            x += 50
        relative = _between(origin, time)
        x += 26
        moments.append(Moment(index + 1, item, "" if relative is None else _signed(relative), x, rows[item.lane]))
    return Timeline(max(x + 30, 400), list(rows.items()), moments, gaps, len(items) - len(shown))


def _time(text: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if text else None
    except ValueError:
        return None


def _between(start: datetime | None, end: datetime | None) -> float | None:
    if start is None or end is None or (start.tzinfo is None) != (end.tzinfo is None):
        return None
    return (end - start).total_seconds()


def _signed(seconds: float) -> str:
    return f"+{duration(seconds)}" if seconds >= 0 else f"−{duration(-seconds)}"


# --- graph -----------------------------------------------------------------------------------------------------------


class Box(NamedTuple):
    node: GraphNode
    x: int
    y: int
    first: str
    second: str


class Arrow(NamedTuple):
    edge: GraphEdge
    path: str
    x: int
    y: int


class Graph(NamedTuple):
    width: int
    height: int
    boxes: list[Box]
    arrows: list[Arrow]
    cut_off: int


BOX_WIDTH, BOX_HEIGHT = 148, 44
_STEP_X, _STEP_Y = 216, 66


def graph(nodes: Sequence[GraphNode], edges: Sequence[GraphEdge]) -> Graph | None:
    """Layers from left to right: who waits stands left of what it waits for."""
    shown = nodes[:NODES]
    if not shown:
        return None
    names = [node.id for node in shown]
    kept = [edge for edge in edges if edge.source in names and edge.target in names]
    layers = _layers(names, kept)
    rows: dict[int, int] = {}
    boxes: dict[str, Box] = {}
    for node in shown:
        layer = layers[node.id]
        row = rows.get(layer, 0)
        rows[layer] = row + 1
        detail = node.detail or node.ranks
        boxes[node.id] = Box(node, 8 + layer * _STEP_X, 24 + row * _STEP_Y, cut(node.label, 18), cut(detail, 21))
    width = 8 + max(layers.values()) * _STEP_X + BOX_WIDTH + 6
    height = 24 + max(rows.values()) * _STEP_Y
    arrows = [_arrow(edge, boxes) for edge in kept]
    return Graph(width, height, list(boxes.values()), arrows, len(nodes) - len(shown))


def _layers(names: Sequence[str], edges: Sequence[GraphEdge]) -> Mapping[str, int]:
    """Longest path from the left; an edge that would close a circle does not move anything."""
    forward = _without_circles(names, edges)
    layers = dict.fromkeys(names, 0)
    for _ in names:
        moved = False
        for source, target in forward:
            if layers[target] <= layers[source]:
                layers[target] = layers[source] + 1
                moved = True
        if not moved:
            break
    return layers


def _without_circles(names: Sequence[str], edges: Sequence[GraphEdge]) -> list[tuple[str, str]]:
    kept: list[tuple[str, str]] = []
    after: dict[str, set[str]] = {name: {name} for name in names}  # everything reachable from a node
    for edge in edges:
        if edge.source in after[edge.target]:
            continue
        kept.append((edge.source, edge.target))
        for reachable in after.values():
            if edge.source in reachable:
                reachable |= after[edge.target]
    return kept


def _arrow(edge: GraphEdge, boxes: Mapping[str, Box]) -> Arrow:
    source, target = boxes[edge.source], boxes[edge.target]
    x1, y1 = source.x + BOX_WIDTH, source.y + BOX_HEIGHT // 2
    x2, y2 = target.x - 3, target.y + BOX_HEIGHT // 2
    if target.x > source.x:
        bend = (x2 - x1) // 2
        return Arrow(edge, f"M{x1} {y1}C{x1 + bend} {y1} {x2 - bend} {y2} {x2} {y2}", x1 + bend, (y1 + y2) // 2 - 5)
    top1, top2 = source.y + BOX_HEIGHT, target.y + BOX_HEIGHT + 3
    x1, x2 = source.x + BOX_WIDTH // 2, target.x + BOX_WIDTH // 2
    low = max(top1, top2) + 18
    return Arrow(edge, f"M{x1} {top1}C{x1} {low} {x2} {low} {x2} {top2}", (x1 + x2) // 2, low - 2)
