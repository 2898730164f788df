"""What NCCL and its kin complain of → events. Each says who reports and, where the line names somebody, whom.

    NET/IB : Got completion from peer 10.0.0.7<4321> with error 12, opcode 0, len 0, vendor err 129 (Recv)
    NET/IB: Got completion from peer n7<4> with status=IBV_WC_RETRY_EXC_ERR(12) … vendor_err=129 hca mlx5_3
    socketStartConnect: Connect to 10.0.0.7<41> failed : Connection refused
    Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 2000

`detail.blames`: `peer` (the named address, not the printer), `self` (the printer's own device or adapter), `program`
(calls that do not fit together, a configuration), absent where the line blames nobody. Severity `info`: a consequence
of something else (status 5 of a completion: work flushed after the first error; the proxy's trails) or a retry. Hints
and the numbers of 2.8 to 2.27 beside a failed status (opcode, length) are no evidence. 2.4 to 2.30.
"""

import json
import re
from typing import Any

import msgspec
import polars as pl

from parsers.schema.lines import TEXT_CHARACTERS, Row
from parsers.schema.tables import SCHEMAS, conform
from parsers.text.patterns import regex

_PEER = regex(
    r"(?:[Pp]eer|[Cc]onnect to|send to|recv to|recv from|from|connection to) \[?([^\s<>\[\]]{1,255})\]?<(\d{1,6})>"
)
_STATUS = regex(r"(?:with error |status=(?:(?P<name>[A-Za-z_]+)\()?)(?P<number>\d{1,3})\b")
_STATUS_NAME = regex(r"status=(IBV_WC_[A-Z_]+)")
_STATUSES = {
    "1": "LOC_LEN_ERR", "2": "LOC_QP_OP_ERR", "3": "LOC_EEC_OP_ERR", "4": "LOC_PROT_ERR", "5": "WR_FLUSH_ERR",
    "6": "MW_BIND_ERR", "7": "BAD_RESP_ERR", "8": "LOC_ACCESS_ERR", "9": "REM_INV_REQ_ERR", "10": "REM_ACCESS_ERR",
    "11": "REM_OP_ERR", "12": "RETRY_EXC_ERR", "13": "RNR_RETRY_EXC_ERR", "14": "LOC_RDD_VIOL_ERR",
    "15": "REM_INV_RD_REQ_ERR", "16": "REM_ABORT_ERR", "17": "INV_EECN_ERR", "18": "INV_EEC_STATE_ERR",
    "19": "FATAL_ERR", "20": "RESP_TIMEOUT_ERR", "21": "GENERAL_ERR",
}  # fmt: skip
_NUMBERS = {name: number for number, name in _STATUSES.items()}
_SAID = ["level", "message", "library", "place", "function"]
_TOLD = ("kind", "severity", "code", "detail", "names_hosts", "names_ranks")
_RANK_PAIRS = regex(r"\brank (\d{1,7})\b")


class Complaint(msgspec.Struct, frozen=True):
    """A family of messages. Named groups of the pattern: `code`, others go into `detail`. `ranks`: it names some."""

    pattern: re.Pattern[str]
    kind: str
    code: str | None = None
    severity: str = "error"
    blames: str | None = None
    ranks: bool = False


def _c(pattern: str, kind: str, code: str | None = None, **more: Any) -> Complaint:
    return Complaint(regex(pattern), kind, code, **more)


