"""Horovod's stall inspector: tensors that some ranks have submitted and others have not.

    [2026-01-31 10:11:12.066232: W horovod/common/operations.cc:588] One or more tensors were submitted to be reduced, …
        for more than 60 seconds. … Stalled ops: grad_3 [ready ranks: 0, 2], grad_4 [ready ranks: 0]        (until 0.13)
    Stalled ops:
    HorovodAllreduce_grad_3 [missing ranks: 1, 3]                                                           (0.14, 0.15)
    Stalled ranks:
    1: [HorovodAllreduce_grad_3, HorovodAllreduce_grad_4]                                                   (0.16, 0.17)
    Missing ranks:
    1!: [HorovodAllreduce_grad_3, HorovodAllreduce_grad_4 ...]                            (0.18 and later; ! = too long)

Event `barrier_missing`, code horovod_stall, op = the collective of the tensor's name; names_ranks = who has not submitted it,
null where the line lists who has (`detail.ready`), but for two sides of which each has brought what the other has not. The ranks are global. Rank 0 says it for all, after a minute of waiting:
a rank that comes later was slow.

Printed by: Horovod's coordinator, rank 0.
Versions: 0.11 to 0.28.
Source: horovod/common/operations.cc and stall_inspector.cc in their history.
"""

import json
import re
from typing import Any

import polars as pl

from parsers.forms.reading import integers
from parsers.schema.lines import Row, claimed, event
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

_RANKS = regex(r" \[(?P<what>missing|ready) ranks:(?P<ranks>[\d, ]{0,20000})\]")
_NAME_ENDS = regex(r"[\s\[\]:,]")
_SIDES = 2
_NAME = 500  # characters of a tensor's name, its last ones
_RANK = regex(r"(?:^|[>\]\s:])(?P<rank>\d{1,7})(?P<late>!)?: \[(?P<tensors>[^\[\]]{1,20000})(?:\]\s*)?$")  # may be cut
_HEAD = regex(r"tensors were submitted to be reduced, gathered or broadcast")
_FILLING = regex(r"(?:Stalled (?:ops|ranks)|Missing ranks):\s*$|marked by \"!\"\) is stalled")
_OPS = {"allreduce": "all_reduce", "allgather": "all_gather", "broadcast": "broadcast", "alltoall": "all_to_all",
        "reducescatter": "reduce_scatter", "barrier": "barrier"}  # fmt: skip
_OP = regex("|".join(_OPS), re.I)


def parse(lines: pl.DataFrame) -> Tables:
    """events barrier_missing; claimed: the words around them."""
    rows: list[dict[str, Any]] = []
    known: list[tuple[str, int]] = []
    inside = ("", 0)  # file and line of the last line of a report
    for row in lines.iter_rows(named=True):
        place = row["file"], row["line"]
        made = [_stalled(row, found, tensor) for found in _RANKS.finditer(row["text"]) if (tensor := _tensor(found))]
        # A number and a colon look like srun's task, so that the prefix may be gone from the text.
        if not made and inside == (row["file"], row["line"] - 1) and (late := _RANK.search(row["raw"])):
            made = [_late(row, late)]
        is_filling = _HEAD.search(row["text"]) is not None or _FILLING.search(row["text"]) is not None
        if made or is_filling:
            inside = place
            rows += made
            known += [] if made else [place]
    return tables_of(events=_with_sides(rows), claimed=claimed(known))


def _with_sides(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Where the lists of a file that tell who came are of two sides without a common rank, each side has not brought what the other has."""
    came: dict[str, set[frozenset[int]]] = {}
    ready = [frozenset(json.loads(row["detail"]).get("ready") or ()) for row in rows]
    for row, own in zip(rows, ready, strict=True):
        came.setdefault(row["file"], set()).update([own] if own else [])
    for row, own in zip(rows, ready, strict=True):
        sides = came[row["file"]]
        if own and len(sides) == _SIDES and frozenset.intersection(*sides) == frozenset():
            row["names_ranks"] = sorted(frozenset.union(*sides) - own)
    return rows


def _event(row: Row, tensors: list[str], ranks: list[int] | None, **more: Any) -> dict[str, Any]:
    found = _OP.search(tensors[0])
    told = {"op": _OPS[found[0].lower()] if found else None, "detail": json.dumps({"tensors": tensors[:20]} | more)}
    return event(row, "barrier_missing", severity="error", code="horovod_stall", names_ranks=ranks, **told)


def _tensor(ranks: re.Match[str]) -> str:
    """The name that stands before the ranks; empty where none does."""
    return str(_NAME_ENDS.split(ranks.string[max(0, ranks.start() - _NAME) : ranks.start()])[-1])


def _stalled(row: Row, found: re.Match[str], tensor: str) -> dict[str, Any]:
    ranks = integers(found["ranks"])
    if found["what"] == "ready":
        return _event(row, [tensor], None, ready=ranks)
    return _event(row, [tensor], ranks)


def _late(row: Row, found: re.Match[str]) -> dict[str, Any]:
    tensors = [name.strip() for name in found["tensors"].removesuffix(" ...").split(",")]
    return _event(row, tensors, [int(found["rank"])], **({"will_shut_down": True} if found["late"] else {}))


PARSER = LineParser(
    name="horovod",
    anchors=(b"tensors were submitted to be", b" [missing ranks:", b" [ready ranks:", b"Missing ranks:", b"Stalled ranks:"),
    parse=parse,
    after=1024,  # a line per missing rank
    follows=regex(rb"\d!?: \[|Missing ranks:|Stalled (?:ranks|ops):|is stalled for longer"),
)  # fmt: skip
