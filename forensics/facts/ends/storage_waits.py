"""Which processes wait for storage, by their stacks and the kernels of their hosts.

A stack in a file system's call, or in one that writes a checkpoint, waits for storage. One that loads data may wait for much
else, and a job whose loader is slow shows it in every look: it counts only where it did not move between two looks and kernels
complain of storage or of tasks that block.
"""

from collections.abc import Collection

import polars as pl

from forensics.model.names import Site

STORAGE_SITES: tuple[Site, ...] = ("storage_io", "checkpoint_io")
COMPLAINTS = ("hung_task", "storage_error")


def live_stacks(stacks: pl.DataFrame) -> pl.DataFrame:
    """Stacks that were taken of a running process."""
    return stacks.filter(pl.col("source") != "traceback")


def storage_waits(stacks: pl.DataFrame, complained: Collection[object]) -> pl.DataFrame:
    """The rows of `stacks` that wait for storage, where these are most of the live ones; else none. `complained`: what kernels
    said of storage and blocked tasks."""
    live = live_stacks(stacks)
    at = pl.col("site").is_in(STORAGE_SITES) & ~pl.col("moving").fill_null(False)
    loads = (pl.col("site") == "data_loading") & ~pl.col("moving").fill_null(True)
    waiting = live.filter(at | loads if complained else at)
    return waiting if 2 * int(waiting["count"].sum()) > int(live["count"].sum()) else waiting.clear()
