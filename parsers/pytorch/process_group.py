"""What PyTorch's process groups print when a collective fails: ProcessGroupNCCL, ProcessGroupMCCL (torch_musa), gloo,
the DETAIL wrapper, monitored barriers and the key-value store. Versions 1.9 to 2.15; MetaX keeps upstream's words.

    [Rank 2] Watchdog caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE, Timeout(ms)=1800000) ran for …
    [rank3]:[E321 02:07:08.4 ProcessGroupNCCL.cpp:607] [Rank 3] Watchdog caught collective operation timeout:
        WorkNCCL(SeqNum=7, OpType=BROADCAST, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600011 milliseconds …
    [PG 1 (tp) Rank 0] Timeout at NCCL work: 7, last enqueued NCCL work: 9, last completed NCCL work: 6.
    [PG ID 2 PG GUID 9(dp) Rank 4]  failure detected by watchdog at work sequence id: 7 PG status: last enqueued
        work: 9, last completed work: 6
    … Received a dump signal due to a collective timeout from this local rank and we will try our best to dump …
    [Rank 3]: Rank 3 successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0. …
    [/x/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 9000ms for recv operation to complete
    [Rank 0]: Ranks 3, 5 failed to pass monitoredBarrier in 9000 ms

The number in `[Rank r]` and `[PG … Rank r]` is the rank inside the group; only `[rankN]:` is global. Of the default
group both are the same. A dump signal names who timed out first, which is seldom the culprit. The `#n` of a desync
report is a counter of its own, not the sequence number.

Printed by: ProcessGroupNCCL, ProcessGroupMCCL of torch_musa, mcPytorch, ProcessGroupHCCL of torch_npu, ProcessGroupGloo, TCPStore.
Versions: PyTorch 1.9 to 2.15, torch_musa 1.0 to 2.7.1, mcPytorch 2.0 and 2.4.
Source: torch/csrc/distributed/c10d; torch_musa's ProcessGroupMCCL.cpp.
"""

import json
import re
from collections.abc import Callable
from typing import Any

import polars as pl

from parsers.forms.reading import integers
from parsers.pytorch.watchdog_reports import Reports, Said, reports
from parsers.schema.event_kinds import MISMATCH
from parsers.schema.lines import PRINTER, Row, claimed, event, reporter, streams
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, conform, table, tables_of
from parsers.text.group_prefix import member
from parsers.text.op_types import operation
from parsers.text.patterns import regex

