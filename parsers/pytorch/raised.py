"""What an exception means for a job, whoever prints it: the rows of `events` that its class and message make.

A message that another failure explains (a closed connection, a time-out, a signal of the launcher) makes a consequence.
KeyboardInterrupt is no failure: somebody stopped the process, and the traceback shows where it stood.
"""

import json
import re
from typing import Any

from parsers.lines import Row, event

_CONSEQUENCE = re.compile(
    r"Timed out waiting|onnection closed by (?:remote )?peer|onnection reset by peer|collective operation timeout|"
    r"RemoteError|remote process exited|Broken pipe|Socket Timeout|wait timeout after|waiting for send/recv from rank|"
    r"communicator was aborted|ChildFailedError|SignalException|timed out in (?:blocking wait|monitoredBarrier)|"
    r"[Nn]ot all ranks joined|waiting for clients|doesn't match expected size|killed by signal: Terminated|"
    r"ConnectionRefusedError|ConnectionAbortedError|RendezvousConnectionError|RendezvousClosedError|CancelledError|EOFError"
)
_OOM = re.compile(r"(?:CUDA|MUSA|MACA|HIP) out of memory|\bOutOfMemoryError\b|error: out of memory", re.IGNORECASE)
_DEVICE = re.compile(r"\b(?:CUDA|MUSA|MACA|HIP) (?:driver )?error: (?P<code>[^\n.;]{1,200})")
# A thread or a replica that served one device: the device of the printer, by its own index.
_OF_DEVICE = re.compile(r"in (?:pin memory thread for|replica \d{1,4} on) device (?P<device>\d{1,4})\b")
_WORKER = re.compile(
    r"DataLoader worker \(pid(?:\(s\))? (?P<pid>\d{1,9})[\d, ]*\) (?P<how>exited unexpectedly|is "
    r"killed by signal: [\w ]+)"
)


def is_interrupt(code: str | None) -> bool:
    """Is this the class that Python raises for Ctrl-C (SIGINT)?"""
    return code is not None and code.rsplit(".", 1)[-1] == "KeyboardInterrupt"


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
    if is_interrupt(code) and kind == "exception":
        is_whole = "thread" not in detail
        stopped = {"code": "SIGINT", "detail": json.dumps(detail), **same, "severity": "info"}
        return [event(row, "exit" if is_whole else "other", **stopped)]
    if code is not None and _CONSEQUENCE.search(whole):
        detail["consequence"] = True
    if served := _OF_DEVICE.search(message or ""):
        same["device_index"] = int(served["device"])
    found = [event(row, kind, code=code, detail=json.dumps(detail), **same)]
    if kind == "exception" and (meaning := derived(whole)):
        found.append(event(row, **{**same, **meaning}))
    return found


def derived(message: str) -> dict[str, Any] | None:
    """The event that a message stands for besides the exception itself."""
    if _OOM.search(message):
        return {"kind": "gpu_oom"}
    if found := _WORKER.search(message):
        worker = {"pid": int(found["pid"]), "detail": json.dumps({"process": "dataloader worker", "how": found["how"]})}
        # A bus error of a worker is a full /dev/shm: it maps its batches there.
        if "Bus error" in found["how"]:
            return worker | {"kind": "disk_full", "code": "shm"}
        return worker | {"kind": "other", "code": "dataloader_worker"}
    if "Unexpected bus error encountered in worker" in message:
        return {"kind": "disk_full", "code": "shm"}
    if "No space left on device" in message:
        return {"kind": "disk_full"}
    if "Received data size doesn't match expected size" in message:
        return {"kind": "size_mismatch"}
    if found := _DEVICE.search(message):
        return {"kind": "cuda_error", "code": found["code"].strip()}
    return None
