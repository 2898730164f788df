"""What the parts of a step take each rank at the mean: a row per rank, no step, as people put it together in tickets and scripts at the end of a run.

    rank,data_ms,fwd_bwd_ms,allreduce_wait_ms              | executor | data ms before | data ms now | allreduce wait ms now |
    7,5412,588,41                                          | 7 | 195 | 5412 | 41 |

Two columns of times at least, each with its unit, or nothing but three and more without, of which one is a wait; and one that tells who it is: a rank, or any name that the bundle joins to one
(framings.rows). Of two columns of one part, which differ in a word for when, the later counts.

Rows of `timings` without a step, level 0.

Printed by: people, scripts.
Versions: none.
Source: this project's own samples.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from parsers.forms import framings
from parsers.forms.reading import real, whole
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables
from parsers.text import vocabulary
from parsers.text.durations import figure, sort_of
from parsers.text.rank_list import RANKS

_NOT = frozenset(("step", "time", "phase", "tensor", "module", "metric", "name", "operation", "loss", "grad_norm"))
_EARLIER = frozenset(
    ("before", "baseline", "usual", "normal", "previous", "prior", "earlier", "good", "reference", "yesterday")
)
_LATER = frozenset(("now", "after", "today", "current", "bad", "slow", "since"))
_MEANS = frozenset(("mean", "avg", "average", "median", "p50"))
_FEWEST = 2


class Column(NamedTuple):
    """What a column times, and its unit in milliseconds."""

    name: str
    phase: str
    factor: float


def accepts(path: str, head: bytes) -> bool:
    """By the names of a table."""
    if framings.framing(path, head) not in framings.TABLES:
        return False
    names = framings.names(path, head)
    return not vocabulary.meanings(sorted(names)) & _NOT and len(columns_of(tuple(sorted(names)))) >= _FEWEST


@lru_cache(maxsize=256)
def columns_of(names: tuple[str, ...]) -> Sequence[Column]:
    """The columns that time a part of a step, one for each."""
    found: dict[str, Column] = {}
    for name in names:
        words = vocabulary.words_of(name)
        kept = " ".join(word for word in words if word not in _EARLIER | _LATER | _MEANS)
        said = figure(kept)
        if said is None or sort_of(said.phase) is None:
            continue
        if said.phase not in found or _EARLIER.isdisjoint(words):
            found[said.phase] = Column(name, said.phase, said.factor or 0.0)
    timed = [column for column in found.values() if column.factor]
    sorts = {sort_of(column.phase) for column in found.values()}
    is_all = len(names) <= len(found) + 1  # but for who it is
    is_bare = not timed and is_all and "wait" in sorts and len(found) > _FEWEST and len(sorts) > 1
    return [column._replace(factor=1.0) for column in found.values()] if is_bare else timed


def parse(source: Source) -> Tables:
    """timings; `unread` for rows of nobody."""
    return framings.read_table(source, "timings", _timed, "times of nobody who is known")


def _timed(said: Mapping[str, Any], _text: str) -> Iterator[dict[str, Any]]:
    rank = whole(vocabulary.told(said).get("rank"))
    if rank is None or not 0 <= rank < RANKS:
        return
    for column in columns_of(tuple(sorted(said))):
        value = real(said.get(column.name))
        if value is not None and value >= 0:
            common: dict[str, Any] = {"rank": rank, "phase": column.phase, "name": column.name, "level": 0}
            yield common | {"value_ms": value * column.factor}


PARSER = FileParser(name="phase_means", accepts=accepts, parse=parse)