_RETRY = _c(
    r"[Cc]onnect(?: to \S+)? returned .{1,200}?, retrying(?: \((?P<attempt>\d+)/(?P<attempts>\d+)\))?",
    "connect_failed", "retry", severity="info", blames="peer",
)  # fmt: skip
_COMPLAINTS = (
    _c(r"Got completion (?:from peer \S+ )?with", "completion_error", blames="peer"),
    _c(r"collective mismatch error, local size (?P<local_size>\d+) remote size (?P<remote_size>\d+)", "comm_warning",
       "collective_mismatch", blames="program"),
    _c(r"Mismatched collective detected.*? (?:at and )?around rank \d", "comm_warning", "collective_mismatch",
       blames="program", ranks=True),
    _c(r"symmetric registration check failed on rank \d", "comm_warning", "registration_mismatch", blames="program",
       ranks=True),
    _c(r"[Mm]essage truncated ?: receiv(?:ing|ed) (?P<got>\d+) bytes instead of (?P<wanted>\d+)", "comm_warning",
       "message_truncated", blames="program"),
    _c(r"invalid root (?P<root>-?\d+)", "comm_warning", "invalid_root", blames="program"),
    _c(r"(?:[Dd]etected|[Ff]ound) (?P<failed>\d+) failed devices? out of (?P<devices>\d+)", "port_error",
       "failed_devices", blames="self"),
    _c(r"Device (?P<device>\d+) marked as failed", "port_error", "failed_device", blames="self"),
    _c(r"Maximum number of probing attempts", "port_error", "probing_exhausted", blames="self"),
    _c(r"async fatal event on (?P<object>QP|CQ|SRQ)[^:]*: (?P<event>.{1,120})", "port_error", "fatal_event",
       blames="self"),
    _c(r"[Gg]ot (?:non-fatal )?async (?:error )?event ?: (?P<event>port active)", "link_up", severity="info"),
    _c(r"(?:(?P<adapter>[\w-]{1,64}:\d{1,3}) )?[Gg]ot (?:non-fatal )?async (?:error )?event ?: "
       r"(?P<event>[^()\"]*(?:error|catastrophic|fatal|violation|port err)[^()\"]*)", "port_error", blames="self"),
    _c(r"async event|unknown event type|GID table change", "comm_warning", "adapter_event", severity="warning",
       blames="self"),
    _c(r"out of memory|Failed to (?:CUDA|MUSA|MACA|HIP|Cuda) (?:m|c)alloc|Failed to (?:m|c)alloc \d+ bytes of CUDA",
       "gpu_oom", blames="self"),
    _c(r"(?:Cuda|CUDA|Musa|MUSA|Hip|HIP|Maca|MACA) failure (?:(?P<number>\d+) )?'(?P<code>[^']*)'", "cuda_error",
       blames="self"),
    _c(r"posix_fallocate|No space left on device|failed to extend \S*/dev/shm\S* to (?P<wanted>\d+)|"
       r"failed to extend \S*/dev/shm|Error while creating shared memory segment", "disk_full", "shm", blames="self"),
    _c(r"Duplicate GPU detected", "config_error", "duplicate_gpu", blames="program", ranks=True),
    _c(r"Mismatched [NMR]CCL version", "config_error", "version_mismatch", blames="program", ranks=True),
    _c(r"mismatch in rank count from procs (?P<first>\d+) : (?P<second>\d+)", "config_error", "rank_count_mismatch",
       blames="program"),
    _c(r"rank \d+ of (?P<size>\d+) ranks has already checked in", "config_error", "already_checked_in",
       blames="program", ranks=True),
    _c(r"wrong (?:magic|type)|magic mismatch", "config_error", "foreign_connection", blames="program"),
    _c(r"no socket interface found|No usable (?:listening )?interface|No socket interface", "config_error",
       "no_interface", blames="self"),
    _c(r"Call to bind failed ?: Cannot assign requested address", "config_error", "no_interface", blames="self"),
    _c(r"NET/OFI (?:Couldn't|Could not|Unable to|Failed to) (?:open|create|allocate|bind|enable) (?P<what>[^.]{1,80})\.? RC: -?(?P<rc>[1-9]\d{0,4})",
       "config_error", "ofi", blames="self"),
    _c(r"Call to (?P<call>ibv_\w+) failed(?: with(?: error)?(?: \d{1,3})?)? (?P<code>(?:Network|Host|Destination)[\w ]* (?:is )?unreachable|No route to host"
       r"|Connection timed out)", "connect_failed"),
    _c(r"Call to (?P<call>ibv_\w+) failed(?: with(?: error)?(?: \d{1,3})?)? (?P<code>[^,]{1,120})", "comm_warning"),
    _c(r"NET/OFI Request \S{0,20} ?completed with error\. RC: -?(?P<rc>\d{1,5})\.(?: Error: (?P<code>[^.]{1,160}))?",
       "completion_error"),
    _RETRY,
    _c(r"[Cc]onnect\b.*(?:failed|returned|exceeded|refused|timed out)", "connect_failed", blames="peer"),
    _c(r"[Cc]onnection closed by (?:remote )?peer|Call to (?:recv|send)\b|Connection reset", "peer_closed",
       blames="peer"),
    _c(r"communicator encountered a fatal error(?: \(detected in (?P<where>[^)]{1,80})\))?", "comm_warning", "fatal"),
    _c(r"remote process exited", "remote_error"),
    _c(r"Socket recv failed while polling for opId|Failed to execute operation (?P<operation>\w+)|"
       r"Error encountered progressing operation|Could not receive type from localRank", "comm_warning", "proxy",
       severity="info"),
)  # fmt: skip
# What speaks at level INFO, too.
_ASIDES = (
    _RETRY,
    _c(r"\[Service thread\] Connection closed by localRank (?P<local_rank>\d{1,5})\b", "other", "service_closed",
       severity="info"),
    _c(r"RAS .*\b(?:[Dd]ead|DEAD)\b", "ras_status", "dead_peer", severity="warning", blames="peer"),
)  # fmt: skip
# Moore Threads prints these on healthy machines, too.
_NOISE = regex(r"TOPO Detect Failed|Attribute class of node \w+ not found")
_TRAIL = regex(r"^\S+:\d+(?: \([^)]*\))? -> \d+")


