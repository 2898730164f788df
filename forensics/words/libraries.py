"""What is asked for, in the names of the job's own libraries: NCCL's status and settings only where NCCL may be, the recorder of
PyTorch only where PyTorch's process groups are, and nothing that was on already."""

from collections.abc import Mapping
from typing import Literal

from forensics.model.names import EvidenceKind
from forensics.model.said import Said, zh

Lacks = Literal["ras", "recorder", "detail"]
# What is left out of a sentence → what stands in its place, English and Chinese side by side; the longer ones first.
_OUT: Mapping[Lacks, tuple[tuple[Said, Said], ...]] = {
    "ras": (
        (Said("; NCCL RAS status", "；NCCL RAS 状态"), Said("", "")),
        (Said(", RAS status", "、NCCL RAS 状态"), Said("", "")),
    ),
    "recorder": (
        (Said("Flight Recorder dumps, py-spy dumps", "Flight Recorder 转储、py-spy 调用栈"), Said("py-spy dumps", "py-spy 调用栈")),
        (Said("Flight Recorder dumps and py-spy dumps", "Flight Recorder 转储与 py-spy 调用栈"), Said("py-spy dumps", "py-spy 调用栈")),
        (Said("flight-recorder and py-spy dumps", "Flight Recorder 转储与 py-spy 调用栈"), Said("py-spy dumps", "py-spy 调用栈")),
        (Said("stacks and Flight Recorder dumps", "调用栈与 Flight Recorder 转储"), Said("stacks", "调用栈")),
        (Said("Flight Recorder dump and stack", "Flight Recorder 转储与调用栈"), Said("stack", "调用栈")),
        (Said("Flight Recorder or stack dump", "Flight Recorder 转储或调用栈"), Said("stack dump", "调用栈")),
        (Said("the log, the stack and the flight record", "日志、调用栈与 Flight Recorder 转储"), Said("the log and the stack", "日志与调用栈")),
        (Said("Flight Recorder dumps of all ranks", "所有 rank 的 Flight Recorder 转储"), Said("stacks of all ranks", "所有 rank 的调用栈")),
        (Said(", and Flight Recorder dumps", "，以及 Flight Recorder 转储"), Said("", "")),
    ),
    "detail": (
        (Said(", or TORCH_DISTRIBUTED_DEBUG=DETAIL", "，或 TORCH_DISTRIBUTED_DEBUG=DETAIL 日志"), Said("", "")),
        (Said("TORCH_DISTRIBUTED_DEBUG=DETAIL, ", "TORCH_DISTRIBUTED_DEBUG=DETAIL 日志、"), Said("", "")),
    ),
}  # fmt: skip
# The log of the library, as each calls it.
_LOGS: Mapping[str, Said] = {
    "mccl": Said("MCCL_DEBUG=INFO logs", "MCCL_DEBUG=INFO 日志"),
    "hccl": Said("plogs of CANN", "CANN 的 plog"),
}
_NCCL_LOGS = Said("NCCL_DEBUG=INFO logs", "NCCL_DEBUG=INFO 日志")


def of_libraries(said: str, library: str | None, *lacks: Lacks) -> str:
    """What to collect, as it is called there. `library`: that of the collectives, null where any may be."""
    if not isinstance(said, Said):
        return said
    english, chinese = str(said), zh(said)
    pairs = [pair for one in lacks for pair in _OUT[one]]
    if library is not None and library in _LOGS:
        pairs.append((_NCCL_LOGS, _LOGS[library]))
    for before, after in pairs:
        english, chinese = english.replace(before, after), chinese.replace(before.zh, after.zh)
    gone: set[EvidenceKind | None] = {"ras" if "ras" in lacks else None, "dump" if "recorder" in lacks else None}
    return Said(english, chinese, *(one for one in said.asks if one not in gone))
