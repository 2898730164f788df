"""Lines of a log as records, where a number at their head may be the step."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import polars as pl

from parsers.forms import framings
from parsers.forms.reading import whole
from parsers.schema.rules import LINE_CHARACTERS
from parsers.text import vocabulary

_RISING = 3  # lines
_WHOSE = ("rank", "local_rank", "host")


def counted(lines: pl.DataFrame) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Lines and their records. A number without a name at the head of lines is the step where it rises from line to line of a
    printer that says no other: a rank or a label would not."""
    heads: dict[tuple[Any, ...], list[tuple[dict[str, Any], dict[str, Any]]]] = {}
    for row in lines.iter_rows(named=True):
        said = framings.record(row["text"]) if len(row["text"]) <= LINE_CHARACTERS else None
        if said is None:
            continue
        if framings.COUNT not in said or "step" in vocabulary.meanings(said):
            yield row, said
        else:
            told = vocabulary.told(said)
            whose = (*(row[name] for name in _WHOSE), *(str(told.get(name)) for name in _WHOSE))
            heads.setdefault((row["file"], *whose), []).append((row, said))
    for found in heads.values():
        counts = [whole(said[framings.COUNT]) or 0 for _, said in found]
        is_rising = len(counts) >= _RISING and all(one < two for one, two in pairwise(counts))
        yield from ((row, {"step": said[framings.COUNT], **said} if is_rising else said) for row, said in found)
