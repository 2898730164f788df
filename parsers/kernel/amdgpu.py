"""RAS and reset lines of the amdgpu kernel driver (Instinct cards in mixed clusters), kernels 5.x and 6.x.

    amdgpu 0000:c1:00.0: amdgpu: 2 uncorrectable hardware errors detected in umc block
    amdgpu 0000:c1:00.0: amdgpu: socket: 3, die: 0, 1 new correctable hardware errors detected in gfx block
    amdgpu 0000:c1:00.0: amdgpu: {7} socket: 3, die: 0, 4 uncorrectable hardware errors detected in total in umc block
    amdgpu 0000:c1:00.0: amdgpu: {3} uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!
    amdgpu: [drm] RAS event of type ERREVENT_ATHUB_INTERRUPT detected!                        (kernels 5.x, no address)
    amdgpu 0000:c1:00.0: amdgpu: GPU reset begin!
    amdgpu 0000:c1:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=1, emitted seq=3
    [drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring sdma0 timeout, signaled seq=1, emitted seq=3      (kernels 5.x, no address)
    amdgpu 0000:c1:00.0: amdgpu: GPU mode1 reset failed · ASIC reset failed with error, -121 for drm dev, 0000:c1:00.0
    [drm:amdgpu_device_fw_loading [amdgpu]] *ERROR* resume of IP block <psp> failed -62

`no … errors detected` is an all-clear that holds the words of the fault; running totals repeat a fault that has been
reported: both are claimed only. A reset follows from an error, and takes all GPUs that are linked to the one that had it.

Printed by: the amdgpu driver of Linux.
Versions: kernels 5.x and 6.x.
Source: drivers/gpu/drm/amd/amdgpu/amdgpu_ras.c and amdgpu_device.c.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from parsers.schema.parser import LineParser
from parsers.schema.rules import Rule, read_kernel
from parsers.schema.tables import Tables
from parsers.text.patterns import regex

_BDF = r"amdgpu (?P<pci>[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]): (?:amdgpu: )?(?:\{\d+\} ?)?"
_PLACE = r"(?:socket: ?(?P<socket>\d+),? ?)?(?:die: ?(?P<die>\d+),? ?)?"
_WHAT = r"(?P<level>uncorrectable|correctable|deferred) hardware errors detected in"


def _ras(groups: Mapping[str, str]) -> Mapping[str, Any]:
    severity = "fatal" if groups["level"] == "uncorrectable" else "warning"
    return {"code": f"ras:{groups['level']}", "severity": severity if float(groups["value"]) else "info"}


RULES = (
    Rule(regex(rf"{_BDF}{_PLACE}no {_WHAT}"), None),
    Rule(regex(rf"{_BDF}{_PLACE}\d+ {_WHAT} total in "), None),
    Rule(
        regex(rf"{_BDF}{_PLACE}(?P<value>\d{{1,18}}) (?:new )?{_WHAT} (?P<block>[\w.]{{1,32}}) block"),
        "gpu_error", refine=_ras,
    ),
    Rule(
        regex(rf"{_BDF}[Uu]ncorrectable hardware error ?\((?P<event>ERREVENT\w{{1,40}})\) detected"),
        "gpu_error", "fatal", "ras:{event}",
    ),
    Rule(regex(r"RAS event of type (?P<event>ERREVENT\w{1,40}) detected"), "gpu_error", "fatal", "ras:{event}"),
    Rule(
        regex(rf"{_BDF}(?P<what>(?:RAS )?[Pp]oison[^\n]{{0,120}})"), "gpu_error", "fatal", "ras:poison"
    ),
    Rule(
        regex(rf"{_BDF}(?:\[drm\] \*ERROR\* )?ring (?P<ring>[\w.]{{1,32}}) timeout"),
        "gpu_error", "error", "ring_timeout",
    ),
    Rule(
        regex(
            rf"{_BDF}(?P<what>(?:GPU (?:\w{{1,12}} )?reset(?:\(\d+\))? failed|GPU reset end with ret = -\d+|ASIC reset failed with error)[^\n]{{0,80}})"
        ),
        "gpu_error", "fatal", "reset_failed",
    ),
    Rule(
        regex(r"\[drm:amdgpu_\w{1,40}(?: \[amdgpu\])?\] \*ERROR\* ring (?P<ring>[\w.]{1,32}) timeout"),
        "gpu_error", "error", "ring_timeout",
    ),
    Rule(
        regex(r"\*ERROR\* (?:amdgpu: )?resume of IP block <(?P<block>\w{1,20})> failed (?P<error>-\d{1,4})"),
        "gpu_error", "fatal", "resume_failed",
    ),
    Rule(regex(rf"{_BDF}GPU reset\(\d+\) succeeded"), "gpu_error", "info", "reset_succeeded"),
    Rule(regex(rf"{_BDF}GPU reset (?P<phase>begin|end with ret = -?\d+)"), "gpu_error", "error", "reset"),
    Rule(regex(rf"{_BDF}(?:device lost from bus|GPU recovery disabled)[^\n]{{0,80}}"), "gpu_lost", "fatal"),
)  # fmt: skip


def parse(lines: pl.DataFrame) -> Tables:
    """events gpu_error (code ras:…, ring_timeout, reset…; `value` = number of errors) and gpu_lost."""
    return read_kernel(lines, RULES)


PARSER = LineParser(
    name="amdgpu", anchors=(b"amdgpu 0", b"amdgpu 1", b"RAS event of type ", b"[drm:amdgpu_"), parse=parse, of_host=True
)