_N = r"\d{1,18}"
Build = Callable[[Row, re.Match[str]], dict[str, Any]]
_WORK = regex(r"Work[A-Z]{2,8}\((?P<inside>.*?Timeout\(ms\)=\d{1,18})\)")
_CUT_WORK = regex(r"Work[A-Z]{2,8}\((?P<inside>.*),")  # of a line that ends before: the fields that are whole
_WORK_FIELD = regex(r"(SeqNum|OpType|TensorShape|NumelIn|NumelOut|Timeout\(ms\))=(\[[^\]]*\]|[^,\[\]]*)")
_RAN = regex(rf"ran for ({_N}) milliseconds")
_COUNTERS = regex(
    rf"[Ll]ast enqueued (?:[A-Z]{{2,8}} )?work: (?P<enqueued>-?{_N}), "
    rf"last completed (?:[A-Z]{{2,8}} )?work: (?P<completed>-?{_N})"
)
_FINGERPRINT = regex(
    rf"Rank (?P<ra>{_N}) is running collective: CollectiveFingerPrint\((?P<a>.*?)\), but "
    rf"Rank (?P<rb>{_N}) is running collective: CollectiveFingerPrint\((?:(?P<b>.*?)\)\.?\s*(?:C[a-z]*(?: d[a-z]*)?|$)"
    r"(?P<differ>.*)|.*$)"  # the second of a line that ends before
)
_ERROR = regex(r"[A-Z]CCL error(?: in)?: ?")
# Raised by a program's own wrapper of the library: what the exception is that tells no more, is asked where exceptions are.
_WRAPPED = regex(r"\braise \w|(?:^|[\s\]])RuntimeError: [A-Z]CCL error: ")
_ERROR_KINDS: tuple[tuple[str, str], ...] = (
    ("out of memory", "gpu_oom"),
    ("No space left on device", "disk_full"),
    ("posix_fallocate", "disk_full"),
    ("Duplicate GPU", "config_error"),
    ("Mismatched NCCL version", "config_error"),
    ("Connection closed by remote peer", "peer_closed"),
    ("Connection refused", "connect_failed"),
    ("Connect to", "connect_failed"),
    ("RemoteError", "remote_error"),
    ("remote process exited", "remote_error"),
    ("InvalidUsage", "config_error"),
    ("invalid usage", "config_error"),
    ("unhandled cuda error", "cuda_error"),
    ("unhandled musa error", "cuda_error"),
    ("Cuda failure", "cuda_error"),
)
_ERROR_PART = regex(r"\s*(?:[nm]ccl\w+Error:|[nm]cclInvalidUsage|Last error:)")
_OWN_NUMBER = regex(r"\bRank (\d{1,7})\]")
_OTHER_END = regex(r"\bCall to (?:recv from|send to) \[?(?P<address>[\w.:-]{2,64}?)\]?<\d+> failed\b")
_WHAT = regex(r"\s*what\(\):")  # of std::terminate
_AT_WORK = regex(
    rf"(?:Timeout at [A-Z]{{2,8}} work: |(?P<failed>failure detected by watchdog at work sequence id: ))(?P<seq>{_N})"
)
_INITIALIZED = regex(rf"Rank {_N}: [A-Z]{{2,8}} communicator \S+ is initialized")
_ENDED_BLOCK = regex(r"^\s*(?:Traceback|Exception raised from|frame #|File \")")
_BOILERPLATE = (
    "operations have failed or timed out. Due to the asynchronous nature",
    "To avoid data inconsistency, we are taking the entire process down",
    "To avoid this inconsistency",
    "preparing to dump debug info",
    "Broadcasting ",
    "Stack trace of the failed collective",
    "This may indicate a possible application crash on rank 0",
    "watchdog thread terminated with exception",
    "watchdog thread joined",
    "DESYNC_DEBUG report",
    "Terminating the process after attempting to dump debug info",
    "No ranks successfully processed in monitoredBarrier",
    "Monitored Barrier encountered error running collective",
    "[c10d] The client socket has connected",
    "[c10d] The server socket",
    "[c10d] uv_loop",
)


def parse(lines: pl.DataFrame) -> Tables:
    """events of failing collectives, progress from the watchdog's counters; times as the line has them."""
    plain = reports(lines, PARSER.after)
    reader = _Reader(plain)
    for stream in streams(plain.left):
        reader.read(stream)
    return tables_of(
        events=pl.concat([plain.events, table("events", reader.events)]),
        progress=reader.progress,
        claimed=pl.concat([conform("claimed", plain.events.select("file", "line")), claimed(reader.claimed)]),
    )


