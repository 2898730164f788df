"""Who reads the units of a bundle: this process alone, or several (pool.py), which pays where there is much to do: each
costs its imports, and sends its tables back. How much there is to do, the size alone does not tell: a gigabyte of flight
records takes fifty times as long as one of plain logs. So this process begins, and calls others where the rest is long.

Where little of what was read became rows, most of the time goes into what threads (threads.py) do beside each other; and their
units are large, as a line parser costs the same for a unit of few lines as for one of many."""

import os
import time
from collections.abc import Iterable, Iterator
from itertools import repeat

from parsers.engine.threads import Unit, Work, in_threads
from parsers.schema.tables import Tables, size_of

LEAST_BYTES = 256 << 20  # below, one process is as fast, and takes less of the machine
WORTH = 12.0  # seconds of one processor that are left, by what was read so far: two processes cost one to two
MOST, MOST_THREADS = 8, 3  # processes; threads of one: more only wait for Python's lock
LARGE_FILES = 2048  # of a unit in a thread: what is remembered of each until its lines are parsed takes 40 kB
SPARSE = 50  # bytes read for a byte of tables: then threads, where it is less than
MOST_BYTES = 4 << 30


def by_size(work: Work, units: Iterable[Unit]) -> Iterator[Tables]:
    """A `ledger.Map`: in this process, and from where that would take long, in as many as there are cores."""
    listed = list(units)
    sizes = [_left(unit) for unit in listed]
    began, done, made = time.process_time(), 0, 0
    for at, unit in enumerate(listed):
        rest, left = listed[at:], sum(sizes[at:])
        if done > SPARSE * made and left < MOST_BYTES:
            yield from _in_large(work, rest, min(_cores(), MOST_THREADS))
            return
        if done and sum(sizes) >= LEAST_BYTES and (time.process_time() - began) * left > WORTH * done:
            from parsers.engine.pool import in_processes  # a small bundle does not pay for multiprocessing

            yield from in_processes(work, rest, min(_cores(), MOST, len(rest)))
            return
        tables = work(unit)
        done, made = done + sizes[at], made + size_of(tables)
        yield tables


def _in_large(work: Work, units: list[Unit], count: int) -> Iterator[Tables]:
    """In threads, by units as large as may be, and nothing in place of those that are in them."""
    large = list(_large(units, count))
    yield from in_threads(work, large, count) if count > 1 else map(work, large)
    yield from repeat({}, len(units) - len(large))


def _large(units: list[Unit], count: int) -> Iterator[Unit]:
    """Neighbours together: a share of the whole for each thread, or as many files as a unit may have."""
    share = sum(map(_left, units)) / count
    own: Unit = ()
    for unit in units:
        if own and (_left(own) + _left(unit) / 2 > share or len(own) + len(unit) > LARGE_FILES):
            yield own
            own = ()
        own += unit
    yield own


def _left(unit: Unit) -> int:
    return sum(source.left for source in unit)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
