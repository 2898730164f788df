"""What PyTorch's own analyzer of flight records prints: a collective that not all ranks joined, or that does not match.

    Not all ranks joining collective, sequence number: 4                              (since 2.7)
    Not all ranks joining collective 5 at entry 4                                     (2.5, 2.6)
    internal record id: 3
    group info: 0:default_pg
    collective: nccl:all_reduce
    missing ranks: {1}
    input sizes: [[3, 4]]
    world size: 4
    expected ranks: {0, 1, 2, 3}
    collective state: scheduled
    error msg: Culprit rank 2; Error type: COLLECTIVE_TYPE_MISMATCH, Expected collective type: 'all_reduce' does not match …
    Not all ranks joining collective for group 0:default_pg collective nccl:all_reduce Missing ranks are {1}       (2.3, 2.4)

Missing ranks make a `desync` (names_ranks = them, `detail.snapshot` = who was expected), a mismatch a `comm_warning` with code
collective_mismatch (names_ranks = whom it calls the culprit: it compares all with the first rank, so either may be the one).
All ranks are global. The analyzer pairs calls greedily: of several blocks the first counts most.

Printed by: torchfrtrace, tools/flight_recorder, torch.distributed's debug server.
Versions: PyTorch 2.3 to 2.13.
Source: torch/distributed/flight_recorder/components of PyTorch, and tools/flight_recorder before.
"""

import json
from typing import Any

import polars as pl

from parsers.forms.reading import integers
from parsers.schema.lines import Row, claimed, event, streams
from parsers.schema.parser import LineParser
from parsers.schema.rules import integer
from parsers.schema.tables import Tables, tables_of
from parsers.text.op_types import operation
from parsers.text.patterns import regex

_HEAD = regex(
    r"Not all ranks joining collective(?:, sequence number:)? (?P<seq>\d{1,15})|Collective (?:sequence number: )?(?P<seq2>\d{1,15}) "
    r"(?:at entry \d+ errors|has errors)"
)
_OLD = regex(
    r"Not all ranks joining collective for group (?P<group>[^\s:]{1,100}):(?P<desc>.{0,100}?) collective (?P<op>\S{1,100})\s+"
    r"Missing ranks are \{(?P<ranks>[\d, ]{1,20000})\}"
)
_FIELD = regex(
    r"^(?P<name>internal record id|group info|collective|missing ranks|total (?:in|out)put numel|(?:in|out)put sizes|world size|expected ranks"
    r"|collective state|error msg|collective stack trace): ?(?P<value>.*)$"
)
_CULPRIT = regex(r"Culprit rank (\d{1,7}); Error type: (\w+)")


def parse(lines: pl.DataFrame) -> Tables:
    """events desync and comm_warning."""
    events: list[dict[str, Any]] = []
    known: list[tuple[str, int]] = []
    for stream in streams(lines):
        block: tuple[Row, dict[str, str]] | None = None
        for row in stream:
            head, old, field = _HEAD.search(row["text"]), _OLD.search(row["text"]), _FIELD.match(row["text"])
            if head or old:
                events += _events(block)
                block = (row, {"seq": head["seq"] or head["seq2"]}) if head else None
                if old:
                    said = {"op": old["op"], "group info": f"{old['group']}:{old['desc']}"}
                    events += _missing(row, old["ranks"], said)
            elif block is not None and field:
                block[1].setdefault(field["name"], field["value"])
                known.append((row["file"], row["line"]))
        events += _events(block)
    return tables_of(events=events, claimed=claimed(known))


def _events(block: tuple[Row, dict[str, str]] | None) -> list[dict[str, Any]]:
    if block is None:
        return []
    row, said = block
    if found := _CULPRIT.findall(said.get("error msg", "")):
        ranks = sorted({int(rank) for rank, _ in found})
        return [_event(row, "comm_warning", said, ranks, code="collective_mismatch", detail=json.dumps(_detail(said)))]
    return _missing(row, said.get("missing ranks", ""), said)


def _missing(row: Row, ranks: str, said: dict[str, str]) -> list[dict[str, Any]]:
    named = integers(ranks)
    expected = said.get("expected ranks", "")
    detail = _detail(said)
    if "{" in expected:
        detail["snapshot"] = [{"ranks": integers(expected)}]
    return [_event(row, "desync", said, named, code="flight_recorder", detail=json.dumps(detail))] if named else []


def _detail(said: dict[str, str]) -> dict[str, Any]:
    names = {"collective state": "state", "error msg": "error", "world size": "world_size"}
    return {to: said[of][:1000] for of, to in names.items() if of in said}


def _event(row: Row, kind: str, said: dict[str, str], ranks: list[int], **more: Any) -> dict[str, Any]:
    name, _, _desc = said.get("group info", "").partition(":")
    op = (said.get("collective") or said.get("op") or "").partition(":")[2].split(" ")[0]
    same = {"group": name or None, "op": operation(op) if op else None, "seq": integer(said.get("seq"))}
    return event(row, kind, severity="error", rank=None, names_ranks=ranks, **same, **more)


PARSER = LineParser(
    name="fr_report",
    anchors=(b"Not all ranks joining collective", b"Collective sequence number: ", b" errors"),
    parse=parse,
    after=16,
    follows=regex(
        rb"(?:record id|group info|collective|missing ranks|numel|put sizes|world size|expected ranks|error msg|stack trace): ?"
    ),
)