def complaints(records: pl.DataFrame) -> pl.DataFrame:
    """Records → rows of `events` for those that complain of something. What is said again and again is read once."""
    said = records.select(_SAID).unique(maintain_order=True)
    found = [_complaint(row) for row in said.iter_rows(named=True)]
    columns = [pl.Series(name, [one and one.get(name) for one in found], SCHEMAS["events"][name]) for name in _TOLD]
    known = said.with_columns(columns).filter(pl.col("kind").is_not_null())
    rows = records.join(known, on=_SAID, nulls_equal=True, maintain_order="left")
    return conform(
        "events",
        rows.select(
            *_TOLD, "rank", "host", "pid", "device_index", "file", "line", "time_ns", "time_basis", "attempt",
            local_rank=pl.coalesce("local_rank", "path_local_rank"),
            text=pl.col("text").str.slice(0, TEXT_CHARACTERS),
            rank_space=pl.when(pl.col("rank").is_not_null()).then(pl.lit("global")),
            names_rank_space=pl.when(pl.col("names_ranks").is_not_null()).then(pl.lit("group")),
        ),
    )  # fmt: skip


def _complaint(row: Row) -> dict[str, Any] | None:
    """What a record tells of an event, or None where it complains of nothing (return-code trails and hints included)."""
    text = row["message"]
    if row["level"] == "INFO":
        match = _first(text, _ASIDES)
        if match is None:
            return None
    elif row["level"] not in ("WARN", "ERROR") or _TRAIL.match(text) or _NOISE.search(text):
        return None
    else:
        match = _first(text, _COMPLAINTS)
    family, found = match or (Complaint(regex(""), "comm_warning", severity="warning"), None)
    detail: dict[str, Any] = {"library": row["library"], "place": row["place"], "function": row["function"]}
    groups = found.groupdict() if found else {}
    code, severity = groups.pop("code", None) or family.code, family.severity
    detail |= groups | {"blames": family.blames}
    if family.kind == "completion_error":
        number, status = _status(text)
        code = number or code
        detail |= status
        severity = "info" if code == "5" else severity
    peer = _PEER.search(text)
    detail["port"] = int(peer[2]) if peer else None
    ranks = [int(rank) for rank in _RANK_PAIRS.findall(text)[:2]] if family.ranks else None
    told = {name: value for name, value in detail.items() if value is not None}
    names = {"names_hosts": [peer[1]] if peer else None, "names_ranks": ranks or None}
    return {"kind": family.kind, "severity": severity, "code": code, "detail": json.dumps(told), **names}


def _first(text: str, families: tuple[Complaint, ...]) -> tuple[Complaint, re.Match[str]] | None:
    return next(((family, found) for family in families if (found := family.pattern.search(text))), None)


def _status(text: str) -> tuple[str | None, dict[str, Any]]:
    """(number of the status, what stands beside it)."""
    found, named = _STATUS.search(text), _STATUS_NAME.search(text)
    name = named[1].removeprefix("IBV_WC_") if named else None
    number = found["number"] if found else _NUMBERS.get(name or "")
    beside = {
        "status": _STATUSES.get(number or "", name),
        "vendor": (match := re.search(r"vendor[ _]err[ =](\d{1,9})", text)) and match[1],
        "adapter": (match := re.search(r"\bhca ([\w-]{1,64})", text)) and match[1],
        "way": (match := re.search(r"\((Send|Recv)\)|req_type=(\w{1,20})", text)) and (match[1] or match[2]),
        "local_gid": (match := re.search(r"localGid ([0-9a-fA-F:.]{2,64})", text)) and match[1],
        "remote_gids": (match := re.search(r"remoteGids ?([0-9a-fA-F:.]{2,64})", text)) and match[1],
    }
    return number, beside
