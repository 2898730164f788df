"""What a failure cost: the last step done, the last checkpoint written and safely stored, and how long nothing went on.

Stalled is the time from the last step done to the first wait that ran out, or, where none did, to the first word of a watchdog,
else to the first end of a process. Both must be stamps of one kind; nothing is said where the hosts' stamps differ by time zones, or by more than
the time itself.
"""

import polars as pl

from forensics.assemble.who.clocks import Clocks
from forensics.facts.durations.checkpoints import Checkpoints
from forensics.facts.durations.progress import completed_last, newest
from forensics.model.incident import Lost
from forensics.model.taxonomy import RAN_OUT
from parsers.schema.tables import Tables
from parsers.text.stamps import SECOND_NS

# Of a wait that ran out, or of another watchdog's shorter patience.
_ECHOES = ("heartbeat_lost", "dump_signal", "desync")
_ENDED = ("exit", "first_failure", "closing_signal", "exception", "bad_loss")


def cost(tables: Tables, events: pl.DataFrame, clocks: Clocks, written: Checkpoints) -> Lost:
    """What records of one attempt say → Lost; null where they do not."""
    steps = tables["steps"].filter(pl.col("step").is_not_null() & (pl.col("phase") == "train").fill_null(True))
    return Lost(
        last_completed_step=newest(completed_last(steps)["step"]),
        last_saved_step=max(written.saved.complete, default=None),
        last_persisted_step=max(written.stored.complete, default=None),
        stalled_s=_stalled(events, clocks, steps),
    )


def _stalled(events: pl.DataFrame, clocks: Clocks, steps: pl.DataFrame) -> float | None:
    if any(clock.zone_ns for clock in clocks.known.values()):
        return None
    events = events.select("kind", "time_ns", "time_basis").filter(pl.col("time_ns").is_not_null())
    for basis in ("utc", "local"):
        last = steps.filter(pl.col("time_basis") == basis)["time_ns"].max()
        if not isinstance(last, int):
            continue
        after = events.filter((pl.col("time_basis") == basis) & (pl.col("time_ns") >= last))
        for kinds in (RAN_OUT, _ECHOES, _ENDED):
            first = after.filter(pl.col("kind").is_in(kinds))["time_ns"].min()
            if isinstance(first, int):
                seconds = (first - last) / SECOND_NS
                return seconds if seconds > (clocks.skew_bound_s or 0.0) else None
    return None
