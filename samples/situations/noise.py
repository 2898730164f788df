"""Sources that disagree, errors that were outlived, noise of others."""

from samples.situations.job import Job, s
from samples.situations.parts import STEP, XID79, basic, caught_media, caught_retry, nodes, others, world
from samples.situations.situation import HANG, case
from samples.situations.stacks import faulthandler, pyspy


# --- sources that disagree
@case(
    "rank 7's record (dumped before) lacks 4011, but its own watchdog timed out in 4011: absence is refuted, nobody",
    kinds=["hang", "unknown"],
    ranks=[],
)
def disagree_log_record(n: str) -> Job:
    j, e = basic(n, ["di1"], 8, "2026-01-11T08:00:00", "flat", "2.6")
    f = world(j, 4007, e, absent=[7])
    f.dump()
    j.all_timeout(e + s(603), 4011, j.ranks)
    return j


@case(
    "the desync report calls rank 2 lagging, but rank 2's own watchdog timed out in that very call: nobody",
    kinds=["hang", "unknown"],
    ranks=[],
)
def disagree_desync(n: str) -> Job:
    j, e = basic(n, ["di2"], 4, "2026-01-12T08:00:00", "srun_l", "2.4")
    j.all_timeout(e + s(603), 56, j.ranks)
    j.out(
        0,
        e + s(603.5),
        j.glog(
            0,
            e + s(603.5),
            "E",
            "ProcessGroupNCCL.cpp:1500",
            "[PG 0 Rank 0] \n\t - [0] Timeout at collective: ALLREDUCE, #56\n\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:\n\t   - [2] finished collective #55, but didn't join collective #56 (count from 1)\n\t - Snapshot of ranks' latest states:\n\t   #55 finished ranks:\n\t     [2] finished ALLREDUCE\n\t   #56 started ranks:\n\t     [0, 1, 3] started ALLREDUCE",
        ),
        True,
    )
    return j


@case(
    "desync report of 8: rank 2 finished #55 and never joined #56; nothing contradicts: rank_absent 2",
    kinds=HANG,
    causes=["rank_absent"],
    ranks=[2],
)
def desync_agrees(n: str) -> Job:
    j, e = basic(n, ["di3"], 8, "2026-01-13T08:00:00", "srun_l", "2.4")
    j.all_timeout(e + s(603), 56, others(j, 2))
    j.out(
        0,
        e + s(603.5),
        j.glog(
            0,
            e + s(603.5),
            "E",
            "ProcessGroupNCCL.cpp:1500",
            "[PG 0 Rank 0] \n\t - [0] Timeout at collective: ALLREDUCE, #56\n\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:\n\t   - [2] finished collective #55, but didn't join collective #56 (count from 1)\n\t - Snapshot of ranks' latest states:\n\t   #55 finished ranks:\n\t     [2] finished ALLREDUCE\n\t   #56 started ranks:\n\t     [0, 1, 3, 4, 5, 6, 7] started ALLREDUCE",
        ),
        True,
    )
    return j


def without_the_40th(j: Job, stack: str) -> Job:
    """63 records wait in call 61; of rank 40 there is a stack and no record."""
    j.start()
    e = j.steps(200, 201, j.t0 + s(20))
    f = world(j, 58, e, done=2, absent=[40])
    f.dump(skip=[40])
    pyspy(j, 40, stack)
    [j.timeout(r, e + s(602 + 0.01 * r), 61, abort=False) for r in others(j, 40)]
    return j


@case(
    "63 records wait in 61, rank 40's record is lost but its stack stands in the data loader: rank_absent 40",
    kinds=HANG,
    causes=["rank_absent"],
    ranks=[40],
    site=["data_loading"],
)
def sixty_three_and_stack(n: str) -> Job:
    return without_the_40th(Job(n, nodes("hh", 8), 8, "2026-01-14T08:00:00", "flat", "2.6"), "data")


@case(
    "63 records wait in 61, rank 40's record is lost and its stack waits in all_reduce too: nobody",
    kinds=HANG,
    ranks=[],
)
def sixty_three_and_waiting_stack(n: str) -> Job:
    return without_the_40th(Job(n, nodes("hh", 8), 8, "2026-01-15T08:00:00", "srun_files", "2.9"), "allreduce")


# --- caught exceptions and foreign noise in hung jobs
@case(
    "rank 5 in the data loader, 7 timed out; rank 0's media exception two hours before was outlived",
    kinds=HANG,
    causes=["rank_absent"],
    ranks=[5],
    site=["data_loading"],
)
def hung_media(n: str) -> Job:
    j = Job(n, ["ca1"], 8, "2026-03-25T08:00:00", "flat", "2.6")
    j.start()
    j.steps(1, 3, j.t0 + s(20))
    caught_media(j, 0, j.t0 + s(40))
    e = j.steps(3600, 3603, j.t0 + s(7200))
    f = world(j, 12000, e, absent=[5])
    f.dump()
    [faulthandler(j, r, "data" if r == 5 else "allreduce") for r in j.ranks]
    j.all_timeout(e + s(603), 12004, others(j, 5))
    return j


