"""Which column of records counts the steps, where no name says so: its course does.

    gstep,what,n_bad            {"n_it": 4, "mod": "head", "n_inf": 0}            stp  bkt  rk  in.bad
    13,batch.images,0           {"n_it": 5, "mod": "embed", "n_inf": 0}           11   0    0   0
    14,batch.images,0           {"n_it": 5, "mod": "head", "n_inf": 0}            11   0    1   0

Such a column never falls, rises by one and the same from block to block, and each block tells the same parts in the same order: what
is said of a step is said of the next one. An identifier or a size does not do so.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any

from parsers.forms.reading import real, whole
from parsers.text import vocabulary

_FEWEST, _ROWS = 3, 2  # blocks, rows of each


def step_column(records: Sequence[Mapping[str, Any]]) -> str | None:
    """The one column of records, in their order, that counts so; None where none does, or several, or a name is known to count steps."""
    if len(records) < _FEWEST * _ROWS or "step" in vocabulary.meanings(tuple(records[0])):
        return None
    found = [name for name in records[0] if vocabulary.meaning_of(name) is None and _counts(records, name)]
    return found[0] if len(found) == 1 else None


def _counts(records: Sequence[Mapping[str, Any]], name: str) -> bool:
    cells = [whole(one.get(name)) for one in records]
    if None in cells:
        return False
    blocks = [[*own] for _, own in groupby(range(len(cells)), key=lambda at: cells[at])]
    steps = [cells[own[0]] or 0 for own in blocks]
    strides = {after - before for before, after in pairwise(steps)}
    if len(blocks) < _FEWEST or len(strides) != 1 or strides.pop() < 1 or len(blocks[0]) < _ROWS:
        return False
    return _tell_alike([[records[at] for at in own] for own in blocks[:-1]], name)  # the last may be cut off


def _tell_alike(blocks: Sequence[Sequence[Mapping[str, Any]]], counter: str) -> bool:
    """Are there columns whose cells come again in every block in the same order, and differ within it?"""
    if len({len(own) for own in blocks}) != 1:
        return False
    for name in blocks[0][0]:
        told = {tuple(str(one.get(name)) for one in own) for own in blocks}
        if name != counter and len(told) == 1 and len(set(told.pop())) > 1 and real(blocks[0][0].get(name)) is None:
            return True
    return False
