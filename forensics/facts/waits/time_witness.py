"""Does anything show that the job stood still for long, or that it went on? (contract, rule 17)

Flight records and stacks of a running job, taken at slightly different moments, look like a hang. A witness for a long
wait is whoever gave one up (a watchdog, a barrier, a store; most ranks that raised alike, and tell a limit of an operation), an operation that was retired unfinished, two snapshots in
which nothing moved, one that was taken long after the last step of a job of which somebody ended later, or in each of which a process of the job was stopped, or slept in the kernel and used no CPU between them, as all others did, two reports with the same numbers of launched operations, or records of the job's own processes that are much younger than an operation that is still open, by
one clock. A witness against is a step that was completed after that operation began; where nothing else tells, two steps after all stacks were taken.
"""

from collections.abc import Mapping

import msgspec
import polars as pl

from forensics.facts.ends.ended_at_rest import is_long_after, steps_after
from forensics.facts.ends.process_ends import ProcessEnd
from forensics.facts.rows.event_rows import reference
from forensics.facts.waits.held_alone import held_alone
from forensics.facts.waits.later_steps import ZONE_NS, steps_after_records
from forensics.facts.waits.launched import Witness, launched_since
from forensics.model.ref import Ref
from forensics.words import facts as words
from parsers.logs.given_up import round_times
from parsers.schema.tables import Tables, spelled
from parsers.text.op_types import spoken

GAVE_UP = (
    "collective_timeout", "store_timeout", "barrier_missing", "desync", "dump_signal", "missing_members", "heartbeat_lost",
)  # fmt: skip
_WATCHDOG = "watchdog_stopped"  # what a row of knowledge claims of a framework's own
_LOOKS, _STOPPED = 2, ("stopped", "traced")  # in as many looks: what waits for it stood meanwhile
_MS_NS = 1_000_000
_NEAR = 0.5  # of its time-out, an open operation is older than it should be
_LATER_NS = 1_000_000_000
_CLOCKS_NS = 60 * _LATER_NS  # by which clocks of hosts may differ


class TimeWitness(msgspec.Struct, frozen=True):
    """Sentences and places for and against a long wait; both empty: nothing tells."""

    stood: tuple[Witness, ...] = ()
    went_on: tuple[Witness, ...] = ()


def time_witness(
    tables: Tables,
    events: pl.DataFrame,
    opened: pl.DataFrame | None,
    stacks: pl.DataFrame,
    ends: Mapping[int, ProcessEnd] = {},
) -> TimeWitness:
    """`events`: without recovered errors. `opened`: open operations (facts of positions). `stacks`: the main threads. `ends`: by rank."""
    stood: list[Witness] = []
    of_ras = (pl.col("kind") == "missing_members") & (pl.col("code") == "INCOMPLETE").fill_null(False)
    by_watchdog = (pl.col("kind") == "other") & (pl.col("code") == _WATCHDOG).fill_null(False)
    is_told = pl.col("kind").is_in(GAVE_UP) | by_watchdog
    gave_up = events.filter(is_told & ~of_ras & (pl.col("severity").fill_null("error") != "info"))
    if gave_up.height:
        refs = tuple(reference(row) for row in gave_up.sort("file", "line").head(2).iter_rows(named=True))
        stood.append((words.WAIT_GIVEN_UP, refs))
    elif limits := [ref for end in ends.values() for ref in end.refs[:1] if end.how == "lost" and _tells_a_limit(ref)]:
        stood.append((words.WAIT_GIVEN_UP, tuple(limits[:2])))
    live = stacks.filter(pl.col("source") != "traceback") if stacks.height else stacks
    if (still := _still(stacks)).height and not steps_after(live, tables):
        refs = tuple(reference(row) for row in still.head(2).iter_rows(named=True))
        stood.append((words.DID_NOT_MOVE, refs))
    elif ends and live.height and is_long_after(live, tables):  # else it may be a long piece of work
        refs = tuple(reference(row) for row in live.head(2).iter_rows(named=True))
        stood.append((words.LOOKED_AT_LATE, refs))
    if stopped := [one for one in held_alone(tables) if one.looks >= _LOOKS and (one.how in _STOPPED or one.is_idle)]:
        stood.append((words.HELD_IN_EACH_LOOK, stopped[0].refs))
    silent, moved = launched_since(tables, events)
    stood += silent
    if not stood and (later := _after_the_look(tables)).height:
        moved = [*moved, (words.LATER_STEP, _cited(later))]
    if opened is None or not opened.height:
        return TimeWitness(tuple(stood), tuple(moved))
    stood += [*_retired(tables, opened), *_old(tables, events, opened)]
    moved += _steps(tables, opened)
    if not (moved or stood) and (later := steps_after_records(tables, opened)).height:
        moved.append((words.LATER_STEP, _cited(later)))
    return TimeWitness(tuple(stood), tuple(moved))


