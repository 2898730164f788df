"""Dumps of MindStudio's msprobe (statistics of all tensors of a step): step0/rank3/dump.json and its companions.

    {"task": "statistics", "level": "mix", "data": {"Functional.linear.3.forward": {"output": [{"type": "torch.Tensor",
      "dtype": "torch.bfloat16", "shape": [8, 4], "Max": 1.5, "Min": -2.0, "Mean": 0.1, "Norm": 9.0}]}}}

What an entry says: see msprobe_entries.py. Table `tensors`, `record` = the index of the entry; entries stand in the order of
completion, so the order of rows is the program order. The step stands in the path (`step4/`), the rank too (`rank3/`,
or nothing where a process was alone: `proc4711/`). API entries (`Functional.…`) have no module of their own, op is
their printed name; after the last backward pass they belong to the update: phase `optimizer`. A recomputed forward has
phase `recompute`. Point-to-point operations of a batch get a row each.
Figures are numbers, NaN or Infinity tokens, or texts; narrow formats (fp8) have none: null. Of a cut file whole
entries are kept. stack.json (where each entry was called) and construct.json (which module holds it) are recognised by
their content; a dump reads without them.

Printed by: MindStudio's msprobe, PrecisionDebugger.
Versions: 2025 and 2026.
Source: MindStudio msprobe, core/dump/data_dump.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from parsers.forms.reading import all_bytes
from parsers.numerics import msprobe_entries
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, tables_of
from parsers.text.cut_json import MAX_BYTES, MAX_CONTAINERS, skipped
from parsers.text.patterns import regex

MAX_PROBLEMS = 100
_STEP = regex(r"(?:^|[/_.-])step_?(\d{1,12})(?=[/_.-])")
_RANK = regex(r"(?:^|[/_.-])rank_?(\d{1,7})(?=[/_.-])")
_ENTRY = rb'"\w+\.[^"\n]{1,1000}\.(?:forward|backward|parameters_grad)(?:\.\d+)?"'
_BACKWARD = regex(r"\.(?:backward|parameters_grad)(?:\.\d+)?$")
_CONSTRUCT = regex(rb"\s*\{\s*" + _ENTRY + rb"\s*:\s*(?:null|\")")
_STACK = regex(rb"\s*\{\s*(?:\"\d+\"\s*:\s*\[\s*\[\s*)?" + _ENTRY + rb"[^{]{0,4000}?\"File ")
_NAMES = regex(rb"\s*\{\s*\"[^\"\n]{1,1000}\"\s*:\s*(?:null|\"[^\"\n]{1,1000}\")\s*[,}]")


def accepts(path: str, head: bytes) -> bool:
    """A dump by its first keys; its companions by entries' names as keys, or by their file name and form."""
    start = head[:4096]
    if b'"dump_data_dir"' in start and b'"task"' in start:
        return True
    if start.lstrip()[:1] != b"{":
        return False
    if path.endswith(("stack.json", "construct.json")) and head.strip() == b"{}":
        return True
    if path.endswith("construct.json") and _NAMES.match(start):
        return True
    return bool(_CONSTRUCT.match(start) or _STACK.match(start))


def parse(source: Source) -> Tables:
    """tensors; unread: what was cut, and entries that are none."""
    try:
        data = all_bytes(source, MAX_BYTES)
    except Exception as error:  # archives and remote files raise whatever their readers raise
        return _tables(source, [], [{"reason": f"cannot be read: {error}"[:1000]}])
    if data is None or data.count(b"[") + data.count(b"{") > MAX_CONTAINERS:
        return _tables(source, [], [{"bytes": source.size, "reason": "too large or too many containers"}])
    if b'"dump_data_dir"' not in data[:4096]:
        return _tables(source, [], [])
    entries, problems = _entries(data)
    rows: list[dict[str, Any]] = []
    update = _update(entries)
    for record, (name, entry) in enumerate(entries):
        if isinstance(entry, dict):
            for row in msprobe_entries.rows(name, entry):
                is_of_update = record in update and row["phase"] == "forward"
                rows.append(row | {"record": record} | ({"phase": "optimizer"} if is_of_update else {}))
        else:
            problems.append({"record": record, "reason": f"not an entry: {name[:200]}"})
    return _tables(source, rows, problems)


def _update(entries: list[tuple[str, Any]]) -> range:
    """Indices of the entries after the last backward pass and before the next pass of a module."""
    passes = [at for at, (name, _) in enumerate(entries) if _BACKWARD.search(name)]
    if not passes:
        return range(0)
    begin = passes[-1] + 1
    ends = (at for at in range(begin, len(entries)) if entries[at][0].startswith(msprobe_entries.MODULES))
    return range(begin, next(ends, len(entries)))


def _tables(source: Source, rows: list[dict[str, Any]], problems: list[dict[str, Any]]) -> Tables:
    step, rank = _STEP.findall(source.path), _RANK.findall(source.path)
    place: dict[str, Any] = {
        "file": source.path,
        "step": int(step[-1]) if step else None,
        "rank": source.rank if source.rank is not None or not rank else int(rank[-1]),
        "host": source.host,
        "attempt": source.attempt,
    }
    if source.read_error:
        problems.append({"reason": f"cut: {source.read_error}"})
    if rows and place["step"] is None:
        problems.append({"line": 1, "reason": "the path names no step"})
    unread = [problem | {"file": source.path} for problem in problems[:MAX_PROBLEMS]]
    return tables_of(tensors=(row | place for row in rows), unread=unread)


def _entries(data: bytes) -> tuple[list[tuple[str, Any]], list[dict[str, Any]]]:
    """(name, entry) under the key "data"; of a cut file those that are whole, and why it is not."""
    whole: Any
    try:
        whole = msgspec.json.decode(data)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        text = data.decode("utf-8", "replace")
        try:
            whole = json.loads(text)  # takes NaN and Infinity, ten times slower
        except (ValueError, RecursionError):
            return _salvaged(text)
    entries = whole.get("data") if isinstance(whole, dict) else None
    if not isinstance(entries, dict):
        return [], [{"reason": "no entries"}]
    return list(entries.items()), []


def _salvaged(text: str) -> tuple[list[tuple[str, Any]], list[dict[str, Any]]]:
    found: list[tuple[str, Any]] = []
    begin = re.search(r'"data"\s*:\s*\{', text)
    place = begin.end() if begin is not None else 0
    for name, entry, end in _pairs(text, place) if begin is not None else ():
        found.append((name, entry))
        place = end
    lost = len(text) - place
    return found, [{"bytes": lost, "reason": f"cut: JSON is not whole, {len(found)} entries were kept"}]


def _pairs(text: str, place: int) -> Iterator[tuple[str, Any, int]]:
    """name, value and end of each member of an object, up to where the text ends or breaks."""
    decode = json.JSONDecoder().raw_decode
    try:
        while text[place := skipped(text, place)] != "}":
            name, place = decode(text, place)
            place = skipped(text, place)
            if not isinstance(name, str) or text[place] != ":":
                return
            value, place = decode(text, skipped(text, place + 1))
            yield name, value, place
            place = skipped(text, place)
            if text[place] == ",":
                place += 1
    except (ValueError, RecursionError, IndexError):
        return


PARSER = FileParser(name="msprobe", accepts=accepts, parse=parse, whole=True)
