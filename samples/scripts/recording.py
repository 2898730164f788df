"""What a training process of a sample leaves behind: Flight Recorder dumps, stacks on a signal, tensor statistics.

Runs inside the ranks. Needs PyTorch; nothing of `forensics` imports this.
"""

import faulthandler
import json
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch._C import _distributed_c10d as c10d

REQUEST = "dump.request"  # the driver makes this file in the work folder when it wants the Flight Recorder's rings


def stacks_on_signal(folder: Path, rank: int) -> None:
    """SIGUSR1 writes the Python stacks of all threads; a fatal signal writes them to standard error."""
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, file=(folder / f"faulthandler_rank_{rank}.txt").open("w"), all_threads=True)


def dump_flight_recorder(folder: Path, rank: int) -> None:
    """This rank's ring, as the pickle that NCCL's and gloo's dumps share."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"comm_lib_trace_rank_{rank}").write_bytes(c10d._dump_fr_trace(True, True, False))


def dump_on_request(work: Path, folder: Path, rank: int) -> None:
    """A daemon thread, as the watchdog is in NCCL jobs: the main thread of a hanging rank cannot dump."""

    def watch() -> None:
        while not (work / REQUEST).exists():
            time.sleep(0.5)
        dump_flight_recorder(folder, rank)

    threading.Thread(target=watch, name="dump_watch", daemon=True).start()


class TensorStatistics:
    """Forward and backward hooks on every leaf module; one JSON line per observed tensor, in program order."""

    def __init__(self, path: Path, rank: int, model: nn.Module) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.file = path.open("w")
        self.rank, self.step, self.microbatch, self.seq = rank, 0, 0, 0
        self.names = {module: name for name, module in model.named_modules() if not list(module.children())}
        for module in self.names:
            module.register_forward_hook(self.forward)
            module.register_full_backward_hook(self.backward)

    def forward(self, module: nn.Module, inputs: Any, output: Any) -> None:
        for name, parameter in module.named_parameters():
            self.write("forward", module, f"param.{name}", parameter)
        for tensor in tensors(inputs):
            self.write("forward", module, "input", tensor)
        for tensor in tensors(output):
            self.write("forward", module, "output", tensor)

    def backward(self, module: nn.Module, grad_input: Any, grad_output: Any) -> None:
        for tensor in tensors(grad_output):
            self.write("backward", module, "grad_output", tensor)
        for tensor in tensors(grad_input):
            self.write("backward", module, "grad_input", tensor)

    def write(self, phase: str, module: nn.Module, slot: str, tensor: torch.Tensor) -> None:
        row = {"phase": phase, "module": self.names[module], "op": type(module).__name__, "tensor": slot}
        self.line(row | numbers(tensor))

    def all_reduce(self, module: str, slot: str, tensor: torch.Tensor, call: int, ranks: list[int]) -> None:
        """A gradient before (`grad_in`) or after (`grad_out`) its all_reduce over the default group."""
        row = {"phase": "grad_sync", "module": module, "op": "all_reduce", "tensor": slot}
        group = {"group": "default_pg", "group_ranks": ranks, "call": call, "reduce_op": "sum"}
        self.line(row | group | numbers(tensor))

    def line(self, row: dict[str, Any]) -> None:
        place = {"rank": self.rank, "step": self.step, "microbatch": self.microbatch, "seq": self.seq}
        self.file.write(json.dumps(place | row | {"timestamp": round(time.time(), 6)}) + "\n")
        self.file.flush()
        self.seq += 1


def tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from tensors(item)


def numbers(tensor: torch.Tensor) -> dict[str, Any]:
    """Figures of the finite values; what is not finite is told by the counts."""
    values = tensor.detach().float()
    finite = values[torch.isfinite(values)]
    row: dict[str, Any] = {"dtype": str(tensor.dtype).removeprefix("torch."), "shape": list(tensor.shape)}
    if finite.numel():
        figures = {"min": finite.min(), "max": finite.max(), "mean": finite.mean(), "absmax": finite.abs().max()}
        row |= {name: float(f"{figure.item():.6g}") for name, figure in figures.items()}
    counts = {"nan_count": torch.isnan(values).sum(), "inf_count": torch.isinf(values).sum()}
    return row | {name: int(count) for name, count in counts.items()} | {"numel": values.numel()}
