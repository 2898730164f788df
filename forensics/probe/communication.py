"""Communications, seen where Python hands them to PyTorch's process groups: whoever makes them, by whatever name.

Functions of `torch.distributed` stay what they are, so they may be compared, imported early, or put into a P2POp.
"""

import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from forensics.probe.recording import Operation
from forensics.probe.taps import TAPS, Taps, quiet


class _Form(NamedTuple):
    """Where a method of a process group has its tensors, as positions in its arguments; None: there are none."""

    kind: str
    given: int | None
    made: int | None
    peer: int | None = None  # of the other end, as a rank of the group
    tag: int | None = None


_OUT_IN = (1, 0)
METHODS = {
    "allreduce": _Form("all_reduce", 0, 0),
    "allreduce_coalesced": _Form("all_reduce", 0, 0),
    "broadcast": _Form("broadcast", 0, 0),
    "reduce": _Form("reduce", 0, 0),
    "allgather": _Form("all_gather", *_OUT_IN),
    "allgather_coalesced": _Form("all_gather", *_OUT_IN),
    "all_gather_single": _Form("all_gather", *_OUT_IN),
    "all_gather_single_coalesced": _Form("all_gather", *_OUT_IN),
    "_allgather_base": _Form("all_gather", *_OUT_IN),
    "allgather_into_tensor_coalesced": _Form("all_gather", *_OUT_IN),
    "gather": _Form("gather", *_OUT_IN),
    "scatter": _Form("scatter", *_OUT_IN),
    "reduce_scatter": _Form("reduce_scatter", *_OUT_IN),
    "reduce_scatter_single": _Form("reduce_scatter", *_OUT_IN),
    "reduce_scatter_single_coalesced": _Form("reduce_scatter", *_OUT_IN),
    "_reduce_scatter_base": _Form("reduce_scatter", *_OUT_IN),
    "reduce_scatter_tensor_coalesced": _Form("reduce_scatter", *_OUT_IN),
    "all_to_all_single": _Form("all_to_all", *_OUT_IN),
    "alltoall_base": _Form("all_to_all", *_OUT_IN),
    "alltoall": _Form("all_to_all", *_OUT_IN),
    "send": _Form("send", 0, None, 1, 2),
    "recv": _Form("recv", None, 0, 1, 2),
    "recv_anysource": _Form("recv", None, 0, None, 1),
}
# The operators that functional collectives and DTensor use; their group's name is the last argument.
FUNCTIONAL = {
    "all_reduce": "all_reduce", "all_reduce_": "all_reduce", "all_reduce_coalesced": "all_reduce",
    "all_gather_into_tensor": "all_gather", "all_gather_into_tensor_coalesced": "all_gather",
    "reduce_scatter_tensor": "reduce_scatter", "reduce_scatter_tensor_coalesced": "reduce_scatter",
    "all_to_all_single": "all_to_all", "broadcast": "broadcast", "broadcast_": "broadcast",
}  # fmt: skip
_ROOT_GIVES, _ROOT_TAKES = ("broadcast", "scatter"), ("reduce", "gather")
Outputs = tuple[Operation, Any, Any]  # an operation, its probe, and the tensors that will hold its outputs


class _Here(threading.local):
    """Of one thread: kinds that a wrapper around them writes itself; calls between the ends of a coalesced batch."""

    def __init__(self) -> None:
        self.hidden: tuple[str, ...] = ()
        self.batch: list[Outputs] | None = None


HERE = _Here()
_COUNTS: dict[tuple[object, ...], int] = {}
_LOCK = threading.Lock()
_WORKS: "WeakKeyDictionary[Any, list[Outputs]]" = WeakKeyDictionary()
_WAITED: dict[int, Outputs] = {}  # address of a functional collective's output → what waits for it


def install(taps: Taps, torch: Any) -> None:
    """Replaces the methods of process groups, of their works, and the operators of functional collectives."""
    c10d = torch._C._distributed_c10d
    for name, form in METHODS.items():
        taps.replace(c10d.ProcessGroup, name, partial(_method, form=form, torch=torch))
    taps.replace(c10d.ProcessGroup, "_start_coalescing", _starting)
    taps.replace(c10d.ProcessGroup, "_end_coalescing", _ending)
    taps.replace(c10d.Work, "wait", _waiting)
    space = torch.ops._c10d_functional
    for name, kind in FUNCTIONAL.items():
        taps.replace(space, name, partial(_Functional, kind=kind, torch=torch))
    taps.replace(space, "wait_tensor", partial(_Functional, kind="", torch=torch))


def columns(torch: Any, kind: str, group: Any, peer: int | None = None, tag: int | None = None) -> dict[str, Any]:
    """What a communication's rows have in common. Calling it counts the call."""
    members = list(torch.distributed.get_process_group_ranks(group))
    name = getattr(group, "group_name", None) or "default"
    peer = members[peer] if peer is not None else None
    key = (kind, name, tuple(members)) if tag is None else (kind, peer, tag)
    with _LOCK:
        number = _COUNTS[key] = _COUNTS.get(key, -1) + 1
    return {"op": kind, "group": name, "group_ranks": _text(members), "call": number, "peer": peer, "tag": tag}


def _text(ranks: list[int]) -> str:
    """Ranks in group order: `4-7`, or `0,8,16`."""
    if ranks == list(range(ranks[0], ranks[-1] + 1)):
        return f"{ranks[0]}-{ranks[-1]}"
    return ",".join(map(str, ranks))


