"""Errors of Ascend's CANN and torch_npu as a program prints them on its standard error: codes, who waits for whom, which rank.

    EI0002: [PID: 4711] 2026-01-31-10:11:12.123.456 The wait execution of the Notify register times out. Reason: The Notify
        register has not received the Notify record from remote rank: [24]. base information: [streamID:[87], …]
    EI9999: 2026-01-31-10:11:12.123.456  The error from device(chipId:3, dieId:0), … hccl fftsplus task timeout occurred …
    EZ9999[PID: 4711] 2026-01-31-10:11:12.123.456 (EZ9999):  Kernel task happen error, retCode=0x25, [aicore timeout].
    [PID: 4711] 2026-01-31-10:11:12.123.456 Communication_Error_Timeout(EI0002): The wait execution …         (CANN 8.5)
    [ERROR] 2026-01-31-10:11:12 (PID:4711, Device:0, RankID:5) ERR00100 PTA call acl api failed.               (torch_npu)
    RuntimeError: … NPU function error: aclrtSynchronizeStreamWithTimeout, error code is 107020                (torch_npu)
    RuntimeError: … OPS function error: HcclAllGather, error code is 19                                        (torch_npu)

Codes EI are HCCL's, EJ the network agent's: their messages are read as HCCL's own (kinds collective_timeout, connect_failed,
…). Other codes are events `other`, code = the code. The runtime's codes for a wait that ended (107019, 107020, 507046 to
507048) make a `collective_timeout` where nothing else in the line does. A call of HCCL that failed makes what its number says
(`_RESULTS`; `comm_warning` for any other), unless that speaks of the caller's own arguments or memory: the exception only
repeats what the library found. torch_npu's line names the global rank (-1: none),
the device and the process; it is a claim of who is who and an event `other`.

Printed by: CANN's error manager and torch_npu.
Versions: CANN 5 to 8.5, torch_npu 1.8 to 2.7.
Source: the error code reference of CANN (EI0001 …), acl_rt's error codes, HcclResult of hccl_types.h, torch_npu's
NPUException.
"""

import json
import re
from typing import Any

import polars as pl

from parsers.comm.hccl_faults import OWN_PORT, fault, when
from parsers.schema.lines import Row, claimed, event, reporter
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

_CODE = r"E[A-Z0-9]\d{4}"
_STAMP = r"(?P<stamp>\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d(?:\.\d{3}){0,2})"
_PID = r"\[PID: ?(?P<pid>\d{1,9})\] "
_HEADS = (
    regex(rf"(?<![\w(])(?P<code>{_CODE}): ?(?:{_PID})?{_STAMP}\s+"),
    regex(rf"(?<![\w(])(?:(?P<first>{_CODE}))?{_PID}{_STAMP} \w{{0,60}}\((?P<code>{_CODE})\): *"),
    regex(rf"(?<![\w(])(?P<code>{_CODE}): (?=The |Environment |Call |An? )"),
)
_PTA = regex(
    rf"\[ERROR\] {_STAMP} \(PID:(?P<pid>\d{{1,9}}), Device:(?P<device>-?\d{{1,6}}), RankID:(?P<rank>-?\d{{1,7}})\) "
    r"(?P<code>ERR\d{5}) "
)
_RUNTIME = regex(r"\b(?:NPU|HCCL)(?: function)? (?:error|warning)\b.{0,300}?error code is (?P<code>\d{4,6})")
_WAITS = ("107019", "107020", "507046", "507047", "507048")
# HcclResult: 9 time-out; 11, 12 connect and 13, 14 transfer by TCP and RoCE; 19 network; 21 remote.
_CALL = regex(r"\b(?P<call>Hccl[A-Z]\w{0,60})(?:\([^()\n]{0,200}\))?, error code is (?P<code>\d{1,2})\b")
_RESULTS = {"9": "collective_timeout", "11": "connect_failed", "12": "connect_failed", "13": "remote_error",
            "14": "remote_error", "19": "remote_error", "21": "remote_error"}  # fmt: skip
