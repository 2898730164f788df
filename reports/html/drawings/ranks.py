"""All ranks as cells: by host, and by the way the job is split. One path per state: a run of equal cells is one rectangle
that a pattern of the state's shape fills, so that ten thousand ranks are a few kilobytes and as many nodes as a dozen."""

from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple

from forensics.model.drawn import GridCell, GridHost, MeshAxis
from forensics.model.said import joined
from reports.html.drawings import labels as words
from reports.html.drawings.shapes import STATES, cell
from reports.layout import cut, spans

GRID_RANKS = 65_536
_WIDTH, _HEIGHT = 960, 290
_STEPS = (18, 16, 14, 12, 10, 8, 7, 6, 5, 4)
_NAME = 104
_RINGS = 16  # named ranks that are ringed where cells are small
_TELLING = ("culprit", "dead", "suspect")


class Label(NamedTuple):
    x: int
    y: int
    text: str


class Mark(NamedTuple):
    state: str
    total: int
    path: str
    tile: str  # the shape that fills the path


class Run(NamedTuple):
    """Cells side by side: ranks first, first + stride, …"""

    x: int
    y: int
    first: int
    length: int
    stride: int


class Grid(NamedTuple):
    name: str
    width: int
    height: int
    step: int
    row: int
    marks: list[Mark]
    labels: list[Label]
    runs: list[Run]
    rings: list[tuple[int, int]]
    cut_off: int


_Cells = tuple[int, int, int]  # first rank, length, stride


class _Block(NamedTuple):
    """Lines of cells under one name."""

    name: str
    lines: list[list[_Cells]]


def states_of(cells: Sequence[GridCell]) -> dict[int, str]:
    """Rank → state; where a text names one twice, the graver."""
    order = ("no_data", "ok", "ended", "waiting", "suspect", "dead", "culprit")
    out: dict[int, str] = {}
    for one in sorted(cells, key=lambda one: order.index(one.state)):
        for first, last in spans(one.ranks):
            out.update(dict.fromkeys(range(first, last + 1), one.state))
    return out


def by_host(cells: Sequence[GridCell], hosts: Sequence[GridHost]) -> Grid | None:
    """A block of cells per host."""
    states = states_of(cells)
    ranks = sorted(states)
    if not ranks:
        return None
    shown = ranks[:GRID_RANKS]
    blocks = _blocks(shown, hosts)
    return _drawn(words.BY_HOST if hosts else "", states, blocks, len(ranks) - len(shown))


def by_axes(cells: Sequence[GridCell], axes: Sequence[MeshAxis]) -> Grid | None:
    """The longest axis from left to right, the others from top to bottom, a gap wherever one of the slower turns over."""
    states = states_of(cells)
    if len(axes) < 2 or not states or len(states) > GRID_RANKS:
        return None
    across = max(axes, key=lambda axis: (axis.size, -axis.stride))
    down = [axis for axis in sorted(axes, key=lambda axis: -axis.stride) if axis != across]
    inner, blocks = down[-1], []
    for outer in product(*(range(axis.size) for axis in down[:-1])):
        start = sum(axis.stride * at for axis, at in zip(down, outer, strict=False))
        name = ", ".join(f"{short(axis.name)} {at}" for axis, at in zip(down, outer, strict=False))
        lines = [[(start + at * inner.stride, across.size, across.stride)] for at in range(inner.size)]
        blocks.append(_Block(name, lines))
    title = words.ACROSS_AND_DOWN(across=_axis(across), down=_axis(inner))
    slower = joined(map(_axis, down[:-1]), ", ")
    return _drawn(words.BLOCKS(title=title, slower=slower) if slower else title, states, blocks, 0)


def short(name: str) -> str:
    """ "tensor model parallel" → "tensor"; tp stays."""
    return name.split(" ")[0] or name


def _axis(axis: MeshAxis) -> str:
    return f"{axis.name} ({axis.size:,})"


def _blocks(ranks: Sequence[int], hosts: Sequence[GridHost]) -> list[_Block]:
    left = set(ranks)
    named: list[tuple[str, list[int]]] = []
    for host in hosts:
        own = [rank for first, last in spans(host.ranks) for rank in range(first, last + 1) if rank in left]
        left.difference_update(own)
        named += [(host.host, own[start : start + 16]) for start in range(0, len(own), 16)]
    rest = [rank for rank in ranks if rank in left]
    for start in range(0, len(rest), 16):
        named.append((words.PLACE_UNKNOWN if hosts else f"rank {rest[start]}", rest[start : start + 16]))
    return [_Block(name, [_cells(own)]) for name, own in named]


