"""What the time of slow steps is lost to, by replay: ranks that take longer than those who do the same work, stages that have more
to do, micro-batches that are longer than others.

The job is replayed as it was, then without what single ranks take longer than their peers of the same step, then with all
micro-batches of a stage alike, then with all stages alike. Each replay is shorter by what the last change was the price of, so that
the shares never add up to more than the whole. What takes longer is the own work of a rank, or what several ranks do together, such as a
send and its receive: a slow link. Whose excess is largest comes first; the smallest set whose removal heals most of what could be
healed is the culprit. Peers are of one stage, three at least: of two nobody can say which is slow. Where a replay is shorter than the
steps were, what ranks did between the operations that were timed is taken for work of theirs.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

import msgspec
import polars as pl

from forensics.facts.durations.phase_times import with_sort
from forensics.graph.slow.program import Layout
from forensics.graph.slow.replay import Part, parts
from parsers.text.durations import way_of

_FAITHFUL = 0.05  # of the measured time: how far the replay of what was may lie beside it
MATTERS = 0.03  # of the time: less is lost in any job
_HEALED = 0.8  # of what healing all ranks would give
_PEERS = 3
_CANDIDATES = 8
_MANY = 0.25  # of the ranks: so many are no exception
_UNTOLD = 0.1  # of the time of all ranks: waits for nobody knows whom
_IDLE, _IDLE_MS = 0.3, 1.0  # of the time of all ranks: so much waiting is not recorded; no stamp is so exact
_VARIES, _TOGETHER = 0.1, 0.9  # of micro-batches: their spread, and how far forward and backward vary as one
IDLE = "(idle)"  # the kind of what nobody timed
Label = TypeVar("Label", bound=Hashable)


class Shares(msgspec.Struct, frozen=True):
    """Of the time of all steps that were replayed. `by_culprits`, `by_batches`, `by_stages`: shares that healing these one after
    the other would give back, 0 to 1 in all. `ranks`, `links`: the culprits; `idle`: of these, ranks that lose most of it between
    operations. `alone`: each culprit → the share if it alone were like its peers.
    `longest`: the stage each rank of which has more to do than those of the others at the mean, `ratio` times so, `of_longest` its
    ranks; null where there is none. `spread`: of micro-batches, as a share; `is_by_data`: forward and backward of the same one
    are long together."""

    steps: int
    measured_ms: float
    replayed_ms: float
    alike_ms: float
    by_culprits: float
    by_batches: float
    by_stages: float
    ranks: tuple[int, ...]
    links: tuple[tuple[int, ...], ...]
    idle: tuple[int, ...]
    alone: Mapping[tuple[int, ...], float]
    stages: int
    longest: int | None
    ratio: float
    of_longest: tuple[int, ...]
    is_by_data: bool
    spread: float

    @property
    def is_whole(self) -> bool:
        """Is next to nothing lost that is not replayed?"""
        return abs(self.replayed_ms / self.measured_ms - 1) < MATTERS


def operations_of(timings: pl.DataFrame) -> pl.DataFrame:
    """Rows of `timings` that say when they began → rank, step, kind, number, sort, start_ms, end_ms, file, line, host.

    `number`: the n-th of its kind in the step of its rank; `sort`: wait, else work of the rank's own."""
    told = timings.filter(pl.col("value_ms") >= 0).drop_nulls(["start_ms", "rank", "step"])
    found = with_sort(told).select(
        "rank", "step", kind="phase", start_ms="start_ms", end_ms=pl.col("start_ms") + pl.col("value_ms"), host="host", file="file",
        line=pl.coalesce("line", "record"), sort=pl.col("sort").fill_null("work"),
    )  # fmt: skip
    found = found.filter(pl.col("sort") != "whole").sort("rank", "step", "kind", "start_ms", "end_ms")
    return found.with_columns(number=pl.int_range(pl.len()).over("rank", "step", "kind"))


