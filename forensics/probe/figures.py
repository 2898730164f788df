"""Figures of one tensor: extremes, norm, exact counts of NaN and Inf, and on request a checksum of its bits.

On the host they are known at once. On another device they stay there in a block, which is copied to pinned memory
without waiting; nobody asks for a figure before its copy has arrived.
"""

import math
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

FIGURES = 7  # per tensor on a device: min, max, norm, NaN, Inf, and the two halves of the checksum
_CHUNK = 64  # tensors per block: so many figures at most are missing after a kill
_WORDS = 8192  # of 8 bytes, in one row of a checksum
_ODD = -7046029254386353131  # any odd number with many bits
Row = dict[str, Any]


class Block:
    """Figures of up to `_CHUNK` tensors on one device, (_CHUNK, FIGURES) float64, which holds counts below 2**53."""

    def __init__(self, torch: Any, device: Any) -> None:
        self._torch, self._device = torch, device
        self._figures = torch.empty((_CHUNK, FIGURES), dtype=torch.float64, device=device)
        self._host: Any = None
        self._event: Any = None
        self._values: list[list[float]] | None = None
        self.used = 0

    @property
    def full(self) -> bool:
        return self.used == _CHUNK

    def put(self, figures: Any) -> int:
        self._figures[self.used] = figures
        self.used += 1
        return self.used - 1

    def ship(self) -> None:
        """Begins the copy to the host."""
        if self._host is None:
            cpu = self._device.type == "cpu"
            self._host = self._torch.empty(self._figures.shape, dtype=self._figures.dtype, pin_memory=not cpu)
            self._host.copy_(self._figures, non_blocking=True)
            if not cpu:
                self._event = getattr(self._torch, self._device.type).Event()
                self._event.record()

    def values(self, wait: bool) -> list[list[float]] | None:
        """All figures, or None while the copy is under way."""
        if self._values is None and self._host is not None:
            if self._event is not None and wait:
                self._event.synchronize()
            if self._event is None or self._event.query():
                self._values = self._host.tolist()
        return self._values


class Reading:
    """One tensor: `columns` that are known at once, and its figures, perhaps still in a block."""

    __slots__ = ("columns", "label", "place")

    def __init__(self, label: str, columns: Row, place: tuple[Block, int] | None) -> None:
        self.label, self.columns, self.place = label, columns, place

    @property
    def bad(self) -> bool:
        """Known to hold NaN or Inf."""
        return bool(self.columns.get("nan_count") or self.columns.get("inf_count"))

    def renamed(self, label: str) -> "Reading":
        return Reading(label, self.columns, self.place)

    def settle(self, wait: bool) -> bool:
        """Whether the figures are here."""
        if self.place is not None:
            block, at = self.place
            values = block.values(wait)
            if values is None:
                return False
            low, high, norm, nans, infs, upper, lower = values[at]
            self.columns |= _named(low, high, norm, int(nans), int(infs))
            if upper >= 0:
                self.columns["checksum"] = f"{int(upper):08x}{int(lower):08x}"
            self.place = None
        return True


class Meter:
    """Measures tensors. `checksum`: also their bits; `wait`: of all devices at once, though the host then waits."""

    def __init__(self, torch: Any, checksum: bool, wait: bool) -> None:
        self._torch, self._checksum, self._wait = torch, checksum, wait
        self._blocks: dict[Any, Block] = {}

    def measure(self, value: Any, label: str) -> Reading | None:
        """None for what is no tensor of numbers with a fraction, or holds no values, as while a graph is traced.

        A tensor whose values cannot be asked for, such as two numbers packed into a byte, is read without figures.
        """
        torch = self._torch
        plain = type(value) in (torch.Tensor, torch.nn.Parameter)
        if not plain or torch._C._functorch.is_functorch_wrapped_tensor(value):
            value = _unwrapped(torch, value)
            if not torch.is_tensor(value) or _is_fake(torch, value):
                return None
        if not (value.is_floating_point() or value.is_complex()) or value.is_meta or _is_captured(torch, value):
            return None
        columns = {
            "dtype": _text(value.dtype).removeprefix("torch."), "shape": _shape(value), "numel": value.numel(),
            "device": _text(value.device),
        }  # fmt: skip
        place = None
        with torch.no_grad(), self._alone():
            try:
                data = _dense(torch, value.detach())
                columns["numel"] = data.numel()
                place = self._figures(data, columns)
            except (RuntimeError, NotImplementedError, TypeError, AttributeError):
                pass
        return Reading(label, columns, place)

    def _alone(self) -> AbstractContextManager[Any]:
        """Modes that watch or change every operator, such as one that counts them, do not see the probe's own."""
        if self._torch._C._len_torch_dispatch_stack():
            return self._torch.utils._python_dispatch._disable_current_modes()  # type: ignore[no-any-return]
        return nullcontext()

    def ship(self) -> None:
        """The copy of all figures that are still on a device begins."""
        for block in self._blocks.values():
            block.ship()
        self._blocks.clear()

    def _figures(self, data: Any, columns: Row) -> tuple[Block, int] | None:
        torch = self._torch
        if not data.numel():
            columns |= {"nan_count": 0, "inf_count": 0}
            return None
        low, high = torch.aminmax(data)
        norm = torch.linalg.vector_norm(data, dtype=torch.float64 if data.dtype == torch.float64 else torch.float32)
        total = _checksum(torch, data) if self._checksum else None
        if data.device.type == "cpu" or self._wait:
            bounds = low.item(), high.item()
            finite = math.isfinite(bounds[0]) and math.isfinite(bounds[1])
            nans, infs = (0, 0) if finite else (int(torch.isnan(data).sum()), int(torch.isinf(data).sum()))
            length = norm.item()
            if finite and math.isinf(length):  # squares that a narrow sum cannot hold
                length = torch.linalg.vector_norm(data, dtype=torch.float64).item()
            columns |= _named(*bounds, length, nans, infs)
            if total is not None:
                columns["checksum"] = f"{total.item() & 0xFFFFFFFFFFFFFFFF:016x}"
            return None
        counts = [torch.isnan(data).sum(), torch.isinf(data).sum()]
        absent = torch.full((), -1, device=data.device)
        halves = [absent, absent] if total is None else [(total >> 32) & 0xFFFFFFFF, total & 0xFFFFFFFF]
        return self._kept(torch.stack([one.double() for one in (low, high, norm, *counts, *halves)]))

    def _kept(self, figures: Any) -> tuple[Block, int]:
        device = figures.device
        block = self._blocks.get(device)
        if block is None or block.full:
            block = self._blocks[device] = Block(self._torch, device)
        place = block.put(figures)
        if block.full:
            block.ship()
        return block, place


