"""The loss where a backward pass begins, and steps that a loss scaler leaves out."""

from collections.abc import Callable
from typing import Any

from forensics.probe.communication import tensors
from forensics.probe.taps import TAPS, Taps, quiet


def install(taps: Taps, torch: Any) -> None:
    taps.replace(torch.autograd, "backward", _backward)
    taps.replace(torch.amp.GradScaler, "step", _step)


def _backward(original: Callable[..., Any]) -> Callable[..., Any]:
    def backward(roots: Any, *args: Any, **more: Any) -> Any:
        quiet(_loss)(roots)
        return original(roots, *args, **more)

    return backward


def _loss(roots: Any) -> None:
    probe = TAPS.listener(calls=False)
    if probe is None:
        return
    operation = probe.begin(module=probe.name_of("loss"), op="loss")
    for slot, tensor in tensors([roots]):
        if getattr(tensor, "dim", lambda: 1)() == 0:
            probe.recorder.note(operation, f"output{slot}", tensor)
    probe.recorder.finish(operation)


def _step(original: Callable[..., Any]) -> Callable[..., Any]:
    def step(scaler: Any, optimizer: Any, *args: Any, **more: Any) -> Any:
        def run() -> Any:
            return original(scaler, optimizer, *args, **more)

        for probe in TAPS.probes:
            run = _watched(probe, optimizer, run)
        return run()

    return step


def _watched(probe: Any, optimizer: Any, run: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: probe.scaled(optimizer, run)
