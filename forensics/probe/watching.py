"""`watch`: puts hooks on a model and its optimizer, and says which step, micro-batch and pass each tensor belongs to."""

import importlib
import os
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forensics.probe import communication, sharded, training
from forensics.probe.backward import Call
from forensics.probe.communication import tensors
from forensics.probe.figures import Row
from forensics.probe.files import Form
from forensics.probe.operators import operator_mode
from forensics.probe.recording import Operation, Recorder
from forensics.probe.sharded import Replicas
from forensics.probe.taps import TAPS, Taps, quiet

# What wrappers of PyTorch put into the names of modules and parameters.
_WRAPPERS = re.compile(r"(?:^|(?<=\.))(?:_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module)(?:\.|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What is written; see `watch`."""

    optimizer: Any = None
    every: int = 1
    steps: Collection[int] | None = None
    modules: str | None = None
    inputs: bool = True
    backward: bool = True
    params: bool = True
    update: bool = True
    collectives: bool = True
    operators: bool = False
    checksum: bool = False
    master: Callable[[Any], Any] | None = None
    wait: bool = False
    first_step: int = 0
    rank: int | None = None
    name: str = ""
    chunk: int | None = None
    form: Form = "jsonl"


def watch(model: Any, folder: str | Path, **options: Any) -> "Probe":
    """Hooks on `model` (a torch.nn.Module) that write statistics of its tensors below `folder`.

    `optimizer`: its step ends the probe's step; without one, call `Probe.step()` yourself. `every`: statistics of each
    n-th step only; `steps`: of these steps only, such as range(1200, 1300). `modules`: a regular expression that names
    of modules must hold; without it all leaf modules are watched. `inputs`, `backward`, `params`: of each watched
    module also its inputs, its gradients, its parameters; `update`: gradients, optimizer state and parameters around
    the optimizer's step. `collectives`: communications; `operators`: every operator of a forward pass. `checksum`: of
    each tensor's bits. `master`: a parameter → the copy that the optimizer updates, if there is one. `wait`: figures of other devices at once, too. `first_step`: number of the first step. `rank`:
    else from torch.distributed or RANK. `name`: put before the modules' names; `chunk`: number of a pipeline's virtual
    chunk. `form`: "jsonl" or "parquet".
    """
    return Probe(importlib.import_module("torch"), model, Path(folder), Options(**options))


class _Thread(threading.local):
    """Of one thread: its micro-batch, and the watched modules whose forward pass it is in, innermost last."""

    def __init__(self) -> None:
        self.micro = 0
        self.stack: list[tuple[str, Operation, Any]] = []
        self.made: tuple[Operation, list[Any], list[int]] | None = None  # of the last operation, before further hooks
        self.mode: Any = None


class Probe:
    """An active probe; also a context manager. `close()` takes all hooks away and writes the rest."""

    active: bool

    def __init__(self, torch: Any, model: Any, folder: Path, options: Options) -> None:
        self._torch, self._model, self._options = torch, model, options
        self._step, self._micro, self._stepped = options.first_step, -1, 0
        self._here, self._lock = _Thread(), threading.Lock()
        self.collectives = options.collectives
        distributed = torch.distributed.is_available() and torch.distributed.is_initialized()
        rank = options.rank
        if rank is None:
            rank = torch.distributed.get_rank() if distributed else int(os.environ.get("RANK", "0"))
        self.recorder = Recorder(torch, folder, rank, options.form, options.checksum, options.wait)
        self._prefix = options.name or (f"model_{self.recorder.number + 1}" if self.recorder.number else "")
        self._queues: dict[str, deque[int]] = {}
        self._told: set[str] = set()  # modules whose parameters were written in this step
        self._updates: dict[str, Operation] = {}
        self._whole_graph = False
        self._kinds: dict[str, str] = {}  # module → its class
        self._replicas = Replicas(torch, self) if options.collectives and distributed else None
        self._shapes: dict[Any, list[tuple[str, Any]]] = {}  # of gradients → parameters
        self._begin_step()
        self._handles = list(self._hooks())
        TAPS.join(self, self._install)

    def __enter__(self) -> "Probe":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def step(self) -> None:
        """The end of a training step; an optimizer given to `watch` calls this."""
        self._end_step()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """What runs inside is written nowhere and counts as no micro-batch."""
        active, micro, self.active = self.active, self._micro, False
        try:
            yield
        finally:
            self.active, self._micro = active, micro

    def close(self) -> None:
        self.active = False
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        TAPS.leave(self)
        self.recorder.close()

    # --- for those who write rows ----------------------------------------------------------------------------------

    @property
    def module(self) -> str:
        """The watched module that this thread is in: inside its forward pass, or in a hook right after it."""
        here = self._here
        if here.made is not None:
            return str(here.made[0].columns["module"])
        return here.stack[-1][0] if here.stack else self.name_of("")

    def begin(self, **columns: Any) -> Operation:
        """An operation of this step, by default in the forward pass of this thread's micro-batch."""
        common = {"step": self._step, "microbatch": self._here.micro, "chunk": self._options.chunk, "phase": "forward"}
        return Operation({**common, "timestamp": time.time(), **columns})

    def communication(self, call: Row, parameter: str | None) -> Operation:
        """`parameter`: whose gradient it sums. What the modules around it have so far is written before it."""
        for _, operation, _ in self._here.stack:
            self.recorder.finish(operation)
        where = (
            {"phase": "comm", "module": self.module}
            if parameter is None
            else {"phase": "grad_sync", "module": parameter}
        )
        return self.begin(**{**where, **call})

    def accumulated(self, parameter: str, gradient: Any) -> Operation:
        """A parameter's whole gradient of this rank; written by itself only where it is bad."""
        module, _, leaf = parameter.rpartition(".")
        operation = self.begin(phase="backward", module=module, op=self._kinds.get(module))
        self.recorder.note(operation, f"param_grad.{leaf}", gradient)
        self.recorder.drop(operation)
        return operation

    def gradient_of(self, given: Any) -> str | None:
        """The name of the parameter whose gradient this is, if it is one."""
        found = [tensor for _, tensor in tensors(given)]
        if len(found) != 1 or not self._torch.is_tensor(found[0]):
            return None
        for name, parameter in self._shapes.get(found[0].shape, ()):
            gradient = parameter.grad
            if gradient is not None and (gradient is found[0] or gradient.data_ptr() == found[0].data_ptr()):
                return name
        return None

    def parameters(self) -> Iterator[tuple[str, Any]]:
        for name, value in self._model.named_parameters():
            yield self.name_of(name), value

    def name_of(self, name: str) -> str:
        """A module or parameter as the model's author calls it: without the names of wrappers."""
        if isinstance(self._model, self._torch.nn.parallel.DistributedDataParallel):
            name = name.removeprefix("module").removeprefix(".")
        name = _WRAPPERS.sub("", name).removesuffix(".")
        return f"{self._prefix}.{name}".rstrip(".") if self._prefix else name

    # --- hooks -----------------------------------------------------------------------------------------------------

    def _install(self, taps: Taps) -> None:
        torch = self._torch
        training.install(taps, torch)
        if torch.distributed.is_available():
            communication.install(taps, torch)
            sharded.install(taps, torch)

    def _hooks(self) -> Iterator[Any]:
        options, model = self._options, self._model
        for name, value in self.parameters():
            self._shapes.setdefault(value.shape, []).append((name, value))
        pattern = re.compile(options.modules) if options.modules is not None else None
        yield model.register_forward_pre_hook(self._eager(self._enter))
        yield model.register_forward_hook(self._eager(self._leave), always_call=True)
        for path, module in model.named_modules():
            name = self.name_of(path)
            self._kinds[name] = type(module).__name__
            leaf = next(module.children(), None) is None
            if pattern.search(name) if pattern else leaf:
                yield module.register_forward_pre_hook(self._eager(self._before(name)), with_kwargs=True)
                yield module.register_forward_hook(self._eager(self._after(name)), prepend=True)
                yield module.register_forward_hook(self._eager(self._hooked))
        if options.optimizer is not None:
            yield options.optimizer.register_step_pre_hook(quiet(lambda *_: self._gradients()))
            yield options.optimizer.register_step_post_hook(quiet(lambda *_: self._updated()))
        if self._replicas is not None:
            yield from self._replicas.hooks(self.parameters())

    def _eager(self, hook: Callable[..., None]) -> Any:
        """A hook that a compiler runs as it is: it breaks the graph there, or leaves the hook out of a whole graph."""
        torch, apart = self._torch, self._torch.compiler.disable(quiet(hook))

        def compiled(context: Any) -> None:
            self._whole_graph = True
            with suppress(AttributeError):
                translator = context._i_will_not_complain_if_bc_breaks_InstructionTranslator()
                self._whole_graph = bool(translator.one_graph)

        def run(*args: Any) -> None:
            if torch.compiler.is_compiling():
                torch._dynamo.comptime.comptime(compiled)  # called by the compiler, while it reads this
                if self._whole_graph:
                    return
            apart(*args)

        return run

    def _begin_step(self) -> None:
        wanted = self._options.steps is None or self._step in self._options.steps
        self.active = wanted and self._step % self._options.every == 0
        self._micro = -1
        self._queues.clear()
        self._told.clear()
        self._updates.clear()

    def _end_step(self) -> None:
        if self.active:
            self.recorder.flush()
        communication.forget()
        self._step += 1
        self._stepped += 1
        self._begin_step()

    def _phase(self, module: Any) -> str:
        """A forward pass inside a backward pass computes again what was not kept."""
        if self._torch._C._current_graph_task_id() != -1:
            return "recompute"
        return "forward" if module.training else "eval"

    def _enter(self, model: Any, _: Any) -> None:
        here = self._here
        here.stack.clear()  # of a forward pass that an exception ended
        if self._phase(model) == "forward":
            with self._lock:
                self._micro += 1
                here.micro = self._micro
        if self._options.operators and self.active and here.mode is None:
            here.mode = operator_mode(self._torch, self)
            here.mode.__enter__()

    def _leave(self, *_: Any) -> None:
        mode, self._here.mode = self._here.mode, None
        if mode is not None:
            mode.__exit__(None, None, None)

    def _before(self, name: str) -> Callable[..., None]:
        def hook(module: Any, args: Any, more: Any) -> None:
            if self._replicas is not None:
                self._replicas.entered()
            if not self.active:
                return
            operation = self.begin(**self._where(name, module))
            given = list(tensors([*args, more] if more else list(args)))
            self._here.stack.append((name, operation, Call(self._torch, given) if self._options.backward else None))
            with self._lock:
                first = self._options.params and name not in self._told
                self._told.add(name)
            if first:
                for key, value in module.named_parameters(recurse=False):
                    self.recorder.note(operation, f"param.{key}", value)
            if self._options.inputs:
                for slot, tensor in given:
                    self.recorder.note(operation, f"input{slot}", tensor)

        return hook

    def _where(self, name: str, module: Any) -> Row:
        """A recomputation belongs to the oldest micro-batch that was not computed again."""
        phase, micro = self._phase(module), self._here.micro
        if phase == "recompute":
            with self._lock:
                queue = self._queues.get(name)
                micro = queue.popleft() if queue else micro
        return {"microbatch": micro, "phase": phase, "module": name, "op": type(module).__name__}

    def _after(self, name: str) -> Callable[..., None]:
        def hook(module: Any, _: Any, output: Any) -> None:
            stack, self._here.made = self._here.stack, None
            while stack and stack[-1][0] != name:  # modules that an exception left
                stack.pop()
            if not stack:
                return
            _, operation, call = stack.pop()
            made = list(tensors(output))
            for slot, tensor in made:
                self.recorder.note(operation, f"output{slot}", tensor)
            self.recorder.finish(operation)
            outputs = [tensor for _, tensor in made]
            self._here.made = operation, outputs, [_version(tensor) for tensor in outputs]
            if operation.columns["phase"] == "forward":
                with self._lock:
                    self._queues.setdefault(name, deque()).append(operation.columns["microbatch"])
            if call is not None:
                call.attach(made, lambda: self._backward(operation.columns))

        return hook

    def _hooked(self, module: Any, _: Any, output: Any) -> None:
        """Hooks of others that change an output are an operation of their own: what the module made goes into it."""
        before, self._here.made = self._here.made, None
        made = list(tensors(output))
        if before is None or _same(before[1], before[2], [tensor for _, tensor in made]):
            return
        operation = Operation(before[0].columns)
        for reading in before[0].readings:
            if reading.label.startswith("output"):
                operation.readings.append(reading.renamed(reading.label.replace("output", "input", 1)))
        for slot, tensor in made:
            self.recorder.note(operation, f"output{slot}", tensor)
        self.recorder.finish(operation)

    def _backward(self, columns: Row) -> tuple[Callable[[str, Any], None], Callable[[], None]]:
        operation = Operation({**columns, "phase": "backward", "step": self._step, "timestamp": time.time()})
        if not self.active:
            return lambda label, gradient: None, lambda: None
        note = quiet(lambda label, gradient: self.recorder.note(operation, label, gradient))
        return note, quiet(lambda: self.recorder.finish(operation))

    # --- the optimizer ---------------------------------------------------------------------------------------------

    def _gradients(self) -> None:
        """Before the optimizer's step. Rows of a module wait until its parameters were updated."""
        if not self.active:
            return
        self.recorder.settle()
        self._updates = {}
        for name, value in self.parameters() if self._options.update else ():
            module, _, leaf = name.rpartition(".")
            if module not in self._updates:
                self._updates[module] = self.begin(phase="optimizer", module=module, op="step", microbatch=None)
            self.recorder.note(self._updates[module], f"grad_in.{leaf}", value.grad)

    def _updated(self) -> None:
        if self.active:
            for name, value in self.parameters():
                module, _, leaf = name.rpartition(".")
                if (operation := self._updates.get(module)) is not None:
                    self._note_state(operation, leaf, value)
            for name, value in self.parameters():
                module, _, leaf = name.rpartition(".")
                if (operation := self._updates.get(module)) is not None:
                    self.recorder.note(operation, f"param.{leaf}", value)
            for operation in self._updates.values():
                self.recorder.finish(operation)
        self._end_step()

    def _note_state(self, operation: Operation, leaf: str, parameter: Any) -> None:
        of_master = self._options.master
        if of_master is not None and (master := of_master(parameter)) is not None:
            self.recorder.note(operation, f"optimizer_state.{leaf}.master", master)
        for key, kept in self._options.optimizer.state.get(parameter, {}).items():
            if self._torch.is_tensor(kept) and kept.dim():
                self.recorder.note(operation, f"optimizer_state.{leaf}.{key}", kept)

    def scaled(self, optimizer: Any, step: Callable[[], Any]) -> Any:
        """A loss scaler's step: where it leaves the optimizer's out, the step ends all the same."""
        before = self._stepped
        result = step()
        if optimizer is self._options.optimizer and self._stepped == before:
            quiet(self._gradients)()
            quiet(self._end_step)()
        return result


def _version(tensor: Any) -> int:
    """How often a tensor was changed in place."""
    try:
        return int(tensor._version)
    except (AttributeError, RuntimeError):  # no tensor, or one of inference mode
        return 0


def _same(before: list[Any], versions: list[int], now: list[Any]) -> bool:
    """Whether these are the same tensors, and none was changed in place since."""
    pairs = zip(before, versions, now, strict=False)
    return len(before) == len(now) and all(old is new and _version(new) == version for old, version, new in pairs)
