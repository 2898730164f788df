"""What an exception means for a job, whoever prints it: the rows of `events` that its class and message make.

A time-out of a collective or a store that an exception reports is a wait (`collective_timeout`, `store_timeout`); where
another parser reads the message itself, it is nothing more. The exception by which a launcher reports how its process ended
(`CalledProcessError` of a program, Ray's `ActorDiedError`, a process of multiprocessing.spawn) is an `exit`, whose rank is not
told: the launcher's own rank is none.

A message that another failure explains (a closed connection, a time-out, a signal of the launcher) makes a consequence.
A FloatingPointError is raised for a value that is no number: a check found it (`nan_assert`), whatever the words.
KeyboardInterrupt is no failure: somebody stopped the process, and the traceback shows where it stood.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from parsers.knowledge import meaning
from parsers.numerics import bad_values
from parsers.schema.lines import Row, event, reporter
from parsers.text.patterns import regex
from parsers.text.signals import ASKING, SIGNALS, ended

_CONSEQUENCE = regex(
    r"Timed out waiting|onnection closed by (?:remote )?peer|onnection reset by peer|collective operation timeout|"
    r"RemoteError|remote process exited|Broken pipe|Socket Timeout|wait timeout after|waiting for send/recv from rank|"
    r"communicator was aborted|ChildFailedError|SignalException|timed out in (?:blocking wait|monitoredBarrier)|"
    r"[Nn]ot all ranks joined|waiting for clients|doesn't match expected size|killed by signal: Terminated|"
    r"ConnectionRefusedError|ConnectionAbortedError|RendezvousConnectionError|RendezvousClosedError|CancelledError|EOFError(?=:? *$)|"  # of a pipe without words: what has words was raised by whoever reads a file
    r"\bEngineDeadError\b|"  # vLLM's server, of the process of its engine
    r"RuntimeError: \[Rank \d{1,9}\]: Ranks? [\d, ]*(?:f[a-z]* ?(?:to p?[A-Za-z ]*)?)?$"  # a monitored barrier, cut short
)
_PORT = regex(
    r"The server socket has failed to (?:listen|bind)\b.{0,160}?(?:\bport: |\[::\]:)(?P<port>\d{1,5})\b"
)  # of c10d's store
_NONE_LEFT = r"(?:out of memory|memory (?:is|was) (?:not enough|exhausted)|memory isn't enough|not enough memory|memory exhausted|\bOOM\b)"
_ON_DEVICE = r"(?:(?:GPU|NPU|XPU|DCU|MLU|HPU|GCU|device|card)(?:_|[ :#]|\(id:) ?\d|\bHBM\b)"
_OOM = regex(
    r"(?:CUDA|MUSA|MACA|HIP|NPU) out of memory|\bout of (?:GPU|device|HBM|VRAM) memory\b|\bOutOfMemoryError\b|error: out of memory"
    r"|cudaSuccess \(2 vs\. 0\):?\s{1,2}out of memory|cuda runtime error \(2\) ?: out of memory|\bcudaMalloc\w* failed: out of memory"
    r"|allocating \d+ bytes of device memory|failed to allocate request for .{1,60}? on device ordinal",
    re.IGNORECASE,
)
_OF_A_DEVICE = regex(
    r"RESOURCE_EXHAUSTED: .{0,200}?(?:out of memory|failed to allocate|attempting to (?:allocate|reserve))"  # XLA
    r"|\bOOM when allocating tensor\b"  # TensorFlow, which names the allocator since 1.8
    rf"|{_NONE_LEFT}.{{0,200}}?{_ON_DEVICE}|{_ON_DEVICE}.{{0,80}}?{_NONE_LEFT}",
    re.IGNORECASE,
)
_OF_HOST = regex(
    r"(?i)\b(?:host|pinned|page-?locked|cpu|shared|swap)\b.{0,40}?\b(?:memory|allocat\w+|RAM)\b|device:CPU"
)
_ENDS_ITS_PROCESS = ("gpu_oom", "disk_full", "cuda_error")
# "(GPU 5; 79.50 GiB total capacity; …" before torch 2.1, "GPU 5 has a total capacity of …" since: the process's own numbering.
_FULL = regex(r"\b(?:GPU|NPU) (?P<device>\d{1,4})(?:;| has a total)")
_RAY_OOM = regex(r"\bray\.exceptions\.OutOfMemoryError\b")  # of the node: Ray killed a task before the kernel would
_TAKEN = regex(r"EADDRINUSE|Address already in use")
_NO_STORE = regex(r"RendezvousConnectionError: |: connect\(\) timed out\. Original timeout was")
_DEVICE = regex(r"\b(?:CUDA|MUSA|MACA|HIP) (?:driver )?error: (?P<code>[^\n.;]{1,200})")
# A thread or a replica that served one device: the device of the printer, by its own index.
_OF_DEVICE = regex(r"in (?:pin memory thread for|replica \d{1,4} on) device (?P<device>\d{1,4})\b")
# Read by the parser of process groups in the same line, with the operation and the number.
HEADED = "headed"  # of an event that has the lines before a failure, which another reader tells
_READ_ELSEWHERE = regex(
    r"Timed out waiting \d+ms for|timed out in blocking wait|Watchdog caught collective|timed out in monitoredBarrier"
    r"|wait timeout after \d+ms|waiting for clients\.|Socket Timeout$|client socket has (?:timed out after|failed to connect to any network)"
)
_TIMED_OUT = regex(
    r"(?i)\btimed? ?-?out\b|(?<!With)Timeout(?:Error)?\b|DEADLINE_EXCEEDED"
)  # …WithTimeout: the name of a call
_RAN_OUT = regex(
    r"(?i)\btimed[ -]?out\b|\btime-?out (?:after|caused|exceeded|expired|reached|occurred|elapsed)\b|\bran for more than\b|DEADLINE_EXCEEDED"
)
# Of a time-out as an argument, which no wait has reached: what it must be, or what is wrong with it.
_ARGUMENT = regex(
    r"(?i)\btime-?outs?(?:_\w+)?\b[^\n.]{0,60}?\b(?:must|should|needs?|has to|have to|cannot be|is not|isn't|not supported|argument|keyword|of type|to be|type|value)\b"
    r"|\b(?:invalid|negative|unsupported|unexpected|unknown|missing|bad|illegal|expected|requires?)\b[^\n.]{0,40}?\btime-?outs?\b"
)
_OF_ARGUMENTS = (
    "ValueError", "TypeError", "AssertionError", "AttributeError", "KeyError", "NameError", "NotImplementedError",
)  # fmt: skip
_COLLECTIVE = regex(
    r"(?i)all[-_ ]?reduce|all[-_ ]?gather|reduce[-_ ]?scatter|all[-_ ]?to[-_ ]?all|broadcast|barrier|\bcollective|\b[NMRHEX]CCLX?\b|\bgloo\b|\bpair closure\b|\bRPC ran\b"
)
_KEYS = regex(r"(?i)\bkey(?:s|\(s\))?: ")  # what only a store has, whichever library waits for it
_STORE = regex(
    r"(?i)(?<!object )\b(?!object_)\w*store\b|rendezvous"
)  # Ray's store of objects holds no keys that a group meets by
_PEER = regex(r"(?i)\b(?:closed|reset|aborted|lost|dropped)\b[^\n\d]{0,40}?\bpeer rank[ =:#]{0,2}(?P<rank>\d{1,7})\b")
# Whose failure a message quotes: a process by its number, and after it the class of what that one raised. A worker or a process may be
# a child of the printer, as loaders have them, and a task a piece of work.
_QUOTES = regex(
    r"(?:(?i:(?<![A-Za-z])(?:rank|trainer|member|peer))[ _]?[=:#]? ?\[?|/task:)(?P<rank>\d{1,7})\b(?![.:]\d)[^\n]{0,120}?"
    r"(?<![\w.])(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)\b(?:\(|: )"
)
_LAUNCHED = regex(r"\b(?:python[\d.]*|torchrun|deepspeed|accelerate|srun|mpirun|mpiexec|colossalai|bash|sh)\b")
_DIED = regex(
    r"(?:died with <Signals\.|terminated with signal |killed by signal:? ?)(?P<name>SIG\w+)|exit (?:status|code):? (?P<code>-?\d{1,5})"
)
_LAUNCHERS_OWN = ("CalledProcessError", "ProcessExitedException", "ActorDiedError", "RayActorError", "WorkerCrashedError",
                  "NodeDiedError")  # fmt: skip
_REPEATS = ("ProcessRaisedException", "WorkerGroupError")  # a launcher's, with the tracebacks of its processes below
_BY_SIGNAL = regex(
    r"(?i)(?:(?:got|received|caught|stopped|interrupted|terminated)(?: by| on)? )?(?:signal(?: number)?[ :=]{1,2}(?P<number>[1-9]\d?)|(?:signal[ :=]{1,2})?(?P<name>SIG[A-Z]{2,6}\d?))\.?"
)
_OF_SHELL = 128  # and the number of a signal, as a process's code
_SPAWNED = regex(r"\bprocess (?P<index>\d{1,4}) terminated with")
_WORKER = regex(
    r"DataLoader (?:worker|process) \(pid(?:\(s\))? +(?P<pid>\d{1,9})[\d, ]*\) (?P<how>exited unexpectedly|(?:exited )?is "
    r"killed by signal: [\w ]+)"
)


def interrupt(code: str | None, message: str | None) -> str | None:
    """The signal that an exception stands for: Python's own for Ctrl-C, a handler's that leaves with a shell's code for it (`SystemExit: 143`), or
    one whose message says nothing but that."""
    if code is not None and code.rsplit(".", 1)[-1] == "KeyboardInterrupt":
        return "SIGINT"
    if code == "SystemExit" and (message or "").strip().isdecimal():
        left = SIGNALS.get(int(message or "") - _OF_SHELL)
        return left if left in ASKING else None
    found = _BY_SIGNAL.fullmatch((message or "").strip()) if code is not None else None
    if found is None:
        return None
    name = (found["name"] or "").upper() or SIGNALS.get(int(found["number"]))
    return name if name in ASKING else None


def raised(
    row: Row,
    code: str | None,
    message: str | None,
    detail: dict[str, Any],
    text: str,
    severity: str = "error",
    kind: str = "exception",
) -> list[dict[str, Any]]:
    """Events of one exception: itself (for Ctrl-C an `exit` by SIGINT), and what its message means for the device.

    `detail` gets `consequence` where another failure explains it. `kind` other than exception: it ended nothing."""
    whole = f"{code}: {message}"
    same: dict[str, Any] = {"severity": severity, "text": text[:2000]}
    if (by := interrupt(code, message)) is not None and kind == "exception":
        is_whole = "thread" not in detail
        stopped = {"code": by, "detail": json.dumps(detail), **same, "severity": "info"}
        return [event(row, "exit" if is_whole else "other", **stopped)]
    if (code or "").rsplit(".", 1)[-1] in _REPEATS:
        return []
    if kind == "exception" and (told := _ended(row, code, message)):
        return [event(row, "exit", detail=json.dumps(detail), **same | told)]
    if kind == "exception" and (waited := _waited(whole, detail)):
        if _READ_ELSEWHERE.search(whole) and "quoted" not in row:  # whose line it is, a launcher said before it
            headed = {"code": HEADED, "severity": "info", "text": text[:2000], "detail": json.dumps(detail)}
            return [event(row, "other", **headed)] if detail.get("headed") else []
        return [event(row, waited, code=code, detail=json.dumps(detail), **same)]
    if code is not None and _CONSEQUENCE.search(whole):
        detail["consequence"] = True
    elif kind == "exception" and (whose := _of_whom(row, message or "", detail)) is not None:
        detail["quoted"] = whose
        same |= {"names_ranks": [whose], "names_rank_space": "group"}
    if served := _OF_DEVICE.search(message or ""):
        same["device_index"] = int(served["device"])
    found = [event(row, kind, code=code, detail=json.dumps(detail), **same)]
    if kind == "exception" and (known := derived(whole)):
        found.append(event(row, **{**same, **known}))
    is_own = kind == "exception" and "thread" not in detail
    if is_own and (bad := bad_values.raised(code, message or "") or bad_values.asserted(str(detail.get("at") or ""))):
        bad = bad_values.of_batch(bad, message or "")
        bad = bad if reporter(row)["rank"] is None else bad_values.by_its_printer(bad)
        found.append(event(row, **{"detail": "{}"} | same | bad))
    return found


def _of_whom(row: Row, message: str, detail: Mapping[str, Any]) -> int | None:
    """The number of another process, counted in the printer's group, whose failure a message quotes."""
    found = _QUOTES.search(message) if "quoted" not in detail else None
    number = int(found["rank"]) if found else None
    return number if reporter(row)["rank"] not in (None, number) else None