def _cells(ranks: Iterable[int]) -> list[_Cells]:
    runs: list[_Cells] = []
    for rank in ranks:
        if runs and runs[-1][0] + runs[-1][1] == rank:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1, 1)
        else:
            runs.append((rank, 1, 1))
    return runs


class _Layout(NamedTuple):
    """Blocks in columns, all figures in pixels but `rows`, the rows of a block with the gap beneath it."""

    step: int
    row: int
    start: int
    head: int
    column: int
    rows: int
    per_column: int
    is_named: bool


def _layout(blocks: Sequence[_Block]) -> _Layout:
    """The largest cells with which all blocks fit; names stand before each block as long as there are few."""
    is_named = len(blocks) <= 64
    widest = max(sum(length for _, length, _ in line) for block in blocks for line in block.lines)
    lines = max(len(block.lines) for block in blocks)
    rows = lines + (1 if lines > 1 else 0)
    for step in _STEPS:
        head = -(-_NAME // step) * step
        column = (head if is_named else 0) + (widest + (2 if step > 8 else 1)) * step
        start = 0 if is_named else head
        per_column = -(-len(blocks) // max(1, min(len(blocks), (_WIDTH - start) // column)))
        row = step + (1 if step < 8 else 3)
        if per_column * rows * row <= _HEIGHT and start + column <= _WIDTH:
            break
    return _Layout(step, row, start, head if is_named else 0, column, rows, per_column, is_named)


def _drawn(name: str, states: dict[int, str], blocks: Sequence[_Block], cut_off: int) -> Grid:
    on = _layout(blocks)
    runs: list[Run] = []
    labels = []
    for index, block in enumerate(blocks):
        x, top = on.start + index // on.per_column * on.column, (1 + index % on.per_column * on.rows) * on.row
        is_told = index < on.per_column and index % -(-14 // on.row) == 0  # small cells: a name at every few rows
        if block.name and (on.is_named or is_told):
            labels.append(Label(x if on.is_named else 0, top + min(max(on.step - 2, 7), 10), cut(block.name, 17)))
        for number, line in enumerate(block.lines):
            at = x + on.head
            for first, length, stride in line:
                runs.append(Run(at, top + number * on.row, first, length, stride))
                at += length * on.step
    width = on.start + -(-len(blocks) // on.per_column) * on.column
    height = (1 + min(len(blocks), on.per_column) * on.rows) * on.row
    size = on.step - max(1, on.step // 5)
    rings = _rings(states, runs, on.step) if on.step <= 12 else []
    marks = _marks(states, runs, on.step, size)
    return Grid(name, max(width, 400), height + 4, on.step, on.row, marks, labels, runs, rings, cut_off)


def _marks(states: dict[int, str], runs: Sequence[Run], step: int, size: int) -> list[Mark]:
    """Per state the rectangles of its cells; neighbours of one state are one rectangle."""
    paths: dict[str, list[str]] = {state: [] for state in STATES}
    for run in runs:
        begin = 0
        for index in range(1, run.length + 1):
            state = states.get(run.first + begin * run.stride, "no_data")
            if index == run.length or states.get(run.first + index * run.stride, "no_data") != state:
                width = (index - begin) * step
                paths[state].append(f"M{run.x + begin * step} {run.y}h{width}v{size}h-{width}z")
                begin = index
    total = dict.fromkeys(STATES, 0)
    for state in states.values():
        total[state] += 1
    drawn = [state for state in STATES if paths[state]]
    return [Mark(state, total[state], "".join(paths[state]), cell(state, 0, 0, size)) for state in drawn]


def _rings(states: dict[int, str], runs: Sequence[Run], step: int) -> list[tuple[int, int]]:
    found = []
    for run in runs:
        for index in range(run.length):
            if states.get(run.first + index * run.stride) in _TELLING:
                found.append((run.x + index * step + (step - 1) // 2, run.y + (step - 1) // 2))
    return found if len(found) <= _RINGS else []
