"""Where the time of one attempt went, by one clock: that of the process that printed most steps.

    launch      from the first line of the job to the beginning of its first step
    training    what the steps took, each counted as the median step
    checkpoint  what a step took longer, where a checkpoint was written meanwhile; nothing if it is written beside the work
    evaluation  the same, where an evaluation was printed meanwhile
    pause       the same, and nothing says why
    stalled     from the last step to the first time-out, else to the end of a process (facts/durations/cost.py)

Fooled by: steps whose work grows (a batch that is ramped up), which show as pauses late in the run.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import polars as pl

from forensics.facts.durations.checkpoints import SAVED, STORED
from forensics.facts.rows.event_rows import of_kinds
from forensics.model.middle import median
from forensics.model.told import values
from parsers.schema.tables import Tables
from parsers.text.stamps import SECOND_NS

Phase = Literal["launch", "training", "checkpoint", "evaluation", "pause", "stalled"]
_PAUSE = 0.5  # of a step: what a step takes longer is noise up to here
_MOST = 0.5  # of an initialisation: a part that is told by name
_FEWEST = 3  # steps with a time, without which no median is told
_OF_THE_JOB = ("job_start", "comm_init_start", "comm_init_complete", "checkpoint_load")


class Init(NamedTuple):
    """An initialisation that somebody timed. `what`: "communicator", "megatron", …"""

    what: str
    seconds: float


class Spent(NamedTuple):
    """Times in nanoseconds of the clock `basis`; null where not told. `saves_s`: what each checkpoint cost, `every_steps`:
    how many steps lay between two of them."""

    basis: str | None = None
    begin_ns: int | None = None
    last_ns: int | None = None
    first_step: int | None = None
    last_step: int | None = None
    step_s: float | None = None
    phases: Mapping[Phase, float] = {}
    saves_s: tuple[float, ...] = ()
    every_steps: int | None = None
    inits: tuple[Init, ...] = ()


def spent(tables: Tables, events: pl.DataFrame, attempt: int) -> Spent:
    """Tables of one attempt → where its time went."""
    steps = tables["steps"].filter(pl.col("step").is_not_null())
    train = steps.filter((pl.col("phase") == "train").fill_null(True))
    inits = _inits(tables["timings"], events)
    if not train.height:
        return Spent(inits=inits)
    clock = _clock(train)
    told = Spent(
        first_step=int(clock["step"].min()), last_step=int(clock["step"].max()), step_s=_printed(clock), inits=inits,  # type: ignore[arg-type]
    )  # fmt: skip
    timed = clock.filter(pl.col("time_ns").is_not_null() & pl.col("time_basis").is_not_null())
    if timed["time_basis"].n_unique() != 1 or timed["step"].n_unique() < _FEWEST:
        return told
    basis = timed["time_basis"][0]
    moments = sorted(timed.group_by("step").agg(pl.col("time_ns").max()).iter_rows())
    pace = _pace(moments)
    if pace is None:
        return told
    saves = _times(events.filter(pl.col("kind").is_in([SAVED, STORED])), basis)
    evaluated = _times(steps.filter(pl.col("phase") == "eval"), basis)
    phases, costs = _divided(moments, pace, saves, evaluated)
    first = moments[0][1] - round(pace * SECOND_NS)
    begin = min([*_begin(tables, events, basis), *_opened(tables["files"], clock["file"][0], attempt), first])
    if begin < first:
        phases["launch"] = (first - begin) / SECOND_NS
    return told._replace(
        basis=basis, begin_ns=begin, last_ns=moments[-1][1], step_s=pace, phases=phases, saves_s=costs,
        every_steps=_every(events),
    )  # fmt: skip


def _clock(train: pl.DataFrame) -> pl.DataFrame:
    """The rows of the one process that printed most steps with a time; of equals the first by rank and file."""
    counted = (
        train.group_by("rank", "file")
        .agg(pl.col("time_ns").is_not_null().sum().alias("timed"), pl.len())
        .sort("timed", "len", "rank", "file", descending=[True, True, False, False], nulls_last=True)
    )
    rank, file = counted.row(0)[:2]
    return train.filter(pl.col("rank").eq_missing(rank) & (pl.col("file") == file))


def _printed(clock: pl.DataFrame) -> float | None:
    """The median of what the steps say that they took."""
    told = clock["elapsed_ms"].drop_nulls().median()
    return told / 1000 if isinstance(told, float) and told > 0 else None


def _pace(moments: Sequence[tuple[int, int]]) -> float | None:
    """Seconds of the median step."""
    paces = [(b - a) / (n - m) / SECOND_NS for (m, a), (n, b) in pairwise(moments) if b > a]
    return median(paces) if paces else None


def _divided(
    moments: Sequence[tuple[int, int]], pace: float, saves: Sequence[int], evaluated: Sequence[int]
) -> tuple[dict[Phase, float], tuple[float, ...]]:
    """(phase → seconds, what each gap with a checkpoint took longer)."""
    phases: dict[Phase, float] = defaultdict(float)
    phases["training"] = pace
    costs: list[float] = []
    for (before, a), (after, b) in pairwise(moments):
        took, work = (b - a) / SECOND_NS, pace * (after - before)
        saved = _within(saves, a, b)
        if saved:
            costs.append(max(0.0, took - work))
        longer = took - work if took - work > _PAUSE * pace else 0.0
        phases["training"] += took - longer
        if longer:
            phases["checkpoint" if saved else "evaluation" if _within(evaluated, a, b) else "pause"] += longer
    return dict(phases), tuple(costs)


def _within(times: Sequence[int], first: int, last: int) -> bool:
    at = bisect_left(times, first)
    return at < len(times) and times[at] < last


def _times(rows: pl.DataFrame, basis: str) -> list[int]:
    return sorted(values(rows.filter(pl.col("time_basis") == basis)["time_ns"]))


def _begin(tables: Tables, events: pl.DataFrame, basis: str) -> list[int]:
    """The first line of a process of the job that tells something."""
    own = events.filter(pl.col("rank").is_not_null() | pl.col("kind").is_in(_OF_THE_JOB))
    return [*_times(own, basis)[:1], *_times(tables["steps"], basis)[:1]]


def _opened(files: pl.DataFrame, name: str, attempt: int) -> list[int]:
    """The first time in a file, where it begins with the attempt: it is the first, or the folder is its own."""
    own = files.filter((pl.col("file") == name) & (pl.col("attempt").is_not_null() | pl.lit(attempt == 0)))
    return own["time_first_ns"].drop_nulls().to_list()


def _every(events: pl.DataFrame) -> int | None:
    """The median distance of two checkpoints in steps."""
    numbers = sorted(values(of_kinds(events, SAVED, STORED)["step"]))
    return int(median(b - a for a, b in pairwise(numbers))) if len(numbers) > 1 else None


def _inits(timings: pl.DataFrame, events: pl.DataFrame) -> tuple[Init, ...]:
    """The longest initialisation of each kind: as printed, or from its beginning to its end in one process."""
    found = _printed_inits(timings) if timings.height else {}
    if "communicator" not in found and (seconds := _initialised(events)):
        found["communicator"] = seconds
    return tuple(Init(what, seconds) for what, seconds in sorted(found.items()))


def _printed_inits(timings: pl.DataFrame) -> dict[str, float]:
    """What was initialised → seconds."""
    parts = timings.filter(pl.col("phase") == "comm_init").group_by("name").agg(pl.col("value_ms").max()).drop_nulls()
    of = {str(name): value / 1000 for name, value in parts.sort("value_ms", "name").iter_rows()}
    whole = of.pop("total", None)
    found = {} if whole is None else {"communicator": whole}
    found |= {f"communicator, of that {name}": took for name, took in of.items() if whole and took > _MOST * whole}
    longest = pl.coalesce("value_ms", "max_ms").max()
    printed = timings.filter(pl.col("phase") == "init").group_by("name").agg(longest)
    return found | {str(name): value / 1000 for name, value in printed.iter_rows() if value is not None}


def _initialised(events: pl.DataFrame) -> float | None:
    """Seconds from the first beginning of a communicator's initialisation to the last end, in the slowest process."""
    keys = ["file", "rank", "time_basis", "group"]
    both = events.filter(pl.col("kind").is_in(["comm_init_start", "comm_init_complete"])).drop_nulls("time_ns")
    if not both.height:
        return None
    is_start = pl.col("kind") == "comm_init_start"
    took = both.group_by(keys).agg(
        (pl.col("time_ns").filter(~is_start).max() - pl.col("time_ns").filter(is_start).min()).alias("took")
    )
    longest = took["took"].max()
    return longest / SECOND_NS if isinstance(longest, int) and longest > 0 else None
