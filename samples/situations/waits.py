"""Ranks that wait: cascades of time-outs, absent ranks, circles, stalls of a checkpoint, stragglers."""

from samples.situations.job import Job, s
from samples.situations.parts import basic, caught_media, caught_retry, nodes, others, world
from samples.situations.records import Records
from samples.situations.situation import HANG, case
from samples.situations.stacks import pyspy


# --- watchdog abort cascade
@case(
    "all 8 timed out in the same operation, all SIGABRT; no counters: nobody can be named",
    kinds=HANG,
    causes=[None],
    ranks=[],
)
def cascade_all_entered(n: str) -> Job:
    j, e = basic(n, ["a100-1"], 8, "2026-05-05T05:00:00", "torchrun", "2.4")
    j.all_timeout(e + s(602), 1580, j.ranks, enq=1582)
    j.torchrun_fail("a100-1", e + s(604), [(r, -6, "SIGABRT") for r in j.ranks], 3)
    return j


@case(
    "same of 16 over k8s with torch 2.1 wording, the first observed failure is rank 8: still nobody",
    kinds=HANG,
    causes=[None],
    ranks=[],
)
def cascade_all_entered_k8s(n: str) -> Job:
    j = Job(n, [f"{n}-worker-{i}" for i in range(2)], 8, "2026-05-06T05:00:00", "k8s", "2.1")
    j.start()
    e = j.steps(40, 43, j.t0 + s(20))
    j.all_timeout(e + s(1802), 318, [8, *others(j, 8)], ms=1800000, op="BROADCAST", numel=151936)
    for h, r in ((0, 0), (1, 8)):
        j.torchrun_fail(
            j.hosts[h],
            e + s(1804),
            [(x, -6, "SIGABRT") for x in range(8 * h, 8 * h + 8)],
            r,
            file=f"{n}-worker-{h}.log",
        )
    return j


@case(
    "15 of 16 timed out in 4011 and aborted; rank 9 lived on, never entered it (its counters stand at 4010): rank_absent 9",
    kinds=HANG,
    causes=["rank_absent"],
    ranks=[9],
)
def cascade_one_lagging(n: str) -> Job:
    j, e = basic(n, ["nodeA", "nodeB"], 8, "2026-02-02T02:00:00", "torchrun", "2.6")
    j.all_timeout(e + s(602), 4011, others(j, 9))
    j.observed(9, e + s(603.2), 0, 4010, 4010)
    j.torchrun_fail("nodeA", e + s(605), [(r, -6, "SIGABRT") for r in range(8)], 0)
    j.torchrun_fail(
        "nodeB",
        e + s(605),
        [(r, -6, "SIGABRT") for r in range(8, 16) if r != 9] + [(9, -15, "SIGTERM")],
        8,
        closing=[9],
    )
    return j


@case(
    "MUSA, 8 ranks: 7 timed out, rank 4 observed the dump signal with lower counters: rank_absent 4",
    kinds=HANG,
    causes=["rank_absent"],
    ranks=[4],
)
def cascade_one_lagging_musa(n: str) -> Job:
    j, e = basic(n, ["s4000-a"], 8, "2026-08-15T02:00:00", "tee", "2.6", "musa")
    j.all_timeout(e + s(302), 777, others(j, 4), ms=300000)
    j.observed(4, e + s(303.2), 0, 776, 776)
    j.torchrun_fail(
        "s4000-a", e + s(305), [(r, -6, "SIGABRT") for r in others(j, 4)] + [(4, -15, "SIGTERM")], 0, closing=[4]
    )
    return j


@case("7 of 8 timed out; rank 3's log merely ends: it is the only suspect and cannot be named", kinds=HANG, ranks=[])
def cascade_one_silent(n: str) -> Job:
    j, e = basic(n, ["v100-4"], 8, "2026-03-03T03:00:00", "flat", "2.4")
    j.all_timeout(e + s(602), 99, others(j, 3))
    return j