def _ended(row: Row, code: str | None, message: str | None) -> dict[str, Any] | None:
    """Columns of the `exit` that a launcher's exception reports; None where it is no launcher's."""
    name, said = (code or "").rsplit(".", 1)[-1], message or ""
    is_spawn = name in ("Exception", "") and _SPAWNED.match(said)  # torch 1.0 to 1.4 had no class for it
    if not (name in _LAUNCHERS_OWN or is_spawn) or (reporter(row)["rank"] is not None and "quoted" not in row):
        return None
    if name == "CalledProcessError" and not _LAUNCHED.search(said):
        return None
    how, index = _DIED.search(said), _SPAWNED.search(said)
    number = int(how["code"]) if how and how["code"] else 0
    code = (how and how["name"]) or (ended(number) if number else name)
    return {"code": code, "local_rank": int(index["index"]) if index else None}


def _waited(whole: str, detail: dict[str, Any]) -> str | None:
    """The kind of wait that an exception gave up: by its words, else by where it was raised; None: another exception."""
    if _READ_ELSEWHERE.search(whole):
        return "collective_timeout"
    if not _TIMED_OUT.search(whole) or _DEVICE.search(whole) or _is_of_an_argument(whole):
        return None
    if _KEYS.search(whole):
        return "store_timeout"
    if _COLLECTIVE.search(whole):
        return "collective_timeout"
    if _STORE.search(whole):
        return "store_timeout"
    innermost = next(iter(detail.get("frames") or []), (None, "", None))
    return "collective_timeout" if "distributed_c10d" in (innermost[1] or "") else None


