"""Written incidents, each with the truth that an honest reader of its files could reach.

Every number in a bundle comes from the situation's name: the same name gives the same bytes.
"""

from collections.abc import Mapping
from pathlib import Path

from samples.situations import (
    calls,
    ends,
    hardware,
    healthy,
    launch,
    losses,
    noise,
    numerics,
    outside,
    two,
    vendors,
    waits,
)
from samples.situations.situation import Situation

_MODULES = (calls, ends, hardware, healthy, launch, losses, noise, numerics, outside, two, waits)
CASES: Mapping[str, Situation] = {
    **{name: found for module in _MODULES for name, found in vars(module).items() if isinstance(found, Situation)},
    **vendors.CASES,
}


def write(name: str, folder: Path) -> None:
    """Writes the bundle of the situation `name` into `folder`, which is made."""
    CASES[name].make(name).write(folder)
