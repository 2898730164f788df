"""Who reads the units of a bundle: this process alone, or several (pool.py), which pays where there is much to do: each
costs its imports, and sends its tables back. How much there is to do, the size alone does not tell: a gigabyte of flight
records takes fifty times as long as one of plain logs. So this process begins, and calls others where the rest is long.

Where little of what was read became rows, the rest is one unit: a line parser costs the same for a unit of few lines as for one
of many."""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, repeat

from parsers.parser import Source
from parsers.tables import Tables, size_of

LEAST_BYTES = 256 << 20  # below, one process is as fast, and takes less of the machine
WORTH = 12.0  # seconds of one processor that are left, by what was read so far: two processes cost one to two
MOST = 8  # processes
SPARSE = 50  # bytes read for a byte of tables

Unit = tuple[Source, ...]
Work = Callable[[Unit], Tables]


def by_size(work: Work, units: Iterable[Unit]) -> Iterator[Tables]:
    """A `ledger.Map`: in this process, and from where that would take long, in as many as there are cores."""
    listed = list(units)
    sizes = [sum(source.left for source in unit) for unit in listed]
    began, done, made = time.process_time(), 0, 0
    for at, unit in enumerate(listed):
        left = sum(sizes[at:])
        if done and sum(sizes) >= LEAST_BYTES and (time.process_time() - began) * left > WORTH * done:
            yield from _elsewhere(work, listed[at:])
            return
        if done > SPARSE * made:
            yield work(tuple(chain.from_iterable(listed[at:])))
            yield from repeat({}, len(listed) - at - 1)
            return
        tables = work(unit)
        done, made = done + sizes[at], made + size_of(tables)
        yield tables


def _elsewhere(work: Work, units: list[Unit]) -> Iterator[Tables]:
    from parsers.pool import in_processes  # a small bundle does not pay for multiprocessing

    count = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, MOST)
    return in_processes(work, units, min(count, len(units)))