_CALLERS_OWN = ("1", "2", "3", "5", "24")  # a parameter, a pointer, memory, not supported
_FILLING = regex(
    rf"^\s*(?:{_CODE}: Inner Error!|\[Error\]: |Rectify the fault based on the error information in the ascend)"
)
_CHARACTERS = 8192


def parse(lines: pl.DataFrame) -> Tables:
    """events from codes; ranks from torch_npu's line."""
    events: list[dict[str, Any]] = []
    ranks: list[dict[str, Any]] = []
    known: list[tuple[str, int]] = []
    for row in lines.iter_rows(named=True):
        text = row["text"][:_CHARACTERS]
        head = next((found for pattern in _HEADS if (found := pattern.search(text))), None)
        if head is not None:
            events.append(_coded(row, head, text))
        elif named := _PTA.search(text):
            events.append(_failed(row, named))
            ranks += _claim(row, named)
        elif (runtime := _RUNTIME.search(text)) and runtime["code"] in _WAITS:
            events.append(event(row, "collective_timeout", severity="error", code=runtime["code"]))
        elif (call := _CALL.search(text)) and call["code"] not in _CALLERS_OWN:
            kind, detail = _RESULTS.get(call["code"], "comm_warning"), json.dumps({"call": call["call"]})
            events.append(event(row, kind, severity="error", code=f"hccl:{call['code']}", detail=detail))
        elif _FILLING.match(text):
            known.append((row["file"], row["line"]))
    return tables_of(events=events, ranks=ranks, claimed=claimed(known))


def _coded(row: Row, head: re.Match[str], text: str) -> dict[str, Any]:
    groups = head.groupdict()
    said = fault(f"{groups['code']} {text[head.end() :]}")
    is_of_hccl = groups["code"].startswith(("EI", "EJ"))
    made: dict[str, Any] = {"severity": "error", "detail": json.dumps(said.pairs), **_when(row, groups.get("stamp"))}
    if is_of_hccl or said.kind == "collective_timeout":
        made |= said.columns
    made["code"] = said.family if said.family == OWN_PORT else groups["code"]
    made["pid"] = int(groups["pid"]) if groups.get("pid") else None
    return event(row, said.kind if is_of_hccl or said.kind == "collective_timeout" else "other", **made)


def _failed(row: Row, named: re.Match[str]) -> dict[str, Any]:
    made: dict[str, Any] = {"severity": "error", "code": named["code"], "pid": int(named["pid"])}
    made |= {"device_index": int(named["device"]) if int(named["device"]) >= 0 else None} | _when(row, named["stamp"])
    if int(named["rank"]) >= 0 and reporter(row)["rank"] is None:
        made |= {"rank": int(named["rank"]), "rank_space": "global"}
    return event(row, "other", **made)


def _claim(row: Row, named: re.Match[str]) -> list[dict[str, Any]]:
    if int(named["rank"]) < 0:
        return []
    who = {key: reporter(row)[key] for key in ("host", "file", "line")} | {"how": "torch_npu error"}
    device = int(named["device"])
    own = {"rank": int(named["rank"]), "pid": int(named["pid"]), "device_index": device if device >= 0 else None}
    return [who | own]


def _when(row: Row, stamp: str | None) -> dict[str, Any]:
    if row["time_ns"] is not None or stamp is None:
        return {}
    time, basis = when(stamp)
    return {"time_ns": time, "time_basis": basis}


PARSER = LineParser(
    name="cann",
    anchors=(b"RankID:", b"[PID: ", b"Inner Error!", b"[Error]: ", b"Rectify the fault", b"error code is ",
             *(f"E{letter}{digit}".encode() for letter in "EHIJKLZ" for digit in "01234569"),
             *(f"E{digit}9999".encode() for digit in range(1, 10)), b"E30008", b"E40021"),
    parse=parse,
)  # fmt: skip
