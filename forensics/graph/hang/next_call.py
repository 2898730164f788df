"""Which call would a rank have made next, by its own history?

A training program repeats itself: the longest run of calls that precedes both the end of a rank's record and some earlier
place in it tells what followed then, and so what was to follow now. No clock is needed.
"""

from collections.abc import Hashable, Sequence
from typing import TypeVar

_Call = TypeVar("_Call", bound=Hashable)
_LONGEST = 400  # calls that are compared: more than a step of most programs


def order_of_next(history: Sequence[_Call]) -> dict[_Call, int]:
    """Calls of one rank, oldest first → how many calls after the end of the record each kind of call would come next;
    empty where the end of the record is like no earlier place."""
    best, length = None, 0
    last = len(history)
    for end in range(last - 1, 0, -1):
        run = 0
        while run < min(end, _LONGEST) and history[end - 1 - run] == history[last - 1 - run]:
            run += 1
        if run > length:
            best, length = end, run
            if run == _LONGEST:
                break
    if best is None:
        return {}
    found: dict[_Call, int] = {}
    for distance, call in enumerate(history[best:], 1):
        found.setdefault(call, distance)
    return found
