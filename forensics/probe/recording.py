"""Figures of tensors, computed on their device and copied to the host once per step without waiting for it."""

import io
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

FIGURES = ("min", "max", "l2norm", "nan_count", "inf_count")
_CHUNK = 4096  # tensors per block of figures
Row = dict[str, Any]


class Recorder:
    """Collects rows of one rank. `add` launches a few kernels and never waits; `flush` begins the copy of a step's
    figures and writes those of the step before, whose copy has long arrived."""

    def __init__(self, torch: Any, folder: Path, rank: int, form: Literal["jsonl", "parquet"]) -> None:
        self._torch, self._form = torch, form
        self._rank, self._seq, self._part = rank, 0, 0
        self._path = folder / f"rank_{rank}.{form}"
        self._rows: list[Row] = []
        self._blocks: dict[Any, list[Any]] = {}  # device → blocks of figures
        self._places: list[tuple[Any, int, int]] = []  # per row: device, block, place in it
        self._used: dict[Any, int] = {}
        self._pending: tuple[list[Row], list[tuple[Any, int, int]], dict[Any, list[Any]], list[Any]] | None = None
        folder.mkdir(parents=True, exist_ok=True)
        if form == "jsonl":
            self._path.write_bytes(b"")

    def add(self, value: Any, /, **columns: Any) -> None:
        """One row. What is no floating tensor, or is empty, has no figures and is left out."""
        torch = self._torch
        if not torch.is_tensor(value) or not value.is_floating_point() or not value.numel() or value.is_meta:
            return
        with torch.no_grad():
            data = _dense(value.detach())
            low, high = torch.aminmax(data)
            norm = torch.linalg.vector_norm(data, dtype=torch.float32)
            if data.device.type == "cpu" and bool(torch.isfinite(low) & torch.isfinite(high)):
                counts = [torch.zeros(())] * 2  # on the host asking costs nothing: no NaN, no Inf
            else:
                counts = [torch.isnan(data).sum().float(), torch.isinf(data).sum().float()]
            figures = torch.stack([low.float(), high.float(), norm, *counts])
            device = figures.device
            used = self._used.get(device, 0)
            block, place = divmod(used, _CHUNK)
            blocks = self._blocks.setdefault(device, [])
            if block == len(blocks):
                blocks.append(torch.empty((_CHUNK, len(FIGURES)), device=device))
            blocks[block][place] = figures
        self._used[device] = used + 1
        self._places.append((device, block, place))
        name = str(value.dtype).removeprefix("torch.")
        row = {"rank": self._rank, "seq": self._seq, **columns, "dtype": name, "shape": list(value.shape)}
        self._rows.append({**row, "numel": value.numel(), "device": str(device)})
        self._seq += 1

    def flush(self) -> None:
        """The end of a step."""
        ready = self._pending
        copies, events = {}, []
        for device, blocks in self._blocks.items():
            copies[device] = [_to_host(self._torch, block) for block in blocks]
            if device.type != "cpu":
                event = getattr(self._torch, device.type).Event()
                event.record()
                events.append(event)
        self._pending = (self._rows, self._places, copies, events)
        self._rows, self._places, self._blocks, self._used = [], [], {}, {}
        if ready is not None:
            self._write(*ready)

    def close(self) -> None:
        self.flush()
        self.flush()

    def _write(
        self, rows: list[Row], places: list[tuple[Any, int, int]], copies: Mapping[Any, list[Any]], events: list[Any]
    ) -> None:
        for event in events:
            event.synchronize()
        values = {device: [block.tolist() for block in blocks] for device, blocks in copies.items()}
        for row, (device, block, place) in zip(rows, places, strict=True):
            low, high, norm, nans, infs = values[device][block][place]
            row |= {"min": low, "max": high, "l2norm": norm, "nan_count": int(nans), "inf_count": int(infs)}
            row["absmax"] = math.nan if math.isnan(low) or math.isnan(high) else max(abs(low), abs(high))
        if not rows:
            return
        if self._form == "jsonl":
            text = "".join(
                json.dumps({key: value for key, value in row.items() if value is not None}) + "\n" for row in rows
            )
            with self._path.open("a", encoding="utf-8") as out:
                out.write(text)
            return
        self._write_parquet(rows)

    def _write_parquet(self, rows: list[Row]) -> None:
        import polars as pl

        names = list(dict.fromkeys(name for row in rows for name in row))
        columns = {name: [row.get(name) for row in rows] for name in names}
        columns["shape"] = [json.dumps(shape) for shape in columns["shape"]]
        out = io.BytesIO()
        pl.DataFrame(columns, strict=False).write_parquet(out)
        self._path.with_name(f"rank_{self._rank}_part_{self._part:06d}.parquet").write_bytes(out.getvalue())
        self._part += 1


def _dense(tensor: Any) -> Any:
    """Sharded tensors give their own part, sparse ones their values, narrow formats a wider copy."""
    tensor = getattr(tensor, "_local_tensor", tensor)
    if getattr(tensor, "is_sparse", False):
        tensor = tensor.coalesce().values()
    return tensor.float() if tensor.element_size() == 1 else tensor


def _to_host(torch: Any, block: Any) -> Any:
    if block.device.type == "cpu":
        return block
    host = torch.empty(block.shape, dtype=block.dtype, device="cpu", pin_memory=True)
    return host.copy_(block, non_blocking=True)
