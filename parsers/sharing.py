"""Who reads the units of a bundle: this process alone, or several (pool.py), which pays where there is much to read: each
costs its imports, and sends its tables back."""

import os
from collections.abc import Callable, Iterable, Iterator

from parsers.parser import Source
from parsers.tables import Tables

LEAST_BYTES = 256 << 20  # below, one process is as fast, and takes less of the machine
MOST = 8  # processes

Unit = tuple[Source, ...]
Work = Callable[[Unit], Tables]


def by_size(work: Work, units: Iterable[Unit]) -> Iterator[Tables]:
    """A `ledger.Map`: in this process where there is little to read, else in as many as there are cores."""
    listed = list(units)
    if sum(source.size for unit in listed for source in unit) < LEAST_BYTES:
        return map(work, listed)
    from parsers.pool import in_processes  # a small bundle does not pay for multiprocessing

    count = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, MOST)
    return in_processes(work, listed, min(count, len(listed)))