def _is_of_an_argument(whole: str) -> bool:
    """Is a time-out what was given to a call, not what a wait has reached?"""
    if _RAN_OUT.search(whole):
        return False
    code = whole.partition(":")[0].rsplit(".", 1)[-1]
    return code in _OF_ARGUMENTS or _ARGUMENT.search(whole) is not None


def derived(message: str) -> dict[str, Any] | None:
    """The event that a message stands for besides the exception itself."""
    if _RAY_OOM.search(message):
        return {"kind": "host_oom", "detail": json.dumps({"library": "Ray"})}
    if _OOM.search(message) or (_OF_A_DEVICE.search(message) and not _OF_HOST.search(message)):
        full = _FULL.search(message)
        return {"kind": "gpu_oom"} | ({"device_index": int(full["device"])} if full else {})
    if found := _WORKER.search(message):
        # What may have caused a bus error (no shared memory left, a mapped file that cannot be read) is PyTorch's guess.
        worker = {"pid": int(found["pid"]), "detail": json.dumps({"process": "dataloader worker", "how": found["how"]})}
        return worker | {"kind": "other", "code": "dataloader_worker"}
    if found := _PEER.search(message):
        return {"kind": "peer_closed", "names_ranks": [int(found["rank"])], "names_rank_space": "global"}
    if "Unexpected bus error encountered in worker" in message:
        return {"kind": "other", "code": "dataloader_worker"}
    if "Unexpected segmentation fault encountered in worker" in message:
        return {"kind": "segfault", "detail": json.dumps({"process": "dataloader worker"})}
    if _NO_STORE.search(message):  # an agent says so, too, whose job has ended
        return {"kind": "connect_failed", "code": "store", "severity": "warning"}
    if "No space left on device" in message:
        return {"kind": "disk_full"}
    if (found := _PORT.search(message)) and _TAKEN.search(message):
        return {"kind": "config_error", "code": "port_in_use", "detail": json.dumps({"port": int(found["port"])})}
    if "Received data size doesn't match expected size" in message:
        return {"kind": "size_mismatch"}
    if found := _DEVICE.search(message):
        return {"kind": "cuda_error", "code": found["code"].strip()}
    return None


def told_later(made: Mapping[str, Any], more: list[str]) -> dict[str, Any] | None:
    """The event that lines tell which follow an exception's first: memory or a disk that was full, a device's error, or a bad value, that the last
    of them tells; none where they tell of others."""
    if "thread" in made["detail"]:
        return None
    if (known := derived(" ".join(more))) is not None and known["kind"] in _ENDS_ITS_PROCESS:
        return {**made, "code": None, "detail": "{}", **known}
    said = bad_values.raised(made["code"], more[-1])
    if said is None or ((told := meaning(" ".join(more))) is not None and told.own is False):
        return None
    said = said if made["rank"] is None else bad_values.by_its_printer(said)
    return {**made, "detail": "{}", **said}