@case(
    "rank 1 of 16 absent by records; ranks 4, 9 and the culprit itself have outlived retries, a fallback and a chained exception",
    kinds=HANG,
    causes=["rank_absent"],
    ranks=[1],
)
def hung_many_caught(n: str) -> Job:
    j, e = basic(n, ["ca2", "ca3"], 8, "2026-03-26T08:00:00", "srun_l", "2.9", n=8)
    caught_retry(j, 4, e - s(9))
    caught_media(j, 9, e - s(7))
    caught_retry(
        j,
        1,
        e - s(5),
        "urllib3.exceptions.ReadTimeoutError: HTTPConnectionPool(host='metrics', port=9091): Read timed out. (read timeout=2)",
    )
    j.log(6, e - s(3), "flash attention not available, falling back to SDPA", "WARNING")
    j.trace(
        6,
        e - s(2.99),
        [("/workspace/train/model.py", 12, "_try", "import flash_attn")],
        "ImportError: /opt/venv/lib/python3.10/site-packages/flash_attn_2_cuda.so: undefined symbol: _ZN3c104cuda9SetDeviceEi",
        chain=[
            "Traceback (most recent call last):",
            '  File "/workspace/train/model.py", line 9, in _try',
            "    import flash_attn_interface",
            "ModuleNotFoundError: No module named 'flash_attn_interface'",
        ],
    )
    f = world(j, 60, e, absent=[1])
    f.dump()
    j.all_timeout(e + s(603), 64, others(j, 1))
    return j


@case(
    "rank 6 absent; a foreign host's Xid 79 seconds before, a foreign program's OOM kill and last month's Xid on the job's host accuse nobody",
    kinds=HANG,
    causes=["rank_absent"],
    ranks=[6],
)
def hung_foreign_noise(n: str) -> Job:
    j, e = basic(n, ["ca4"], 8, "2026-03-27T08:00:00", "torchrun", "2.6")
    f = world(j, 60, e, absent=[6])
    f.dump()
    j.kernel("ca9", e - s(3), XID79("0000:4e:00"))
    j.oom("ca4", e - s(400), 4411, "prometheus", kb=4000000)
    j.kernel("ca4", e - s(86400 * 33), XID79(j.pci(1)))
    j.all_timeout(e + s(603), 64, others(j, 6))
    return j


@case(
    "attempt 0 died by CUDA OOM of rank 1; attempt 1 hung on rank 7 (records, dated an hour later): the newest attempt decides: rank_absent 7",
    kinds=HANG,
    causes=["rank_absent"],
    ranks=[7],
)
def old_attempt_oom(n: str) -> Job:
    j = Job(n, ["at1"], 8, "2026-03-28T08:00:00", "torchrun", "2.6")
    j.start()
    e0 = j.steps(1, 4, j.t0 + s(20))
    j.trace(
        1,
        e0 + s(1),
        STEP[:3],
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 79.11 GiB of which 1.03 GiB is free. Including non-PyTorch memory, this process has 78.07 GiB memory in use.",
    )
    j.put(
        "agent.log",
        e0 + s(3),
        f"I{e0.month:02d}{e0:%d %H:%M:%S}.000000 {j.agent('at1')} torch/distributed/elastic/agent/server/api.py:908] [default] Worker group FAILED. 3/3 attempts left; will restart worker group",
    )
    j.attempt = 1
    t = j.t0 + s(3600)
    j.start(t)
    e = j.steps(1, 6, t + s(30))
    f = world(j, 3, e, absent=[7])
    f.dump()
    j.all_timeout(e + s(603), 7, others(j, 7))
    j.torchrun_fail("at1", e + s(605), [(r, -6, "SIGABRT") for r in others(j, 7)], 0, closing=[7])
    return j


@case("attempt 0 hung on rank 2, attempt 1 ran to its end (finished, exit 0): healthy", kinds=["healthy"], ranks=[])
def old_attempt_then_healthy(n: str) -> Job:
    j = Job(n, ["at2"], 4, "2026-03-29T08:00:00", "torchrun", "2.6")
    j.start()
    e0 = j.steps(1, 4, j.t0 + s(20))
    j.all_timeout(e0 + s(603), 5, others(j, 2))
    j.observed(2, e0 + s(604), 0, 4, 4)
    t = j.t0 + s(1800)
    j.put(
        "agent.log",
        t - s(30),
        f"I{t.month:02d}{t:%d %H:%M:%S}.000000 {j.agent('at2')} torch/distributed/elastic/agent/server/api.py:908] [default] Worker group FAILED. 3/3 attempts left; will restart worker group",
    )
    j.attempt = 1
    j.start(t)
    e = j.steps(1, 8, t + s(20))
    [j.log(r, e + s(1 + 0.01 * r), "training finished, exiting") for r in j.ranks]
    j.put(
        "agent.log",
        e + s(5),
        f"I{e.month:02d}{e:%d %H:%M:%S}.000000 {j.agent('at2')} torch/distributed/elastic/agent/server/api.py:879] [default] worker group successfully finished. Waiting 300 seconds for other agents to finish.",
    )
    return j