class Replays(msgspec.Struct, frozen=True, dict=True):
    """The steps of a job that can be replayed. `layout`: rank → axis → index; `host_of`: rank → host."""

    operations: pl.DataFrame
    layout: Layout
    host_of: Mapping[int, str] = msgspec.field(default_factory=dict)

    @property
    def first_step(self) -> int:
        """The first step of which operations are known."""
        steps: list[int] = self.operations["step"].unique().to_list()
        return min(steps)

    @cached_property
    def parts(self) -> list[Part]:
        """The steps of each form; with what ranks did in between, where that matters."""
        found = parts(self.operations, self.layout)
        measured = sum(float(part.measured.sum()) for part in found)
        was = sum(float(part.replayed([part.as_was])[0].sum()) for part in found)
        return found if was > (1 - MATTERS) * measured else parts(_with_idle(self.operations), self.layout)

    def totals(self, scenarios: Sequence[Sequence[pl.DataFrame]]) -> list[float]:
        """Scenarios, each with the nodes of every part and their `ms` → milliseconds of all steps in each."""
        found = [0.0] * len(scenarios)
        for number, part in enumerate(self.parts):
            for at, ms in enumerate(part.replayed([part.as_table(tables[number]) for tables in scenarios])):
                found[at] += float(ms.sum())
        return found

    @cached_property
    def alike(self) -> list[pl.DataFrame]:
        """Each operation as long as those of its kind are elsewhere: at the mean, of what several do together at the median."""
        return [_typical(part.nodes) for part in self.parts]

    def slowdown(self, axis: str) -> dict[Hashable, float]:
        """Value on an axis (`rank`, `kind`, `host`, or one of the layout) → how many times as long a step takes as if all were
        alike, if only the operations of this value took as long as they did."""
        label: Callable[[int, str], Hashable] = {
            "rank": lambda rank, kind: rank, "kind": lambda rank, kind: kind, "host": lambda rank, kind: self.host_of.get(rank)
        }.get(axis, lambda rank, kind: self.layout.get(rank, {}).get(axis))  # fmt: skip
        places = self.operations.select("rank", "kind").unique().rows()
        labels = sorted({label(rank, kind) for rank, kind in places} - {None}, key=str)
        found: dict[Hashable, float] = defaultdict(float)
        for part, alike in zip(self.parts, map(Part.as_table, self.parts, self.alike), strict=True):
            took = part.ms(lambda own: (label(rank, kind) for rank, kind, _ in own), labels, part.as_was, alike)
            for one, ms in took.items():
                found[one] += float(ms.sum())
        (base,) = self.totals([self.alike])
        return {one: ms / base for one, ms in found.items()}

    @cached_property
    def shares(self) -> Shares | None:
        """What the time is lost to; None where the replay of what was does not take as long as was measured."""
        if not self.parts:
            return None
        tables = [_with_peers(part.nodes) for part in self.parts]
        within_stage, across_stages = (
            [_evened(table, *of) for table in tables] for of in (("stage", "kind"), ("kind",))
        )
        was, alike, evened, across = self.totals(
            [[part.nodes for part in self.parts], self.alike, within_stage, across_stages]
        )
        measured = sum(float(part.measured.sum()) for part in self.parts)
        if measured <= 0 or abs(was / measured - 1) > _FAITHFUL or self._untold(measured):
            return None
        chosen, alone, left = self._culprits(tables, was)
        if not chosen:
            chosen, alone, left = self._culprits([_in_the_long_run(table) for table in tables], was)
        ranks = tuple(sorted(who[0] for who in chosen if len(who) == 1))
        stages, longest, ratio, of_longest = _stages(tables[0])
        spread, together = _lengths(self.operations)
        return Shares(
            steps=sum(len(part.program.steps) for part in self.parts), measured_ms=measured, replayed_ms=was, alike_ms=alike,
            by_culprits=max(0.0, was - left) / was, by_batches=max(0.0, left - evened) / was,
            by_stages=max(0.0, evened - across) / was, ranks=ranks, links=tuple(who for who in chosen if len(who) > 1),
            idle=tuple(rank for rank in ranks if _is_idle(tables, rank)), alone=alone, stages=stages, longest=longest, ratio=ratio,
            of_longest=of_longest, is_by_data=spread >= _VARIES and together >= _TOGETHER, spread=spread,
        )  # fmt: skip

    def _culprits(
        self, tables: Sequence[pl.DataFrame], was: float
    ) -> tuple[tuple[tuple[int, ...], ...], dict[tuple[int, ...], float], float]:
        """The smallest set whose healing is enough, the share of each alone, and the milliseconds that are left."""
        excess = pl.concat([table.filter(pl.col("peer_ms").is_not_null()) for table in tables]).group_by("who").agg(
            ms=(pl.col("ms") - pl.col("peer_ms")).sum()
        )  # fmt: skip
        most = min(_CANDIDATES, int(_MANY * self.operations["rank"].n_unique()))
        order = excess.filter(pl.col("ms") > 0).sort("ms", "who", descending=[True, False])["who"].head(most).to_list()
        tried = (excess["who"].to_list(), *(order[: size + 1] for size in range(len(order))))
        possible, *healed = self.totals([_without(tables, each) for each in tried])
        enough = max(MATTERS * was, _HEALED * (was - possible))
        size = next((size for size, ms in enumerate(healed, 1) if was - ms >= enough), 0)
        return self._needed(tables, order[:size] if _are_few(tables, order[:size]) else [], was, enough)

    def _untold(self, measured: float) -> bool:
        """Do ranks wait for long, and nothing tells for whom? Then a replay keeps these waits whatever is healed."""
        ranks = self.operations["rank"].n_unique()
        waits = (pl.col("sort") == "wait") & ~pl.col("who").str.contains(",")
        untold, unseen = (
            sum(float(part.nodes.filter(each)["ms"].sum()) for part in self.parts) / ranks / measured
            for each in (waits, pl.col("kind") == IDLE)
        )
        return untold > _UNTOLD or unseen > _IDLE

    def _needed(
        self, tables: Sequence[pl.DataFrame], chosen: list[str], was: float, enough: float
    ) -> tuple[tuple[tuple[int, ...], ...], dict[tuple[int, ...], float], float]:
        """Of culprits whose healing is enough together those without whom it is not, the share of each alone, and what is left."""
        if not chosen:
            return (), {}, was
        others = [[one for one in chosen if one != who] for who in chosen]
        tried = (chosen, *([who] for who in chosen), *(rest for rest in others if rest))
        left, *told = self.totals([_without(tables, each) for each in tried])
        spare = [who for who, ms in zip(chosen, told[len(chosen) :], strict=False) if was - ms >= enough]
        if spare and len(chosen) > 1:
            return self._needed(tables, [who for who in chosen if who != spare[-1]], was, enough)
        named = {tuple(map(int, who.split(","))): ms for who, ms in zip(chosen, told, strict=False)}
        return tuple(sorted(named)), {who: max(0.0, was - ms) / was for who, ms in named.items()}, left