# --- absent rank that the launcher kills at last
@case(
    "rank 2 sat in the data loader while 7 timed out; torchrun's SIGKILL after the grace period is the consequence: rank_absent 2, data_loading",
    kinds=HANG,
    causes=["rank_absent"],
    ranks=[2],
    site=["data_loading"],
)
def absent_killed_last(n: str) -> Job:
    j, e = basic(n, ["p4d-3"], 8, "2026-04-14T10:00:00", "torchrun", "2.6")
    f = world(j, 5000, e, absent=[2])
    f.dump()
    for r in j.ranks:
        pyspy(j, r, "data" if r == 2 else "allreduce")
    j.all_timeout(e + s(602), 5004, others(j, 2))
    j.torchrun_fail(
        "p4d-3",
        e + s(604),
        [(r, -6, "SIGABRT") for r in others(j, 2)] + [(2, -9, "SIGKILL")],
        0,
        closing=[2],
        forced=[2],
    )
    return j


@case(
    "srun with kill-on-bad-exit: task 13 was the last, Killed; its record is one behind all others: rank_absent 13",
    kinds=HANG,
    causes=["rank_absent"],
    ranks=[13],
)
def absent_killed_last_srun(n: str) -> Job:
    j, e = basic(n, nodes("lx", 2, 8), 8, "2026-04-15T10:00:00", "srun_l", "2.9")
    f = world(j, 300, e, absent=[13], form="json", op="_reduce_scatter_base")
    f.dump()
    j.all_timeout(e + s(602), 304, others(j, 13), op="_REDUCE_SCATTER_BASE", numel=65536000, numel_out=4096000)
    j.srun(e + s(605), "srun: error: lx08: task 0: Aborted (core dumped)")
    j.srun(e + s(605.2), f"srun: Terminating StepId={j.job}.0")
    j.srun(e + s(605.4), "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.")
    j.srun(e + s(607), "srun: error: lx08: tasks 1-7: Aborted (core dumped)")
    j.srun(e + s(607.2), "srun: error: lx09: tasks 8-12,14-15: Aborted (core dumped)")
    j.srun(e + s(638), "srun: error: lx09: task 13: Killed")
    return j


# --- deadlock cycle and a caught exception
@case(
    "ranks 0,1 stand in tp-a, 2,3 in tp-b; each pair lacks from the other's group: cycle 0-3; rank 1's media exception two steps before was outlived",
    kinds=HANG,
    causes=["deadlock_cycle"],
    cycle=[0, 1, 2, 3],
    ranks=[],
)
def cycle_four(n: str) -> Job:
    j, e = basic(n, ["z1"], 4, "2026-03-21T11:00:00", "torchrun")
    caught_media(j, 1, e - s(5))
    f = Records(j, {"0": ("default_pg", j.ranks), "1": ("params_a", j.ranks), "2": ("params_b", j.ranks)})
    f.begin(20)
    f.op("0", e - s(2))
    f.op("0", e)
    f.op("1", e + s(1), ranks=[0, 1], state="timed")
    f.op("2", e + s(1), ranks=[2, 3], state="timed")
    f.dump()
    for r in j.ranks:
        g = "1" if r < 2 else "2"
        j.timeout(r, e + s(602 + 0.1 * r), 21, group=(g, "params_a" if r < 2 else "params_b"), gid=int(g), first=True)
    return j


@case(
    "0 waits in tp(0,1), 1 in dp(1,3), 3 in tp(2,3), 2 in dp(0,2); 4-7 wait in the world: cycle 0-3; rank 2's tracker retry was outlived",
    kinds=HANG,
    causes=["deadlock_cycle"],
    cycle=[0, 1, 2, 3],
    ranks=[],
)
def cycle_tp_dp(n: str) -> Job:
    j, e = basic(n, ["z2", "z3"], 4, "2026-03-22T11:00:00", "flat", "2.9")
    caught_retry(j, 2, e - s(5))
    f = Records(
        j,
        {
            "0": ("default_pg", j.ranks),
            "5": ("tp", [0, 1]),
            "6": ("tp", [2, 3]),
            "7": ("dp", [0, 2]),
            "8": ("dp", [1, 3]),
        },
        form="json",
        timeout=480000,
    )
    f.begin(200)
    f.op("0", e - s(2))
    f.op("0", e)
    for g, r in (("5", 0), ("8", 1), ("7", 2), ("6", 3)):
        f.op(g, e + s(1), ranks=[r], state="timed")
    f.op("0", e + s(1), ranks=[4, 5, 6, 7], state="timed")
    f.dump()
    for r, g, d, i in ((0, "5", "tp", 0), (1, "8", "dp", 0), (2, "7", "dp", 1), (3, "6", "tp", 1)):
        j.timeout(r, e + s(482 + 0.1 * r), 201, group=(g, d), gid=1, grank=i, ms=480000)
    for r in range(4, 8):
        j.timeout(r, e + s(482.5 + 0.1 * r), 203, ms=480000)
    return j