class _Reader:
    def __init__(self, plain: Reports) -> None:
        self._reports = plain
        self.events: list[dict[str, Any]] = []
        self.progress: list[dict[str, Any]] = []
        self.claimed: list[tuple[str, int]] = []
        self._error: list[Row] = []
        self._group: dict[str, Any] = {}
        self._waits: dict[int, dict[str, Any]] = {}  # of one printer, by the number of the work
        self._failed: set[int] = set()  # of these, what the watchdog calls a failure

    def read(self, stream: list[dict[str, Any]]) -> None:
        self._group, self._waits, self._failed = {}, {}, set()
        before = len(self.events)
        for row in stream:
            if self._belongs_to_error(row) or self._single(row):
                self.claimed.append((row["file"], row["line"]))
        self._end_error()
        made = self.events[before:]
        plainly = self._plainly(stream[0]) if self._waits or any(_WHAT.match(one["text"]) for one in made) else set()
        told = {one.get("seq") for one in made if one["kind"] == "collective_timeout"} | {one[3] for one in plainly}
        # A failure that the watchdog sees may be the library's error instead, which is told then.
        has_error = any(one["severity"] != "info" and one["kind"] != "collective_timeout" for one in made)
        left_out = {*told, *(self._failed if has_error or told else ())}
        made += [one for seq, one in self._waits.items() if seq not in left_out]
        self.events[before:] = _without_repeats(made, plainly)

    def _plainly(self, row: Row) -> set[Said]:
        """What the printer of a line says in reports that were read by columns."""
        return self._reports.said.get(tuple(row[key] for key in PRINTER), set())

    def _single(self, row: Row) -> bool:
        text = row["text"]
        self._group = _group_of(row)
        understood = self._counters(row)
        if "CCL error" in text and _ERROR.search(text):
            self._end_error()
            self._error = [row]
            return True
        for words, pattern, build in _SINGLE:
            if any(word in text for word in words) and (found := pattern.search(text)):
                self.events.append(event(row, **{**self._who(), **build(row, found)}))
                return True
        # Said before or after the line that tells the operation, which may be lost.
        if ("Timeout at" in text or "at work sequence id" in text) and (found := _AT_WORK.search(text)):
            self._failed |= {int(found["seq"])} if found["failed"] else set()
            waited = {"severity": "error", "seq": int(found["seq"]), **self._who()}
            self._waits.setdefault(int(found["seq"]), event(row, "collective_timeout", **waited))
        return understood or _INITIALIZED.search(text) is not None or any(words in text for words in _BOILERPLATE)

    def _who(self) -> dict[str, Any]:
        return {key: self._group[key] for key in ("rank", "rank_space", "group") if self._group.get(key) is not None}

    def _counters(self, row: Row) -> bool:
        found = _COUNTERS.search(row["text"]) if "last completed" in row["text"] else None
        if found is None:
            return False
        place = reporter(row)
        rank = self._group["rank"] if self._group.get("rank_space") == "global" else place["rank"]
        counters = {"last_enqueued": int(found["enqueued"]), "last_completed": int(found["completed"])}
        group = {key: self._group.get(key) for key in ("pg_id", "group", "desc")}
        origin = {"file": row["file"], "line": row["line"], "time_ns": row["time_ns"], "rank": rank}
        self.progress.append(origin | group | counters | {"scope": "all", "how": "watchdog line"})
        return True

    def _belongs_to_error(self, row: Row) -> bool:
        if not self._error:
            return False
        near = row["line"] - self._error[0]["line"] <= PARSER.after and len(self._error) <= 4
        starts_another = _ERROR.search(row["text"]) or _ENDED_BLOCK.match(row["text"])
        before = self._error[-1]["text"].strip()
        is_part = before == "Last error:" or _ERROR_PART.match(row["text"])
        if near and not starts_another and is_part:
            self._error.append(row)
            return True
        self._end_error()
        return False

    def _end_error(self) -> None:
        rows, self._error = self._error, []
        if not rows:
            return
        text = "\n".join(row["text"] for row in rows)
        kind = next((kind for words, kind in _ERROR_KINDS if words in text), "comm_warning")
        if kind == "comm_warning" and _WRAPPED.search(rows[0]["text"]):
            return
        after_place = _ERROR.split(rows[0]["text"], maxsplit=1)[1]
        place, _, error = after_place.partition(",") if "CCL error in:" in rows[0]["text"] else ("", "", after_place)
        detail = {"place": place.strip() or None, "error": error.split(",")[0].strip() or None}
        if rows[-1] is not rows[0] and rows[-2]["text"].strip() == "Last error:":
            detail["last_error"] = rows[-1]["text"][:500]
            if found := _OTHER_END.search(rows[-1]["text"]):
                detail["other_end"] = found["address"]
        hosts = re.findall(r"(?:peer|Connect to) \[?([\w.:-]+?)\]?<\d", text) or None
        same = {"severity": "error", "detail": json.dumps(detail), "text": text[:2000], "names_hosts": hosts}
        self.events.append(event(rows[0], kind, **{**self._who(), **same}))


