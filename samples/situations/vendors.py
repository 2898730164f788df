"""The same ten situations for each vendor of accelerators, in the words of its driver, its library and its runtime."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from samples.situations.calls import mismatch
from samples.situations.job import Job, s
from samples.situations.parts import DATASET, STEP, nodes, others
from samples.situations.situation import CRASH, HANG, Situation

CODE = "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect."


@dataclass(frozen=True)
class Vendor:
    """`hosts`: prefix of host names. Each of the others: job, rank and time → lines of the kernel or of the rank."""

    name: str
    hosts: str
    stuck: Callable[[Job, int, datetime], None]
    lost: Callable[[Job, int, datetime], None]
    memory: Callable[[Job, int, datetime], None]
    full: str  # what a rank raises whose device has no memory left
    unrelated: Callable[[Job, str, datetime], None]  # a record that says nothing of this fault, on a host


def begun(vendor: Vendor, n: str, hosts: int = 2, per: int = 4, layout: str = "flat") -> tuple[Job, datetime]:
    j = Job(n, nodes(vendor.hosts, hosts), per, "2026-10-05T04:00:00", layout, "2.6", vendor.name)
    j.start()
    if vendor.name != "ascend":
        j.init()
    return j, j.steps(300, 304, j.t0 + s(20))


# --- what the vendors print ------------------------------------------------------------------------------------------


def _amd_stuck(j: Job, r: int, t: datetime) -> None:
    a = f"amdgpu {j.pci(r)}.0: amdgpu: "
    j.kernel(j.host(r), t, f"{a}ring comp_1.1.0 timeout, signaled seq=81234, emitted seq=81236")
    j.kernel(j.host(r), t, f"{a}Process information: process python3 pid {j.pid(r)} thread python3 pid {j.pid(r)}")
    j.kernel(j.host(r), t + s(1), f"{a}GPU reset begin!. Source:  1")


def _amd_lost(j: Job, r: int, t: datetime) -> None:
    j.kernel(j.host(r), t, f"amdgpu {j.pci(r)}.0: amdgpu: device lost from bus!")
    j.out(r, t + s(1), "HW Exception by GPU node-5 (Agent handle: 0x5581a4c02d10) reason :GPU Hang", True)


def _amd_memory(j: Job, r: int, t: datetime) -> None:
    a = f"amdgpu {j.pci(r)}.0: amdgpu: "
    j.kernel(j.host(r), t, f"{a}socket: 1, die: 0, 1 uncorrectable hardware errors detected in total in umc block")
    j.out(
        r,
        t + s(1),
        "Memory access fault by GPU node-6 (Agent handle: 0x561f20) on address 0x7f3a5c200000. Reason: Unknown.",
        True,
    )


def _amd_unrelated(j: Job, host: str, t: datetime) -> None:
    j.kernel(host, t, "amdgpu 0000:d3:00.0: amdgpu: 2 correctable hardware errors detected in total in umc block")


def _ascend_error(j: Job, r: int, t: datetime, code: int, inner: str) -> None:
    stamp = f"{t:%Y-%m-%d-%H:%M:%S}"
    j.trace(
        r,
        t,
        STEP,
        f"RuntimeError: synchronizeStream:build/CMakeFiles/torch_npu.dir/compiler_depend.ts:433 NPU function error: AclrtSynchronizeStreamWithTimeout, error code is {code}\n"
        f"[ERROR] {stamp} (PID:{j.pid(r)}, Device:{j.local(r)}, RankID:{r}) ERR00100 PTA call acl api failed\n{inner}",
    )


def _ascend_stuck(j: Job, r: int, t: datetime) -> None:
    at = f"{t:%Y-%m-%d-%H:%M:%S}.041.231"
    _ascend_error(
        j, r, t, 507014,
        "[Error]: The aicore execution times out.\n        Rectify the fault based on the error information in the ascend log.\n"
        f"EZ9999: [PID: {j.pid(r)}] {at} The error from device(chipId:{j.local(r)}, dieId:0), serial number is 3, there is an aicore timeout error, core id is 9",
    )  # fmt: skip


def _ascend_lost(j: Job, r: int, t: datetime) -> None:
    _ascend_error(
        j,
        r,
        t,
        507010,
        "[Error]: The device heartbeat is lost.\n        Rectify the fault based on the error information in the ascend log.",
    )


def _ascend_memory(j: Job, r: int, t: datetime) -> None:
    _ascend_error(
        j,
        r,
        t,
        507054,
        "[Error]: Multi-bit ECC error of HBM.\n        Rectify the fault based on the error information in the ascend log.",
    )


def _ascend_unrelated(j: Job, host: str, t: datetime) -> None:
    j.kernel(host, t, "pcieport 0000:c0:02.0: AER: Corrected error received: 0000:c1:00.0")


def _musa_stuck(j: Job, r: int, t: datetime) -> None:
    j.kernel(
        j.host(r), t, f"MTGPU:(Error): {j.pid(r):5}: HWR: Lockup detected on DM1, FWCtx: 0xd0024c80 [rgxfwutils.c:4711]"
    )
    j.kernel(
        j.host(r),
        t + s(0.1),
        f"MTGPU:(Error): {j.pid(r):5}: {j.pci(r)}.0 reset reason: Guilty Lockup, pid {j.pid(r)} [rgxdebug.c:880]",
    )


def _musa_lost(j: Job, r: int, t: datetime) -> None:
    j.kernel(j.host(r), t, f"MTGPU:(Error): {j.pid(r):5}: Device status not OK! [pvrsrv.c:3311]")
    j.trace(r, t + s(1), STEP, f"RuntimeError: MUSA error: unknown error\n{CODE.replace('CUDA', 'MUSA')}")


def _musa_memory(j: Job, r: int, t: datetime) -> None:
    j.kernel(
        j.host(r),
        t,
        f"mtgpu {j.pci(r)}.0: MTGPU:(Error): {j.pid(r):5}: ECC fault GPU=0x00000002 FW=0x00000000 [rgxinit.c:512]",
    )
    j.trace(
        r,
        t + s(1),
        STEP,
        f"RuntimeError: MUSA error: uncorrectable ECC error encountered\n{CODE.replace('CUDA', 'MUSA')}",
    )


def _musa_unrelated(j: Job, host: str, t: datetime) -> None:
    j.kernel(host, t, "MTGPU:(Warn):    411: TOPO Detect Failed [mtlink.c:77]")


def _bxxxx(j: Job, r: int) -> str:
    return f"B{int(j.bus(r), 16) << 8:X}"


def _metax_eid(j: Job, r: int, t: datetime, block: str, eid: str, text: str) -> None:
    j.kernel(j.host(r), t, f"METAX.{_bxxxx(j, r)}.{block}.ERROR EID ({j.pci(r)}.0): {eid}, {text}")


def _metax_stuck(j: Job, r: int, t: datetime) -> None:
    _metax_eid(j, r, t, "HQD", "0x3101", f"compute queue hang, process python3 pid {j.pid(r)}")


def _metax_lost(j: Job, r: int, t: datetime) -> None:
    j.kernel(j.host(r), t, f"METAX.{_bxxxx(j, r)}.PCIE.EMERG: device is lost, read register returned 0xffffffff")
    j.trace(r, t + s(1), STEP, f"RuntimeError: MACA error: unknown error\n{CODE.replace('CUDA', 'MACA')}")


def _metax_memory(j: Job, r: int, t: datetime) -> None:
    _metax_eid(j, r, t, "HBM", "0x2204", "HBM uncorrectable ECC error, address 0x1f0044c000")
    j.trace(
        r,
        t + s(1),
        STEP,
        f"RuntimeError: MACA error: uncorrectable ECC error encountered\n{CODE.replace('CUDA', 'MACA')}",
    )


def _metax_unrelated(j: Job, host: str, t: datetime) -> None:
    j.kernel(host, t, "METAX.BD300.VR.WARN EID (0000:d3:00.0): 0x1103, main flash damaged; booted from backup")


FULL = "Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 63.98 GiB of which 1.06 GiB is free."
VENDORS = (
    Vendor("amd", "mi", _amd_stuck, _amd_lost, _amd_memory, f"torch.OutOfMemoryError: HIP out of memory. {FULL}", _amd_unrelated),
    Vendor("ascend", "atlas", _ascend_stuck, _ascend_lost, _ascend_memory, "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 0; 60.97 GiB total capacity; 58.12 GiB already allocated; 1.06 GiB free)", _ascend_unrelated),
    Vendor("musa", "mtt", _musa_stuck, _musa_lost, _musa_memory, f"torch.musa.OutOfMemoryError: MUSA out of memory. {FULL}", _musa_unrelated),
    Vendor("metax", "mx", _metax_stuck, _metax_lost, _metax_memory, f"torch.OutOfMemoryError: MACA out of memory. {FULL}", _metax_unrelated),
)  # fmt: skip

# --- the situations --------------------------------------------------------------------------------------------------


def silent(v: Vendor, n: str) -> Job:
    j, e = begun(v, n)
    j.all_timeout(e + s(602), 305, others(j, 5))
    j.observed(5, e + s(603.5), 0, 304, 304)
    return j


def stuck(v: Vendor, n: str) -> Job:
    j, e = begun(v, n)
    v.stuck(j, 3, e + s(3))
    j.all_timeout(e + s(602), 305, others(j, 3) if v.name == "ascend" else j.ranks)
    return j


def lost(v: Vendor, n: str) -> Job:
    j, e = begun(v, n)
    v.lost(j, 2, e + s(2))
    j.torchrun_fail(j.host(2), e + s(4), [(2, -6, "SIGABRT")], 2, closing=[0, 1, 3])
    j.all_timeout(e + s(602), 305, range(4, 8))
    return j


def memory(v: Vendor, n: str) -> Job:
    j, e = begun(v, n)
    v.memory(j, 6, e + s(2))
    j.torchrun_fail(j.host(6), e + s(4), [(6, -6, "SIGABRT")], 6, closing=[4, 5, 7])
    j.all_timeout(e + s(602), 305, range(4))
    return j


def link(v: Vendor, n: str) -> Job:
    j, e = begun(v, n)
    j.kernel(j.hosts[1], e + s(1), "mlx5_core 0000:41:00.0 ens3f0np0: Link down")
    j.all_timeout(e + s(602), 305, j.ranks)
    return j


def calls(v: Vendor, n: str) -> Job:
    j, e = begun(v, n)
    mismatch(j, e + s(1), 305, [("ALLGATHER" if r == 1 else "ALLREDUCE", "1024, 1024") for r in j.ranks])
    return j


def full(v: Vendor, n: str) -> Job:
    j, e = begun(v, n)
    j.trace(4, e + s(1), STEP, v.full)
    j.torchrun_fail(j.host(4), e + s(3), [(4, 1, "")], 4, closing=[5, 6, 7])
    j.all_timeout(e + s(602), 305, range(4))
    return j


def nan(v: Vendor, n: str) -> Job:
    j, e = begun(v, n)
    j.trace(
        3, e + s(1), STEP[:3],
        f"AssertionError: Rank 3: found NaN in local grad norm in backward pass before data-parallel communication collective. Device: 3, node: {j.host(3)}",
    )  # fmt: skip
    j.torchrun_fail(j.host(3), e + s(3), [(3, 1, "")], 3, closing=[0, 1, 2])
    j.all_timeout(e + s(602), 305, range(4, 8))
    return j


def decoy(v: Vendor, n: str) -> Job:
    j, e = begun(v, n)
    v.unrelated(j, j.host(0), e - s(1200))
    j.trace(5, e + s(1), DATASET, "KeyError: 'shard_00417'")
    j.torchrun_fail(j.host(5), e + s(3), [(5, 1, "")], 5, closing=[4, 6, 7])
    j.all_timeout(e + s(602), 305, range(4))
    return j


def restart(v: Vendor, n: str) -> Job:
    j, e = begun(v, n, hosts=1, layout="torchrun")
    v.lost(j, 2, e + s(2))
    j.torchrun_fail(j.hosts[0], e + s(4), [(2, -6, "SIGABRT")], 2, closing=[0, 1, 3])
    j.attempt = 1
    j.start(e + s(90))
    end = j.steps(300, 309, e + s(110))
    for r in j.ranks:
        j.log(r, end + s(1), "training finished, exiting")
    return j


SITUATIONS: Mapping[str, tuple[Callable[[Vendor, str], Job], str, dict[str, object]]] = {
    "silent": (silent, "7 timed out, rank 5 is alive with lower counters: rank_absent 5", {"kinds": HANG, "causes": ["rank_absent"], "ranks": [5]}),
    "stuck": (stuck, "the driver or runtime tells of rank 3's device before the time-outs: rank 3", {"kinds": ["hang", "crash"], "causes": ["gpu_fault"], "ranks": [3]}),
    "lost": (lost, "the device of rank 2 was lost first: gpu_fault 2", {"kinds": ["hang", "crash"], "causes": ["gpu_fault"], "ranks": [2]}),
    "memory": (memory, "uncorrectable memory of rank 6's device: gpu_fault 6", {"kinds": ["hang", "crash"], "causes": ["gpu_fault"], "ranks": [6]}),
    "link": (link, "the link of the second host went down, then all timed out: network_fault of that host", {"kinds": HANG, "causes": ["network_fault"], "ranks": []}),
    "calls": (calls, "rank 1 called another operation than 7 others: mismatch 1", {"kinds": ["hang", "crash"], "causes": ["collective_mismatch"], "ranks": [1]}),
    "full": (full, "rank 4 ran out of device memory first: gpu_oom 4", {"kinds": CRASH, "causes": ["gpu_oom"], "ranks": [4]}),
    "nan": (nan, "rank 3 asserted on its own local gradient; whether mates share it is not told", {"kinds": ["numerics"], "ranks_any": [[], [3]]}),
    "decoy": (decoy, "rank 5 raised; an unrelated record of another device 20 min before", {"kinds": CRASH, "causes": ["exception"], "ranks": [5]}),
    "restart": (restart, "a lost device ended the first attempt; the second one ended well", {"kinds": ["healthy"], "ranks": []}),
}  # fmt: skip


# What CANN says of a core that timed out proves no fault of the device: its program may be at fault.
WIDER = {"ascend_stuck": {"causes": ["gpu_fault", "kernel_stuck", "exception"]}}


def _made(vendor: Vendor, make: Callable[[Vendor, str], Job]) -> Callable[[str], Job]:
    return lambda name: make(vendor, name)


CASES: Mapping[str, Situation] = {
    f"{vendor.name}_{name}": Situation(
        _made(vendor, make), f"{vendor.name}: {truth}", {**expect, **WIDER.get(f"{vendor.name}_{name}", {})}
    )
    for vendor in VENDORS
    for name, (make, truth, expect) in SITUATIONS.items()
}
