"""Numbers in the names at the heads of lines, and whether they are the ranks that introduce themselves there.

start: partition 3 -> RANK 3 of 8          r2 step 15 …          r3 step 15 …
"""

from collections import defaultdict
from collections.abc import Iterable, Set

from parsers.text.patterns import regex

_NUMBER = regex(r"\d{1,7}")
_FEWEST, _DEVICES = 3, 16  # of a host, hardly more
Value = tuple[str, ...]


def numbered_value(value: Value, place: int) -> tuple[tuple[str, ...], int] | None:
    """A single name without its number at this place, and the number."""
    numbers = list(_NUMBER.finditer(value[0])) if len(value) == 1 else []
    if place >= len(numbers):
        return None
    own = numbers[place]
    return (value[0][: own.start()], value[0][own.end() :]), int(own[0])


def of_introduced(values: Iterable[Value], own: Set[int | None], world: int | None) -> dict[Value, int]:
    """By numbers that are just those of all ranks which introduce themselves in these files; the first ones of a larger job may be places on a host."""
    shapes: defaultdict[tuple[str, ...], dict[Value, int]] = defaultdict(dict)
    for value in values:
        if (numbered := numbered_value(value, 0)) is not None:
            shapes[numbered[0]][value] = numbered[1]
    is_sure = len(own) >= _FEWEST and (len(own) == world or len(own) > _DEVICES or own != {*range(len(own))})
    fitting = [found for found in shapes.values() if {*found.values()} == own and len(found) == len(own)]
    return fitting[0] if len(fitting) == 1 and is_sure else {}
