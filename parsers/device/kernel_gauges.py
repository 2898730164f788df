"""Gauges of xpu_timer that say how long the kernels of a rank take: a mean over the last ones, no step → a row of `timings`."""

from collections.abc import Mapping
from typing import Any

_PHASES = {"XPU_TIMER_MM_KERNEL_AVG_LATENCY": "matmul", "XPU_TIMER_COLL_KERNEL_AVG_LATENCY": "comm"}
_KIND = ("operation", "transport", "algorithm", "dtype", "small")  # only kernels that agree in these are alike


def timing(name: str, labels: Mapping[str, str], row: Mapping[str, Any]) -> dict[str, Any] | None:
    """A sample (`row`: its row of devices) → phase, name of the kind of kernel, milliseconds; null for other metrics."""
    if name not in _PHASES or row["value"] is None or row["rank"] is None:
        return None
    kind = " ".join(labels[label] for label in _KIND if label in labels)
    return {
        "rank": row["rank"], "host": row["host"], "phase": _PHASES[name], "name": kind, "level": 1, "value_ms": row["value"] / 1e3,
        "time_ns": row["time_ns"],
    }  # fmt: skip
