"""What a recorder found on each rank first: a record for each rank, with the step in which something of it was no number for the first time.

    ranks:                                              rank,host,first_nan_step,tensor
      - rank: 2                                         0,a,302,fc1.output
        first_nonfinite:                                2,a,301,fc2.weight.grad
          step: 301
          tensor: fc2.weight.grad                       {"rank": 2, "first_bad_iter": 301, "where": "fc2.weight.grad"}

Events `nan_assert`, code module, one for each rank and no more; `module` in `detail` is the first text beside the step that is a path or says what it is of.

Printed by: recorders of training programs.
Versions: none.
Source: as users write them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from io import BytesIO
from typing import Any

from parsers.forms import framings
from parsers.forms.reading import all_bytes, whole
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, table
from parsers.text import vocabulary
from parsers.text.outlines import Leaf, leaves
from parsers.text.patterns import regex

_BYTES = 1 << 20
_RANK, _MAY = (
    regex(rb"(?i)rank"),
    regex(rb"(?i)(?<![a-z])(?:non[ _-]?finite|nan|inf|bad|overflow|broken|invalid|corrupt)(?![a-z])"),
)
_BAD = frozenset(("nan", "inf", "nonfinite", "bad", "overflow", "broken", "invalid", "corrupt"))
_STEP = frozenset(("step", "iter", "iteration", "update"))
_NOT = frozenset(("last", "clean", "good", "ok", "num", "n", "count", "total", "steps", "skipped", "val", "eval"))
_WHAT = frozenset(("tensor", "module", "layer", "op", "where", "name", "param", "parameter", "what"))
_FEWEST = 2
_Said = Mapping[str, Any]


def accepts(path: str, head: bytes) -> bool:
    """By its first records, whatever their form."""
    if _RANK.search(head) is None or _MAY.search(head) is None:
        return False
    whole_lines = head[: head.rfind(b"\n") + 1] or head
    return len([one for _, said in _records(path, whole_lines) if (one := _found(said)) is not None]) >= _FEWEST


def parse(source: Source) -> Tables:
    """events; none where a rank is told twice."""
    data = all_bytes(source, _BYTES)
    if data is None:
        source.lose(f"not read: {_BYTES} bytes are the limit for such a record")
        return {"events": table("events", [])}
    found = [(line, one) for line, said in _records(source.path, data) if (one := _found(said)) is not None]
    is_each = len({rank for _, (rank, *_) in found}) == len(found)
    return {"events": table("events", [_event(source, line, *one) for line, one in found] if is_each else [])}


def _event(source: Source, line: int, rank: int, step: int, what: str | None, name: str) -> dict[str, Any]:
    detail = {"where": "module"} | ({"module": what} if what else {})
    text = f"rank {rank}: {name} {step}" + (f" {what}" if what else "")
    who = {"names_ranks": [rank], "names_rank_space": "global", "rank": rank, "rank_space": "global"}
    place = {"file": source.path, "line": line, "text": text}
    return (
        place
        | who
        | {"kind": "nan_assert", "severity": "error", "code": "module", "step": step, "detail": json.dumps(detail)}
    )


def _found(said: _Said) -> tuple[int, int, str | None, str] | None:
    """(rank, step, of what, the name of the step) of a record."""
    rank = whole(vocabulary.told(said).get("rank"))
    named = [name for name in said if _tells_first(name)]
    step = whole(said[named[0]]) if len(named) == 1 else None
    if rank is None or step is None or rank < 0 or step < 0:
        return None
    told = (str(cell) for name, cell in said.items() if _WHAT.intersection(vocabulary.words_of(name)[-1:]))
    return rank, step, next(told, None), named[0]


def _tells_first(name: str) -> bool:
    words = vocabulary.words_of(name.lower().replace("non_finite", "nonfinite").replace("non-finite", "nonfinite"))
    return not _NOT.intersection(words) and bool(_BAD.intersection(words)) and bool(_STEP.intersection(words))


def _records(path: str, data: bytes) -> Iterator[tuple[int, _Said]]:
    """(line, flat record) of a file."""
    found: list[tuple[int, _Said]] = [
        (line, _flat(said)) for line, _, said in framings.rows(Source(path, len(data), partial(BytesIO, data))) if said
    ]
    if not any(_found(said) for _, said in found):
        found = list(_items(leaves(data.decode("utf-8", "replace"))))
    yield from found


def _flat(said: _Said, before: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, cell in said.items():
        if isinstance(cell, dict):
            flat |= _flat(cell, f"{before}{name}_")
        else:
            flat[f"{before}{name}"] = cell
    return flat


def _items(told: Sequence[Leaf]) -> Iterator[tuple[int, _Said]]:
    """The parts of a document that tell a rank of their own, flat."""
    owners = [leaf.path[:-1] for leaf in told if vocabulary.of_process(str(leaf.path[-1])) == "rank"]
    for owner in dict.fromkeys(owners):
        own = [leaf for leaf in told if leaf.path[: len(owner)] == owner]
        yield own[0].line, {"_".join(map(str, leaf.path[len(owner) :])): leaf.value for leaf in own}


PARSER = FileParser(name="first_bad", accepts=accepts, parse=parse)