def _without(tables: Sequence[pl.DataFrame], culprits: Iterable[str]) -> list[pl.DataFrame]:
    """Nodes, if what these do took as long as what their peers did in the same step."""
    is_healed = pl.col("who").is_in(list(culprits)) & pl.col("peer_ms").is_not_null()
    return [table.with_columns(ms=pl.when(is_healed).then("peer_ms").otherwise("ms")) for table in tables]


def _with_idle(operations: pl.DataFrame) -> pl.DataFrame:
    """With rows of the kind IDLE before operations that ranks of some step began with nothing in hand."""
    ended = pl.col("end_ms").cum_max().shift(1).over("rank", "step")
    busy = pl.max_horizontal(ended, pl.col("start_ms").min().over("step"))
    order = operations.sort("rank", "step", "start_ms", "end_ms", "kind", "number").with_columns(busy=busy)
    idle = order.filter((pl.col("start_ms") - pl.col("busy") > _IDLE_MS).any().over("kind", "number"))
    idle = idle.with_columns(
        end_ms="start_ms", start_ms=pl.min_horizontal("busy", "start_ms"), kind=pl.lit(IDLE), sort=pl.lit("host")
    )
    idle = idle.with_columns(number=pl.int_range(pl.len()).over("rank", "step"))
    return pl.concat([operations, idle.select(operations.columns)])


def _are_few(tables: Sequence[pl.DataFrame], culprits: Sequence[str]) -> bool:
    """Are they less than half of those who do the same? Else nobody can say who the exception is."""
    alike = tables[0].select("stage", "kind", "together", "who").unique()
    some = pl.col("who").is_in(list(culprits)).mean().over("stage", "kind", "together")
    return not (alike.with_columns(some=some).filter(pl.col("who").is_in(list(culprits)))["some"] >= 0.5).any()


def _is_idle(tables: Sequence[pl.DataFrame], rank: int) -> bool:
    """Does it lose most of what it takes longer between operations?"""
    own = pl.concat([table.filter((pl.col("who") == str(rank)) & pl.col("peer_ms").is_not_null()) for table in tables])
    more = own.group_by(pl.col("kind") == IDLE).agg(ms=(pl.col("ms") - pl.col("peer_ms")).sum()).sort("ms")
    return bool(more["kind"][-1])


