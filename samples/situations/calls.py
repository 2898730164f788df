"""Calls that do not match."""

from samples.situations.job import Job, s
from samples.situations.parts import STEP, basic, nodes, others, world
from samples.situations.situation import HANG, case


def fp(seq, op, shape):
    return f"CollectiveFingerPrint(SequenceNumber={seq}, OpType={op}, TensorShape=[{shape}], TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cuda, layout=Strided (default), requires_grad=false (default), pinned_memory=false (default), memory_format=(nullopt)))"


def mismatch(j, t, seq, calls, sp=STEP, lost=()):
    for r in j.ranks:
        if r in lost:
            continue
        o = next(x for x in j.ranks if calls[x] != calls[r])
        (a, b), (c, d) = calls[r], calls[o]
        diff = (f"\t Op type: {a}vs {c}" if a != c else "") + (f"\t Tensor Tensor shapes: {b}vs {d}" if b != d else "")
        j.trace(
            r,
            t + s(0.02 * r),
            sp,
            f"RuntimeError: Detected mismatch between collectives on ranks. Rank {r} is running collective: {fp(seq, a, b)}, but Rank {o} is running collective: {fp(seq, c, d)}.Collectives differ in the following aspects: {diff}",
        )


@case(
    "DETAIL: rank 3 called ALLGATHER where 7 others called ALLREDUCE; all raised: mismatch, rank 3",
    kinds=["hang", "crash"],
    causes=["collective_mismatch"],
    ranks=[3],
)
def mismatch_detail(n: str) -> Job:
    j, e = basic(n, ["q1"], 8, "2026-07-01T01:00:00", "torchrun")
    mismatch(j, e + s(1), 1203, [("ALLGATHER" if r == 3 else "ALLREDUCE", "1024, 1024") for r in j.ranks])
    j.torchrun_fail("q1", e + s(3), [(r, 1, "") for r in j.ranks], 0)
    return j


@case(
    "DETAIL in 4 ranks, two against two: nobody can be named, both sides are suspects",
    kinds=["hang", "crash"],
    causes=["collective_mismatch"],
    ranks=[],
)
def mismatch_two_two(n: str) -> Job:
    j, e = basic(n, ["q2"], 4, "2026-07-02T01:00:00", "flat", "2.4")
    mismatch(j, e + s(1), 88, [("ALLREDUCE", "77") if r < 2 else ("BROADCAST", "77") for r in j.ranks])
    return j


@case(
    "shape differs on rank 5 of 6, rank 1's log is lost: 4 of 6 are seen to agree on the other shape, more than half: rank 5 is named",
    kinds=["hang", "crash"],
    causes=["collective_mismatch"],
    ranks=[5],
)
def mismatch_shape_lost(n: str) -> Job:
    j, e = basic(n, ["q3", "q4"], 3, "2026-07-03T01:00:00", "srun_files")
    mismatch(j, e + s(1), 402, [("ALLREDUCE", "511" if r == 5 else "512") for r in j.ranks])
    for p in [p for p in j.files if "_1_log" in p]:
        del j.files[p]
    return j


@case(
    "same with the logs of ranks 1 and 2 lost: 3 of 6 seen to agree is not more than half: nobody is named",
    kinds=["hang", "crash"],
    causes=["collective_mismatch"],
    ranks=[],
)
def mismatch_shape_two_lost(n: str) -> Job:
    j, e = basic(n, ["q5"], 6, "2026-07-05T01:00:00", "flat")
    mismatch(j, e + s(1), 402, [("ALLREDUCE", "511" if r == 5 else "512") for r in j.ranks], lost=(1, 2))
    for r in (1, 2):
        del j.files[f"logs/rank_{r:03d}.log"]
    return j


@case(
    "no DETAIL: records show 15 ranks in all_reduce and rank 10 in broadcast at the same number; all timed out: mismatch, rank 10",
    kinds=HANG,
    causes=["collective_mismatch"],
    ranks=[10],
)
def mismatch_records(n: str) -> Job:
    j, e = basic(n, nodes("w", 2), 8, "2026-07-04T01:00:00", "flat", "2.6")
    f = world(j, 60, e, absent=[10])
    f.op("0", e + s(2), "broadcast", ranks=[10], state="timed")
    f.dump()
    j.all_timeout(e + s(602), 64, others(j, 10))
    j.timeout(10, e + s(602.9), 64, op="BROADCAST")
    return j
