"""Debug logs of NCCL and of what keeps its words: RCCL, MCCL of Moore Threads and of MetaX. NCCL 2.4 to 2.30.

    node1:84:91 [3] NCCL INFO ncclCommInitRank comm 0x55d0 rank 3 nranks 8 cudaDev 3 nvmlDev 3 busId 5d000
        commId 0x1f2e - Init COMPLETE
    node1:84:84 [3] NCCL INFO AllReduce: opCount 1f sendbuff 0x7 recvbuff 0x8 count 4096 datatype 7 op 0 root 0
        comm 0x55d0 [nranks=8] stream 0x9
    [2026-01-31 10:11:12] node1:84:99 [3] transport/net_ib/p2p.cc:93 (ncclIbTest) NCCL WARN NET/IB: Got completion from
        peer 10.0.0.7<4321> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=… vendor_err=129 hca mlx5_3
    NCCL_DEBUG set by environment to INFO

The prefix is `host:pid:thread [device]` and is searched for anywhere, because launchers put theirs before it and
processes cut each other's lines; a part line that holds a second prefix is read up to there. The number behind a pid
is a thread, not a rank. The host that a warning names as peer is named, not blamed. A line of a collective is printed
when it is enqueued: `opCount` is hexadecimal, per communicator, and shared by all calls of one group. Source: the
NCCL repository, 2.3.5 to 2.30.7; MetaX' and Moore Threads' public documents.
"""

import json
import re
from typing import Any

import polars as pl

from parsers.lines import Row, event
from parsers.parser import LineParser
from parsers.tables import Tables, conform, table

_PREFIX = (
    r"(?:\[(?P<stamp>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})?)\] )?"
    r"(?P<nccl_host>[^\s:\[\]<>|]+):(?P<nccl_pid>\d{1,9}):(?P<thread>\d{1,9}) (?:\[(?P<device>-?\d{1,4})\] )?"
    r"(?:\d+\.\d+ )?(?:(?P<place>[\w./-]+:\d{1,6}) (?:\((?P<function>[^)]*)\) )?)?"
    r"(?P<library>[NMR]CCL) (?P<level>WARN|INFO|TRACE|CALL|ERROR) ?"
)
_NEXT_PREFIX = r"[\w.-]*[A-Za-z][\w.-]*:\d{2,9}:\d{2,9} \[-?\d{1,4}\] "
_BARE = r"\b(?P<library>[NMR]CCL) (?P<level>WARN|INFO) "  # some collectors drop the prefix
_COLLECTIVE = (
    r"^(?P<op>\w+): opCount (?P<count>[0-9a-f]{1,15}) sendbuff \S+ recvbuff \S+ count (?P<elements>\d{1,18}) "
    r"datatype (?P<dtype>\d{1,3}) op (?P<reduce>\d{1,12}) root (?P<root>-?\d{1,9}) comm (?P<comm>0x[0-9a-f]+|\(nil\))"
)
_OPS = {
    "AllReduce": "all_reduce", "AllGather": "all_gather", "ReduceScatter": "reduce_scatter", "Broadcast": "broadcast",
    "Bcast": "broadcast", "Reduce": "reduce", "Send": "send", "Recv": "recv", "AlltoAll": "all_to_all",
    "AllToAll": "all_to_all", "Gather": "gather", "Scatter": "scatter", "PutSignal": "put_signal", "Signal": "signal",
    "WaitSignal": "wait_signal",
}  # fmt: skip
_DTYPES = ("int8", "uint8", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64", "bfloat16",
           "float8_e4m3", "float8_e5m2")  # fmt: skip
