"""Gauges of xpu_timer that say how long the kernels of a rank take: a mean over the last ones, no step → a row of `timings`.

A rate of products (XPU_TIMER_MM_KERNEL_FLOPS, in TFLOP/s) becomes the time of one teraflop: of equal work, whatever the sizes
of the products are. Its label `level` is a class of that very rate and tells no kind.
"""

from collections.abc import Mapping
from typing import Any

_PHASES = {"XPU_TIMER_MM_KERNEL_AVG_LATENCY": "matmul", "XPU_TIMER_COLL_KERNEL_AVG_LATENCY": "comm"}
_RATE = "XPU_TIMER_MM_KERNEL_FLOPS"
_KIND = ("operation", "transport", "algorithm", "dtype", "small")  # only kernels that agree in these are alike


def timing(name: str, labels: Mapping[str, str], row: Mapping[str, Any]) -> dict[str, Any] | None:
    """A sample (`row`: its row of devices) → phase, name of the kind of kernel, milliseconds; null for other metrics."""
    if (name not in _PHASES and name != _RATE) or row["value"] is None or row["rank"] is None:
        return None
    kind = " ".join(labels[label] for label in _KIND if label in labels)
    made = {"rank": row["rank"], "host": row["host"], "level": 1, "time_ns": row["time_ns"]}
    if name == _RATE:
        kind = f"{kind}, a teraflop"
        return made | {"phase": "matmul", "name": kind, "value_ms": 1e3 / row["value"]} if row["value"] > 0 else None
    return made | {"phase": _PHASES[name], "name": kind, "value_ms": row["value"] / 1e3}