def tensors(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Tensors in nested tuples, lists and dicts, with their path: `.1.hidden`; one tensor alone has none."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from tensors(inner, f"{path}.{key}")
    elif isinstance(value, list | tuple):
        single = len(value) == 1 and not path
        for at, inner in enumerate(value):
            yield from tensors(inner, path if single else f"{path}.{at}")
    elif value is not None:
        yield path, value


def _method(original: Callable[..., Any], form: _Form, torch: Any) -> Callable[..., Any]:
    def method(group: Any, *args: Any, **more: Any) -> Any:
        begun: list[Outputs] = []
        if form.kind not in HERE.hidden:
            quiet(_begin)(begun, torch, form, group, args)
        work = original(group, *args, **more)
        if begun:
            quiet(_leave_to)(begun[0], work)
        return work

    return method


def _begin(begun: list[Outputs], torch: Any, form: _Form, group: Any, args: tuple[Any, ...]) -> None:
    options = next((one for one in args if hasattr(one, "rootRank") or hasattr(one, "reduceOp")), None)
    root = getattr(options, "rootRank", None)
    peer = args[form.peer] if form.peer is not None else root
    tag = args[form.tag] if form.tag is not None else None
    common = columns(torch, form.kind, group, peer, tag)
    probe = TAPS.listener()
    if probe is None:
        return
    reduction = getattr(options, "reduceOp", None)
    if reduction is not None:
        common["reduce_op"] = str(reduction).rsplit(".", 1)[-1].lower()
    given = args[form.given] if form.given is not None else None
    made = args[form.made] if form.made is not None else None
    if root is not None and root != group.rank():
        given, made = (None if form.kind in _ROOT_GIVES else given), (None if form.kind in _ROOT_TAKES else made)
    parameter = probe.gradient_of(given) if form.kind == "all_reduce" else None
    operation = probe.communication(common, parameter)
    for slot, tensor in tensors(given):
        probe.recorder.note(operation, ("grad_in" if parameter else "input") + slot, tensor)
    if made is None:
        probe.recorder.finish(operation)
    else:
        begun.append((operation, probe, made))


def _leave_to(outputs: Outputs, work: Any) -> None:
    """Whoever waits for the work finishes the operation; without a work its outputs are here, or come with a batch."""
    if HERE.batch is not None:
        HERE.batch.append(outputs)
    elif work is None:
        _finish(outputs)
    else:
        _WORKS[work] = [outputs]


def _finish(outputs: Outputs) -> None:
    operation, probe, made = outputs
    label = "grad_out" if operation.columns["phase"] == "grad_sync" else "output"
    for slot, tensor in tensors(made):
        probe.recorder.note(operation, label + slot, tensor)
    probe.recorder.finish(operation)


def _waiting(original: Callable[..., Any]) -> Callable[..., Any]:
    def wait(work: Any, *args: Any, **more: Any) -> Any:
        result = original(work, *args, **more)
        for outputs in _WORKS.pop(work, ()):
            quiet(_finish)(outputs)
        return result

    return wait


def _starting(original: Callable[..., Any]) -> Callable[..., Any]:
    def start(group: Any, *args: Any) -> Any:
        HERE.batch = []
        return original(group, *args)

    return start


def _ending(original: Callable[..., Any]) -> Callable[..., Any]:
    def end(group: Any, *args: Any) -> Any:
        batch, HERE.batch = HERE.batch, None
        work = original(group, *args)
        if batch and work is not None:
            _WORKS[work] = batch
        return work

    return end


class _Functional:
    """Stands for an operator such as `torch.ops._c10d_functional.all_reduce`; its overloads are the operator's own."""

    def __init__(self, packet: Any, kind: str, torch: Any) -> None:
        self._packet, self._kind, self._torch = packet, kind, torch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._packet, name)

    def __call__(self, *args: Any, **more: Any) -> Any:
        if self._torch.compiler.is_compiling():
            return self._packet(*args, **more)
        begun: list[Outputs] = []
        if self._kind:
            quiet(self._begin)(begun, args)
        result = self._packet(*args, **more)
        if begun:
            quiet(_await)(begun[0], result)
        elif not self._kind:
            quiet(_awaited)(args[0])
        return result

    def _begin(self, begun: list[Outputs], args: tuple[Any, ...]) -> None:
        group = args[-1]
        if isinstance(group, str):
            group = self._torch._C._distributed_c10d._resolve_process_group(group)
        common = columns(self._torch, self._kind, group, args[1] if self._kind == "broadcast" else None)
        probe = TAPS.listener()
        if probe is not None:
            operation = probe.communication(common, None)
            for slot, tensor in tensors(args[0]):
                probe.recorder.note(operation, f"input{slot}", tensor)
            begun.append((operation, probe, None))


def _await(outputs: Outputs, result: Any) -> None:
    operation, probe, _ = outputs
    for _, tensor in tensors(result):
        _WAITED[tensor.data_ptr()] = (operation, probe, result)
        return


def _awaited(tensor: Any) -> None:
    outputs = _WAITED.pop(tensor.data_ptr(), None) if _WAITED else None
    if outputs is not None:
        _finish(outputs)


def forget() -> None:
    """Outputs that nobody waited for in a step are not written."""
    _WAITED.clear()
