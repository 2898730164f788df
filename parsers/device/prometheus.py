"""Prometheus text exposition: gauges of dcgm-exporter, node-exporter, RDMA exporters and xpu_timer, as saved by hand.

    # TYPE DCGM_FI_DEV_GPU_TEMP gauge
    DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-1f0c",pci_bus_id="00000000:3B:00.0",Hostname="n1"} 41 1740669002000
    XPU_TIMER_COMMON_HANG{ip="10.0.0.1",job_name="j",local_rank="2",pod_name="p-0",rank="2"} 1

A metric is the name, with the labels that do not say who (sorted) in braces. Labels that say who fill host, rank,
device_index, uuid and pci. `XPU_TIMER_COMMON_HANG` above 0 is also an event heartbeat_lost of that rank: the timer of
DLRover saw a kernel that did not end. Latencies of xpu_timer are microseconds; the means of its products and collectives, and the
rates of its products, are rows of timings instead; the loss and the norm of a training are rows of steps (parsers/training/gauges.py), statistics of modules rows of tensors
(parsers/numerics/module_gauges.py). The stamp, where there is one, is in milliseconds; a scrape every 15 to 60 s cannot show what is
shorter.

Printed by: dcgm-exporter, node-exporter, xpu_timer, or curl of any such end point.
Versions: text format 0.0.4 of Prometheus.
Source: Prometheus' documentation of exposition formats; DLRover's xpu_timer.
"""

import re
from collections.abc import Mapping
from typing import Any

from parsers.device.labels import sample
from parsers.forms.reading import real, text_lines
from parsers.numerics.module_gauges import ModuleGauges
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, table
from parsers.text import vocabulary
from parsers.text.patterns import regex
from parsers.training.gauges import Gauges

_SAMPLE = regex(
    r"^(?P<name>[A-Za-z_:][\w:]{0,200})(?:\{(?P<labels>.{0,8000})\})?\s+(?P<value>[-+\w.]{1,40})"
    r"(?:\s+(?P<time>-?\d{1,16}))?\s*$"
)
_SAMPLES = regex(rb"\s*(?:[A-Za-z_:][\w:]*\{[A-Za-z_]\w*=\"[^\n]{0,2000}\}\s+[-+\w.]{1,40}(?:\s+\d{1,16})?\s*\n){3}")
_HEAD = regex(rb"(?m)^# TYPE ([A-Za-z_:][\w:]*) (?:gauge|counter|untyped|summary|histogram)\s*\n\1")
_LABEL = regex(r'([A-Za-z_]\w{0,100})="((?:[^"\\]|\\.)*)"')
_HANG = "XPU_TIMER_COMMON_HANG"
_PHASES = {"XPU_TIMER_MM_KERNEL_AVG_LATENCY": "matmul", "XPU_TIMER_COLL_KERNEL_AVG_LATENCY": "comm"}
_RATE = "XPU_TIMER_MM_KERNEL_FLOPS"
_KIND = ("operation", "transport", "algorithm", "dtype", "small")  # only kernels that agree in these are alike
_ROWS = 5_000_000


def accepts(_path: str, head: bytes) -> bool:
    """By a TYPE line followed by a sample of that name, or samples with labels on its first lines."""
    return (b"# TYPE " in head and _HEAD.search(head) is not None) or _SAMPLES.match(head) is not None


def parse(source: Source) -> Tables:
    """devices (a sample per row), timings (mean latencies of kernels), steps, events heartbeat_lost (code xpu_timer_hang); lines that are no sample are unread."""
    devices: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
    timings: list[dict[str, Any]] = []
    claimed: list[dict[str, Any]] = []
    unread: list[dict[str, Any]] = []
    gauges, modules = Gauges(), ModuleGauges()
    for number, text in text_lines(source):
        place = {"file": source.path, "line": number}
        found = _SAMPLE.match(text)
        if found is None:
            if text.startswith("#"):
                claimed.append(place)
            elif text.strip():
                unread.append(place | {"reason": "not a sample of the Prometheus text format"})
            continue
        if len(devices) + len(timings) >= _ROWS:
            unread.append(place | {"reason": f"more than {_ROWS} samples"})
            break
        labels = dict(_LABEL.findall(found["labels"] or ""))
        row = place | _sample(found, labels, source)
        if (meant := vocabulary.meaning_of(found["name"])) is not None and meant.meaning == "step":
            modules.counts(row)
        if gauges.takes(row) or modules.takes(found["name"], labels, row):
            continue
        if (mean := _timing(found["name"], labels, row)) is not None:
            timings.append(place | mean)
            continue
        devices.append(row)
        if found["name"] == _HANG and (real(row["value"]) or 0.0) > 0:
            events.append(place | _hang(row, text))
    return {
        "devices": table("devices", devices),
        "events": table("events", events),
        "timings": table("timings", timings),
        **gauges.tables(),
        **modules.tables(),
        "claimed": table("claimed", claimed),
        "unread": table("unread", unread),
    }


def _sample(found: re.Match[str], labels: dict[str, str], source: Source) -> dict[str, Any]:
    time = found["time"]
    row = sample(found["name"], labels, found["value"], source)
    return row | {"time_ns": int(time) * 10**6 if time and len(time) < 14 else None}


def _timing(name: str, labels: Mapping[str, str], row: Mapping[str, Any]) -> dict[str, Any] | None:
    """How long the kernels of a rank take, a mean over the last ones, by a gauge of xpu_timer (`row`: its row of devices): phase, name of the kind
    of kernel, milliseconds; null for other metrics. A rate of products, in TFLOP/s, becomes the time of one teraflop: of equal work, whatever the
    sizes of the products are. Its label `level` is a class of that very rate and tells no kind."""
    if (name not in _PHASES and name != _RATE) or row["value"] is None or row["rank"] is None:
        return None
    kind = " ".join(labels[label] for label in _KIND if label in labels)
    made = {"rank": row["rank"], "host": row["host"], "level": 1, "time_ns": row["time_ns"]}
    if name == _RATE:
        kind = f"{kind}, a teraflop"
        return made | {"phase": "matmul", "name": kind, "value_ms": 1e3 / row["value"]} if row["value"] > 0 else None
    return made | {"phase": _PHASES[name], "name": kind, "value_ms": row["value"] / 1e3}


def _hang(row: dict[str, Any], text: str) -> dict[str, Any]:
    return {
        "kind": "heartbeat_lost", "code": "xpu_timer_hang", "severity": "error",
        "host": row["host"], "rank": row["rank"],
        "rank_space": None if row["rank"] is None else "global", "time_ns": row["time_ns"], "value": row["value"],
        "time_basis": None if row["time_ns"] is None else "utc", "text": text[:2000],
    }  # fmt: skip


PARSER = FileParser(name="prometheus", accepts=accepts, parse=parse)
