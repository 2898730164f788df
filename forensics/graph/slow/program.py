"""What must be done before what in one step: operations with their starts and ends → a graph, the same for all steps of one form.

What a rank computes is done in a row. What it sends or receives begins after the work that was done before, and after the one of
its kind before; the work of the same direction and number waits for what is received. A collective begins after the work and the
collectives that were done before, and the work that follows waits for it. A pair, and the members of a collective, are done
together: none before the last has begun. Who the members are no row says, and is learnt: of the groups that the layout gives,
the one in which nobody is done before the last came and that explains most of the waiting. The order of the rest is that of the
middle one of the steps.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import combinations

import msgspec
import polars as pl

from parsers.text.durations import way_of

_SLACK_MS = 0.1  # of stamps: what begins with the end of something else
_APART_MS = 1.0  # of ends of one collective, and of the clocks of hosts
_MOST = 0.9  # of the steps
_BETTER, _EXPLAINED = 0.95, 0.5  # so much less is left of it with other members; of work, with any
_FORMS = 4  # of steps: which operations they have
_OPERATIONS = 200_000  # of one step that are put in order

Place = tuple[int, str, int]  # rank, kind, number
Layout = Mapping[int, Mapping[str, int]]  # rank → axis → index


class Program(msgspec.Struct, frozen=True):
    """`members`: node → the operations that are done together in it; `after`: node → nodes that it waits for; `levels`: nodes
    that wait for none of the same or of later levels. `steps`: whose program this is."""

    members: Sequence[tuple[Place, ...]]
    after: Sequence[tuple[int, ...]]
    levels: Sequence[tuple[int, ...]]
    steps: tuple[int, ...]


def programs(operations: pl.DataFrame, layout: Layout) -> list[Program]:
    """Operations (rank, step, kind, number, sort, start_ms, end_ms) → a program for each form of steps, those of most steps
    first; steps that cannot be put in order are left out."""
    form, length = pl.struct("rank", "kind", "number").hash(1).sum(), pl.col("end_ms").max() - pl.col("start_ms").min()
    formed = operations.group_by("step").agg(form=form, ms=length, n=pl.len()).filter(pl.col("n") <= _OPERATIONS)
    forms = formed.sort("ms", "step").group_by("form", maintain_order=True).agg("step")
    forms = forms.sort(pl.col("step").list.len(), pl.col("step").list.min(), descending=[True, False])
    made = (
        _program(operations.filter(pl.col("step").is_in(steps)), layout, steps)
        for steps in forms["step"].head(_FORMS).to_list()
    )
    return [one for one in made if one is not None]


def _program(own: pl.DataFrame, layout: Layout, steps: Sequence[int]) -> Program | None:
    """`steps`: by their length."""
    middle = own.filter(pl.col("step") == steps[len(steps) // 2]).sort("rank", "start_ms", "end_ms", "kind", "number")
    after: dict[Place, list[Place]] = {}
    for one in middle.partition_by("rank"):
        after |= _order(one.select("rank", "kind", "number", "sort", "start_ms", "end_ms").rows())
    together = [*_pairs(after, layout), *_collectives(own, layout)]
    grouped = {place for group in together for place in group}
    members = [*together, *((place,) for place in after if place not in grouped)]
    node_of = {place: node for node, group in enumerate(members) for place in group}
    before = [tuple(sorted({node_of[one] for place in group for one in after[place]})) for group in members]
    try:
        return Program(members, before, _levels(before), tuple(sorted(steps)))
    except CycleError:
        return None


def _levels(before: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    order = TopologicalSorter(dict(enumerate(before)))
    order.prepare()
    found = []
    while order.is_active():
        found.append(order.get_ready())
        order.done(*found[-1])
    return found


def _order(rows: Sequence[tuple[int, str, int, str, float, float]]) -> Iterator[tuple[Place, list[Place]]]:
    """Operations of one rank in one step, by their starts → each with those that it waits for."""
    matched = _matched(rows)
    received = set(matched.values())
    lanes: dict[str, tuple[list[float], list[Place]]] = defaultdict(lambda: ([], []))  # ends and operations
    for rank, kind, number, sort, start, end in rows:
        place, way = (rank, kind, number), way_of(kind)
        is_own = way.transfer is not None and (way.transfer == "send" or place in received)
        lane = "work" if sort != "wait" else kind if is_own else "shared"
        waits = (_last(lanes[each], start) for each in {"work": None, "shared" if lane == "work" else lane: None})
        yield place, [one for one in (*waits, matched.get(place)) if one is not None]
        ends, done = lanes[lane]
        at = bisect_right(ends, end)
        ends.insert(at, end)
        done.insert(at, place)


def _last(lane: tuple[list[float], list[Place]], start: float) -> Place | None:
    at = bisect_right(lane[0], start + _SLACK_MS)
    return lane[1][at - 1] if at else None


def _matched(rows: Sequence[tuple[int, str, int, str, float, float]]) -> dict[Place, Place]:
    """Work → what it received, where a rank receives as often as it works in one direction."""
    work: dict[int, list[Place]] = defaultdict(list)
    received: dict[int, list[Place]] = defaultdict(list)
    for rank, kind, number, sort, *_ in rows:
        way = way_of(kind)
        if way.towards and (sort != "wait" or way.transfer == "receive"):
            (work if sort != "wait" else received)[way.towards].append((rank, kind, number))
    alike = (way for way in work if len(work[way]) == len(received[way]))
    return {one: other for way in alike for one, other in zip(work[way], received[way], strict=True)}


def _pairs(places: Mapping[Place, object], layout: Layout) -> list[tuple[Place, ...]]:
    """Sends along the pipeline with what the next stage receives, number by number, where both do so equally often."""
    ranks = {tuple(sorted(place.items())): rank for rank, place in layout.items()}
    stages = 1 + max((place.get("pp", 0) for place in layout.values()), default=0)
    counts = Counter((rank, kind) for rank, kind, _ in places)
    receives: dict[tuple[int, int], list[str]] = defaultdict(list)
    for rank, kind in counts:
        if (way := way_of(kind)).transfer == "receive" and way.towards:
            receives[rank, way.towards].append(kind)
    found: list[tuple[Place, ...]] = []
    for rank, kind in counts:
        way, place = way_of(kind), layout.get(rank, {})
        if way.transfer != "send" or not way.towards or "pp" not in place:
            continue
        other = ranks.get(tuple(sorted({**place, "pp": (place["pp"] + way.towards) % stages}.items())))
        kinds = receives[other, way.towards] if other is not None else []
        if other is not None and len(kinds) == 1 and counts[other, kinds[0]] == counts[rank, kind]:
            found += [((rank, kind, n), (other, kinds[0], n)) for n in range(counts[rank, kind])]
    return found


def _collectives(own: pl.DataFrame, layout: Layout) -> list[tuple[Place, ...]]:
    """Operations that several ranks are done with together, whatever their name says."""
    ways = {kind: way_of(kind) for kind in own["kind"].unique().to_list()}
    of_all = [kind for kind, way in ways.items() if not way.towards and way.transfer is None]
    shared = own.filter(pl.col("kind").is_in(of_all))
    ranks = own["rank"].unique().sort().to_list()
    axes = sorted({axis for rank in ranks for axis in layout.get(rank, {})})
    candidates: list[dict[int, int]] = [dict.fromkeys(ranks, 0)]
    for held in (each for size in range(1, len(axes)) for each in combinations(axes, size)):
        keys = {rank: tuple(layout.get(rank, {}).get(axis) for axis in held) for rank in ranks}
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys.values()))}
        candidates.append({rank: numbers[key] for rank, key in keys.items()})
    what = ["kind", "number"]
    least = pl.when(pl.col("sort").first() != "wait").then(_EXPLAINED).otherwise(_BETTER)
    alone = shared.group_by(*what).agg(left=(pl.col("end_ms") - pl.col("start_ms")).mean() * least)
    best = {(kind, number): (left, -1) for kind, number, left in alone.rows()}
    for index, groups in enumerate(candidates):
        for kind, number, left in _explained(shared.with_columns(group=pl.col("rank").replace_strict(groups))).rows():
            if left < best[kind, number][0]:
                best[kind, number] = (left * _BETTER, index)
    members: dict[tuple[str, int, int], list[Place]] = defaultdict(list)
    for rank, kind, number in shared.select("rank", *what).unique().sort("rank", *what).rows():
        chosen = best[kind, number][1]
        if chosen >= 0:
            members[kind, number, candidates[chosen][rank]].append((rank, kind, number))
    return [tuple(group) for group in members.values() if len(group) > 1]


def _explained(shared: pl.DataFrame) -> pl.DataFrame:
    """Operations with `group` → kind, number, left: how long each takes after the last of its group has come; only where
    nobody is done before that and all are done at about one time."""
    what = ["kind", "number", "group", "step"]
    end = pl.col("end_ms")
    each = shared.group_by(what).agg(
        n=pl.len(), came=pl.col("start_ms").max(), first=end.min(), last=end.max(), mean=end.mean()
    )
    took = pl.col("first") - pl.col("came")
    is_one = pl.max_horizontal(took, pl.lit(_APART_MS)) >= pl.col("last") - pl.col("first")
    fits = (took >= -_APART_MS) & is_one
    left = ((pl.col("mean") - pl.col("came")) * pl.col("n")).sum() / pl.col("n").sum()
    groups = each.group_by("kind", "number").agg(fits=fits.mean(), n=pl.col("n").max(), left=left)
    return groups.filter((pl.col("fits") >= _MOST) & (pl.col("n") > 1)).select("kind", "number", "left")
