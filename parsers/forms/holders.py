"""Whose each row of a table is, where no name says so: the columns whose cells come again in every step, each once.

    shipped_at,actor,update,weights_xxh64          vm     slot  step  param_crc32         机器    卡号  步    参数crc
    17.5,~9ee9a178,2400,e4ef5fe22f877bf8           vm_01  0     4400  a4a3d122            一号机  1     4070  6a06e9ab
    17.9,~73faab37,2400,e4ef5fe22f877bf8           vm_01  1     4400  d1f4969f            一号机  2     4070  6a06e9ab

One column does, or two together; three holders at least, in two steps at least. What differs from step to step is a figure, what is alike in all rows of a step its setting;
a number with a fraction is no name. Rows of a step may be missing, and their order does not matter.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any

from parsers.forms.reading import real
from parsers.text import vocabulary
from parsers.text.patterns import regex

MOST_ROWS = 4000  # by which the columns are found
_FEWEST, _STEPS, _MOST = 3, 2, 8  # holders, steps, columns
_WHOLE = 0.75  # of the rows that would be there if every holder had one in each step
_PARTS = ("tensor", "module", "metric", "name", "operation", "phase", "step", "group", "time")  # of a process, none
_INTEGER = regex(r"\d{1,9}")


def step_of(records: Sequence[Mapping[str, Any]]) -> str | None:
    """The column that counts the steps: by its name; else the one of whole numbers in even strides by which the rows of others, called by names, are told apart."""
    if (named := next((name for name in records[0] if vocabulary.meant(name) == "step"), None)) is not None:
        return named
    found = [name for name in records[0] if _strides(records, name) and holder_columns(records, name, of_names=True)]
    if len(found) > 1:  # steps rise in a file, the numbers of cards begin anew
        last = {name: max(int(one[name]) for one in records) for name in found}
        found = [name for name in found if _rises(records, name)] or [max(found, key=last.__getitem__)]
    return found[0] if len(found) == 1 else None


def is_held(records: Sequence[Mapping[str, Any]]) -> bool:
    """Are they a table of steps whose rows are called after whom they are of?"""
    step = step_of(records) if records else None
    return step is not None and bool(holder_columns(records, step))


def _rises(records: Sequence[Mapping[str, Any]], name: str) -> bool:
    return all(int(before[name]) <= int(after[name]) for before, after in pairwise(records))


def _strides(records: Sequence[Mapping[str, Any]], name: str) -> bool:
    """Does a column hold whole numbers, each as far from the next as all are?"""
    cells = {str(one.get(name)) for one in records}
    numbers = sorted({*map(int, cells)}) if all(map(_INTEGER.fullmatch, cells)) else []
    return len(numbers) > _STEPS and len({after - before for before, after in pairwise(numbers)}) == 1


def holder_columns(records: Sequence[Mapping[str, Any]], step: str, *, of_names: bool = False) -> tuple[str, ...]:
    """Records of a table, the column that counts its steps → the columns that say whose a row is; none where no one or two do. `of_names`: one of
    them at least holds no numbers."""
    told = [one for one in records if one.get(step) not in (None, "")]
    if len(told) < _FEWEST * _STEPS:
        return ()
    numbered = {name for name in told[0] if all(_INTEGER.fullmatch(str(one.get(name))) for one in told)}
    names = [name for name in told[0] if name != step and _may_name(told, name)][:_MOST]
    for number in (1, 2):
        for columns in combinations(names, number):
            rows = ((one[step], tuple(str(one.get(name)) for name in columns)) for one in told)
            if not (of_names and numbered.issuperset(columns)) and _is_grid([*rows]):
                return columns
    return ()


def holder_of(record: Mapping[str, Any], columns: Sequence[str]) -> str:
    """What these columns say, as it is said."""
    return " ".join(f"{name}={record.get(name)}" for name in columns)


def _may_name(records: Sequence[Mapping[str, Any]], name: str) -> bool:
    if vocabulary.meant(name) in _PARTS:
        return False
    cells = [str(one.get(name) if one.get(name) is not None else "") for one in records]
    return all(cells) and all(_INTEGER.fullmatch(cell) or real(cell) is None for cell in cells) and len({*cells}) > 1


def _is_grid(rows: Sequence[tuple[Any, tuple[str, ...]]]) -> bool:
    """Has nearly every holder one row in nearly every step, and none two?"""
    if max(Counter(rows).values()) > 1:
        return False
    steps: defaultdict[Any, set[tuple[str, ...]]] = defaultdict(set)
    for step, holder in rows:
        steps[step].add(holder)
    holders = {holder for own in steps.values() for holder in own}
    is_enough = len(holders) >= _FEWEST and len(steps) >= _STEPS
    return is_enough and len(rows) >= _WHOLE * len(holders) * len(steps)
