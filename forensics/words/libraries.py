"""What is asked for, in the names of the job's own libraries: NCCL's status and settings only where NCCL may be, the recorder of
PyTorch only where PyTorch's process groups are, and nothing that was on already."""

from collections.abc import Mapping
from typing import Literal

from forensics.model.commands import Vendor
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
# What NVIDIA's driver calls an error of its device → what other vendors' drivers write into the kernel log.
_XID = Said("“Xid”", "“Xid”")
_DRIVERS: Mapping[Vendor, Said] = {
    "amd": Said("“ring … timeout”, “GPU reset”, “page fault” of amdgpu", "amdgpu 的 “ring … timeout”、“GPU reset”、“page fault”"),
    "moore_threads": Said("an error of mtgpu", "mtgpu 的错误"),
    "metax": Said("an error of the MetaX driver", "MetaX 驱动的错误"),
    "huawei": Said("an error of the Ascend driver", "昇腾驱动的错误"),
}  # fmt: skip


def of_vendor(said: str, vendor: Vendor | None) -> str:
    """What to look for, in the words of the driver that is there; NVIDIA's where nobody tells whose it is."""
    own = _DRIVERS.get(vendor) if vendor is not None else None
    if own is None or not isinstance(said, Said) or _XID not in said:
        return said
    return Said(said.replace(_XID, own), zh(said).replace(_XID.zh, own.zh), *said.asks)


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
