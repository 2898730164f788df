"""Entries of an msprobe dump.json → rows of `tensors`: what an entry's name says, and the tensors nested in its values.

An entry is an operation in the order of completion::

    "Functional.linear.3.forward": {"input_args": [T, [T, T], 2], "input_kwargs": {"bias": T}, "output": [T]}
    "Module.layers.1.mlp.MLP.forward.0": {…, "parameters": {"weight": T}, "is_recompute": false}
    "Module.layers.1.mlp.MLP.backward.0": {"input": [T], "output": [T]}          gradients: of outputs, of inputs
    "Module.layers.1.mlp.MLP.parameters_grad.0": {"weight": [T]}
    "Distributed.all_reduce.7.forward": {…, "input_kwargs": {"group": {"type": "torch.ProcessGroup", …}}}

where T is {"type": "torch.Tensor", "dtype": …, "shape": […], "Max": …, "Min": …, "Mean": …, "Norm": …, "md5": …}.
"""

import json
import math
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from parsers.text.patterns import regex
from parsers.text.rank_list import rank_text

MAX_DEPTH = 32  # of nested lists and dicts
_PHASES = "forward|backward|parameters_grad"
_NAME = regex(
    rf"(?P<prefix>\w+)\.(?P<middle>.+?)\.(?:(?P<call>\d+)\.(?P<phase>{_PHASES})|(?P<phase2>{_PHASES})(?:\.\d+)?)$"
)
MODULES = ("Module.", "Cell.")  # PyTorch, MindSpore
_SLOTS: dict[tuple[str, str], str] = {
    ("forward", "input_args"): "input", ("forward", "input"): "input", ("forward", "input_kwargs"): "input",
    ("forward", "output"): "output", ("forward", "parameters"): "param",
    ("backward", "input"): "grad_output", ("backward", "output"): "grad_input",
    ("backward", "grad_output"): "grad_output", ("backward", "grad_input"): "grad_input",
}  # fmt: skip
_ROOTED = {"broadcast": "src", "scatter": "src", "reduce": "dst", "gather": "dst"}
_PEERS = {"send": "dst", "isend": "dst", "recv": "src", "irecv": "src"}
_FIGURES = {"Max": "max", "Min": "min", "Mean": "mean", "Norm": "l2norm"}
Row = dict[str, Any]


class _Found(msgspec.Struct):
    """What lies in the arguments of an entry."""

    tensors: list[tuple[str, Any]] = msgspec.field(default_factory=list)  # path after the slot, tensor
    group: Any = None
    reduce_op: str | None = None
    p2p: list[tuple[str, Any]] = msgspec.field(default_factory=list)  # P2POps of batch_isend_irecv


def rows(name: str, entry: Any) -> list[Row]:
    """Rows of one entry; empty where it holds no tensor, or is none."""
    if not isinstance(entry, dict):
        return []
    told = _NAME.match(name)
    phase = (told["phase"] or told["phase2"]) if told else None
    columns = _columns(name, told, phase, entry)
    if phase == "parameters_grad":
        alone = {key: value[0] for key, value in entry.items() if isinstance(value, list) and len(value) == 1}
        plain = entry | alone
        return [columns | _figures(f"param_grad.{path}", each) for path, each in _walk(plain).tensors]
    made: list[Row] = []
    call = _Found()
    for key, value in entry.items():
        slot = _SLOTS.get((phase or "forward", key))
        if slot is None:
            continue
        found = _walk(value)
        call.group, call.reduce_op = call.group or found.group, call.reduce_op or found.reduce_op
        made += [columns | _figures(f"{slot}.{path}", each) for path, each in found.tensors]
        if slot == "input":
            made += [columns | _p2p(path, each) for path, each in found.p2p]
    if columns["phase"] == "comm":
        shared = _communication(columns["op"], entry, call)
        made = [row | {key: value for key, value in shared.items() if row.get(key) is None} for row in made]
    return made


def _columns(name: str, told: re.Match[str] | None, phase: str | None, entry: dict[str, Any]) -> Row:
    """phase, module and op of an entry."""
    if told is None:
        return {"phase": None, "module": None, "op": name}
    middle = told["middle"]
    if phase == "parameters_grad":
        phase = "backward"
    elif entry.get("is_recompute") is True and phase == "forward":
        phase = "recompute"
    if name.startswith(MODULES):
        module, _, kind = middle.rpartition(".")
        return {"phase": phase, "module": module or middle, "op": kind}
    if told["prefix"] == "Distributed":
        return {"phase": "comm", "module": None, "op": middle}
    number = f".{told['call']}" if told["call"] else ""
    return {"phase": phase, "module": None, "op": f"{told['prefix']}.{middle}{number}"}


