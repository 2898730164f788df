"""Rows of tensor statistics → the dumps that msprobe would have written of the same job."""

import json
from collections.abc import Collection
from typing import Any

import polars as pl

from forensics.graph.numerics.tensor_rules import COMMUNICATIONS
from parsers.numerics.msprobe import PARSER
from parsers.schema.merging import merge
from parsers.text.rank_list import rank_list
from tests.sources import source
from tests.tensor_rows import Job

_KEYS = {
    "input": "input_args", "grad_in": "input_args", "output": "output", "grad_out": "output", "param": "parameters",
    "grad_output": "input", "grad_input": "output",
}  # fmt: skip
_PHASES = ("forward", "recompute", "backward", "comm", "grad_sync")
_SAME = ("phase", "module", "op", "group", "call", "peer", "tag", "microbatch")


class NotExpressibleError(Exception):
    """msprobe has no words for it."""


def tensors(job: Job, without: Collection[int] = ()) -> pl.DataFrame:
    """The table that msprobe's parser makes of the job's dumps."""
    return merge([PARSER.parse(source(text, path)) for path, text in documents(job, without).items()])["tensors"]


def documents(job: Job, without: Collection[int] = ()) -> dict[str, str]:
    """Path in the bundle → text of a dump.json."""
    entries: dict[tuple[int, int], dict[str, Any]] = {}
    before: dict[tuple[int, int], tuple[Any, ...]] = {}
    for row in job.rows:
        place = (row["rank"], row["step"])
        if row["rank"] in without:
            continue
        if any(rank == row["rank"] and step > row["step"] for rank, step in entries):
            raise NotExpressibleError("a step that comes again")
        found = entries.setdefault(place, {})
        same = tuple(row.get(name) for name in _SAME)
        base = row["tensor"].partition(".")
        last = found[next(reversed(found))] if found else {}
        if same != before.get(place) or _taken(last.get(_key(base[0])), base[2]):
            last = found[_name(row, len(found))] = _entry(row)
        before[place] = same
        _put(last, _key(base[0]), base[2], _tensor(row))
    head = {"task": "statistics", "level": "mix", "dump_data_dir": None}
    return {
        f"step{step}/rank{rank}/dump.json": json.dumps(head | {"data": data}) for (rank, step), data in entries.items()
    }


def _key(base: str) -> str:
    if base not in _KEYS:
        raise NotExpressibleError(f"a tensor {base}")
    return _KEYS[base]


def _name(row: dict[str, Any], number: int) -> str:
    op = str(row["op"])
    if row["phase"] not in _PHASES or any(row.get(name) is not None for name in ("attempt", "microbatch", "chunk")):
        raise NotExpressibleError("a phase, an attempt or a micro-batch")
    if op in COMMUNICATIONS:
        return f"Distributed.{op}.{number}.forward"
    if not op.isalnum():
        return f"Functional.{op.split('.')[-1].strip('_')}.{number}.forward"
    passed = "backward" if row["phase"] == "backward" else "forward"
    return f"Module.{row['module']}.{op}.{passed}.{number}"


def _entry(row: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {"is_recompute": True} if row["phase"] == "recompute" else {}
    known: dict[str, Any] = {}
    if row.get("group") is not None or row.get("group_ranks") is not None:
        members = rank_list(row.get("group_ranks") or "")
        known["group"] = {"type": "torch.ProcessGroup", "group_id": row.get("group")}
        known["group"] |= {"group_ranks": list(members)} if members else {}
    if row.get("peer") is not None:
        known["src" if row["op"] in ("recv", "irecv", "broadcast") else "dst"] = {"type": "int", "value": row["peer"]}
    if row.get("tag") is not None:
        known["tag"] = {"type": "int", "value": row["tag"]}
    return made | ({"input_kwargs": known} if known else {})


def _tensor(row: dict[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = {"type": "torch.Tensor", "dtype": f"torch.{row.get('dtype') or 'float32'}", "shape": [2, 3]}
    if row.get("numel") is not None:
        told["shape"] = [row["numel"]]
    if row.get("nan_count"):
        return told | {"Max": "nan", "Min": "nan"}
    if row.get("inf_count"):
        return told | {"Max": row.get("max", "inf"), "Min": str(row.get("min", -1.0))}
    if row.get("absmax") is None and row.get("max") is None:
        return told  # as of fp8
    largest = row.get("max", row.get("absmax"))
    return told | {"Max": largest, "Min": row.get("min", -1.0)}


def _taken(held: Any, path: str) -> bool:
    for part in path.split(".") if path else ["0"]:
        if not held:
            return False
        held = held[int(part)] if isinstance(held, list) and int(part) < len(held) else None if isinstance(
            held, list) else held.get(part)  # fmt: skip
    return held is not None


def _put(entry: dict[str, Any], key: str, path: str, tensor: dict[str, Any]) -> None:
    """`output.1.hidden`: the second value, a dict with the key hidden."""
    parts = path.split(".") if path else ["0"]
    if key == "parameters":
        entry.setdefault(key, {})[path or "weight"] = tensor
        return
    held = entry.setdefault(key, [])
    for part, after in zip(parts, [*parts[1:], None], strict=True):
        value: Any = tensor if after is None else [] if after.isdigit() else {}
        if isinstance(held, list):
            held += [None] * (int(part) + 1 - len(held))
            held[int(part)] = held[int(part)] if after is not None and held[int(part)] is not None else value
            held = held[int(part)]
        else:
            held = held.setdefault(part, value)