def _without_repeats(made: list[dict[str, Any]], others: set[Said]) -> list[dict[str, Any]]:
    """Without the waits that a C++ exception repeats when it takes down the process that has printed them. `others`: what it
    says besides."""

    def said(one: dict[str, Any]) -> Said:
        return one["kind"], one.get("rank"), one.get("rank_space"), one.get("seq"), one.get("op")

    first = {said(one) for one in made if not _WHAT.match(one["text"])} | others
    return [
        one
        for one in made
        if one["kind"] != "collective_timeout" or not _WHAT.match(one["text"]) or said(one) not in first
    ]


def _group_of(row: Row) -> dict[str, Any]:
    """Who prints: the global rank if known, else the rank in the group; and the group's names."""
    own = reporter(row)["rank"]
    return member(row["text"]) | ({} if own is None else {"rank": own, "rank_space": "global"})


def _host(address: str) -> str:
    """`[::ffff:10.0.0.1]:29500` or `10.0.0.1, 29500` → `10.0.0.1`: an address without its port."""
    address = address.split(",")[0]
    inner = re.match(r"^\[([^\]]*)\]", address)
    return (inner[1] if inner else address.rpartition(":")[0] or address).removeprefix("::ffff:")


def _of_work(row: Row, found: re.Match[str]) -> dict[str, Any]:
    text = row["text"]
    work, ran = _WORK.search(text) or _CUT_WORK.search(text), _RAN.search(text)
    fields = dict(_WORK_FIELD.findall(work["inside"])) if work else {}
    counted = {"NumelIn": "numel_in", "NumelOut": "numel_out", "Timeout(ms)": "timeout_ms"}
    counts = {to: _count(fields.get(of, "")) for of, to in counted.items()}
    detail: dict[str, Any] = {name: count for name, count in counts.items() if count is not None}
    detail |= {to: fields[of] for of, to in (("TensorShape", "shape"), ("OpType", "op_type")) if of in fields}
    made = {"kind": "collective_timeout", "severity": "error", "detail": json.dumps(detail | {"unit": "ms"})}
    made_op = {"op": operation(fields.get("OpType")), "seq": _count(fields.get("SeqNum", ""))}
    return made | made_op | {"value": float(ran[1]) if ran else None}


def _count(text: str) -> int | None:
    """A number that 64 bits hold, in the digits that PyTorch prints."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def _fingerprint(rank: str, whole: str | None) -> dict[str, Any]:
    text = whole or ""
    seq, op = re.search(rf"SequenceNumber=({_N})", text), re.search(r"OpType=(\w+)", text)
    shape = re.search(r"TensorShape=(\[[^=]*\])", text)
    dtypes = re.search(r"TensorDtypes=([\w, ]*?)(?:, Tensor|$)", text)
    return {
        "rank": int(rank),
        "op": operation(op[1]) if op else None,
        "shape": shape[1] if shape else None,
        "dtypes": dtypes[1].strip() if dtypes else None,
        "seq": int(seq[1]) if seq else None,
        # What the wrapper prints of a peer whose fingerprint never came, or a line that was cut: not a collective that anybody called.
        "incomplete": whole is None or bool(seq and seq[1] == "0" and op and op[1] == "GATHER" and not shape),
    }


def _mismatch(_row: Row, found: re.Match[str]) -> dict[str, Any]:
    a, b = _fingerprint(found["ra"], found["a"]), _fingerprint(found["rb"], found["b"])
    names = {"names_ranks": [a["rank"], b["rank"]], "names_rank_space": "group", "op": a["op"], "seq": a["seq"]}
    detail = {"a": a, "b": b, "differ": (found["differ"] or "").strip()[:500] or None}
    return names | {"kind": "fingerprint_mismatch", "severity": "error", "detail": json.dumps(detail)}


def _gloo_timeout(_row: Row, found: re.Match[str]) -> dict[str, Any]:
    detail = json.dumps({"direction": found[2], "timeout_ms": int(found[1]), "unit": "ms", "backend": "gloo"})
    return {"kind": "collective_timeout", "severity": "error", "value": float(found[1]), "detail": detail}


def _named(kind: str, space: str = "global", severity: str = "error") -> Build:
    """An event whose pattern's first group lists ranks."""

    def build(_row: Row, found: re.Match[str]) -> dict[str, Any]:
        return {"kind": kind, "severity": severity, "names_ranks": integers(found[1]), "names_rank_space": space}

    return build


