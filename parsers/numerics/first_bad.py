"""What a recorder found on each rank first: a record for each rank, with the step in which something of it was no number for the first time.

    ranks:                                              rank,host,first_nan_step,tensor
      - rank: 2                                         0,a,302,fc1.output
        first_nonfinite:                                2,a,301,fc2.weight.grad
          step: 301
          tensor: fc2.weight.grad                       {"rank": 2, "first_bad_iter": 301, "where": "fc2.weight.grad"}

    [process]                                           a file of each rank, in parts
    rank = 2
    [first_bad]                                         phase: what all share by then (after the all-reduce) is `reduced` in `detail`
    step = 301
    phase = "forward"

Events `nan_assert`, code module, one for each rank and no more; `module` in `detail` is the first text beside the step that is a path or says what it is of.

Printed by: recorders of training programs.
Versions: none.
Source: as users write them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from parsers.forms import framings
from parsers.forms.reading import all_bytes, whole
from parsers.schema.parser import HEAD_BYTES, FileParser, Source
from parsers.schema.tables import Tables, table
from parsers.text import vocabulary
from parsers.text.outlines import Leaf, leaves
from parsers.text.patterns import regex

_BYTES = 1 << 20
_RANK = regex(rb"(?i)rank")
_MAY = regex(rb"(?i)(?<![a-z])(?:non[ _-]?finite|nan|inf|bad|overflow|broken|invalid|corrupt)(?![a-z])")
_BAD = frozenset(("nan", "inf", "nonfinite", "bad", "overflow", "broken", "invalid", "corrupt"))
_STEP = frozenset(("step", "iter", "iteration", "update"))
_NOT = frozenset(("last", "clean", "good", "ok", "num", "n", "count", "total", "steps", "skipped", "val", "eval"))
_WHAT = frozenset(("tensor", "module", "layer", "op", "where", "name", "param", "parameter", "what"))
_PHASE = frozenset(("phase", "stage", "point", "when"))
_REDUCED = regex(
    r"(?i)(?:after|post|behind)[ _-]?(?:the[ _-])?(?:all[ _-]?)?(?:reduc|sync)|(?<![a-z])(?:reduced|synced|averaged|synchroni[sz]ed)|(?<![a-z])grads?[ _-]?sync"
)
_OWN = regex(r"(?i)(?<![a-z])(?:forward|fwd|backward|bwd|batch|input|activations?|loss|own|local)(?![a-z])")
_BEFORE = regex(r"(?i)(?<![a-z])(?:before|pre|un)(?![a-z])|unreduced")
_FEWEST = 2
_FIRST = regex(r"(?i)(?<![a-z])(?:first|earliest|initial)(?![a-z])")
_IN_PART = ""  # a mark of a record that a document of one rank is
_Said = Mapping[str, Any]


def accepts(path: str, head: bytes) -> bool:
    """By its first records, whatever their form."""
    if _RANK.search(head) is None or _MAY.search(head) is None:
        return False
    whole_lines = head if len(head) < HEAD_BYTES else head[: head.rfind(b"\n") + 1] or head
    told = [said for _, said in _records(path, whole_lines) if _found(said) is not None]
    return len(told) >= _FEWEST or (len(told) == 1 and _IN_PART in told[0])


def parse(source: Source) -> Tables:
    """events; none where a rank is told twice."""
    data = all_bytes(source, _BYTES)
    if data is None:
        source.lose(f"not read: {_BYTES} bytes are the limit for such a record")
        return {"events": table("events", [])}
    found = [(line, one) for line, said in _records(source.path, data) if (one := _found(said)) is not None]
    is_each = len({rank for _, (rank, *_) in found}) == len(found)
    return {"events": table("events", [_event(source, line, *one) for line, one in found] if is_each else [])}


def _event(
    source: Source, line: int, rank: int, step: int, what: str | None, name: str, reduced: bool | None
) -> dict[str, Any]:
    told = {"where": "module", "module": what or None, "reduced": reduced}
    detail = json.dumps({name: one for name, one in told.items() if one is not None})
    text = f"rank {rank}: {name} {step}" + (f" {what}" if what else "")
    who = {"names_ranks": [rank], "names_rank_space": "global", "rank": rank, "rank_space": "global"}
    place = {"file": source.path, "line": line, "text": text}
    return place | who | {"kind": "nan_assert", "severity": "error", "code": "module", "step": step, "detail": detail}


def _found(said: _Said) -> tuple[int, int, str | None, str, bool | None] | None:
    """(rank, step, of what, the name of the step, whether that was reduced over all) of a record."""
    rank = whole(vocabulary.told(said).get("rank"))
    named = [name for name in said if _tells_first(name)]
    step = whole(said[named[0]]) if len(named) == 1 else None
    if rank is None or step is None or rank < 0 or step < 0:
        return None
    what, phase = (
        next((str(cell) for name, cell in said.items() if ends.intersection(vocabulary.words_of(name)[-1:])), None)
        for ends in (_WHAT, _PHASE)
    )
    return rank, step, what, named[0], None if phase is None else _is_reduced(phase)


def _is_reduced(phase: str) -> bool | None:
    """Is what a phase makes reduced over all ranks by then? None of what comes after, or of which nothing is known."""
    if _REDUCED.search(phase) is not None and _BEFORE.search(phase) is None:
        return True
    return False if _BEFORE.search(phase) or _OWN.search(phase) else None


def _tells_first(name: str) -> bool:
    words = vocabulary.words_of(name.lower().replace("non_finite", "nonfinite").replace("non-finite", "nonfinite"))
    return not _NOT.intersection(words) and bool(_BAD.intersection(words)) and bool(_STEP.intersection(words))


def _records(path: str, data: bytes) -> list[tuple[int, _Said]]:
    """(line, flat record) of a file."""
    found: list[tuple[int, _Said]] = [(line, _flat(said)) for line, _, said in framings.rows_in(path, data) if said]
    return found if any(_found(said) for _, said in found) else [*_items(leaves(data.decode("utf-8", "replace")))]


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
    firsts = {leaf.path[:-1] for leaf in told if len(leaf.path) > _FEWEST and _FIRST.search(str(leaf.path[-2]))}
    parts = firsts - {*owners}
    if len(owners) == 1 and parts:  # a document of one rank, in parts: what the first one says, and the rank
        own = [leaf for leaf in told if leaf.path[:-1] in parts]
        rank = next(leaf for leaf in told if vocabulary.of_process(str(leaf.path[-1])) == "rank")
        said = {"_".join(map(str, leaf.path[1:])): leaf.value for leaf in own}
        yield own[0].line, said | {"rank": rank.value, _IN_PART: True}
        return
    for owner in dict.fromkeys(owners):
        own = [leaf for leaf in told if leaf.path[: len(owner)] == owner]
        yield own[0].line, {"_".join(map(str, leaf.path[len(owner) :])): leaf.value for leaf in own}


PARSER = FileParser(name="first_bad", accepts=accepts, parse=parse)
