"""Gradient synchronization of DistributedDataParallel and communication of fully_shard, with parameters' names.

Both put many parameters into one buffer; here each parameter is a call of its own, in the order of the parameters,
which is the same on all ranks.
"""

import importlib
from collections.abc import Callable, Iterator
from functools import wraps
from inspect import signature
from typing import Any

from forensics.probe.communication import HERE, columns
from forensics.probe.recording import Operation
from forensics.probe.taps import TAPS, Taps, quiet

_FULLY_SHARD = "torch.distributed.fsdp._fully_shard._fsdp_param_group"


class Replicas:
    """Gradients of a model under DistributedDataParallel: before the reducer has them, and after a backward pass.

    The reducer runs in C++ and asks nobody. It takes a gradient once it is accumulated, and all gradients are reduced
    when the callbacks of the backward pass have run that it queued.
    """

    def __init__(self, torch: Any, probe: Any) -> None:
        self._torch, self._probe = torch, probe
        self._wrapper: Any = None  # of the forward passes since the last backward pass; None where it does not reduce
        self._open: dict[str, Operation] = {}
        self._queued = False

    def hooks(self, named: Iterator[tuple[str, Any]]) -> Iterator[Any]:
        for name, parameter in named:
            if parameter.requires_grad and type(parameter) is self._torch.nn.Parameter:
                yield parameter.register_post_accumulate_grad_hook(quiet(self._accumulated(name)))

    def entered(self) -> None:
        """A forward pass of the model, perhaps inside its wrapper."""
        wrapper = self._torch.nn.parallel.DistributedDataParallel._active_ddp_module
        if wrapper is not None:
            self._wrapper = wrapper if wrapper.require_backward_grad_sync else None

    def _accumulated(self, name: str) -> Callable[[Any], None]:
        def hook(parameter: Any) -> None:
            if self._wrapper is None:
                return
            if not self._queued:
                self._queued = True
                self._queue(lambda: self._queue(self._reduced))
            if self._probe.active:
                self._open[name] = self._probe.accumulated(name, parameter.grad)

        return hook

    def _queue(self, callback: Callable[[], None]) -> None:
        self._torch.autograd.Variable._execution_engine.queue_callback(quiet(callback))

    def _reduced(self) -> None:
        """Every parameter counts as a call, also one that this rank did not use."""
        wrapper, operations = self._wrapper, self._open
        self._queued, self._open = False, {}
        if wrapper is None:
            return
        for name, parameter in self._probe.parameters():
            if not parameter.requires_grad:
                continue
            call = columns(self._torch, "all_reduce", wrapper.process_group)
            if name in operations:
                operation = self._probe.communication(call | {"reduce_op": "avg"}, name)
                operation.readings += [reading.renamed("grad_in") for reading in operations[name].readings]
                self._probe.recorder.note(operation, "grad_out", parameter.grad)
                self._probe.recorder.finish(operation)


def install(taps: Taps, torch: Any) -> None:
    """Names in the module of fully_shard that gathers shards and reduces gradients."""
    try:
        module = importlib.import_module(_FULLY_SHARD)
    except ImportError:
        return
    gathers: dict[int, list[tuple[Any, Operation]]] = {}  # id of the first shard → operations under way
    taps.replace(module, "foreach_all_gather", lambda original: _around(original, _Gather(torch, gathers)))
    taps.replace(module, "foreach_all_gather_copy_out", lambda original: _around(original, _CopyOut(gathers)))
    taps.replace(module, "foreach_reduce", lambda original: _around(original, _Reduce(torch)))


def _around(original: Callable[..., Any], tap: Any) -> Callable[..., Any]:
    """`tap.before(arguments)`, the original without the communication that `tap` writes itself, `tap.after(...)`."""
    order = list(signature(original).parameters)

    @wraps(original)
    def call(*args: Any, **more: Any) -> Any:
        named = {**dict(zip(order, args, strict=False)), **more}
        quiet(tap.before)(named)
        hidden, HERE.hidden = HERE.hidden, tap.kinds
        try:
            result = original(*args, **more)
        finally:
            HERE.hidden = hidden
        quiet(tap.after)(named, result)
        return result

    return call


class _Gather:
    """Shards on their way to all members: the input of each parameter's all_gather."""

    kinds = ("all_gather",)

    def __init__(self, torch: Any, gathers: dict[int, list[tuple[Any, Operation]]]) -> None:
        self._torch, self._gathers = torch, gathers

    def before(self, named: dict[str, Any]) -> None:
        begun = []
        for shard in named["fsdp_params"]:
            call = columns(self._torch, "all_gather", named["group"])
            probe = TAPS.listener()
            if probe is not None:
                module, _, leaf = probe.name_of(shard._param_fqn).rpartition(".")
                operation = probe.communication(call | {"module": module}, None)
                probe.recorder.note(operation, f"param.{leaf}", shard._sharded_param_data)
                begun.append((probe, operation))
        if begun:
            self._gathers[id(named["fsdp_params"][0])] = begun

    def after(self, named: dict[str, Any], result: Any) -> None:
        return None


class _CopyOut:
    """Whole parameters, as they came from all members."""

    kinds = ()

    def __init__(self, gathers: dict[int, list[tuple[Any, Operation]]]) -> None:
        self._gathers = gathers

    def before(self, named: dict[str, Any]) -> None:
        return None

    def after(self, named: dict[str, Any], _: Any) -> None:
        shards = named["fsdp_params"]
        begun = self._gathers.pop(id(shards[0]), ())
        for (probe, operation), shard in zip(begun, shards, strict=False):
            for gathered in shard.all_gather_outputs:
                probe.recorder.note(operation, "output", gathered)
            probe.recorder.finish(operation)


class _Reduce:
    """Gradients before and after they are summed and cut into shards. Where shards are also replicated, an all_reduce
    follows inside, and only what goes in is known of the reduce_scatter."""

    kinds = ("reduce_scatter",)

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._begun: list[tuple[Any, Operation, Any]] = []

    def before(self, named: dict[str, Any]) -> None:
        self._begun = []
        replicated = named.get("all_reduce_group") is not None
        for shard, gradient in zip(named["fsdp_params"], named["unsharded_grads"], strict=True):
            call = columns(self._torch, "reduce_scatter", named["reduce_scatter_group"])
            probe = TAPS.listener()
            if probe is None:
                continue
            operation = probe.communication(call, probe.name_of(shard._param_fqn))
            probe.recorder.note(operation, "grad_in", gradient)
            if replicated:
                probe.recorder.finish(operation)
            else:
                self._begun.append((probe, operation, shard))

    def after(self, named: dict[str, Any], _: Any) -> None:
        begun, self._begun = self._begun, []
        for probe, operation, shard in begun:
            probe.recorder.note(operation, "grad_out", shard.sharded_param.grad)
            probe.recorder.finish(operation)