def _typical(nodes: pl.DataFrame) -> pl.DataFrame:
    """Nodes with `ms` of all of their kind alike."""
    middle, mean = (one.over("kind", "together") for one in (pl.col("ms").median(), pl.col("ms").mean()))
    return nodes.with_columns(ms=pl.when("together").then(middle).otherwise(mean))


def _with_peers(nodes: pl.DataFrame) -> pl.DataFrame:
    """Nodes with `peer_ms`: the middle of the means of all of the same kind and stage in the same step, null where they are few;
    `stage_ms`: the same of own work however few, else as it was."""
    step = ["stage", "kind", "together", "step"]
    means = nodes.group_by(*step, "who").agg(pl.col("ms").mean())
    middles = means.group_by(step).agg(peer_ms=pl.col("ms").median(), peers=pl.len())
    return nodes.join(middles, on=step, how="left", maintain_order="left").with_columns(
        peer_ms=pl.when(pl.col("peers") >= _PEERS).then("peer_ms"),
        stage_ms=pl.when("together").then("ms").otherwise("peer_ms"),
    )


def _in_the_long_run(table: pl.DataFrame) -> pl.DataFrame:
    """With `peer_ms` of who takes longer over all steps: each time as much shorter as that, where micro-batches differ too much for
    single steps to tell."""
    what = ["stage", "kind", "together"]
    own = table.group_by(*what, "who").agg(own=pl.col("ms").mean())
    own = own.with_columns(level=pl.col("own").median().over(what)).filter(pl.col("own") > 0)
    return table.join(own, on=[*what, "who"], how="left", maintain_order="left").with_columns(
        peer_ms=pl.when(pl.col("peer_ms").is_not_null()).then(pl.col("ms") * pl.col("level") / pl.col("own"))
    )


def _evened(table: pl.DataFrame, *of: str) -> pl.DataFrame:
    """All own work alike that is alike in these columns, whatever its micro-batch, step and rank."""
    return table.with_columns(ms=pl.when("together").then("ms").otherwise(pl.col("stage_ms").mean().over(of)))


def _stages(table: pl.DataFrame) -> tuple[int, int | None, float, tuple[int, ...]]:
    """(how many, the one of which each rank works longer than the mean of the others, how many times so, its ranks)."""
    steps = pl.col("step").n_unique()
    own = table.filter(~pl.col("together")).group_by("stage", "rank").agg(ms=pl.col("ms").sum() / steps)
    means = own.group_by("stage").agg(pl.col("ms").mean()).sort("ms", "stage")
    if means.height < 2:
        return means.height, None, 1.0, ()
    longest, others = int(means["stage"][-1]), float(means["ms"][:-1].mean())  # type: ignore[arg-type]
    ranks = own.filter(pl.col("stage") == longest).sort("rank")
    ratio = float(ranks["ms"].min()) / others if others > 0 else 1.0  # type: ignore[arg-type]
    return means.height, longest if ratio > 1 + MATTERS else None, ratio, tuple(ranks["rank"].to_list())


def _lengths(operations: pl.DataFrame) -> tuple[float, float]:
    """(the spread of micro-batches as a share, how far forward and backward of one are long together): 0, 0 where not told."""
    ways = {kind: way_of(kind).towards for kind in operations["kind"].unique().to_list()}
    own = operations.filter(pl.col("sort") != "wait").with_columns(
        way=pl.col("kind").replace_strict(ways, return_dtype=pl.Int64), ms=pl.col("end_ms") - pl.col("start_ms")
    )
    each = own.filter(pl.col("way") != 0).group_by("rank", "step", "number", "way").agg(pl.col("ms").sum())
    each = each.with_columns(rel=pl.col("ms") / pl.col("ms").mean().over("rank", "way") - 1)
    both = each.filter(pl.col("way") > 0).join(each.filter(pl.col("way") < 0), on=["rank", "step", "number"])
    if both.height < 3:
        return 0.0, 0.0
    spread, together = both.select(spread=pl.col("rel_right").std(), together=pl.corr("rel", "rel_right")).row(0)
    return float(spread or 0.0), float(together) if together == together else 0.0
