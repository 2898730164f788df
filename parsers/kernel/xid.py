"""What NVIDIA's kernel driver says of a device: Xid, SXid of the switches, lost devices. Drivers 340 to 595.

    NVRM: Xid (PCI:0000:5d:00): 94, pid=4711, name=python3, Contained: SM (0x1). RST: No, D-RST: No
    NVRM: Xid (PCI:0000:5d:00 GPU-I:01 GPU-CI:00): 45, Ch 00000008 caused by previous Xid 94
    NVRM: Xid (PCI:0000:5d:00): 31, pid='<unknown>', name=<unknown>, Ch 00000010, …
    NVRM: Xid (0000:5d:00): 13, 0001 00000000 …
    nvidia-nvswitch2: SXid (PCI:0000:86:00.0): 12028, Non-fatal, Link 61 egress non-posted PRIV error (First)
    XID 94(Contained memory error) detected on PCI:0000:5d:00                 (gpud, which reads the kernel's log)
    NVRM: GPU 0000:5d:00.0: GPU has fallen off the bus.
    NVRM: The NVIDIA GPU 0000:5d:00.0
    NVRM: (PCI ID: 10de:2330) installed in this system has
    NVRM: fallen off the bus and is not responding to commands.
    NVRM: GPU 0000:5d:00.0: RmInitAdapter failed! (0x62:0xffff:2477)
    NVRM: GPU at PCI:0000:5d:00: GPU-0a1b2c3d-…
    NVRM: GPU0 _kgspIsHeartbeatTimedOut: Heartbeat timed out, … timeout 5200 · NVRM: GPU0 _kgspRpcRecvPoll: GSP RM heartbeat timed out
    NVRM: kfspWaitForResponse_IMPL: FSP command timed out       and of other processors on the device: FSP, SEC2, PMU, any falcon
    nvidia-nvswitch2: SXid (PCI:0000:86:00.0): 12028, Severity 1 Engine instance 61 Sub-engine instance 00   (a report's second line)
    Unable to determine the device handle for GPU 0000:5D:00.0: GPU is lost.  Reboot …            (nvidia-smi)

The pid is the host's; for errors bound to a channel it is who allocated that channel, else whoever called just then.
The driver limits its prints, so counts are lower bounds. Of the firmware's time-outs (gsp_timeout), which come in storms, the
first of a device and kind is an event. An SXid whose first line is lost is read from its second (0 = non-fatal, 1 = fatal). Severity and first action come from data/xid.csv and
data/sxid.csv; a code that is not there stays a `gpu_error` without severity from us.

Printed by: NVIDIA's kernel driver; gpud.
Versions: 340 to 595; process names since 4xx, optional since 570.86, `caused by previous Xid` since 570.124.
Source: NVIDIA's open kernel modules, Xid catalogue and Fabric Manager guide; data/xid.csv, data/sxid.csv,
data/nvlink5.csv.
"""

import json
import re
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from typing import Any

import polars as pl

from parsers.catalogues import rows
from parsers.kernel.nvlink5 import decoded
from parsers.schema.lines import Row, claimed, event, reporter
from parsers.schema.parser import LineParser
from parsers.schema.tables import Rows, Tables, tables_of
from parsers.text.patterns import regex