def _tells_a_limit(ref: Ref) -> bool:
    """Does an error name an operation of communication, and a round time?"""
    text = ref.text or ""
    return spoken(text) is not None and bool(round_times(text))


def _still(stacks: pl.DataFrame) -> pl.DataFrame:
    """Processes that stood in one place in two looks, if most of those seen twice did: in a running job some do by chance."""
    if not stacks.height:
        return stacks
    twice = stacks.filter(pl.col("moving").is_not_null() & (pl.col("source") != "traceback"))
    still = twice.filter(~pl.col("moving"))
    return still if still.height > 1 and 2 * still.height > twice.height else still.clear()


def _after_the_look(tables: Tables) -> pl.DataFrame:
    """Steps of the training that were completed well after all stacks were taken: two at least, of one printer."""
    taken = tables["stacks"].filter((pl.col("source") != "traceback").fill_null(False))["time_ns"].max()
    steps = _trained(tables)
    if not isinstance(taken, int):
        return steps.clear()
    after = pl.col("time_ns") - taken  # a stamp without zone may be hours away
    later = steps.filter((after > _CLOCKS_NS) & (after < ZONE_NS))
    return later.filter(pl.col("step").n_unique().over("file", "rank") > 1).sort("file", "line")


def _refs(opened: pl.DataFrame) -> tuple[Ref, ...]:
    return tuple(
        Ref(file=file, line=record, text=f"rank {rank}: {kind} {seq}, not completed")
        for rank, kind, seq, file, record in opened.head(2).select("rank", "kind", "seq", "file", "record").iter_rows()
    )


def _retired(tables: Tables, opened: pl.DataFrame) -> list[Witness]:
    """The watchdog took a collective from its list though it was never completed: it had timed out."""
    recorded = tables["operations"].select("file", "record", "retired", "is_p2p", "state")
    rows = recorded.filter("retired", ~pl.col("is_p2p").fill_null(False), pl.col("state") != "completed")
    rows = spelled(rows.select("file", "record"))
    given_up = opened.join(rows, on=["file", "record"], how="semi", maintain_order="left")
    return [(words.RETIRED_UNFINISHED, _refs(given_up))] if given_up.height else []


def _old(tables: Tables, events: pl.DataFrame, opened: pl.DataFrame) -> list[Witness]:
    """An open operation is older, by the records of its own process, than any step took, and near its time-out."""
    steps = tables["steps"].drop_nulls(["time_ns", "rank"]).sort("file", "rank", "time_ns")
    longest = steps.select(pl.col("time_ns").diff().over("file", "rank")).to_series().max()
    said = pl.concat(
        [
            frame.filter((pl.col("time_basis") == "utc") & pl.col("rank").is_not_null()).select("rank", "time_ns")
            for frame in (tables["steps"], events.filter(pl.col("rank_space") == "global"))
        ]
    ).drop_nulls()
    newest = said.group_by("rank").agg(pl.col("time_ns").max().alias("newest"))
    aged = opened.join(newest, on="rank", maintain_order="left").with_columns(
        (pl.col("newest") - pl.col("time_created_ns")).alias("age")
    )
    least = pl.lit(longest if isinstance(longest, int) else 0)
    limit = pl.max_horizontal(pl.col("timeout_ms") * _MS_NS * _NEAR, least)
    old = aged.filter((pl.col("age") > limit) & pl.col("timeout_ms").is_not_null())
    return [(words.OPEN_SINCE_LONG, _refs(old))] if old.height else []


def _steps(tables: Tables, opened: pl.DataFrame) -> list[Witness]:
    """Steps that the same rank completed after the operation began that its record shows as open."""
    begun = opened.filter(~pl.col("is_p2p")).group_by("rank").agg(pl.col("time_created_ns").max().alias("begun"))
    steps = _trained(tables)
    # A stamp without zone is hours away from one with a zone, or of the same zone.
    after = pl.col("time_ns") - pl.col("begun")
    same = (pl.col("time_basis") == "utc") | (after.abs() < ZONE_NS)
    later = steps.join(begun, on="rank").filter(same & (after > _LATER_NS)).sort("file", "line")
    return [(words.LATER_STEP, _cited(later))] if later.height else []


def _trained(tables: Tables) -> pl.DataFrame:
    """Steps of the training, stamped by a clock."""
    is_stamped = (pl.col("phase") == "train").fill_null(True) & (pl.col("time_basis") != "boot")
    return tables["steps"].filter(is_stamped).drop_nulls("step")


def _cited(steps: pl.DataFrame) -> tuple[Ref, ...]:
    return tuple(
        Ref(file=file, line=line, text=f"rank {rank}: step {step}")
        for rank, step, file, line in steps.select("rank", "step", "file", "line").head(2).iter_rows()
    )
