"""Who was ended after all had come to rest: that end is how the standstill was over, and no cause of it.

A process that two looks show at the same call, or one look long after the last step, was alive there, and stood. If most of those looked at
stood so, and nobody goes on afterwards, who ends one of them (a person, a supervisor, the launcher, by whatever word or none) ends what stands.
That counts of ends without a word of the process's own: killed, or gone. Steps that were completed after the looks, or a look that shows most of them at
work, leave all as it was told. Without a look, an end very long after the last step of everybody may have been of either kind: it failed, and nobody knows why.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import polars as pl
from msgspec.structs import replace

from forensics.facts.ends.process_ends import ProcessEnd, as_stop
from forensics.facts.ends.storage_waits import live_stacks
from parsers.schema.tables import Tables
from parsers.text.stamps import SECOND_NS

_FEWEST = 3  # processes looked at
_STEPS = 5  # the longest step as often, from the last one to a look
_SILENT = 20  # the longest step as often, from the last one to an end
_LEAST_NS = 1800 * SECOND_NS  # at least, until an end
_SAID = 3  # steps with a time
_CLOCKS_NS, _ZONE_NS = 60 * SECOND_NS, 900 * SECOND_NS  # by which clocks of hosts, and zones, differ
_ZONES_NS, _NEAR_NS = 3600 * SECOND_NS, 180 * SECOND_NS  # zones differ by hours, and clocks beside that by as much
_KILLED = (None, "killed", "stopped_by_hand")


def with_ended_at_rest(ends: Mapping[int, ProcessEnd], stacks: pl.DataFrame, tables: Tables) -> dict[int, ProcessEnd]:
    """Ends by rank; where each process stood; tables of one attempt → ends, with those that followed from a standstill as stops."""
    killed = ((rank, end) for rank, end in ends.items() if end.how == "died" and end.cause in _KILLED)
    ended = {rank: end for rank, end in killed if end.by == "launcher"}
    if not ended:
        return dict(ends)
    rested = ended.keys() & _stood(stacks, tables)
    silent = {rank: end for rank, end in ended.items() if _is_long_silent(end, tables)}
    changed = {rank: replace(end, how="failed", cause=None) for rank, end in silent.items()}
    changed |= {rank: as_stop(ended[rank]) for rank in rested}
    return {**ends, **changed}


def _stood(stacks: pl.DataFrame, tables: Tables) -> set[int]:
    """The ranks that were looked at and stood, where most did and nobody went on."""
    live = live_stacks(stacks).filter(pl.col("rank").is_not_null()) if stacks.height else stacks
    if not live.height:
        return set()
    stood = live.filter(~pl.col("moving").fill_null(not is_long_after(live, tables)))
    is_most = stood["rank"].n_unique() >= _FEWEST and 2 * stood.height > live.height
    return {*stood["rank"]} if is_most and not steps_after(live, tables) else set()


def is_long_after(live: pl.DataFrame, tables: Tables) -> bool:
    """Were these stacks taken when no step had been completed for much longer than any takes?"""
    looks, steps = _looks(live, tables), _steps(tables)
    if not looks.len() or len(steps) < _SAID:
        return False
    late = min(looks) - steps[-1]
    # A clock of another zone may tell the same.
    is_zone = late >= _ZONES_NS and min(late % _ZONES_NS, -late % _ZONES_NS) < _NEAR_NS
    return not is_zone and late > max(_STEPS * _longest(steps), _CLOCKS_NS)


def steps_after(live: pl.DataFrame, tables: Tables) -> bool:
    """Were steps completed soon after the last look? A stamp without zone may be hours away."""
    looks = _looks(live, tables)
    soon = [step for step in _steps(tables) if looks.len() and _CLOCKS_NS < step - max(looks) < _ZONE_NS]
    return len(soon) > 1


def _is_long_silent(end: ProcessEnd, tables: Tables) -> bool:
    """Had nobody completed a step for very much longer than any takes when it ended, by one clock? Then what it ended was no work."""
    steps = _steps(tables, end.time_basis)
    is_told = end.time_ns is not None and len(steps) >= _SAID
    return is_told and (end.time_ns or 0) - steps[-1] > max(_SILENT * _longest(steps), _LEAST_NS)


def _longest(steps: Sequence[int]) -> int:
    return max(after - before for before, after in pairwise(steps))


def _looks(live: pl.DataFrame, tables: Tables) -> pl.Series:
    """When these stacks were taken, as far as anything tells."""
    of_files = pl.col("file").is_in(live["file"].unique().implode()) & (pl.col("source") != "traceback")
    return tables["stacks"].filter(of_files)["time_ns"].drop_nulls()


def _steps(tables: Tables, basis: str | None = None) -> list[int]:
    """When steps were first completed by anybody, in order. `basis`: by that kind of clock alone."""
    is_own = (pl.col("phase") == "train").fill_null(True) & (pl.col("time_basis") != "boot")
    is_own &= pl.lit(True) if basis is None else pl.col("time_basis") == basis
    timed = tables["steps"].filter(is_own).drop_nulls(["step", "time_ns"])
    return sorted(timed.group_by("step").agg(pl.col("time_ns").min())["time_ns"].to_list())
