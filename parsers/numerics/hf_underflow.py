"""Frames of Hugging Face Transformers' DebugUnderflowOverflow (`--debug underflow_overflow`), in order of execution.

    Detected inf/nan during batch_number=7
    Last 21 forward frames:
    abs min  abs max  metadata
                      decoder.block.1.mlp.up Linear
    2.17e-07 4.50e+00 weight
    1.79e-06 4.65e+00 input[0]
    2.68e-06      inf output
                      decoder.block.1 Block
                 None output[1]

Table `tensors`: a row per value, in program order, step = the batch number, module and op = the name and class of the
module, absmax = abs max. The smallest magnitude has no column of its own: it is read for NaN only. An event
`nan_assert` (code debug_underflow_overflow) for each report names in `detail` the first module, op and tensor that was
not finite, and its value. Frames in trace mode (`*** Starting batch number=7 ***`) are read alike, without an event.

Printed by: DebugUnderflowOverflow of Hugging Face Transformers.
Versions: 4.x and 5.x.
Source: transformers/debug_utils.py.
"""

import json
import math
import re
from typing import Any

import polars as pl

from parsers.schema.lines import Row, claimed, event, reporter, streams
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

_NUMBER = r"(?:nan|inf|\d\.\d\de[+-]\d{2,3})"
_HEAD = regex(r"(?P<found>Detected inf/nan during batch_number=|\*\*\* Starting batch number=)(?P<batch>\d{1,15})")
_MODULE = regex(r"\s{10,}(?P<module>[\w.]{0,500}) ?(?P<op>[A-Za-z_]\w{0,200})$")
_VALUE = regex(rf"\s*(?P<least>{_NUMBER})\s+(?P<most>{_NUMBER}) (?P<tensor>\S.{{0,300}})$")
_OTHER = regex(
    r"\s*(?:$|abs min +abs max +metadata|[Ll]ast \d+ (?:forward )?frames:|\[\.\.\.\]"
    r"|(?:None|not a tensor) \S|\*\*\* Finished batch)"
)
_INDEX = regex(r"\[['\"]?([^\]'\"]*)['\"]?\]")


def parse(lines: pl.DataFrame) -> Tables:
    """tensors, events, claimed."""
    tensors: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
    places: list[tuple[str, int]] = []
    for stream in streams(lines):
        for block in _blocks(stream, places):
            _read(block, tensors, events)
    return tables_of(tensors=tensors, events=events, claimed=claimed(dict.fromkeys(places)))


def _blocks(stream: list[dict[str, Any]], places: list[tuple[str, int]]) -> list[list[dict[str, Any]]]:
    """Each head with the lines that belong to it."""
    blocks: list[list[dict[str, Any]]] = []
    is_open = False
    for row in stream:
        text = row["text"]
        if _HEAD.search(text):
            blocks.append([row])
            is_open = True
        elif is_open and (_VALUE.match(text) or _MODULE.match(text) or _OTHER.match(text)):
            blocks[-1].append(row)
        else:
            is_open = False
            continue
        places.append((row["file"], row["line"]))
    return blocks


def _read(block: list[dict[str, Any]], tensors: list[dict[str, Any]], events: list[dict[str, Any]]) -> None:
    head = _HEAD.search(block[0]["text"])
    assert head is not None
    step = int(head["batch"])
    module, op = None, None
    first: dict[str, Any] | None = None
    for row in block[1:]:
        if found := _VALUE.match(row["text"]):
            made = _tensor(row, found, step, module, op)
            tensors.append(made)
            if first is None and not math.isfinite(made["absmax"]):
                first = made
        elif found := _MODULE.match(row["text"]):
            module, op = found["module"] or None, found["op"]
    if head["found"].startswith("Detected"):
        detail = {key: first[key] for key in ("module", "op", "tensor")} if first is not None else {}
        if first is not None:
            detail["value"] = "nan" if math.isnan(first["absmax"]) else "inf"
        made = event(block[0], "nan_assert", severity="error", code="debug_underflow_overflow", step=step,
                     detail=json.dumps(detail))  # fmt: skip
        if made["rank"] is not None:
            made |= {"names_ranks": [made["rank"]], "names_rank_space": made["rank_space"]}
        events.append(made)


def _tensor(row: Row, found: re.Match[str], step: int, module: str | None, op: str | None) -> dict[str, Any]:
    most = math.nan if found["least"] == "nan" else float(found["most"])
    place = {key: value for key, value in reporter(row).items() if key != "local_rank"}
    name = _INDEX.sub(r".\1", found["tensor"].strip())
    if not name.startswith(("input", "output")):
        name = f"param.{name}"
    columns = {"step": step, "phase": "forward", "module": module, "op": op, "tensor": name, "absmax": most}
    return place | columns | {"attempt": row["attempt"]}


PARSER = LineParser(
    name="hf_underflow",
    anchors=(b"Detected inf/nan during batch_number=", b"*** Starting batch number="),
    parse=parse,
    after=800,  # 21 frames, each with all inputs, outputs and weights of its module
    follows=regex(rb"\d\.\d\de[+-]\d|\b(?:nan|inf) | {10}|frames:|abs min|\*\*\* |not a tensor|\[\.\.\.\]"),
)
