"""Who waits for whom, in layers: who is waited for stands at the left, where every width of a page shows it. Nothing overlaps,
however many ranks the classes stand for.

The way of Sugiyama, Tagawa and Toda (1981): edges that would close a circle turn around, longest paths give the layers,
an edge over several layers goes through a place of its own in each, and sweeps by the mean of the neighbours' places take
crossings out.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from forensics.model.drawn import GraphEdge, GraphNode
from forensics.model.said import capital, joined
from reports.html.drawings import labels
from reports.layout import cells, count, plain, ranks_phrase

NODES = 30
BOX_WIDTH = 178
_LINE, _PADDING = 15, 8
_GAP_X, _GAP_Y, _THIN = 82, 18, 14  # between layers, between boxes, of an edge that passes
_WORD = 14  # of the words at an arrow
_SWEEPS = 8


class Box(NamedTuple):
    """`held`: the operation that only these ranks wait in, drawn in their box."""

    node: GraphNode
    held: GraphNode | None
    x: int
    y: int
    height: int
    lines: list[str]


class Arrow(NamedTuple):
    edge: GraphEdge
    source: Box
    target: Box
    text: str
    path: str
    x: int
    y: int


class Graph(NamedTuple):
    width: int
    height: int
    boxes: list[Box]
    arrows: list[Arrow]
    cut_off: int


def word(state: str) -> str:
    """Of a class of ranks or operations."""
    return labels.STATE.get(state, state)


def graph(nodes: Sequence[GraphNode], edges: Sequence[GraphEdge], spoken: Callable[[str], str] = str) -> Graph | None:
    """Who waits stands right of what it waits for. `spoken`: a label in the language of the page."""
    shown = nodes[:NODES]
    if not shown:
        return None
    names = {node.id for node in shown}
    known = [edge for edge in edges if edge.source in names and edge.target in names and edge.source != edge.target]
    held = _held(shown, known)
    owner = {operation.id: name for name, operation in held.items()}
    moved = [msgspec.structs.replace(edge, source=owner.get(edge.source, edge.source)) for edge in known]
    kept = [edge for edge in moved if edge.target not in owner and edge.source != edge.target]
    drawn = [node for node in shown if node.id not in owner]
    forward = _without_circles([node.id for node in drawn], kept)
    layers = _layers([node.id for node in drawn], forward)
    chains = [_chain(edge, layers) for edge in forward]
    rows = _ordered([node.id for node in drawn], layers, chains)
    lines = {node.id: _lines(node, held.get(node.id), spoken) for node in drawn}
    heights = {name: max(len(text) * _LINE + 2 * _PADDING, _ports(name, forward)) for name, text in lines.items()}
    tops, height = _stacked(rows, heights)
    last = max(layers.values())
    boxes = {
        node.id: Box(node, held.get(node.id), _left(layers[node.id], last), tops[node.id], heights[node.id], lines[node.id])
        for node in drawn
    }  # fmt: skip
    arrows = _arrows(kept, boxes, dict(zip(forward, chains, strict=True)), tops)
    low = max((arrow.y + 12 for arrow in arrows), default=0)
    width = _left(0, last) + BOX_WIDTH + 8
    return Graph(width, max(height, low), list(boxes.values()), arrows, len(nodes) - len(shown))


def _left(layer: int, last: int) -> int:
    """The left edge of a box: the last layer, that of who is waited for, comes first."""
    return 6 + (last - layer) * (BOX_WIDTH + _GAP_X)


def _held(nodes: Sequence[GraphNode], edges: Sequence[GraphEdge]) -> dict[str, GraphNode]:
    """Class of ranks → the operation that it alone waits in, and nothing else; a circle between the two stays."""
    by_name = {node.id: node for node in nodes}
    found = {}
    for node in nodes:
        out = [edge.target for edge in edges if edge.source == node.id]
        if node.kind != "ranks" or len(out) != 1 or by_name[out[0]].kind != "operation":
            continue
        if sum(edge.target == out[0] for edge in edges) == 1:
            found[node.id] = by_name[out[0]]
    return found


# --- layers and order ------------------------------------------------------------------------------------------------


def _without_circles(names: Sequence[str], edges: Sequence[GraphEdge]) -> list[tuple[str, str]]:
    kept: list[tuple[str, str]] = []
    after: dict[str, set[str]] = {name: {name} for name in names}  # everything reachable from a node
    for edge in edges:
        if edge.source in after[edge.target] or (edge.source, edge.target) in kept:
            continue
        kept.append((edge.source, edge.target))
        for reachable in after.values():
            if edge.source in reachable:
                reachable |= after[edge.target]
    return kept


def _layers(names: Sequence[str], edges: Sequence[tuple[str, str]]) -> Mapping[str, int]:
    """Longest path from the left; then who waits moves right, next to what it waits for."""
    layers = dict.fromkeys(names, 0)
    for _ in names:
        for source, target in edges:
            layers[target] = max(layers[target], layers[source] + 1)
    for _ in names:
        for name in names:
            targets = [layers[target] for source, target in edges if source == name]
            if targets:
                layers[name] = min(targets) - 1
    return layers


def _chain(edge: tuple[str, str], layers: Mapping[str, int]) -> list[str]:
    """The edge with a place in each layer that it passes."""
    source, target = edge
    between = [f"{source}\t{target}\t{layer}" for layer in range(layers[source] + 1, layers[target])]
    return [source, *between, target]


def _ordered(names: Sequence[str], layers: Mapping[str, int], chains: Sequence[Sequence[str]]) -> list[list[str]]:
    rows: list[list[str]] = [[] for _ in range(max(layers.values()) + 1)]
    for name in names:
        rows[layers[name]].append(name)
    for chain in chains:
        for at, passing in enumerate(chain[1:-1], layers[chain[0]] + 1):
            rows[at].append(passing)
    before: dict[str, list[str]] = {}
    after: dict[str, list[str]] = {}
    for chain in chains:
        for one, two in itertools.pairwise(chain):
            after.setdefault(one, []).append(two)
            before.setdefault(two, []).append(one)
    for sweep in range(_SWEEPS):
        order, beside = (range(1, len(rows)), before) if sweep % 2 == 0 else (range(len(rows) - 2, -1, -1), after)
        for layer in order:
            place = {name: at for row in rows for at, name in enumerate(row)}
            means = {name: _mean([place[other] for other in beside.get(name, [])], place[name]) for name in rows[layer]}
            rows[layer].sort(key=means.__getitem__)
    return rows


def _mean(values: Sequence[int], otherwise: int) -> float:
    return sum(values) / len(values) if values else float(otherwise)


def _stacked(rows: Sequence[Sequence[str]], heights: Mapping[str, int]) -> tuple[dict[str, int], int]:
    """Top of each box and each passing edge, layers centred; the height of all."""
    totals = [sum(heights.get(name, _THIN) + _GAP_Y for name in row) for row in rows]
    tops = {}
    for row, total in zip(rows, totals, strict=True):
        y = 8 + (max(totals) - total) // 2
        for name in row:
            tops[name] = y
            y += heights.get(name, _THIN) + _GAP_Y
    return tops, 8 + max(totals)


# --- boxes and arrows ------------------------------------------------------------------------------------------------


def _lines(node: GraphNode, held: GraphNode | None, spoken: Callable[[str], str]) -> list[str]:
    """What stands in a box: who, and how they are; long words are broken, not cut."""
    if node.kind != "ranks":
        return [*_wrapped(plain(spoken(node.label))), spoken(word(node.state))]
    who = ranks_phrase(node.ranks) if len(node.ranks) <= 22 else labels.RANKS(count(node.ranks))
    state = word(node.state) if node.state != "waiting" or held is None else labels.WAIT
    if held:
        state = labels.IN_OPERATION(state=state, operation=plain(held.label))
    return [*_wrapped(spoken(capital(who))), *_wrapped(spoken(state))]


def _wrapped(text: str, width: int = 25, most: int = 4) -> list[str]:
    """Broken at spaces and underscores."""
    lines = [""]
    for part in text.replace("_", "_\u0000").replace(" ", " \u0000").split("\u0000"):
        if cells(lines[-1] + part.rstrip()) > width and lines[-1]:
            lines.append("")
        lines[-1] += part
    lines = [line.rstrip() for line in lines]
    lines = [line if cells(line) <= width + 2 else line[:width] + "…" for line in lines]
    return lines if len(lines) <= most else [*lines[: most - 1], lines[most - 1][: width - 1] + "…"]


def _arrows(
    edges: Sequence[GraphEdge],
    boxes: Mapping[str, Box],
    through: Mapping[tuple[str, str], Sequence[str]],
    tops: Mapping[str, int],
) -> list[Arrow]:
    """Ports are spread over the sides of a box, so that no two arrows share an end; those that go back pass beneath."""
    leaving: dict[str, list[GraphEdge]] = {}
    coming: dict[str, list[GraphEdge]] = {}
    for edge in edges:
        if (edge.source, edge.target) in through:
            leaving.setdefault(edge.source, []).append(edge)
            coming.setdefault(edge.target, []).append(edge)
    for several in leaving.values():
        several.sort(key=lambda edge: tops[through[edge.source, edge.target][1]])
    for several in coming.values():
        several.sort(key=lambda edge: tops[through[edge.source, edge.target][-2]])
    lowest = max(box.y + box.height for box in boxes.values()) + 8
    arrows = []
    for edge in edges:
        source, target = boxes[edge.source], boxes[edge.target]
        text = joined((labels.EDGE.get(edge.label, edge.label), "" if edge.certain else "?"), "")
        if (edge.source, edge.target) not in through:
            lowest += 16
            arrows.append(_back(edge, text, source, target, lowest))
            continue
        points = [(source.x, _port(source, leaving[edge.source], edge))]
        for layer, name in enumerate(through[edge.source, edge.target][1:-1], 1):
            left, y = source.x - layer * (BOX_WIDTH + _GAP_X), tops[name] + _THIN // 2
            points += [(left + BOX_WIDTH, y), (left, y)]
        points.append((target.x + BOX_WIDTH + 3, _port(target, coming[edge.target], edge)))
        arrows.append(_forward(edge, text, source, target, points))
    return _apart(arrows)


def _apart(arrows: Sequence[Arrow]) -> list[Arrow]:
    """Words of one gap between layers move down until none stands on another."""
    lowest: dict[int, int] = {}
    out: dict[int, Arrow] = {}
    for at, arrow in sorted(enumerate(arrows), key=lambda item: item[1].y):
        y = max(arrow.y, lowest.get(arrow.x, 0))
        lowest[arrow.x] = y + _WORD - 2
        out[at] = arrow._replace(y=y)
    return [out[at] for at in range(len(arrows))]


def _ports(name: str, edges: Sequence[tuple[str, str]]) -> int:
    """The height that the arrows of a box need, so that their words stand apart."""
    most = max(sum(source == name for source, _ in edges), sum(target == name for _, target in edges))
    return (most + 1) * _WORD


def _port(box: Box, edges: Sequence[GraphEdge], edge: GraphEdge) -> int:
    return box.y + round(box.height * (edges.index(edge) + 1) / (len(edges) + 1))


def _forward(edge: GraphEdge, text: str, source: Box, target: Box, points: Sequence[tuple[int, int]]) -> Arrow:
    path = f"M{points[0][0]} {points[0][1]}"
    for (x1, y1), (x2, y2) in itertools.pairwise(points):
        bend = (x2 - x1) // 2
        path += f"H{x2}" if y1 == y2 else f"C{x1 + bend} {y1} {x2 - bend} {y2} {x2} {y2}"
    (_, y), (end_x, end_y) = points[-2:]
    return Arrow(edge, source, target, text, path, end_x + _GAP_X // 2 - 3, end_y + (y - end_y) // 8 - 4)


def _back(edge: GraphEdge, text: str, source: Box, target: Box, low: int) -> Arrow:
    x1, x2 = source.x + 20, target.x + BOX_WIDTH - 20
    path = f"M{x1} {source.y + source.height}C{x1} {low} {x1} {low} {x1 + 20} {low}H{x2 - 20}C{x2} {low} {x2} {low} {x2} {target.y + target.height + 3}"
    return Arrow(edge, source, target, text, path, (x1 + x2) // 2, low - 3)
