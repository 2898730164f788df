"""Devices that fail: the culprit's, another's, too late; kernels that never end."""

from samples.situations.job import Job, s
from samples.situations.parts import STEP, XID79, basic, nodes, others, world
from samples.situations.records import Records
from samples.situations.situation import CRASH, HANG, case
from samples.situations.stacks import faulthandler, pyspy


# --- hardware on the culprit's device, elsewhere, too late
@case(
    "Xid 79 on the device of rank 5, 2 s after the last step; rank 5 never entered the next operation: gpu_fault, rank 5",
    kinds=["hang", "crash"],
    causes=["gpu_fault"],
    ranks=[5],
)
def xid79_culprit(n: str) -> Job:
    j, e = basic(n, ["gpu-b"], 8, "2026-09-01T00:30:00", "flat", "2.6")
    j.kernel("gpu-b", e + s(2), XID79(j.pci(5)))
    j.kernel("gpu-b", e + s(2.1), f"NVRM: GPU {j.pci(5)}.0: GPU has fallen off the bus.")
    f = world(j, 909, e, dt_=4, absent=[5])
    f.dump(skip=[5])
    j.all_timeout(e + s(604), 913, others(j, 5))
    j.observed(5, e + s(605.3), 0, 912, 912)
    return j


@case(
    "Xid 79 with the same address on both hosts' numbering, but only b200-2's kernel printed it: rank 14 (absent in the records) and no other",
    kinds=["hang", "crash"],
    causes=["gpu_fault"],
    ranks=[14],
)
def xid79_two_hosts(n: str) -> Job:
    j, e = basic(n, ["b200-1", "b200-2"], 8, "2026-09-02T00:30:00", "tee", "2.9")
    j.kernel("b200-2", e + s(1), XID79(j.pci(14)), "journal")
    j.kernel(
        "b200-1",
        e - s(3000),
        "EXT4-fs (nvme0n1p2): mounted filesystem with ordered data mode. Quota mode: none.",
        "journal",
    )
    f = world(j, 41, e, dt_=4, absent=[14])
    f.dump()
    j.all_timeout(e + s(604), 45, others(j, 14))
    return j


@case(
    "MUSA driver: lockup on the device of rank 1 (its pid) before; rank 1 is one operation behind: gpu_fault (or at least absent), rank 1",
    kinds=["hang", "crash"],
    causes=["gpu_fault", "rank_absent"],
    ranks=[1],
)
def musa_lockup(n: str) -> Job:
    j, e = basic(n, ["mtt-8"], 4, "2026-09-03T00:30:00", "flat", "2.6", "musa")
    j.kernel(
        "mtt-8",
        e + s(1.5),
        f"MTGPU:(Error): {j.pid(1)}-{j.pid(1)}: HWR: Lockup detected on DM1, FWCtx: 0x80a41c00 [pvr/rgxfwutils.c:4410]",
    )
    j.all_timeout(e + s(604), 45, others(j, 1))
    j.observed(1, e + s(605.3), 0, 44, 44)
    return j


@case(
    "rank 3 sat in the data loader; the Xid 94 two minutes before was on another host of the job, whose ranks all waited alive: rank_absent 3",
    kinds=HANG,
    causes=["rank_absent"],
    ranks=[3],
    site=["data_loading"],
)
def xid94_other_host(n: str) -> Job:
    j, e = basic(n, ["ib-1", "ib-2"], 8, "2026-09-04T04:30:00", "flat", "2.6", dt_=20, n=8)
    j.kernel(
        "ib-2",
        e - s(120),
        f"NVRM: Xid (PCI:{j.pci(12)}): 94, pid=99123, name=nv-hostengine, Contained: SM (0x1). RST: No, D-RST: No",
    )
    f = world(j, 70, e, dt_=20, absent=[3])
    f.dump()
    for r in (0, 3, 12, 15):
        pyspy(j, r, "data" if r == 3 else "sync", path=f"stacks/{j.host(r)}_{j.pid(r)}.txt")
    j.all_timeout(e + s(620), 74, others(j, 3))
    return j


@case(
    "rank 8 absent by the records (lock by its stack); Xid 63 (row remapped) on a waiting rank's device hours before accuses nobody",
    kinds=HANG,
    causes=["rank_absent"],
    ranks=[8],
    site=["lock", "data_loading"],
)
def xid63_other_rank(n: str) -> Job:
    j, e = basic(n, ["ib-3", "ib-4"], 8, "2026-09-05T04:30:00", "srun_l", "2.4")
    j.kernel(
        "ib-3",
        j.t0 - s(7000),
        f"NVRM: Xid (PCI:{j.pci(2)}): 63, pid='<unknown>', name=<unknown>, Row Remapper: New row (0x0000000210a44c00) marked for remapping, reset gpu to activate.",
        "iso",
    )
    f = world(j, 7000, e, absent=[8])
    f.dump()
    faulthandler(j, 8, "lock")
    faulthandler(j, 9, "allreduce")
    j.all_timeout(e + s(603), 7004, others(j, 8))
    return j