_N = r"\d{1,9}"
_INIT = re.compile(
    rf"(?:(?P<api>\w+) )?comm (?P<comm>\S+) rank (?P<rank>{_N}) n[rR]anks (?P<size>{_N})(?: cudaDev (?P<device>{_N}))?"
    rf"(?: nvmlDev (?P<nvml>{_N}))?(?: busId (?P<bus>[0-9a-f]{{1,16}}))?(?: commId (?P<id>\S+?))?"
    r"(?: parent (?P<parent>\S+)(?P<split>.*?))?\s*- ?(?P<what>Init START|Init COMPLETE|Destroy|Abort|Revoke)"
)
_ENVIRONMENT = re.compile(r"\b(?P<name>[NMR]CCL_\w+) set (?:by environment )?to (?P<value>.*?)\.?\s*$")
_VERSION = re.compile(r"\b(?P<library>[NMR]CCL) version (?P<value>\d[\w.+-]*)")
_CODE_TRAIL = re.compile(r"^\S+:\d+(?: \(\w+\))? -> \d+")
_PEER = re.compile(
    r"(?:from peer|[Cc]onnect to|remote peer|send to|recv to|recv from|from) \[?([^\s<>]+?)\]?<(\d{1,6})>"
)
_STATUS = re.compile(r"(?:with error |status=(?:[A-Za-z_]+\()?)(\d{1,3})\b")
_WARNINGS: tuple[tuple[re.Pattern[str], str, str | None], ...] = (
    (re.compile(r"Got completion (?:from peer \S+ )?with"), "completion_error", None),
    (re.compile(r"[Gg]ot async (?:error )?event.*(?:port error|catastrophic|port err)|async fatal event|"
                r"marked as failed|Detected \d+ failed devices"), "port_error", None),
    (re.compile(r"out of memory|Failed to CUDA (?:m|c)alloc"), "gpu_oom", None),
    (re.compile(r"(?:Cuda|CUDA|Musa|MUSA|Hip|HIP|Maca) failure (?:\d+ )?'(?P<code>[^']*)'"), "cuda_error", None),
    (re.compile(r"posix_fallocate|No space left on device|failed to extend \S*/dev/shm"), "disk_full", "shm"),
    (re.compile(r"Error while creating shared memory segment"), "disk_full", "shm"),
    (re.compile(r"Duplicate GPU detected"), "config_error", "duplicate_gpu"),
    (re.compile(r"Mismatched [NMR]CCL version|mismatch in rank count|already checked in"), "config_error",
     "version_mismatch"),
    (re.compile(r"no socket interface found|No usable (?:listening )?interface"), "config_error", "no_interface"),
    (re.compile(r"[Cc]onnection closed by (?:remote )?peer|Call to recv|Call to send|Connection reset"), "peer_closed",
     None),
    (re.compile(r"[Cc]onnect\b.*(?:failed|returned|exceeded|refused|timed out)"), "connect_failed", None),
    (re.compile(r"remote process exited"), "remote_error", None),
)  # fmt: skip


def parse(lines: pl.DataFrame) -> Tables:
    """ranks and groups from Init lines, operations from COLL lines, settings, and events from WARN and Init lines."""
    known = _with_prefix(lines)
    is_collective = pl.col("message").str.contains(_COLLECTIVE)
    reader = _Reader()
    rest = known.filter(~is_collective.fill_null(False))
    for row in rest.iter_rows(named=True):
        reader.read(row)
    return {
        "operations": _operations(known.filter(is_collective)),
        "ranks": table("ranks", reader.claims()),
        "groups": table("groups", reader.groups),
        "events": table("events", reader.events),
        "settings": table("settings", reader.settings),
        "claimed": rest.filter(pl.col("library").is_not_null()).select("file", "line"),
    }


