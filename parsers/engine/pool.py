"""Reads the units of a bundle in several processes; results come in order, so the tables are the same as with one.

At most two units a process are under way or waiting, whatever the bundle holds. A process that dies (out of memory)
leaves its unit to the parent. Whoever stops asking for results (an error, an interrupt) ends the processes at once; and
they end when their parent does.
"""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.process import BaseProcess

import polars as pl

from parsers.engine.threads import Unit, Work
from parsers.schema.literals import Packed, packed, unpacked
from parsers.schema.tables import TableName, Tables

_AHEAD = 2  # units per process
_THREADS = "POLARS_MAX_THREADS"

_Result = Mapping[TableName, Packed]


def in_processes(work: Work, units: Iterable[Unit], count: int) -> Iterator[Tables]:
    """The tables of each unit, in order."""
    if count < 2:
        yield from map(work, units)
        return
    pl.thread_pool_size()  # this process keeps its own number of threads
    before = os.environ.get(_THREADS)
    os.environ[_THREADS] = "1"
    others = set(multiprocessing.active_children())
    executor = ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _begin)
    waiting: deque[tuple[Unit, Future[_Result] | None]] = deque()
    try:
        for unit in units:
            waiting.append((unit, _submitted(executor, work, unit)))
            if len(waiting) > _AHEAD * count:
                yield _result(work, *waiting.popleft())
        while waiting:
            yield _result(work, *waiting.popleft())
    finally:
        if any(future for _, future in waiting):
            _end(executor, set(multiprocessing.active_children()) - others)
        executor.shutdown(wait=True, cancel_futures=True)
        os.environ.pop(_THREADS) if before is None else os.environ.update({_THREADS: before})


def _submitted(executor: ProcessPoolExecutor, work: Work, unit: Unit) -> "Future[_Result] | None":
    """A process that this starts inherits which signals are held back: an interrupt is the parent's business."""
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if hasattr(signal, "pthread_sigmask") else None
    try:
        return executor.submit(_travelling, work, unit)
    except BrokenProcessPool:
        return None
    finally:
        if held is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, held)


def _result(work: Work, unit: Unit, future: "Future[_Result] | None") -> Tables:
    try:
        return work(unit) if future is None else {name: unpacked(one) for name, one in future.result().items()}
    except BrokenProcessPool:
        return work(unit)


def _end(executor: ProcessPoolExecutor, processes: Collection[BaseProcess]) -> None:
    """At once. A process may be in the midst of sending a result, for whose rest nobody shall wait: it ends where all ends to
    write to are closed, and this process holds one."""
    for process in processes:
        process.kill()
    writer = getattr(getattr(executor, "_result_queue", None), "_writer", None)
    if writer is not None:
        writer.close()


def _travelling(work: Work, unit: Unit) -> _Result:
    return {name: packed(frame) for name, frame in work(unit).items()}


def _begin() -> None:
    """In each process: nobody outlives the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)