def _plain(kind: str, code: str | None = None, severity: str = "error") -> Build:
    """An event with, where the pattern has them, `host` (an address), `ms`, `seconds`, and whatever else as detail."""

    def build(_row: Row, found: re.Match[str]) -> dict[str, Any]:
        groups = {key: value for key, value in found.groupdict().items() if value is not None}
        made: dict[str, Any] = {"kind": kind, "severity": severity, "code": code}
        if host := groups.get("host"):
            made["names_hosts"] = [_host(host)]
        if "ms" in groups or "seconds" in groups:
            made["value"] = float(groups.get("ms") or groups["seconds"])
            groups["unit"] = "ms" if "ms" in groups else "s"
        if "aborted" in groups:
            made |= {"rank": int(groups["aborted"]), "rank_space": "group"}
        return made | {"detail": json.dumps(groups)}

    return build


def _no_leader(row: Row, found: re.Match[str]) -> dict[str, Any]:
    made = {"rank": int(found["rank"]), "rank_space": "group"} if reporter(row)["rank"] is None else {}
    names = {"names_ranks": [0], "names_rank_space": "group"}
    return made | names | {"kind": "missing_members", "severity": "error", "detail": json.dumps({"key": found["key"]})}


def _store_barrier(row: Row, found: re.Match[str]) -> dict[str, Any]:
    """The rank is the global one, of whoever prints it: the barrier is of all ranks."""
    said = {"key": found["key"], "expected": found["expected"], "joined": found["joined"], "rank": int(found["rank"])}
    made: dict[str, Any] = {"kind": "missing_members", "severity": "error", "code": "store_barrier"}
    if reporter(row)["rank"] is None:
        made |= {"rank": int(found["rank"]), "rank_space": "global"}
    return made | {"detail": json.dumps(said)}


def _store_wait(row: Row, found: re.Match[str]) -> dict[str, Any]:
    """It is said every few seconds until all have come: no failure yet."""
    return _store_barrier(row, found) | {"severity": "info"}


def _first_to_dump(row: Row, _found: re.Match[str]) -> dict[str, Any]:
    own = reporter(row)["rank"]
    return {"kind": "dump_signal", "severity": "info", "names_ranks": None if own is None else [own]}


def _own_timeout(row: Row, _found: re.Match[str]) -> dict[str, Any]:
    """This rank asks all to dump because it waited until its own timeout. One group asks for all groups of a process: it is not the one that
    was waited in where it has completed all its calls."""
    counters = _COUNTERS.search(row["text"])
    is_idle = counters is not None and int(counters["enqueued"]) == int(counters["completed"])
    of_another = {"group": None} if is_idle else {}
    return of_another | {"kind": "collective_timeout", "severity": "error", "code": "dump_signal"}


def _other_end(row: Row, found: re.Match[str]) -> dict[str, Any]:
    """The library's last error, which stands below the line that quotes it and names no process of its own."""
    said = {"other_end": found["address"], "last_error": " ".join(row["text"].split())[:500]}
    return {"kind": "other", "severity": "info", "code": "other_end", "detail": json.dumps(said)}


