"""Lines of a log as records, where a number at their head may be the step, without a name or under one that nobody knows (`ba 19: loss nan`)."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import polars as pl

from parsers.forms import framings
from parsers.forms.reading import whole
from parsers.schema.rules import LINE_CHARACTERS
from parsers.text import vocabulary

_RISING, _CALLED = 3, 5  # lines, of a count without a name and with one
_WHOSE = ("rank", "local_rank", "host")
_FIGURES = frozenset(("loss", "grad_norm", "own_grad_norm"))


def counted(lines: pl.DataFrame) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Lines and their records. A number without a known name at the head of lines is the step where it rises from line to line of a
    printer that says no other, under a name by the same each time: a rank or a label would not. Where a printer has lines of several names, as of its
    own loss and of the mean of all, it rises in those of one sort, and falls in none."""
    heads: dict[tuple[Any, ...], list[tuple[dict[str, Any], dict[str, Any]]]] = {}
    for row in lines.iter_rows(named=True):
        said = framings.record(row["text"]) if len(row["text"]) <= LINE_CHARACTERS else None
        if said is None:
            continue
        name = _count_of(said)
        if name is None or "step" in vocabulary.meanings(said):
            yield row, said
        else:
            told = vocabulary.told(said)
            whose = (*(row[one] for one in _WHOSE), *(str(told.get(one)) for one in _WHOSE))
            heads.setdefault((row["file"], name, *whose), []).append((row, said))
    for (_, name, *_), found in heads.items():
        sorts: dict[tuple[str, ...], list[int]] = {}
        for _, said in found:
            sorts.setdefault(tuple(said), []).append(whole(said[name]) or 0)
        counts = [whole(said[name]) or 0 for _, said in found]
        is_rising = all(before <= after for before, after in pairwise(counts)) and all(
            map(partial(_rises, is_bare=name == framings.COUNT), sorts.values())
        )
        yield from ((row, {"step": said[name], **said} if is_rising else said) for row, said in found)


def _rises(counts: Sequence[int], *, is_bare: bool) -> bool:
    strides = {after - before for before, after in pairwise(counts)}
    return len(counts) >= (_RISING if is_bare else _CALLED) and min(strides) > 0 and (is_bare or len(strides) == 1)


def _count_of(said: Mapping[str, Any]) -> str | None:
    """The name of what may be a count at the head of a record: none, or one of which nothing is known, beside a loss or a norm."""
    first = next(iter(said), framings.COUNT)
    if framings.COUNT in said:
        return framings.COUNT
    is_open = whole(said.get(first)) is not None and vocabulary.is_unknown(first)
    return first if is_open and vocabulary.meanings(said) & _FIGURES else None