_PCI = r"(?:PCI:)?(?P<pci>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-9a-fA-F])?)"
_XID = regex(rf"NVRM: Xid \({_PCI}(?P<instance>[^)]*)\): (?P<code>\d{{1,6}})(?:, ?(?P<rest>(?:(?!NVRM: ).)*))?")
_MONITORED = regex(rf"\bXID (?P<code>\d{{1,6}}) ?\((?P<rest>[^()]{{0,200}})\) detected on {_PCI}(?P<instance>)")
_PROCESS = regex(r"^pid='?(?P<pid>\d{1,9}|<unknown>)'?(?:, name=(?P<name>[^,]*))?(?:, |$)")
_CAUSED_BY = regex(r"caused by previous Xid (\d{1,6})")
_SXID = regex(rf"(?P<switch>nvidia-nvswitch\d{{1,3}}): SXid \({_PCI}\): (?P<code>\d{{1,6}}), ?(?P<rest>.*)")
_SXID_CLASS = regex(r"^(?P<class>Fatal|Non-fatal|Correctable)\b(?:, Link (?P<link>\d{1,3}))?", re.IGNORECASE)
_SXID_MORE = regex(r"^(?:Severity \d|Data \{|Severity)")
_SXID_SEVERITY = regex(r"^Severity (?P<severity>\d) Engine instance (?P<engine>\d{1,4})")
_GSP = regex(
    r"NVRM: (?:(?P<gpu>GPU\d{1,3}) )?(?P<function>_?k(?:gsp|fsp|sec2|flcn|pmu)\w{1,60}|_issueRpcAndWait\w*|rpc\w{1,60}_wrapper\w*): "
    r"(?P<what>.{0,200}?(?:timed out|[Tt]ime-?out|did not respond|is hung|crashed).{0,200})"
)
_LOST = regex(rf"NVRM: GPU {_PCI}: GPU has fallen off the bus")
# What nvidia-smi prints of a device that does not answer.
_NO_HANDLE = regex(
    rf"Unable to determine the device handle for (?:GPU ?\d{{0,3}}:? ?)?{_PCI}: (?P<why>GPU is lost|Unknown Error)"
)
_LOST_HEAD = regex(rf"NVRM: The NVIDIA (?:probed )?GPU {_PCI}")
_LOST_MIDDLE = regex(r"NVRM: \(PCI ID: (?P<id>[0-9a-fA-F:]{4,12})\)")
_LOST_TAIL = regex(r"NVRM: fallen off the bus and is not responding")
_INIT_FAILED = regex(rf"NVRM: GPU {_PCI}: Rm[iI]nitAdapter failed! \((?P<code>[^)]*)\)")
_INIT_FAILED_MORE = regex(r"rm_init_adapter failed|probe routine failed for|NVRM: Rate limiting|RmInitAdapter failed")
_RESET = regex(r"NVRM: .*NV_ERR_RESET_REQUIRED")
_ADDRESS = regex(_PCI)
_IDENTITY = regex(rf"NVRM: GPU at {_PCI}: (?P<uuid>GPU-[0-9a-fA-F-]{{8,40}})")
_SERIAL = regex(r"NVRM: GPU Board Serial Number: (?P<serial>\w{1,40})")
_DRIVER = regex(r"NVRM: loading NVIDIA UNIX .*?Kernel Module(?: for \S+)?\s+(?P<driver>\d{3}\.\d[\d.]*)")
# The tables that follow a GSP timeout: the last calls, with their data.
_HISTORY = regex(
    r"NVRM: (?:GPU\d{1,3} (?:GSP )?RPC |GPU\d{1,3} (?:RPC )?history |\s*(?:entry|-?\d+)\s+(?:function|\d+))"
)
_RECOVERY = regex(r"GPU recovery action changed from 0x\w+ \((?P<before>[^)]{1,60})\) to 0x\w+ \((?P<now>[^)]{1,60})\)")
_CONTAINMENT = regex(r"^(?P<how>Contained|Uncontained): (?P<unit>[A-Z][A-Z ]{1,20}?)\s*\(")
_LINK = regex(r"NVLink: .{1,60}? (?:on|for) link (?P<link>\d{1,3})")
_SEVERITIES = {"critical": "fatal", "error": "error", "warning": "warning", "info": "info"}
_SXID_SEVERITIES = {"fatal": "fatal", "non-fatal": "error", "correctable": "warning"}


