"""`replay`: a suspect step once more, bit by bit, on the rank itself and on the devices of its neighbours.

What a device computes wrongly, another one does not. Where all that repeat a step come to the same bits, the data or the parameters
make what is wrong with it; where one differs from two that agree, its device does.
"""

import ctypes
import importlib
import io
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from forensics.probe.communication import tensors
from forensics.probe.figures import Meter, Row
from forensics.probe.files import RowFile
from forensics.probe.taps import TAPS

_NEIGHBOURS = 2  # so that two may agree against a third


def replay(run: Callable[[Any, Any], Any], model: Any, batch: Any, folder: str | Path, *, step: int) -> list[Row]:
    """Repeats one step on this rank, twice, and with its parameters, batch and random numbers on the next two ranks. All ranks call it,
    with what they had at the suspect step, before the optimizer changed anything.

    `run(model, batch)` gives the loss and communicates with nobody; `model` is the bare module or one in DistributedDataParallel, whole on
    each rank (ValueError where its parameters are sharded); `batch`: tensors, also in lists, tuples and dicts. Parameters, buffers, gradients and
    random numbers are as before when it returns. → the rows of this rank's device, which are also written to `folder`, a line each:
    `replay_of` (whose step), `rank` (who computed it), `run`, `step`, `host`, `loss`, `digest` (of the bits of loss and gradients),
    `state` (of the parameters), `batch_bad` (how many NaN and Inf the batch holds). `forensics analyze` reads them.
    """
    torch = importlib.import_module("torch")
    bare = getattr(model, "module", model)
    if any(hasattr(one, "_local_tensor") for one in bare.parameters()):
        raise ValueError("replay: the parameters are sharded, so no rank alone can repeat the step")
    is_many = torch.distributed.is_available() and torch.distributed.is_initialized()
    rank = torch.distributed.get_rank() if is_many else 0
    world = torch.distributed.get_world_size() if is_many else 1
    fixed = {"step": step, "rank": rank, "host": socket.gethostname()}
    made: list[Row] = []
    with _kept(torch, bare), ExitStack() as paused:
        for probe in TAPS.probes:
            paused.enter_context(probe.paused())
        own = _packed(torch, bare, batch)
        parts = [(rank, own), (rank, own)]
        parts += [
            ((rank - far) % world, _exchanged(torch, own, far, bare))
            for far in range(1, min(_NEIGHBOURS, world - 1) + 1)
        ]
        for at, (origin, packed) in enumerate(parts):
            found = _repeated(torch, run, bare, packed)
            made.append(fixed | {"replay_of": origin, "run": at if origin == rank else 0} | found)
    file = RowFile(Path(folder) / f"replay_rank_{rank}_step_{step}", "jsonl")
    file.append(made)
    file.close()
    return made


@contextmanager
def _kept(torch: Any, model: Any) -> Iterator[None]:
    """Parameters, buffers, gradients, random numbers and the choice of kernels are as they were in the end."""
    values = [(one, one.detach().clone()) for one in (*model.parameters(), *model.buffers())]
    gradients = [(one, one.grad) for one in model.parameters()]
    chance = _chance(torch)
    fixed, warns = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(fixed, warn_only=warns)
        with torch.no_grad():
            for one, value in values:
                one.copy_(value)
        for one, gradient in gradients:
            one.grad = gradient
        _set_chance(torch, chance)


def _chance(torch: Any) -> dict[str, Any]:
    kind = _kind(torch)
    own = getattr(torch, kind, None)
    return {"cpu": torch.get_rng_state(), **({kind: own.get_rng_state()} if own is not None else {})}


def _set_chance(torch: Any, kept: dict[str, Any]) -> None:
    torch.set_rng_state(kept["cpu"].cpu())
    own = getattr(torch, kind := _kind(torch), None)
    if own is not None and kind in kept:
        own.set_rng_state(kept[kind].cpu())


def _kind(torch: Any) -> str:
    """The accelerator's name, empty where there is none."""
    current = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    return "" if current is None else str(current.type)


def _packed(torch: Any, model: Any, batch: Any) -> Any:
    """A step as bytes: what it was computed from."""
    out = io.BytesIO()
    torch.save({"state": dict(model.state_dict()), "batch": batch, "chance": _chance(torch)}, out)
    return torch.frombuffer(bytearray(out.getvalue()), dtype=torch.uint8)


def _exchanged(torch: Any, own: Any, far: int, model: Any) -> Any:
    """The step of the rank `far` before this one; its own goes to the one as far behind."""
    dist = torch.distributed
    rank, world = dist.get_rank(), dist.get_world_size()
    place = next((one.device for one in model.parameters()), torch.device("cpu"))
    device = torch.device("cpu") if "gloo" in str(dist.get_backend()) else place
    sizes = [torch.zeros(1, dtype=torch.int64, device=device) for _ in range(world)]
    dist.all_gather(sizes, torch.tensor([own.numel()], device=device))
    sent = own.to(device)
    received = torch.empty(int(sizes[(rank - far) % world]), dtype=torch.uint8, device=device)
    calls = [dist.P2POp(dist.isend, sent, (rank + far) % world), dist.P2POp(dist.irecv, received, (rank - far) % world)]
    for call in dist.batch_isend_irecv(calls):
        call.wait()
    return received.cpu()


def _repeated(torch: Any, run: Callable[[Any, Any], Any], model: Any, packed: Any) -> Row:
    """One forward and backward pass of what was packed → its figures."""
    place = next((one.device for one in model.parameters()), torch.device("cpu"))
    told = torch.load(
        io.BytesIO(ctypes.string_at(packed.data_ptr(), packed.numel())), map_location=place, weights_only=True
    )
    model.load_state_dict(told["state"])
    _set_chance(torch, told["chance"])
    for one in model.parameters():
        one.grad = None
    meter = Meter(torch, checksum=True, wait=True)
    state = _digest(meter, list(model.parameters()))  # buffers may differ by rank
    loss = run(model, told["batch"])
    loss.backward()
    gradients = [one.grad for one in model.parameters() if one.grad is not None]
    return {
        "loss": float(loss.detach()),
        "digest": _digest(meter, [loss, *gradients]),
        "state": state,
        "batch_bad": sum(_bad(meter, tensor) for _, tensor in tensors([told["batch"]])),
    }


def _digest(meter: Meter, values: list[Any]) -> str:
    """Of the bits of several tensors, in order."""
    total = 0
    for at, value in enumerate(values):
        reading = meter.measure(value, "")
        own = "" if reading is None else str(reading.columns.get("checksum", ""))
        total = (total * 1_000_003 + at + int(own or "0", 16)) % (1 << 64)
    return f"{total:016x}"


def _bad(meter: Meter, value: Any) -> int:
    reading = meter.measure(value, "")
    return 0 if reading is None else int(reading.columns.get("nan_count", 0)) + int(reading.columns.get("inf_count", 0))
