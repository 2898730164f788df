"""Lines of the Moore Threads kernel driver (mtgpu), and its event catalogue.

Format strings after the driver published as dixyes/mtgpu-drv (of the MTT S80 age; server drivers may differ):

    MTGPU:(Error):   512-  519: ECC fault GPU=0x00000001 FW=0x00000000 [1204]
    MTGPU:(Warn):    512: Device status not OK!
    MTGPU:(Error):   512: Recovery 1: PID = 4711, frame = 0, HWRTData = 0x0, EventStatus = 0x10, Guilty Lockup
    MTGPU:(Error):   512:  PID 4711 experienced error Guilty Lockup (0x1) caller[CheckFWCCB CTX Reset Noticication] [188]
    MTGPU: mtlink: local link ID:2 remote link ID:5 link down
    [MTGPU P2P][ERROR][mtgpu_p2p_map][88] map failed
    MUSA: 4711: MMU page fault detected (Core 0 MMU Status: 0x4)
    MTML_ERROR_GPU_IS_LOST                                            (the management library's error 669)

`code` is `mt:N` where the line belongs to an entry of the catalogue (data/mthreads_events.csv, ids of the
driver's event report), else `mt:unknown`, and the text tells. A reset reason says *guilty* of the context that caused
a hang and *innocent* of its victims: `detail.role`. The number in front is
a process id of the host, that of who printed; `PID =` is that of the context.

Printed by: the mtgpu driver of Moore Threads.
Versions: the driver of the MTT S80 age; server drivers 3.x and 5.x may differ.
Source: format strings of dixyes/mtgpu-drv @4a83f8b and its inc/mtgpu/mtgpu_event_report.h.
"""

import json
import re
from functools import cache
from typing import Any

import polars as pl

from parsers.catalogues import listed
from parsers.schema.parser import LineParser
from parsers.schema.rules import integer, pci, read_bodies
from parsers.schema.tables import Tables
from parsers.text.patterns import regex

_HEAD = regex(
    r"(?:MTGPU:\((?P<level>Fatal|Error|Warn|Mesg)\)|MTGPU|MUSA):(?: +(?P<pid>\d{1,10})(?:- *(?P<tid>\d{1,10}))?:)?\s*"
    r"|(?P<mtml>MTML_ERROR_GPU_IS_LOST)|\[(?:MTGPU P2P|DMA|MISC|BOARD)\]\[(?P<tag>ERROR|WARN|INFO)\]"
)
_LEVELS = {"Fatal": "fatal", "Error": "error", "ERROR": "error", "Warn": "warning", "WARN": "warning"}
_PCI = regex(r"\b[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]\b")
_LINK = regex(r"(?:local link ID|llink):\s?(?P<link>\d+)(?:.{0,40}?(?:remote link ID|rlink):\s?(?P<remote>\d+))?")
_EVENT_ID = regex(r"\berror_id[ :=]+(?P<id>\d{1,6})\b")
_TELLTALES: tuple[tuple[re.Pattern[str], int], ...] = tuple(
    (regex(pattern, re.IGNORECASE), number)
    for pattern, number in (
        (r"mtlink recovery failed|recovery failed and (?:the )?system needs to be restarted", 1003),
        (r"link ID:.{0,60}link down|wait link up timeout", 1002),
        (r"link ID:.{0,60}link up", 1001),
        (r"bar0 .{0,40}(?:fail|access)", 1),
        (r"bar2 .{0,40}unstable", 3),
        (r"bar2 .{0,40}fail", 2),
        (r"no active connection", 2001),
        (r"device status not ok", 2002),
        (r"guilty overrun|overrun detected", 3002),
        (r"guilty lockup|lockup detected", 3001),
        (r"ecc fault|ddr .{0,20}fault", 4001),
        (r"mmu (?:page )?fault", 20001),
        (r"kccb .{0,40}time(?:d )?out|kernel ccb .{0,40}time(?:d )?out", 26001),
        (r"kmd.{0,20}umd.{0,20}mismatch", 24001),
        (r"cleanup items? dropped", 27001),
    )
)
_RECOVERED = regex(r"mmio-regs access recovered", re.IGNORECASE)
_PID = regex(
    r"\bPID(?: ?[=:] ?| {1,3})(?P<pid>\d{1,10})\b", re.IGNORECASE
)  # whose context it is; in front stands who printed
_ROLE = regex(r"\b(guilty|innocent) (?:lockup|overrun)", re.IGNORECASE)


@cache
def catalogue() -> dict[int, dict[str, str]]:
    """Rows of data/mthreads_events.csv by error_id: name, family, kind, severity, text, source."""
    return {int(row["error_id"]): row for row in listed("mthreads_events.csv")}


def parse(lines: pl.DataFrame) -> Tables:
    """events gpu_error, gpu_lost, link_down, link_up, pcie_error, gpu_oom, config_error with code mt:N, mt:recovered or
    mt:unknown.

    A line without an entry counts only where the driver calls it a warning or worse; the others are claimed.
    """
    return read_bodies(lines, _HEAD, _read)


def _read(head: re.Match[str], body: str) -> dict[str, Any] | None:
    number = _number(body)
    level = _LEVELS.get(head["level"] or head["tag"] or "")
    entry = catalogue().get(number) if number is not None else None
    if head["mtml"]:
        return {"kind": "gpu_lost", "code": "mtml:669", "severity": "fatal"}
    if _RECOVERED.search(body):  # for a while the registers could not be reached
        return {"kind": "pcie_error", "code": "mt:recovered", "severity": "info", "pid": integer(head["pid"])}
    if entry is None and number is None and level is None:
        return None
    detail: dict[str, Any] = {}
    if entry:
        detail |= {"name": entry["name"], "family": entry["family"], "meaning": entry["text"]}
    if role := _ROLE.search(body):
        detail["role"] = role[1].lower()
    if link := _LINK.search(body):
        detail |= {name: int(value[:18]) for name, value in link.groupdict().items() if value}
    device, owner = _PCI.search(body), _PID.search(body)
    severity = entry["severity"] if entry else level or "warning"
    return {
        "kind": entry["kind"] if entry else "gpu_error",
        "code": "mt:unknown" if number is None else f"mt:{number}",
        # The context that a reset hit without its own doing is a victim, whatever the entry says of the cause.
        "severity": "warning" if detail.get("role") == "innocent" else severity,
        "pid": integer(owner["pid"] if owner else head["pid"]),
        "pci": pci(device[0]) if device else None,
        "detail": json.dumps(detail, sort_keys=True) if detail else None,
    }


def _number(body: str) -> int | None:
    if printed := _EVENT_ID.search(body):
        return int(printed["id"])
    return next((number for pattern, number in _TELLTALES if pattern.search(body)), None)


PARSER = LineParser(
    name="mthreads",
    anchors=(b"MTGPU:", b"MUSA: ", b"[MTGPU P2P][", b"[DMA][", b"[MISC][", b"[BOARD][", b"MTML_ERROR_GPU_IS_LOST"),
    parse=parse,
    of_host=True,
)