def _named(low: float, high: float, norm: float, nans: int, infs: int) -> Row:
    absmax = math.nan if math.isnan(low) or math.isnan(high) else max(abs(low), abs(high))
    return {"min": low, "max": high, "l2norm": norm, "absmax": absmax, "nan_count": nans, "inf_count": infs}


def _checksum(torch: Any, data: Any) -> Any:
    """Sum of the bits, in words of 8 bytes, each times an odd number of its own place, modulo 2**64: one changed word
    always changes it, and the order of summation never does."""
    octets = data.contiguous().reshape(-1).view(torch.uint8)
    if octets.numel() % 8 or octets.storage_offset() % 8:
        octets = torch.nn.functional.pad(octets, (0, -octets.numel() % 8)).clone()
    words = octets.view(torch.int64)
    rows = words.numel() // _WORDS
    weights = _weights(torch, words.device, max(_WORDS, rows + 1))
    rest = words[rows * _WORDS :]
    total = (rest * weights[: rest.numel()]).sum() * weights[rows]
    if rows:
        sums = (words[: rows * _WORDS].view(rows, _WORDS) * weights[:_WORDS]).sum(1)
        total = total + (sums * weights[:rows]).sum()
    return total


@lru_cache(maxsize=8)
def _weights(torch: Any, device: Any, length: int) -> Any:
    return torch.arange(1, 2 * length, 2, device=device) * _ODD


@lru_cache(maxsize=256)
def _text(kind: Any) -> str:
    return str(kind)


def _unwrapped(torch: Any, value: Any) -> Any:
    """The tensor inside the wrappers of torch.func, of a collective under way, and of a sharded tensor."""
    functorch = torch._C._functorch
    while torch.is_tensor(value):
        if functorch.is_functorch_wrapped_tensor(value):
            value = functorch.get_unwrapped(value)
        elif hasattr(value, "trigger_wait"):
            value = value.trigger_wait()
        elif hasattr(value, "_local_tensor"):
            value = value._local_tensor
        else:
            break
    return value


def _is_fake(torch: Any, value: Any) -> bool:
    names = {kind.__name__ for kind in type(value).__mro__}
    return bool(names & {"FakeTensor", "FunctionalTensor"}) or torch._is_functional_tensor(value)


def _is_captured(torch: Any, value: Any) -> bool:
    """While a graph of kernels is captured nothing may be added to it."""
    if value.device.type == "cpu":
        return False
    capturing = getattr(getattr(torch, value.device.type, None), "is_current_stream_capturing", None)
    return capturing is not None and bool(capturing())


def _shape(value: Any) -> list[int]:
    return [] if value.is_nested else list(value.shape)


def _dense(torch: Any, value: Any) -> Any:
    """Sparse and nested tensors give their values, complex ones both parts, 8-bit formats a wider copy."""
    if value.is_nested:
        value = (
            value.values() if value.layout == torch.jagged else torch.cat([one.reshape(-1) for one in value.unbind()])
        )
    if value.layout == torch.sparse_coo:
        value = value._values()
    elif value.layout != torch.strided:
        value = value.values()
    if value.is_complex():
        value = torch.view_as_real(value.resolve_conj())
    return value.float() if value.element_size() == 1 else value