def _with_prefix(lines: pl.DataFrame) -> pl.DataFrame:
    """Columns of the library's own prefix; `message` is what follows it, up to the prefix of a line glued to it."""
    text = pl.col("text")
    named = lines.with_columns(text.str.extract_groups(_PREFIX).alias("prefix")).unnest("prefix")
    bare = text.str.extract_groups(_BARE)
    after = text.str.replace(rf"^.*?(?:{_PREFIX})", "")
    after_bare = text.str.replace(rf"^.*?(?:{_BARE})", "")
    return named.with_columns(
        message=pl.when(pl.col("library").is_not_null()).then(after).otherwise(after_bare)
        .str.replace(rf"(.){_NEXT_PREFIX}.*$", "$1"),
        library=pl.coalesce("library", bare.struct.field("library")),
        level=pl.coalesce("level", bare.struct.field("level")),
        host=pl.coalesce("nccl_host", "host", "path_host"),
        pid=pl.col("nccl_pid").cast(pl.Int64, strict=False),
        device_index=pl.col("device").cast(pl.Int64, strict=False),
        rank=pl.coalesce("rank", "path_rank"),
    )  # fmt: skip


def _operations(lines: pl.DataFrame) -> pl.DataFrame:
    part = lines.with_columns(pl.col("message").str.extract_groups(_COLLECTIVE).alias("c")).unnest("c")
    kind = pl.col("op").replace_strict(_OPS, default=pl.col("op").str.to_lowercase(), return_dtype=pl.String())
    is_p2p = pl.col("op").is_in(["Send", "Recv"])
    root = pl.col("root").cast(pl.Int64, strict=False)
    dtype = pl.col("dtype").replace_strict({str(i): name for i, name in enumerate(_DTYPES)}, default=pl.col("dtype"))
    local = pl.col("host").fill_null("") + ":" + pl.col("pid").cast(pl.String).fill_null("") + ":"
    return conform(
        "operations",
        part.select(
            "rank", "host", "pid", "file", "line", "thread",
            comm=local + pl.col("comm"),
            backend=pl.col("library").str.to_lowercase(),
            seq=pl.col("count").str.to_integer(base=16, strict=False),
            is_p2p=is_p2p,
            kind=kind,
            peer=pl.when(is_p2p).then(root),
            root=pl.when(pl.col("op").is_in(["Broadcast", "Bcast", "Reduce", "Gather", "Scatter"])).then(root),
            input_sizes="[[" + pl.col("elements") + "]]",
            input_dtypes='["' + dtype + '"]',
            state=pl.lit("scheduled"),
            time_created_ns=pl.col("time_ns"),
        ),
    )  # fmt: skip