@case(
    "rank 7 absent; Xid 45 on all devices after the aborts is the consequence: rank_absent 7",
    kinds=HANG,
    causes=["rank_absent"],
    ranks=[7],
)
def xid45_after(n: str) -> Job:
    j, e = basic(n, ["xx1"], 8, "2026-09-06T04:30:00", "torchrun", "2.6")
    f = world(j, 15, e, absent=[7])
    f.dump()
    j.all_timeout(e + s(603), 19, others(j, 7))
    for r in j.ranks:
        j.kernel(
            "xx1",
            e + s(606 + 0.1 * r),
            f"NVRM: Xid (PCI:{j.pci(r)}): 45, pid={j.pid(r)}, name=pt_main_thread, Ch 00000008",
        )
    j.torchrun_fail("xx1", e + s(605), [(r, -6, "SIGABRT") for r in others(j, 7)], 0, closing=[7])
    return j


@case(
    "all 8 timed out in one operation; Xid 79 came 10 s after the first time-out and judges nothing: nobody, cause null",
    kinds=HANG,
    causes=[None],
    ranks=[],
)
def xid79_after(n: str) -> Job:
    j, e = basic(n, ["xx2"], 8, "2026-09-07T04:30:00", "flat", "2.4")
    j.all_timeout(e + s(603), 19, j.ranks)
    j.kernel("xx2", e + s(613), XID79(j.pci(6)))
    return j


@case(
    "rank 13 itself prints CUDA uncorrectable ECC error and ends first; Xid 48 and 94 of its device before; others time out: crash gpu_fault, rank 13",
    kinds=CRASH,
    causes=["gpu_fault"],
    ranks=[13],
)
def ecc_own_error(n: str) -> Job:
    j, e = basic(n, ["yy1", "yy2"], 8, "2026-09-08T04:30:00", "srun_files", "2.6")
    j.kernel(
        "yy2",
        e + s(0.4),
        f"NVRM: Xid (PCI:{j.pci(13)}): 94, pid={j.pid(13)}, name=pt_main_thread, Contained: SM (0x1). RST: No, D-RST: No",
    )
    j.trace(
        13,
        e + s(0.9),
        STEP,
        "RuntimeError: CUDA error: uncorrectable ECC error encountered\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.",
    )
    j.srun(e + s(3), "srun: error: yy2: task 13: Exited with exit code 1")
    j.all_timeout(e + s(602), 44, others(j, 13))
    return j


# --- stuck kernel
@case(
    "timing on: 7 started, rank 6 only scheduled with nothing older open: its device is busy with something else: kernel_stuck, rank 6",
    kinds=HANG,
    causes=["kernel_stuck"],
    ranks=[6],
)
def stuck_timing_on(n: str) -> Job:
    j, e = basic(n, ["st1"], 8, "2026-06-21T01:00:00", "flat", "2.6")
    f = world(j, 90, e, absent=[6], timing=True)
    f.op("0", e + s(2), ranks=[6], state="enq")
    f.e[6][-1]["retired"] = True
    f.dump()
    j.all_timeout(e + s(603), 94, j.ranks)
    return j


@case(
    "timing on, 16 ranks JSON, rank 11 scheduled only; Xid 109 of its device before the time-out: gpu_fault, rank 11",
    kinds=HANG,
    causes=["gpu_fault"],
    ranks=[11],
)
def stuck_timing_on_xid(n: str) -> Job:
    j, e = basic(n, ["st2", "st3"], 8, "2026-06-22T01:00:00", "flat", "2.9")
    f = world(j, 90, e, absent=[11], timing=True, form="json")
    f.op("0", e + s(2), ranks=[11], state="enq")
    f.e[11][-1]["retired"] = True
    f.dump()
    j.all_timeout(e + s(603), 94, j.ranks)
    j.kernel(
        "st3",
        e + s(20),
        f"NVRM: Xid (PCI:{j.pci(11)}): 109, pid={j.pid(11)}, name=pt_main_thread, Ch 00000008, errorString CTX SWITCH TIMEOUT, Info 0x58005",
    )
    return j


@case(
    "timing off: all others completed operation 203, rank 5 did not and has a tail behind it: kernel_stuck, rank 5",
    kinds=HANG,
    causes=["kernel_stuck"],
    ranks=[5],
)
def stuck_timing_off(n: str) -> Job:
    j, e = basic(n, ["st4"], 8, "2026-06-23T01:00:00", "torchrun", "2.6")
    f = Records(j, {"0": ("default_pg", j.ranks)})
    f.begin(200)
    f.op("0", e - s(2))
    f.op("0", e)
    f.op("0", e + s(1), ranks=others(j, 5))
    f.op("0", e + s(1), ranks=[5], state="timed")
    f.op("0", e + s(1.5), ranks=others(j, 5), state="timed")
    f.op("0", e + s(1.5), ranks=[5], state="waiting")
    f.op("0", e + s(1.6), state="waiting")
    f.dump()
    for r in j.ranks:
        j.timeout(r, e + s(602 + 0.04 * r), 203 if r == 5 else 204, enq=205, comp=202 if r == 5 else 203)
    return j


@case(
    "timing off, 32 ranks: all entered, none done, no device record: nobody, cause null",
    kinds=HANG,
    causes=[None],
    ranks=[],
)
def stuck_timing_off_all(n: str) -> Job:
    j, e = basic(n, nodes("st", 4, 5), 8, "2026-06-24T01:00:00", "srun_l", "2.4", init=False)
    f = world(j, 10, e, done=2)
    f.dump()
    j.all_timeout(e + s(603), 13, j.ranks)
    return j
