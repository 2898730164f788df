"""Reads the units of a bundle in threads of this process; results come in order, so the tables are the same as with one.

What takes most of the time in plain logs (reading, unfolding, looking for anchors and line ends) lets go of Python's lock, so
threads get on beside each other, and none of them pays for imports. Whoever stops asking for results (an error, an interrupt)
waits for nobody: threads open no file any more, and end with their process.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from functools import partial
from threading import Event, Thread
from typing import BinaryIO

from msgspec.structs import replace

from parsers.schema.parser import Source
from parsers.schema.tables import Tables

Unit = tuple[Source, ...]
Work = Callable[[Unit], Tables]
_LOOK_S = 0.1
_Task = tuple["Future[Tables]", Unit]


def in_threads(work: Work, units: Iterable[Unit], count: int) -> Iterator[Tables]:
    """The tables of each unit, in order."""
    over = Event()
    tasks: deque[_Task] = deque((Future(), unit) for unit in units)
    futures = deque(future for future, _ in tasks)
    for _ in range(count):
        Thread(target=_work, args=(work, tasks, over), daemon=True).start()
    try:
        while futures:
            while not futures[0].done():  # an interrupt that another thread took is seen by whoever does not only wait
                wait(list(futures)[:1], _LOOK_S)
            yield futures.popleft().result()
    finally:
        over.set()


def _work(work: Work, tasks: deque[_Task], over: Event) -> None:
    while not over.is_set():
        try:
            future, unit = tasks.popleft()
        except IndexError:
            return
        try:
            future.set_result(work(tuple(replace(source, open=partial(_opened, source.open, over)) for source in unit)))
        except BaseException as error:  # whoever asks for the result gets it
            future.set_exception(error)


def _opened(opener: Callable[[], BinaryIO], over: Event) -> BinaryIO:
    if over.is_set():
        raise OSError("nobody asks any more")
    return opener()