def _device_error(row: Row, found: re.Match[str]) -> dict[str, Any]:
    own = _OWN_NUMBER.search(row["text"], 0, found.start()) if reporter(row)["rank"] is None else None
    named = {"names_ranks": [int(own[1])], "names_rank_space": "group"} if own else {}
    return named | {"kind": "cuda_error", "severity": "fatal", "code": found["error"].strip()}


# Words of which one stands in every line that the pattern finds, the pattern, and what it makes.
_SINGLE: tuple[tuple[tuple[str, ...], re.Pattern[str], Build], ...] = (
    (("Watchdog caught", "blocking wait"), regex(r"Watchdog caught (?:collective operation timeout|c[a-z ]{0,27}\Z)|timed out in blocking wait"), _of_work),
    ((" is running collective: ",), _FINGERPRINT, _mismatch),
    (("Detected mismatch between collectives on ranks",), regex(r"Detected mismatch between collectives on ranks(?!.* but Rank \d+ is running)"),
     _plain("comm_warning", MISMATCH)),
    (("Timed out waiting ",), regex(rf"Timed out waiting ({_N})ms for (\w+) operation"), _gloo_timeout),
    ((" by peer [",), regex(r"(?:Connection closed|reset) by peer (?P<host>\[[^\]]+\]:\d+)"), _plain("peer_closed")),
    (("ead", "rite"), regex(r"(?:Read|Write|readv|writev) (?:error )?(?P<host>\[[^\]]+\]:\d+): (?P<error>.+)"),
     _plain("peer_closed")),
    (("loo connectFullMesh failed",), regex(r"[Gg]loo connectFullMesh failed"), _plain("connect_failed", "gloo")),
    (("failed to pass monitoredBarrier",), regex(r"Ranks? ([\d, ]+) failed to pass monitoredBarrier in"), _named("barrier_missing", "group")),
    (("reached monitoredBarrier",), regex(r"(?:Rank (?P<own>\d{1,7}) \w{1,20} )?reached monitoredBarrier, but received errors while waiting(?:[\w /]{1,30} from rank (?P<peer>\d{1,7}))?"), _plain("remote_error", "barrier")),
    (("timed out in monitoredBarrier",), regex(rf"timed out in monitoredBarrier after (?P<ms>{_N}) ms"), _plain("collective_timeout", "barrier")),
    (("dump signal due to",), regex(r"dump signal due to a collective timeout from this local rank"), _own_timeout),
    (("dump signal due to",), regex(rf"dump signal due to a .*? from\s+rank ({_N})"), _named("dump_signal", severity="info")),
    (("Received a global dump signal",), regex(rf"Received a global dump signal from rank ({_N})"), _named("dump_signal", severity="info")),
    (("First PG on this rank",), regex(r"First PG on this rank to signal dumping"), _first_to_dump),
    (("dump signal",), regex(r"Observed flight recorder dump signal|dump signal from this local rank"),
     _plain("dump_signal", severity="info")),
    (("watchdog got stuck",), regex(rf"watchdog got stuck for (?P<seconds>{_N}) seconds"), _plain("heartbeat_lost")),
    (("eartbeat",), regex(r"Heartbeat monitor timed out|detected no heartbeat of its watchdog"), _plain("heartbeat_lost")),
    (("watchdog hang",), regex(r"Terminating the process after .*(?P<reason>watchdog hang)"), _plain("heartbeat_lost")),
    (('"should dump" flag', "Cannot detect remote"), regex(r'check the "should dump" flag on TCPStore|Cannot detect remote dump signals'),
     _plain("store_timeout", "store_lost")),
    (("communicator was aborted",), regex(rf"communicator was aborted on rank (?P<aborted>{_N})\."), _plain("comm_abort")),
    (("remote error detected",), regex(rf"remote error detected from rank: ({_N})"), _named("remote_error")),
    ((" is setting up ",), regex(rf"\[(?P<rank>{_N})\] is setting up [A-Z]CCL communicator and retr\w+ \w+ from \[0\].*?"
                r"by key '(?P<key>[^']*)'"),
     _no_leader),
    (("store based barrier on rank",), regex(rf"store based barrier on rank:? (?P<rank>{_N}), for key: (?P<key>\S+) \(world_size=(?P<expected>{_N}), "
                rf"(?:worker_count|num_workers_joined)=(?P<joined>{_N})"), _store_barrier),
    (("Waiting in store based barrier",), regex(rf"Waiting in store based barrier .{{0,80}}?rank: (?P<rank>{_N}), key: (?P<key>\S+) \(world_size=(?P<expected>{_N}), "
                rf"(?:worker_count|num_workers_joined)=(?P<joined>{_N})"), _store_wait),
    (("waiting for clients",), regex(rf"Timed out after (?P<seconds>{_N}) seconds waiting for clients"
                rf"\. (?P<joined>{_N})/(?P<expected>{_N})"),
     _plain("missing_members", "store_clients")),
    (("wait timeout after",), regex(rf"wait timeout after (?P<ms>{_N})ms, keys: (?P<keys>.*)"), _plain("store_timeout")),
    (("waitForInput: ",), regex(rf"waitForInput: .*remote=(?P<host>[^)]+)\)(?: timed out after (?P<ms>{_N})ms)?"),
     _plain("store_timeout")),
    (("failed on SocketImpl",), regex(r"(?:recvValue|sendBytes|recvVector|recvBytes)\w* failed on SocketImpl\(.*remote=(?P<host>[^)]+)\): "
                r"(?P<error>.*)"), _plain("peer_closed", "store")),
    (("client socket has timed out",), regex(rf"client socket has timed out after (?:(?P<ms>{_N})\s?ms|(?P<seconds>{_N})\s?s) while trying to connect to "
                rf"\(?(?P<host>[^\s,)]+(?:, \d+)?)"), _plain("connect_failed", "store")),
    (("client socket has failed",), regex(r"client socket has failed to connect to any network address of \((?P<host>[^\s,)]+)"), _plain("connect_failed", "store")),
    (("shutdown the rendezvous",), regex(r"has failed to shutdown the rendezvous .{1,200} due to an error of type Rendezvous(?:Connection|Timeout)Error"),
     _plain("connect_failed", "store", "warning")),
    (("Socket Timeout", "StoreTimeout", "Store::wait"), regex(r"Socket Timeout$|(?<!\w)Store(?:Timeout|::wait).*[Tt]imed? ?out"), _plain("store_timeout")),
    (("Call to ",), _OTHER_END, _other_end),
    (("watchdog thread terminated",), regex(r"watchdog thread terminated with exception: (?:CUDA|MUSA|MACA|HIP) (?:driver )?error: "
                r"(?P<error>[^\n.;]{1,200})"), _device_error),
)  # fmt: skip

