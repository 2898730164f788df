"""Relations that hold for any bundle, whatever its truth is: how a verdict may move when the bundle changes.

Over the samples and simulated incidents; the additions are in relation_additions.py, the comparison in relations.py.
"""

import random
import re

import pytest

from tests.relation_additions import ADDITIONS, Files
from tests.relations import (
    INCIDENTS,
    NAMES,
    Example,
    broken,
    look,
    sample,
    simulated,
)

WHOLE = ("sample rank_killed", "sample monitored_barrier", "simulated 0", "simulated 19")
TOGETHER = 6
NUMBERS = range(INCIDENTS)


def example_of(name: str) -> Example:
    kind, _, which = name.partition(" ")
    return sample(which) if kind == "sample" else simulated(int(which))


ALL = (*(f"sample {name}" for name in NAMES), *(f"simulated {number}" for number in NUMBERS))


def every(step: int, first: int = 0) -> list[str]:
    """Each `step`-th of all bundles."""
    return list(ALL[first::step])


# --- something harmless is added ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("addition", ADDITIONS)
@pytest.mark.parametrize("name", WHOLE)
def test_a_harmless_addition_accuses_nobody(name: str, addition: str) -> None:
    one = example_of(name)
    files = ADDITIONS[addition](one.files, one.known)
    if files is None:
        pytest.skip("no place for it in this bundle")
    assert broken(one.base, look(files)) == []


def some(name: str) -> list[str]:
    """Another few additions for each bundle."""
    return random.Random(name).sample(sorted(ADDITIONS), TOGETHER)


@pytest.mark.parametrize("name", ALL)
def test_harmless_additions_together_accuse_nobody(name: str) -> None:
    one = example_of(name)
    files = one.files
    for addition in some(name):
        files = ADDITIONS[addition](files, one.known) or files
    assert broken(one.base, look(files)) == [], some(name)


# --- something is removed ----------------------------------------------------------------------------------------------


def printers(files: Files) -> dict[str, list[str]]:
    """Who left files: "rank 3", "kernel of node0001", "launcher of node0001" → its files."""
    found: dict[str, list[str]] = {}
    for path in files:
        host = re.match(r"hosts/([^/]+)/", path)
        where = host[1] if host else "the job"
        if own := re.search(r"rank_(\d+)(\.\w+)?$", path):
            who = f"process rank {own[1]}"
        elif own := re.search(r"attempt_\d+/(\d+)/", path):
            who = f"process {own[1]} of {where}"
        elif path.endswith("dmesg.txt"):
            who = f"kernel of {where}"
        else:
            who = f"launcher of {where}"
        found.setdefault(who, []).append(path)
    return found
