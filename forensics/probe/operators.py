"""Operators of a forward pass, also those that belong to no module: a mask that is added, a softmax, a sum."""

from typing import Any

from forensics.probe.communication import tensors
from forensics.probe.recording import Operation
from forensics.probe.taps import quiet


def operator_mode(torch: Any, probe: Any) -> Any:
    """A TorchDispatchMode that writes inputs and outputs of every operator that computes something."""
    base = torch.utils._python_dispatch.TorchDispatchMode

    class Operators(base):  # type: ignore[misc,valid-type]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), more: Any = None) -> Any:
            if function.is_view or function.namespace != "aten":
                return function(*args, **(more or {}))
            operation = probe.begin(op=function.overloadpacket.__name__, module=probe.module)
            note(operation, "input", (*args, *(more or {}).values()))  # before it may be changed in place
            result = function(*args, **(more or {}))
            note(operation, "output", result)
            end(operation)
            return result

    @quiet
    def note(operation: Operation, label: str, values: Any) -> None:
        for slot, tensor in tensors(values):
            probe.recorder.note(operation, label + slot, tensor)

    @quiet
    def end(operation: Operation) -> None:
        probe.recorder.finish(operation)

    return Operators()