def parse(lines: pl.DataFrame) -> Tables:
    """events gpu_error (code xid:N, sxid:N, …) and gpu_lost; devices with uuid and serial number per PCI address;
    settings: the driver's version, where it says that it loads."""
    reader = _Reader()
    # A frame for each of many hosts costs more than its lines.
    begun = pl.col("_row").first().over("file", "host")
    ordered = lines.with_row_index("_row").sort(begun, maintain_order=True).drop("_row")
    for _, rows_of_log in groupby(ordered.iter_rows(named=True), key=itemgetter("file", "host")):
        reader.read(rows_of_log)
    return tables_of(
        events=reader.events.table(), devices=reader.devices, settings=reader.settings, claimed=claimed(reader.claimed)
    )


class _Reader:
    def __init__(self) -> None:
        self.events = Rows("events")  # a kernel may print one for each line of a log
        self.devices: list[dict[str, Any]] = []
        self.settings: list[dict[str, Any]] = []
        self.claimed: list[tuple[str, int]] = []
        self._lost: tuple[Row, str] | None = None
        self._identified: str | None = None
        self._told: set[tuple[str, str]] = set()  # switch and code of SXids; device and function of time-outs

    def read(self, lines: Iterable[dict[str, Any]]) -> None:
        self._lost, self._identified, self._told = None, None, set()
        for row in lines:
            if self._error(row) or self._loss(row) or self._identity(row):
                self.claimed.append((row["file"], row["line"]))

    def _event(self, row: Row, kind: str, address: str | None, **columns: Any) -> None:
        # The kernel's log belongs to a host: whatever rank the path names has not printed this.
        self.events.append(event(row, kind, **{"rank": None, "local_rank": None, "pci": address, **columns}))

    def _error(self, row: Row) -> bool:
        text = row["text"]
        xids = [*_XID.finditer(text)] or [*_MONITORED.finditer(text)]  # more than one where lines were glued together
        if xids:
            for xid in xids:
                self._xid(row, xid)
        elif found := _SXID.search(text) or (_SXID.search(row["raw"]) if text.startswith("SXid (") else None):
            self._sxid(row, found)  # in a log of nothing else the switch's name reads like a label, and is taken off
        elif found := _GSP.search(text):
            self._gsp(row, found)
        elif _RESET.search(text):
            named = _ADDRESS.search(text)
            address = _pci(named["pci"]) if named else None
            self._event(row, "gpu_error", address, code="reset_required", severity="error")
        else:
            return False
        return True

    def _xid(self, row: Row, found: re.Match[str]) -> None:
        code, rest = str(int(found["code"])), found["rest"] or ""
        process, cause = _PROCESS.match(rest), _CAUSED_BY.search(rest)
        detail = _described("xid.csv", code)
        severity = _SEVERITIES.get(str(detail.pop("severity", "")))
        if process:
            detail["process"] = (process["name"] or "").strip("<>") or None
            rest = rest[process.end() :]
        if cause:
            detail |= {"caused_by": f"xid:{cause[1]}", "is_consequence_of_other": "yes", "consequence": True}
        detail |= _told(int(code), rest)
        severity = detail.pop("severity", severity)
        if found["instance"].strip():
            detail["instance"] = found["instance"].strip()
        pid = int(process["pid"]) if process and process["pid"].isascii() and process["pid"].isdigit() else None
        known = {"code": f"xid:{code}", "severity": severity, "pid": pid}
        address = _pci(found["pci"])
        self._event(row, "gpu_error", address, **known, detail=json.dumps(detail | {"message": rest[:500]}))
        if code == "79":
            self._event(row, "gpu_lost", address, **known)

    def _gsp(self, row: Row, found: re.Match[str]) -> None:
        key = (found["gpu"] or "", found["function"])
        if key not in self._told:
            self._told.add(key)
            detail = json.dumps({name: text for name, text in found.groupdict().items() if text is not None})
            self._event(row, "gpu_error", None, code="gsp_timeout", severity="error", detail=detail)

    def _sxid(self, row: Row, found: re.Match[str]) -> None:
        code, rest = str(int(found["code"])), found["rest"]
        stated, second = _SXID_CLASS.match(rest), _SXID_SEVERITY.match(rest)
        key = (found["switch"], code)
        if stated is None and _SXID_MORE.match(rest) and (second is None or key in self._told):
            return  # the second and third line of a report whose first line was an event
        self._told.add(key)
        detail = _described("sxid.csv", code)
        severity = detail.pop("severity", None)
        if stated:
            severity = _SXID_SEVERITIES[stated["class"].lower()]
            detail["link"] = int(stated["link"]) if stated["link"] else None
        elif second:
            severity = "fatal" if second["severity"] == "1" else "error"
        elif severity not in _SXID_SEVERITIES.values():
            severity = None
        detail |= {"switch": found["switch"], "message": rest[:500]}
        known = {"code": f"sxid:{code}", "severity": severity, "detail": json.dumps(detail)}
        self._event(row, "gpu_error", _pci(found["pci"]), **known)

    def _loss(self, row: Row) -> bool:
        text = row["text"]
        if found := _LOST.search(text):
            self._event(row, "gpu_lost", _pci(found["pci"]), code="fallen_off_the_bus", severity="fatal")
        elif found := _NO_HANDLE.search(text):
            self._event(row, "gpu_lost", _pci(found["pci"]), code=f"nvml:{found['why']}", severity="fatal")
        elif found := _LOST_HEAD.search(text):
            self._lost = (row, _pci(found["pci"]))
        elif _LOST_TAIL.search(text):
            first, address = self._lost or (row, None)
            self._lost = None
            self._event(
                first, "gpu_lost", address, code="fallen_off_the_bus", severity="fatal",
                text=f"{first['text']} … {text.strip()}"[:2000],
            )  # fmt: skip
        elif found := _INIT_FAILED.search(text):
            code = f"RmInitAdapter {found['code']}"[:100]
            self._event(row, "gpu_lost", _pci(found["pci"]), code=code, severity="fatal")
        else:
            return any(more.search(text) for more in (_LOST_MIDDLE, _INIT_FAILED_MORE, _HISTORY))
        return True

    def _identity(self, row: Row) -> bool:
        text = row["text"]
        said = reporter(row)
        place = {name: said[name] for name in ("host", "file", "line")}
        if found := _IDENTITY.search(text):
            self._identified = _pci(found["pci"])
            known = {"pci": self._identified, "uuid": found["uuid"], "metric": "uuid", "text": found["uuid"]}
        elif found := _SERIAL.search(text):
            known = {"pci": self._identified, "metric": "serial", "text": found["serial"]}
        elif found := _DRIVER.search(text):
            self.settings.append(place | {"name": "driver", "value": found["driver"], "scope": "version"})
            return True
        else:
            return False
        self.devices.append(place | known | {"time_ns": row["time_ns"]})
        return True


def _told(code: int, message: str) -> dict[str, Any]:
    """What the text of some codes says beyond the number."""
    if recovery := _RECOVERY.search(message):
        return {"recovery_before": recovery["before"], "recovery": recovery["now"]}
    if contained := _CONTAINMENT.search(message):
        return {"containment": contained["how"].lower(), "unit": contained["unit"]}
    if link := _LINK.search(message):
        return {"link": int(link["link"])}
    return decoded(code, message)


def _pci(printed: str) -> str:
    """Lower case, domain of four digits unless it needs more."""
    domain, _, rest = printed.lower().partition(":")
    return f"{int(domain, 16):04x}:{rest}"


def _described(name: str, code: str) -> dict[str, Any]:
    """What the catalogue says of a code; nothing for an unknown one."""
    return {key: value for key, value in rows(name).get(code, {}).items() if key != "source"}


PARSER = LineParser(
    name="xid",
    anchors=(b"NVRM: ", b"SXid (", b") detected on PCI:", b"rm_init_adapter failed", b"Unable to determine the device handle"),
    parse=parse,
    of_host=True,
    after=2,
)  # fmt: skip
