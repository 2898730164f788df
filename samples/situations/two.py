"""Two culprits in one incident."""

from samples.situations.job import Job, s
from samples.situations.parts import basic, nodes
from samples.situations.records import Records
from samples.situations.situation import HANG, case
from samples.situations.stacks import faulthandler, pyspy


def halves(n, t0, layout, torch, per, bad, **k):
    j, e = basic(n, nodes("m", 2, 61), per, t0, layout, torch)
    w = j.world
    a, b = list(range(w // 2)), list(range(w // 2, w))
    f = Records(j, {"0": ("default_pg", j.ranks), "11": ("replica_0", a), "12": ("replica_1", b)}, **k)
    f.begin(500)
    f.op("0", e - s(1))
    for g, m in (("11", a), ("12", b)):
        f.op(g, e - s(0.5))
        f.op(g, e + s(1), ranks=[r for r in m if r not in bad], state="timed")
    return j, e, f, a, b


def halves_out(j, e, a, b, bad, da=602, db=602):
    for g, m, d in (("11", a, da), ("12", b, db)):
        for r in m:
            if r not in bad:
                j.timeout(
                    r,
                    e + s(d + 0.03 * r),
                    502,
                    group=(g, "replica_0" if g == "11" else "replica_1"),
                    gid=1,
                    grank=m.index(r),
                )


@case(
    "ranks 2 and 13 each lack the operation of their own group; disjoint waiters: both, rank_absent",
    kinds=HANG,
    causes=["rank_absent"],
    ranks=[2, 13],
)
def two_absent(n: str) -> Job:
    j, e, f, a, b = halves(n, "2026-05-21T01:00:00", "flat", "2.6", 8, (2, 13))
    f.dump()
    halves_out(j, e, a, b, (2, 13))
    return j


@case(
    "same with 8 ranks and JSON records, ranks 1 and 6, stacks of both in the data loader",
    kinds=HANG,
    causes=["rank_absent"],
    ranks=[1, 6],
    site=["data_loading"],
)
def two_absent_json(n: str) -> Job:
    j, e, f, a, b = halves(n, "2026-05-22T01:00:00", "srun_l", "2.9", 4, (1, 6), form="json")
    f.dump()
    [pyspy(j, r, "data" if r in (1, 6) else "sync") for r in j.ranks]
    halves_out(j, e, a, b, (1, 6))
    return j


@case(
    "replica_0's rank 3 died by a segfault (srun saw it), replica_1's rank 12 stalls in a lock: two incidents; either may be primary, nobody else",
    kinds=["crash", "hang"],
    ranks_any=[[3], [12], [3, 12]],
)
def dead_and_stall(n: str) -> Job:
    j, e, f, a, b = halves(n, "2026-05-23T01:00:00", "srun_l", "2.6", 8, (3, 12))
    f.dump(skip=[3])
    j.out(
        3,
        e + s(0.5),
        'Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f03caa1db80 (most recent call first):\n  File "/workspace/train/data/packing.py", line 131 in pack_sequences\n  File "/workspace/train/pretrain.py", line 77 in main',
        True,
    )
    j.srun(e + s(2), "srun: error: m61: task 3: Segmentation fault (core dumped)")
    faulthandler(j, 12, "lock")
    halves_out(j, e, a, b, (3, 12))
    return j


@case(
    "rank 0 killed (-9, launcher) in replica_0, rank 7 in the data loader in replica_1",
    kinds=["crash", "hang"],
    ranks_any=[[0], [7], [0, 7]],
)
def dead_and_stall_torchrun(n: str) -> Job:
    j, e, f, a, b = halves(n, "2026-05-24T01:00:00", "srun_files", "2.9", 4, (0, 7))
    f.dump(skip=[0])
    j.srun(e + s(1), "srun: error: m61: task 0: Killed")
    pyspy(j, 7, "data")
    pyspy(j, 5, "sync")
    halves_out(j, e, a, b, (0, 7), da=603, db=602)
    return j
