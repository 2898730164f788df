"""Written incidents, each with the truth that an honest reader of its files could reach.

Every number in a bundle comes from the situation's name: the same name gives the same bytes.
"""

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from samples.situations import (
    calls,
    ends,
    figures,
    hardware,
    healthy,
    killed,
    launch,
    losses,
    noise,
    numerics,
    outside,
    own,
    programs,
    speakers,
    two,
    unclear,
    vendors,
    waits,
)
from samples.situations.situation import Situation

_MODULES = (calls, ends, hardware, healthy, launch, losses, noise, numerics, outside, two, waits)
_HEARD = (own, unclear, killed, speakers, programs, figures)


def _of(modules: tuple[ModuleType, ...]) -> dict[str, Situation]:
    return {name: found for module in modules for name, found in vars(module).items() if isinstance(found, Situation)}


WEIGHED: Mapping[str, Situation] = {**_of(_MODULES), **vendors.CASES}
HEARD: Mapping[str, Situation] = _of(_HEARD)  # made against the rules of whose failure it is, and of who speaks
CASES: Mapping[str, Situation] = {**WEIGHED, **HEARD}


def write(name: str, folder: Path) -> None:
    """Writes the bundle of the situation `name` into `folder`, which is made."""
    CASES[name].make(name).write(folder)
