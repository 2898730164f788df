"""Kernel reports of PCI Express and memory errors: AER, EDAC, machine checks, GHES (`[Hardware Error]`).

Printed by drivers/pci/pcie/aer.c and err.c, drivers/edac, arch/x86 mce and drivers/acpi/apei; kernels 3.10 to 6.x:

    pcieport 0000:40:01.1: AER: Multiple Uncorrected (Fatal) error received: 0000:41:00.0
    pcieport 0000:40:01.1: AER: Correctable error message received from 0000:41:00.0          (6.9 and later)
    pcieport 0000:40:01.1: AER: Uncorrected (Fatal) error received: id=4100                   (until 5.0: bus, device, function)
    pcieport 0000:40:01.1: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, id=4100(Receiver ID)
    pcieport 0000:40:01.1:    [ 5] Surprise Down Error    (First)
    mlx5_core 0000:41:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer, (Requester ID)
    mlx5_core 0000:41:00.0:   device [15b3:1021] error status/mask=00004000/00000000
    mlx5_core 0000:41:00.0:    [14] CmpltTO                (First)
    pcieport 0000:40:01.1: AER: device recovery failed
    pcieport 0000:40:01.1: DPC: containment event, status:0x1f01 source:0x0000
    EDAC MC3: 1 UE memory read error on CPU_SrcID#1_MC#1_Chan#0_DIMM#0 (channel:0 slot:0 page:0x1a offset:0x0)
    mce: [Hardware Error]: Machine check events logged
    {1}[Hardware Error]: event severity: recoverable

A corrected error is an info or a warning and accuses nobody. What EDAC says at boot (`EDAC MC0: Giving out device …`,
`EDAC MC: Ver: 3.0.0`) is claimed and makes no event.

Printed by: the kernel (drivers/pci/pcie, drivers/edac, arch/x86 mce, drivers/acpi/apei).
Versions: kernels 3.10 to 6.x; AER in both wordings (6.9 changed it).
Source: the format strings in these files.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from parsers.schema.parser import LineParser
from parsers.schema.rules import Rule, pci, read_kernel
from parsers.schema.tables import Tables
from parsers.text.patterns import regex

_GPU_DRIVER = r"\b(?:nvidia|amdgpu|habanalabs|xe|mtgpu|metax) [0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]: (?:AER: )?can't recover"
_BDF = r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"


def _aer(groups: Mapping[str, str]) -> Mapping[str, Any]:
    level = groups["level"].lower()
    made: dict[str, Any] = {"code": "aer:fatal", "severity": "fatal"}
    if level.startswith("correct"):
        made = {"code": "aer:correctable", "severity": "info"}
    elif "non-fatal" in level or "nonfatal" in level:
        made = {"code": "aer:nonfatal", "severity": "warning"}
    if "requester" in groups:  # bus, device and function in one number; the domain is the port's
        number, domain = int(groups["requester"], 16), groups["port"].partition(":")[0]
        made["pci"] = pci(f"{domain}:{number >> 8:02x}:{number >> 3 & 0x1F:02x}.{number & 7}")
        made["detail"] = {"requester": None}
    return made


def _memory(groups: Mapping[str, str]) -> Mapping[str, Any]:
    is_corrected = groups["level"].upper() == "CE"
    return {"code": "correctable"} if is_corrected else {"code": "uncorrectable", "severity": "error"}


def _ghes(groups: Mapping[str, str]) -> Mapping[str, Any]:
    level = groups["level"].lower()
    if level in ("corrected", "info"):
        return {"code": "correctable", "severity": "info"}
    return {"code": "uncorrectable", "severity": "fatal" if level == "fatal" else "error"}


_LEVEL = r"(?P<level>[Cc]orrect(?:ed|able)|[Uu]ncorrect(?:ed|able) ?\((?:[Nn]on-?)?[Ff]atal\))"
RULES = (
    Rule(
        regex(
            rf"(?P<port>{_BDF}): AER: (?P<multiple>Multiple )?{_LEVEL} error"
            rf"(?: message)? received(?: from|:) (?:(?P<pci>{_BDF})|id=(?P<requester>[0-9a-f]{{4}}))"
        ),
        "pcie_error", refine=_aer,
    ),
    Rule(
        regex(
            rf"(?P<pci>{_BDF}): (?:AER: )?PCIe Bus Error: severity={_LEVEL}, "
            r"type=(?P<layer>[^,(]{1,60}),? (?:id=[0-9a-f]{4})?\((?:id=)?(?P<agent>[^)]{1,40})\)"
        ),
        "pcie_error", refine=_aer,
    ),
    Rule(
        regex(rf"(?P<pci>{_BDF}): (?:AER: )?device recovery failed"), "pcie_error", "fatal", "aer:recovery_failed"
    ),
    Rule(
        regex(rf"(?P<pci>{_BDF}): (?:AER: )?(?:can't recover|subordinate device reset failed)"),
        "pcie_error", "fatal", "aer:recovery_failed",
    ),
    Rule(
        regex(rf"(?P<pci>{_BDF}): DPC: containment event, status:\s?(?P<status>0x[0-9a-f]+)"),
        "pcie_error", "fatal", "dpc",
    ),
    Rule(regex(rf"pciehp {_BDF}(?::pcie\d+)?: .*?Link Down"), "pcie_error", "fatal", "link_down"),
    Rule(regex(rf"{_BDF}: (?:AER: )?(?:device recovery successful|  ?device \[[0-9a-f:]+\] error status)"), None),
    Rule(
        regex(rf"(?P<pci>{_BDF}): (?:AER: )? {{2,6}}\[ ?5\] (?P<what>Surprise Down(?: Error)?|SDES)"),
        "pcie_error", "fatal", "aer:surprise_down",
    ),
    Rule(regex(rf"{_BDF}: (?:AER: )? {{2,6}}\[ ?\d+\] \w+"), None),
    Rule(regex(rf"{_BDF}: (?:AER: )?(?:broadcast \w+ message|device has no AER-aware driver)"), None),
    Rule(
        regex(
            r"EDAC (?:\w+ )?MC(?P<controller>\d+): (?P<count>\d+) (?P<level>CE|UE) (?P<what>.{1,80}?) on "
            r"(?P<where>[^\n(]{1,120})"
        ),
        "memory_error", "warning", refine=_memory,
    ),
    Rule(
        regex(r"EDAC (?P<unit>[\w#]+)[:,] .{0,80}?(?P<level>CE|UE) (?P<what>memory [\w ]{1,60}error)"),
        "memory_error", "warning", refine=_memory,
    ),
    Rule(regex(r"\bEDAC (?:MC\d*|amd64|\w+_edac|igen6|i\d+|DEBUG|sbridge|skx|ie31200)\b"), None),
    Rule(
        regex(r"\{\d+\}\[Hardware Error\]: event severity: (?P<level>corrected|recoverable|fatal|info)"),
        "memory_error", refine=_ghes,
    ),
    Rule(
        regex(r"\[Hardware Error\]: Corrected error, no action required|Corrected hardware error"),
        "memory_error", "info", "correctable",
    ),
    Rule(
        regex(
            r"\[Hardware Error\]: (?:Uncorrected|System Fatal|Deferred) error|"
            r"\[Hardware Error\]: CPU (?P<cpu>\d+): Machine Check(?: Exception)?: (?P<mcg>[0-9a-f]+)? ?"
            r"Bank (?P<bank>\d+): (?P<status>[0-9a-f]{1,16})"
        ),
        "memory_error", "error", refine=lambda groups: {"code": _bank_code(groups.get("status"))},
    ),
    Rule(
        regex(r"(?:mce: )?\[Hardware Error\]: Machine check events logged"), "memory_error", "info", "mce:logged"
    ),
    Rule(
        regex(r"Kernel panic - not syncing: (?P<why>Fatal (?:local )?machine check|Fatal hardware error)[^\n]*"),
        "memory_error", "fatal", "uncorrectable",
    ),
    Rule(
        regex(r"Memory failure: (?P<page>0x[0-9a-f]+): (?P<what>[^\n]{1,120})"),
        "memory_error", "error", "uncorrectable",
    ),
    Rule(regex(r"\[Hardware Error\]:"), None),
)  # fmt: skip


def _bank_code(status: str | None) -> str:
    """Bit 61 (UC) of MCi_STATUS says whether the error was corrected; without a status it was not."""
    return "uncorrectable" if status is None or int(status, 16) >> 61 & 1 else "correctable"


def parse(lines: pl.DataFrame) -> Tables:
    """events pcie_error (code aer:…, dpc) and memory_error (code correctable | uncorrectable | mce:logged); gpu_error where a log tells of fatal
    errors, and of a GPU's driver that cannot bring its device back."""
    tables = read_kernel(lines, RULES)
    events = tables["events"]
    fatal = events.filter((pl.col("code") == "aer:fatal") & (pl.col("kind") == "pcie_error"))["file"].unique()
    is_lost = (pl.col("code") == "aer:recovery_failed") & pl.col("text").str.contains(_GPU_DRIVER)
    is_lost &= pl.col("file").is_in(fatal.implode())
    kind = pl.when(is_lost.fill_null(False)).then(pl.lit("gpu_error")).otherwise("kind")
    return {**tables, "events": events.with_columns(kind.alias("kind"))}


PARSER = LineParser(
    name="pci_memory",
    anchors=(
        b"AER:", b"PCIe Bus Error", b"device recovery failed", b"error status/mask", b"DPC: containment", b"pciehp ",
        b"EDAC ", b"[Hardware Error]", b"Memory failure: 0x", b"machine check", b"Corrected hardware error",
        b"Fatal hardware error", b"can't recover", b"device reset failed", b"(First)",
        b"Surprise Down", b"] SDES", b"broadcast error_detected", b"no AER-aware driver",
    ),
    parse=parse, of_host=True,
)  # fmt: skip