class _Reader:
    def __init__(self) -> None:
        self.ranks: list[dict[str, Any]] = []
        self.groups: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        self.settings: list[dict[str, Any]] = []
        self._worlds: list[dict[str, Any]] = []
        self._processes: set[tuple[str | None, int | None]] = set()

    def claims(self) -> list[dict[str, Any]]:
        """A rank in a communicator is a global one only if that holds every process: the largest, and no more seen."""
        size = max((claim["world_size"] for claim in self._worlds), default=0)
        is_world = len(self._processes) <= size
        return self.ranks + [claim for claim in self._worlds if is_world and claim["world_size"] == size]

    def read(self, row: Row) -> None:
        text = row["message"] if row["library"] else row["text"]
        found = _ENVIRONMENT.search(text)
        if found:
            self._setting(row, found["name"], found["value"], "environment")
        elif version := _VERSION.search(text) or (None if row["library"] else _VERSION.search(row["text"])):
            self._setting(row, version["library"].lower(), version["value"], "version")
        elif row["library"] is None:
            return
        elif init := _INIT.search(text):
            self._init(row, init)
        elif row["level"] in ("WARN", "ERROR") and not _CODE_TRAIL.match(text):
            self._warning(row, text)

    def _setting(self, row: Row, name: str, value: str, scope: str) -> None:
        who = {key: row[key] for key in ("rank", "host", "pid", "file", "line")}
        self.settings.append(who | {"name": name, "value": value[:500], "scope": scope})

    def _own(self, row: Row) -> dict[str, Any]:
        return {"host": row["host"], "pid": row["pid"], "device_index": row["device_index"]}

    def _init(self, row: Row, init: re.Match[str]) -> None:
        what, size = init["what"], int(init["size"])
        pointer = f"{row['host'] or ''}:{row['pid'] if row['pid'] is not None else ''}:{init['comm']}"
        place = {"file": row["file"], "line": row["line"]}
        is_split = bool(init["parent"]) or "Split" in (init["api"] or "") or "Shrink" in (init["api"] or "")
        detail = {
            "group_rank": int(init["rank"]), "size": size, "comm": pointer, "comm_id": init["id"],
            "parent": init["parent"], "split": (init["split"] or "").strip() or None, "api": init["api"],
        }  # fmt: skip
        if what.startswith("Init"):
            kind = "comm_init_start" if what == "Init START" else "comm_init_complete"
            self._group(row, pointer, size, place | {"how": f"{row['library']} {what}"}, init["id"])
            pci = _pci(init["bus"])
            device = int(init["device"]) if init["device"] else row["device_index"]
            self._processes.add((row["host"], row["pid"]))
            if row["rank"] is not None:
                claim = {
                    "rank": row["rank"],
                    "host": row["host"],
                    "pid": row["pid"],
                    "device_index": device,
                    "pci": pci,
                }
                self.ranks.append(claim | place | {"how": f"{row['library']} init, rank of the log"})
            elif not is_split:
                claim = {"rank": int(init["rank"]), "host": row["host"], "pid": row["pid"], "device_index": device}
                self._worlds.append(claim | place | {"pci": pci, "world_size": size, "how": f"{row['library']} init"})
        else:
            kind = "comm_destroy" if what == "Destroy" else "comm_abort"
        severity = "warning" if kind == "comm_abort" else "info"
        own = self._own(row) | {"pci": _pci(init["bus"]), "detail": json.dumps(detail), "severity": severity}
        if row["rank"] is None:
            own |= {"rank": int(init["rank"]), "rank_space": "group"}
        self.events.append(event(row, kind, group=init["id"] or pointer, **own))

    def _group(self, row: Row, pointer: str, size: int, origin: dict[str, Any], comm_id: str | None) -> None:
        group = {"rank": row["rank"], "group": pointer, "size": size, "backend": row["library"].lower()}
        self.groups.append(group | origin | {"comm": comm_id or pointer})

    def _warning(self, row: Row, text: str) -> None:
        kind, code = "comm_warning", None
        for pattern, of_kind, of_code in _WARNINGS:
            if found := pattern.search(text):
                kind, code = of_kind, found.groupdict().get("code") or of_code
                break
        detail: dict[str, Any] = {"library": row["library"], "place": row["place"]}
        if kind == "completion_error":
            status = _STATUS.search(text)
            code = status[1] if status else None
            vendor, adapter = re.search(r"vendor[ _]err[ =](\d+)", text), re.search(r"\bhca (\w+)", text)
            detail |= {"vendor": vendor[1] if vendor else None, "adapter": adapter[1] if adapter else None}
        peer = _PEER.search(text)
        if peer:
            detail["port"] = int(peer[2])
        names = {"names_hosts": [peer[1]] if peer else None, "detail": json.dumps(detail), "code": code}
        severity = "warning" if kind == "comm_warning" else "error"
        self.events.append(event(row, kind, severity=severity, **self._own(row), **names))


def _pci(bus: str | None) -> str | None:
    """`5d000` → `0000:5d:00.0`: the library prints domain, bus, device and function as one hexadecimal number."""
    if bus is None:
        return None
    number = int(bus, 16)
    return f"{number >> 20:04x}:{number >> 12 & 0xFF:02x}:{number >> 4 & 0xFF:02x}.{number & 0xF:x}"


PARSER = LineParser(
    name="nccl",
    anchors=(b"NCCL INFO", b"NCCL WARN", b"MCCL INFO", b"MCCL WARN", b"RCCL INFO", b"RCCL WARN", b"NCCL version",
             b"NCCL CALL", b"NCCL TRACE", b"CCL ERROR", b"MCCL version", b"RCCL version", b" set by environment to "),
    parse=parse,
)  # fmt: skip
