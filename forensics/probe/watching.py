"""`watch`: puts hooks on a model and its optimizer, and says which step, micro-batch and pass each tensor belongs to."""

import importlib
import os
import re
import time
from collections import deque
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Literal

from forensics.probe.collectives import Collectives
from forensics.probe.recording import Recorder


def watch(
    model: Any,
    folder: str | Path,
    *,
    optimizer: Any = None,
    every: int = 1,
    steps: Collection[int] | None = None,
    modules: str | None = None,
    backward: bool = True,
    params: bool = True,
    collectives: bool = True,
    first_step: int = 0,
    rank: int | None = None,
    form: Literal["jsonl", "parquet"] = "jsonl",
) -> "Probe":
    """Hooks on `model` (a torch.nn.Module) that write statistics of its tensors below `folder`.

    `optimizer`: its step ends the probe's step; without one, call `Probe.step()` yourself. `every`: statistics of each
    n-th step only; `steps`: of these steps only, such as range(1200, 1300). `modules`: a regular expression that names
    of modules must hold; without it all leaf modules are watched. `rank`: else from torch.distributed or RANK.
    """
    torch: Any = importlib.import_module("torch")
    return Probe(
        torch,
        model,
        Path(folder),
        optimizer,
        every,
        steps,
        modules,
        backward,
        params,
        collectives,
        first_step,
        rank,
        form,
    )


class Probe:
    """An active probe; also a context manager. `close()` takes all hooks away and writes the rest."""

    def __init__(
        self, torch: Any, model: Any, folder: Path, optimizer: Any, every: int, steps: Collection[int] | None,
        modules: str | None, backward: bool, params: bool, collectives: bool, first_step: int, rank: int | None,
        form: Literal["jsonl", "parquet"],
    ) -> None:  # fmt: skip
        self._torch, self._model, self._every, self._steps = torch, model, every, steps
        self._with_params, self._step, self._micro = params, first_step, -1
        distributed = torch.distributed if torch.distributed.is_available() else None
        group = distributed if distributed is not None and distributed.is_initialized() else None
        if rank is None:
            rank = int(group.get_rank()) if group is not None else int(os.environ.get("RANK", "0"))
        self._recorder = Recorder(torch, folder, rank, form)
        self._queues: dict[str, deque[int]] = {}
        self._told: set[str] = set()  # modules whose parameters were written in this step
        self._module = ""
        self._handles = list(self._hooks(model, optimizer, modules, backward))
        self._collectives = Collectives(group, self._communicated) if collectives and group is not None else None
        self._begin()

    def __enter__(self) -> "Probe":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def step(self) -> None:
        """The end of a training step; an optimizer given to `watch` calls this."""
        if self._active:
            self._recorder.flush()
        self._step += 1
        self._begin()

    def close(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        if self._collectives is not None:
            self._collectives.restore()
            self._collectives = None
        self._recorder.close()

    # --- hooks -----------------------------------------------------------------------------------------------------

    def _hooks(self, model: Any, optimizer: Any, wanted: str | None, backward: bool) -> Iterator[Any]:
        pattern = re.compile(wanted) if wanted is not None else None
        yield model.register_forward_pre_hook(self._count)
        for name, module in model.named_modules():
            leaf = next(module.children(), None) is None
            if not (pattern.search(name) if pattern else leaf):
                continue
            yield module.register_forward_pre_hook(self._before(name), with_kwargs=True)
            yield module.register_forward_hook(self._after(name))
            if backward:
                yield module.register_full_backward_hook(self._backward(name))
        if optimizer is not None:
            yield optimizer.register_step_pre_hook(lambda *_: self._gradients())
            yield optimizer.register_step_post_hook(lambda *_: self._updated())

    def _begin(self) -> None:
        wanted = self._steps is None or self._step in self._steps
        self._active = wanted and self._step % self._every == 0
        self._micro = -1
        self._queues.clear()
        self._told.clear()

    def _phase(self, module: Any) -> str:
        """A forward pass inside a backward pass computes again what was not kept."""
        task = getattr(self._torch._C, "_current_graph_task_id", None)
        if task is not None and task() != -1:
            return "recompute"
        return "forward" if module.training else "eval"

    def _count(self, model: Any, _: Any) -> None:
        if self._phase(model) == "forward":
            self._micro += 1

    def _before(self, name: str) -> Any:
        def hook(module: Any, args: Any, more: Any) -> None:
            if not self._active:
                return
            self._module = name
            columns = self._columns(name, module, self._phase(module))
            if self._with_params and name not in self._told:
                self._told.add(name)
                for key, value in module.named_parameters(recurse=False):
                    self._recorder.add(value, tensor=f"param.{key}", **columns)
            for slot, tensor in _tensors([*args, more] if more else list(args)):
                self._recorder.add(tensor, tensor=f"input{slot}", **columns)

        return hook

    def _after(self, name: str) -> Any:
        def hook(module: Any, _: Any, output: Any) -> None:
            if not self._active:
                return
            phase = self._phase(module)
            columns = self._columns(name, module, phase)
            if phase == "forward":
                self._queues.setdefault(name, deque()).append(max(self._micro, 0))
            for slot, tensor in _tensors(output):
                self._recorder.add(tensor, tensor=f"output{slot}", **columns)

        return hook

    def _backward(self, name: str) -> Any:
        def hook(module: Any, given: Any, made: Any) -> None:
            if not self._active:
                return
            columns = self._columns(name, module, "backward")
            queue = self._queues.get(name)
            if queue:
                queue.popleft()
            for label, tensors in (("grad_output", made), ("grad_input", given)):
                for slot, tensor in _tensors(tensors):
                    self._recorder.add(tensor, tensor=f"{label}{slot}", **columns)

        return hook

    def _columns(self, name: str, module: Any, phase: str) -> dict[str, Any]:
        """Backward passes and recomputation belong to the oldest micro-batch that still waits for its gradient."""
        queue = self._queues.get(name)
        micro = queue[0] if queue and phase in ("backward", "recompute") else max(self._micro, 0)
        return {
            "step": self._step, "microbatch": micro, "phase": phase, "module": name, "op": type(module).__name__,
            "timestamp": time.time(),
        }  # fmt: skip

    def _parameters(self) -> Iterator[tuple[str, str, Any]]:
        for name, value in self._model.named_parameters():
            module, _, leaf = name.rpartition(".")
            yield module, leaf, value

    def _gradients(self) -> None:
        if self._active:
            for module, leaf, value in self._parameters():
                self._recorder.add(value.grad, tensor=f"grad_in.{leaf}", **self._update_columns(module))

    def _updated(self) -> None:
        if self._active:
            for module, leaf, value in self._parameters():
                self._recorder.add(value, tensor=f"param.{leaf}", **self._update_columns(module))
        self.step()

    def _update_columns(self, module: str) -> dict[str, Any]:
        return {"step": self._step, "phase": "optimizer", "module": module, "op": "step", "timestamp": time.time()}

    def _communicated(self, tensor: Any, label: str, columns: dict[str, Any]) -> None:
        if self._active:
            where = {"step": self._step, "phase": "comm", "module": self._module, "timestamp": time.time()}
            self._recorder.add(tensor, tensor=label, **where, **columns)


def _tensors(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Tensors in nested tuples, lists and dicts, with their path: `.1.hidden`; one tensor alone has none."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _tensors(inner, f"{path}.{key}")
    elif isinstance(value, list | tuple):
        single = len(value) == 1 and not path
        for at, inner in enumerate(value):
            yield from _tensors(inner, path if single else f"{path}.{at}")
    elif value is not None:
        yield path, value