def _walk(value: Any) -> _Found:
    found = _Found()
    for where, each in _leaves("", value, MAX_DEPTH):
        kind = each.get("type")
        if each.get("class_type") == "torch.distributed.P2POp":
            found.p2p.append((where, each))
        elif kind == "torch.ProcessGroup":
            found.group = each
        elif kind == "torch.distributed.ReduceOp":
            found.reduce_op = str(each.get("value")).rsplit(".", 1)[-1].lower()
        elif "dtype" in each and "shape" in each:
            found.tensors.append((where, each))
    return found


def _leaves(path: str, value: Any, depth: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Dicts that describe one argument, with their path, in order."""
    if not depth:
        return
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from _leaves(f"{path}.{index}" if path else str(index), each, depth - 1)
    elif isinstance(value, dict):
        if isinstance(value.get("type"), str) or "class_type" in value:
            yield path, value
            return
        for key, each in value.items():
            yield from _leaves(f"{path}.{key}" if path else str(key), each, depth - 1)


def _figures(tensor: str, told: dict[str, Any]) -> Row:
    shape = told.get("shape")
    sizes = shape if isinstance(shape, list) and all(type(size) is int and size >= 0 for size in shape) else None
    numel = math.prod(sizes) if sizes is not None else None
    dtype, checksum = told.get("dtype"), told.get("md5")
    made: Row = {
        "tensor": tensor.rstrip("."),
        "dtype": dtype.removeprefix("torch.") if isinstance(dtype, str) else None,
        "shape": json.dumps(sizes) if sizes is not None else None,
        "numel": numel if numel is not None and numel < 1 << 63 else None,
        "checksum": checksum if isinstance(checksum, str) else None,
    }
    return made | {column: _real(told.get(key)) for key, column in _FIGURES.items()}


def _real(value: Any) -> float | None:
    """Numbers, truth values (of tensors of them), and texts such as "nan" or "-inf\\t"."""
    if isinstance(value, str):
        value = value.strip()[:64]
    try:
        return float(value) if isinstance(value, int | float | str) else None
    except (ValueError, OverflowError):
        return None


def _p2p(path: str, told: dict[str, Any]) -> Row:
    """One operation of a batch: its own row, with its own peer."""
    tensor = told.get("tensor")
    op, group = told.get("op"), told.get("group_id")
    made = _figures("input", tensor if isinstance(tensor, dict) else {})
    made |= {"op": op if isinstance(op, str) else "batch_isend_irecv", "module": path or None}
    made |= {"group": group if isinstance(group, str) else None}
    return made | {"peer": _integer(told.get("peer")), "tag": _integer(told.get("tag"))}


def _communication(op: str, entry: dict[str, Any], found: _Found) -> Row:
    """group, group_ranks, peer, tag and reduce_op of a communication."""
    made: Row = {"reduce_op": found.reduce_op}
    if isinstance(found.group, dict):
        ranks, name = found.group.get("group_ranks"), found.group.get("group_id")
        if isinstance(ranks, list) and ranks and all(_integer(rank) is not None and rank >= 0 for rank in ranks):
            made["group_ranks"] = rank_text(ranks)
        made["group"] = name if isinstance(name, str) else None
    end = _ROOTED.get(op) or _PEERS.get(op)
    if end is not None:
        args, kwargs = entry.get("input_args"), entry.get("input_kwargs")
        named = kwargs.get(end) if isinstance(kwargs, dict) else None
        listed = [each for each in args if _value(each) is not None] if isinstance(args, list) else []
        made["peer"] = _value(named) if named is not None else _value(listed[0]) if listed else None
        made["tag"] = _value(kwargs.get("tag")) if isinstance(kwargs, dict) else None
    return made


def _value(argument: Any) -> int | None:
    is_int = isinstance(argument, dict) and argument.get("type") == "int"
    return _integer(argument["value"]) if is_int and "value" in argument else None


def _integer(value: Any) -> int | None:
    return value if type(value) is int and -(1 << 63) <= value < 1 << 63 else None
