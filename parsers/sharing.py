"""Who reads the units of a bundle: this process alone, or several (pool.py), which pays where there is much to do: each
costs its imports, and sends its tables back. How much there is to do, the size alone does not tell: a gigabyte of flight
records takes fifty times as long as one of plain logs. So this process begins, and calls others where the rest is long."""

import os
import time
from collections.abc import Callable, Iterable, Iterator

from parsers.parser import Source
from parsers.tables import Tables

LEAST_BYTES = 256 << 20  # below, one process is as fast, and takes less of the machine
WORTH = 12.0  # seconds of one processor that are left, by what was read so far: two processes cost one to two
MOST = 8  # processes

Unit = tuple[Source, ...]
Work = Callable[[Unit], Tables]


def by_size(work: Work, units: Iterable[Unit]) -> Iterator[Tables]:
    """A `ledger.Map`: in this process, and from where that would take long, in as many as there are cores."""
    listed = list(units)
    sizes = [sum(source.left for source in unit) for unit in listed]
    if sum(sizes) < LEAST_BYTES:
        return map(work, listed)
    return _begun_here(work, listed, sizes)


def _begun_here(work: Work, units: list[Unit], sizes: list[int]) -> Iterator[Tables]:
    began, done = time.process_time(), 0
    for at, unit in enumerate(units):
        spent = time.process_time() - began
        if done and spent * sum(sizes[at:]) > WORTH * done:
            from parsers.pool import in_processes  # a small bundle does not pay for multiprocessing

            count = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, MOST)
            yield from in_processes(work, units[at:], min(count, len(units) - at))
            return
        yield work(unit)
        done += sizes[at]