PARSER = LineParser(
    name="process_group",
    anchors=(
        b"Watchdog caught collective", b"timed out in blocking wait", b" work: ", b"PG status: last enqueued",
        b"Detected mismatch between collectives", b"monitoredBarrier",
        b"Timed out waiting ", b"by peer [", b"connectFullMesh", b"dump signal", b"signal dumping", b"watchdog",
        b"Heartbeat monitor", b"should dump", b"Cannot detect remote", b"was aborted on rank", b"remote error detected",
        b"CCL communicator and retr", b"store based barrier", b"waiting for clients", b"wait timeout after",
        b"waitForInput", b"failed on SocketImpl", b"client socket has timed out", b"Socket Timeout", b"shutdown the rendezvous", b"client socket has failed",
        b"CCL error in: ", b"CCL error: ",
        b"CCL operations have failed", b"To avoid data inconsistency", b"dump debug info",
        b"Stack trace of the failed collective", b"[c10d] ", b"Monitored Barrier", b"readv [", b"writev [",
        b"ranks via TCPStore", b"DESYNC_DEBUG report", b"possible application crash on rank 0",
        b"CCL communicator ",
    ),
    parse=parse,
    after=8,  # the message of an error; other ranks may write between
    leads=regex(rb"CCL error(?: in)?:"),
)  # fmt: skip
