"""What each step of the way costs: wall time, processor time and the peak of memory so far, for `--profile`."""

import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

Step = Callable[[str], AbstractContextManager[None]]
Counted = Callable[[int, int], object]  # of the step that runs: done, in all
_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes in a unit of ru_maxrss


def unwatched(_: str) -> AbstractContextManager[None]:
    """A step of which nobody wants to know."""
    return nullcontext()


def uncounted(_: int, __: int) -> None:
    """How far it has come nobody wants to know."""


class Steps:
    """A Step that remembers. `lines`: one per step, in order of their ends."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        wall, used = time.monotonic(), _seconds()
        try:
            yield
        finally:
            wall, used = time.monotonic() - wall, _seconds() - used
            self.lines.append(f"{name:10} {wall:8.2f} s {used:8.2f} s of processor time, peak {_peak() >> 20:6} MB")


def _seconds() -> float:
    """Processor time of this process and of those that it waited for."""
    return sum(use.ru_utime + use.ru_stime for use in _uses())


def _peak() -> int:
    """Bytes of the largest process so far."""
    return max(use.ru_maxrss for use in _uses()) * _UNIT


def _uses() -> list[resource.struct_rusage]:
    return [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