# --- checkpoint stall of a host
@case(
    "all eight ranks of fs-3 stand in the checkpoint write, 24 others wait in all_reduce; NFS of that host did not answer: rank_absent 16-23",
    kinds=HANG,
    causes=["rank_absent"],
    ranks=list(range(16, 24)),
    site=["checkpoint_io", "storage_io"],
)
def ckpt_host(n: str) -> Job:
    j, e = basic(n, nodes("fs-", 4, 1, 1), 8, "2026-07-21T08:00:00", "flat", "2.6", init=False)
    bad = list(range(16, 24))
    f = world(j, 40, e, done=2, absent=bad)
    f.dump()
    for r in j.ranks:
        pyspy(j, r, "ckpt" if r in bad else "allreduce")
    j.kernel("fs-3", e + s(60), "nfs: server nas-12 not responding, still trying")
    j.all_timeout(e + s(603), 43, others(j, *bad))
    return j


@case(
    "16 ranks, host d2's eight are one operation behind in the records; kernel: their pids blocked >120 s on NFS: rank_absent 8-15",
    kinds=HANG,
    causes=["rank_absent"],
    ranks=list(range(8, 16)),
)
def ckpt_host_kernel(n: str) -> Job:
    j, e = basic(n, ["d1", "d2"], 8, "2026-07-22T08:00:00", "srun_files", "2.9")
    bad = list(range(8, 16))
    f = world(j, 40, e, absent=bad, form="json")
    f.dump()
    j.kernel("d2", e + s(30), "nfs: server 10.9.8.7 not responding, still trying", "iso")
    for r in bad:
        j.log(r, e + s(0.5), "saving checkpoint global_step804 to /mnt/ckpt")
        j.kernel(
            "d2",
            e + s(150 + 0.1 * r),
            f"INFO: task pt_main_thread:{j.pid(r)} blocked for more than 120 seconds.",
            "iso",
        )
    for r in range(8):
        j.log(r, e + s(0.5), "waiting for checkpoint of global_step804")
    j.all_timeout(e + s(603), 44, range(8))
    return j


# --- straggler that ends in a time-out
def straggler(n, t0, layout, torch, hosts, per, bad):
    j = Job(n, hosts, per, t0, layout, torch)
    j.start()
    t = j.t0 + s(20)
    for k, d in enumerate((1.2, 1.3, 2.4, 6.1, 15.8, 61.0)):
        t += s(d)
        for r in j.ranks:
            j.log(
                r,
                t + s(0.001 * r),
                f"step {500 + k} done loss 2.31{k} step_time {d:.3f} s compute_time {d - 0.1 if r == bad else 1.1:.3f} s comm_wait {0.09 if r == bad else max(0.09, d - 1.1):.3f} s",
            )
    return j, t


@case(
    "rank 5's compute grew 1.2 → 61 s, at last it never came: 7 timed out, it lived on one behind: hang, rank_absent 5",
    kinds=HANG,
    causes=["rank_absent"],
    ranks=[5],
)
def straggler_timeout(n: str) -> Job:
    j, t = straggler(n, "2026-08-21T08:00:00", "flat", "2.6", ["sl1"], 8, 5)
    j.all_timeout(t + s(602), 507, others(j, 5))
    j.observed(5, t + s(603.5), 0, 506, 506)
    return j


@case(
    "32 ranks, rank 27 slower and slower; records: it lacks operation 1507; 31 timed out",
    kinds=HANG,
    causes=["rank_absent"],
    ranks=[27],
)
def straggler_timeout_records(n: str) -> Job:
    j, t = straggler(n, "2026-08-22T08:00:00", "tee", "2.9", nodes("sl", 4, 2), 8, 27)
    f = world(j, 1504, t, done=2, dt_=61, absent=[27])
    f.dump()
    j.all_timeout(t + s(662), 1507, others(j, 27))
    return j
