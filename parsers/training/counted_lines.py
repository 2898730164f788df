"""Lines of a log as records, where a number may be the step, at their head without a name, or under one that nobody knows (`ba 19: loss nan`, `"n": 19`)."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import polars as pl

from parsers.forms import framings
from parsers.forms.reading import whole
from parsers.schema.rules import LINE_CHARACTERS
from parsers.text import vocabulary
from parsers.training.step_figures import flattened

_RISING, _CALLED = 3, 5  # lines, of a count without a name and with one
_WHOSE = ("rank", "local_rank", "host")
_FIGURES = frozenset(("loss", "grad_norm", "own_grad_norm"))


def counted(lines: pl.DataFrame) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Lines and their records. A number without a known name is the step where it rises from line to line of a printer that says no other: at the head
    of lines without any name, under one by the same each time; a rank or a label would not. Where a printer has lines of several names, as of its
    own loss and of the mean of all, it rises in those of one sort, and falls in none."""
    open_rows: dict[tuple[Any, ...], list[tuple[dict[str, Any], dict[str, Any]]]] = {}
    for row in lines.iter_rows(named=True):
        said = framings.record(row["text"]) if len(row["text"]) <= LINE_CHARACTERS else None
        if said is None:
            continue
        every = flattened(said) if any(isinstance(cell, dict) for cell in said.values()) else said
        names = _counts_of(said, every)
        if not names or "step" in vocabulary.meanings(tuple(every)):
            yield row, said
        else:
            told = vocabulary.told(every)
            whose = (*(row[one] for one in _WHOSE), *(str(told.get(one)) for one in _WHOSE))
            open_rows.setdefault((row["file"], names, *whose), []).append((row, said))
    for (_, names, *_), found in open_rows.items():
        rising = [name for name in names if _is_step([said for _, said in found], name)]
        step = rising[0] if rising and (rising[0] == names[0] or len(rising) == 1) else None
        yield from ((row, {"step": said[step], **said} if step is not None else said) for row, said in found)


def _is_step(records: Sequence[Mapping[str, Any]], name: str) -> bool:
    sorts: dict[tuple[str, ...], list[int]] = {}
    for said in records:
        sorts.setdefault(tuple(said), []).append(whole(said[name]) or 0)
    counts = [whole(said[name]) or 0 for said in records]
    is_bare = name == framings.COUNT
    return all(before <= after for before, after in pairwise(counts)) and all(
        _rises(own, is_bare=is_bare) for own in sorts.values()
    )


def _rises(counts: Sequence[int], *, is_bare: bool) -> bool:
    strides = {after - before for before, after in pairwise(counts)}
    return len(counts) >= (_RISING if is_bare else _CALLED) and min(strides) > 0 and (is_bare or len(strides) == 1)


def _counts_of(said: Mapping[str, Any], every: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of what may be a count in a record: of a number without a name at its head; else those of whole numbers of which nothing is known, beside a
    loss or a norm."""
    if framings.COUNT in said:
        return (framings.COUNT,)
    if not vocabulary.meanings(tuple(every)) & _FIGURES:
        return ()
    return tuple(name for name, cell in said.items() if _is_whole(cell) and vocabulary.is_unknown(name))


def _is_whole(cell: Any) -> bool:
    return isinstance(cell, int | str) and str(cell).isdigit() and whole(cell) is not None
