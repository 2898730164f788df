"""What a failure cost: the last step done, the last checkpoint written and safely stored, and how long nothing went on.

Stalled is the time from the last step done to the first time-out, or, where nobody timed out, to the first end of a
process. Both must be stamps of one kind; nothing is said where the hosts' stamps differ by time zones, or by more than
the time itself.
"""

import json

import polars as pl

from forensics.case import Case
from forensics.detectors.progress import newest
from forensics.model.incident import Kind, Lost

_TIMED_OUT = ("collective_timeout", "store_timeout", "heartbeat_lost", "dump_signal", "desync", "barrier_missing")
_ENDED = ("exit", "first_failure", "closing_signal", "exception", "bad_loss")
_SECOND_NS = 1_000_000_000


def lost(case: Case, kind: Kind) -> Lost:
    """Case and the kind of its verdict → Lost; null where records do not say. NaN and Inf stall nobody."""
    steps = case.tables["steps"].filter(pl.col("step").is_not_null() & (pl.col("phase") == "train").fill_null(True))
    return Lost(
        last_completed_step=newest(steps["step"]),
        last_saved_step=_stored(case, "checkpoint_save"),
        last_persisted_step=_stored(case, "checkpoint_persist"),
        stalled_s=None if kind == "numerics" else _stalled(case, steps),
    )


def _stored(case: Case, kind: str) -> int | None:
    """The newest checkpoint that is complete: a line that only announces it, or says that it failed, is none."""
    rows = case.events.filter((pl.col("kind") == kind) & pl.col("step").is_not_null())
    done = [
        step
        for step, detail, severity in rows.select("step", "detail", "severity").iter_rows()
        if severity not in ("error", "fatal") and not _is_announced(detail)
    ]
    return max(done, default=None)


def _is_announced(detail: str | None) -> bool:
    try:
        said = json.loads(detail or "{}")
    except ValueError:
        return False
    return isinstance(said, dict) and said.get("phase") == "begin"


def _stalled(case: Case, steps: pl.DataFrame) -> float | None:
    clocks = case.clocks
    if any(clock.zone_ns for clock in clocks.known.values()):
        return None
    events = case.events.filter(pl.col("time_ns").is_not_null())
    for basis in ("utc", "local"):
        last = steps.filter(pl.col("time_basis") == basis)["time_ns"].max()
        if not isinstance(last, int):
            continue
        after = events.filter((pl.col("time_basis") == basis) & (pl.col("time_ns") >= last))
        for kinds in (_TIMED_OUT, _ENDED):
            first = after.filter(pl.col("kind").is_in(kinds))["time_ns"].min()
            if isinstance(first, int):
                seconds = (first - last) / _SECOND_NS
                return seconds if seconds > (clocks.skew_bound_s or 0.0) else None
    return None
