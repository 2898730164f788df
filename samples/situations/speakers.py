"""Who speaks: numbers that are ranks, numbers that are none, records in words that nobody knows."""

from samples.situations.job import Job, s
from samples.situations.own import adapter, gave_up, one_host, raised
from samples.situations.parts import DATASET, basic, others
from samples.situations.situation import CRASH, HANG, case

UNREAD = ["unknown", "hang"]


def silent(n: str, day: int, rank: int = 3, torch: str = "2.6") -> Job:
    """Eight ranks; one stops speaking, seven time out."""
    j, e = one_host(n, day, torch, layout="flat")
    j.all_timeout(e + s(602), 221, others(j, rank))
    return j


def put(j: Job, path: str, *texts: str) -> Job:
    for at, text in enumerate(texts):
        j.put(path, j.t0 + s(at), text)
    return j


@case(
    "a rank_9.log of an older, larger job lies beside the eight logs; 3 is silent, seven time out: 3, and there is no rank 9",
    kinds=HANG,
    ranks_any=[[], [3]],
    told=[3],
    seen=["0-7"],
)
def a13_leftover_file(n: str) -> Job:
    j = silent(n, 1)
    old = "2026-09-02 11:00:{:02},000 [rank9] INFO trainer: step {} done loss 3.1022 grad_norm 0.733 step_time 2.0 s"
    return put(j, "logs/rank_009.log", *(old.format(k, k) for k in range(5)))


@case(
    "a monitor writes rank_8.log beside 0-7; the ranks tell a world of 8: 8 is no rank, 3 is silent",
    kinds=HANG,
    ranks_any=[[], [3]],
    told=[3],
    seen=["0-7"],
)
def a28_monitor_with_a_number(n: str) -> Job:
    j = silent(n, 2)
    return put(
        j,
        "logs/rank_008.log",
        *(f"{j.t0 + s(20 * k):%Y-%m-%d %H:%M:%S} monitor: 8 processes, load {k % 7}.{k}, disk 41 %" for k in range(40)),
    )


@case(
    "3's log of attempt 1 is lost, its file of attempt 0 is there; seven time out in attempt 1: no record, so a suspect",
    kinds=HANG,
    ranks=[],
    suspects=[3],
    never=["established"],
)
def a29_log_of_the_attempt_before(n: str) -> Job:
    j, e = one_host(n, 3, layout="torchrun")
    j.trace(6, e + s(1), DATASET, "KeyError: 'shard_00417'")
    j.torchrun_fail(j.hosts[0], e + s(2), [(6, 1, "")], 6, closing=others(j, 6))
    j.attempt = 1
    t = e + s(60)
    j.start(t, ranks=others(j, 3))
    e = j.steps(800, 806, t + s(20), ranks=others(j, 3))
    j.all_timeout(e + s(602), 95, others(j, 3))
    return j


@case(
    "the same in one folder: all files are of today, 3's is of yesterday",
    kinds=HANG,
    ranks=[],
    suspects=[3],
    never=["established"],
)
def a29_file_of_yesterday(n: str) -> Job:
    j = silent(n, 4)
    j.files["logs/rank_003.log"] = [
        (t, text.replace("2026-10-04", "2026-10-03")) for t, text in j.files["logs/rank_003.log"]
    ]
    return j


def half(n: str, prefix: str) -> Job:
    """One host of two: lines with the number of the process on that host, a world of 16 is told."""
    j = Job(n, ["node-b"], 8, "2026-10-05T09:00:00")
    for k in range(4):
        t = j.t0 + s(10 + 2 * k)
        for r in j.ranks:
            text = (
                f"{t:%Y-%m-%d %H:%M:%S} INFO step {800 + k} done loss {2.4 - 0.01 * k:.4f}"
                if k
                else "setup: 16 processes on 2 hosts, world_size=16"
            )
            j.put("node-b.log", t + s(0.01 * r), prefix.format(r) + text)
    t = j.t0 + s(18)
    trace = [
        "Traceback (most recent call last):",
        *(x for f, a, fn, code in DATASET for x in (f'  File "{f}", line {a}, in {fn}', f"    {code}")),
        "KeyError: 'shard_00417'",
    ]
    j.put("node-b.log", t, "\n".join(prefix.format(3) + line for line in trace))
    return j


@case(
    "the files of the second of two hosts alone, prefixes 0-7, a world of 16: the process '3' raised, and its rank is 11 or unknown, not 3",
    kinds=CRASH,
    causes=["exception"],
    ranks_any=[[], [11]],
    suspects_any=[[], [11]],
)
def a31_second_host_alone(n: str) -> Job:
    return half(n, "{}: ")


@case(
    "the same with numbers in brackets",
    kinds=CRASH,
    causes=["exception"],
    ranks_any=[[], [11]],
    suspects_any=[[], [11]],
)
def a31_second_host_in_brackets(n: str) -> Job:
    return half(n, "[{}] ")


def inside(n: str, lines: list[str]) -> Job:
    """Rank 2 of 8 raises; its log holds these lines of its parts."""
    j, e = one_host(n, 6, layout="srun_files")
    for k, text in enumerate(lines * 5):
        j.out(2, e - s(3) + s(0.05 * k), text)
    raised(j, 2, e + s(1), DATASET, "KeyError: 'shard_00417'")
    gave_up(j, e, 451, 2)
    return j


@case(
    "inside rank 2's log its four loader workers have prefixes: they are no ranks; 2 raised",
    kinds=CRASH,
    causes=["exception"],
    ranks=[2],
)
def a32_workers_of_a_rank(n: str) -> Job:
    return inside(
        n, [f"worker {k} | read shard {k * 7} ok" for k in range(4)] + ["worker 3 | ERROR shard 41 has no footer"]
    )


@case("inside rank 2's log its experts have prefixes", kinds=CRASH, causes=["exception"], ranks=[2])
def a32_experts_of_a_rank(n: str) -> Job:
    return inside(
        n,
        [f"expert {k} | {k * 3} tokens dropped" for k in range(8)]
        + ["expert 5 | ERROR capacity exceeded, 903 tokens dropped"],
    )


@case("inside rank 2's log levels and modules begin the lines", kinds=CRASH, causes=["exception"], ranks=[2])
def a32_levels_and_modules(n: str) -> Job:
    return inside(
        n,
        [
            "INFO loader: shard 4 ok",
            "WARN loader: shard 5 slow",
            "INFO layers.3.mlp: recompiled",
            "ERROR layers.5.mlp: kernel not tuned, default taken",
        ],
    )


@case(
    "one log without ranks, lines begin with levels and modules: the crash is shown, its process cannot be told",
    kinds=CRASH,
    causes=["exception"],
    ranks=[],
    suspects_any=[[]],
)
def a32_modules_of_one_log(n: str) -> Job:
    return adapter(n, "layers.3.mlp | WARN kernel not tuned\nlayers.5.mlp | ERROR kernel not tuned, default taken")


@case(
    "'MRR: first hit at rank 1' of the model Rank-R1 before a KeyError in one log: no process is told",
    kinds=CRASH,
    causes=["exception"],
    ranks=[],
    suspects_any=[[]],
)
def a33_rank_of_a_hit(n: str) -> Job:
    return adapter(n, "{at} INFO judge: Rank-R1: MRR 0.41, first hit at rank 1, rank_loss 0.33, ranking/ndcg 0.62")


ODD = "~ {} :: quorl {} zeb"


@case(
    "a hang; rank 0's log is understood and ends with a step, the seven others are in words that nobody knows and end alike: nobody, and all eight left records",
    kinds=["unknown", "hang"],
    ranks=[],
    suspects_any=[[], list(range(8))],
    seen=["0-7"],
    args=["--hung"],
)
def a25_seven_unread(n: str) -> Job:
    j, e = one_host(n, 8, layout="flat")
    for r in others(j, 0):
        j.files[f"logs/rank_{r:03d}.log"] = [
            (e - s(40 - k), f"~ {k} :: quorl {(k * 37 + r) % 101} zeb, frond at {k * 3}") for k in range(40)
        ]
    return j


def stages(n: str, last: dict[int, str], steps: int = 6) -> Job:
    """Four pipeline stages in words of their own: each receives, computes and sends forward; the last prints the loss instead."""
    j = Job(n, ["pp1"], 4, "2026-10-09T09:00:00")
    for k in range(steps * 4):
        for r in j.ranks:
            t = j.t0 + s(2 * k + 0.2 * r)
            end = "sent forward" if r < 3 else f"loss {2.4 - 0.01 * k:.4f}"
            for at, text in ((0, "received" if r else "loaded"), (0.1, end)):
                j.put(
                    f"logs/rank_{r}.log",
                    t + s(at),
                    f"{t + s(at):%Y-%m-%d %H:%M:%S} stage {r} world_size=4 step {k // 4} mb {k % 4} {text}",
                )
    t = j.t0 + s(8 * steps)
    for r, text in last.items():
        j.put(
            f"logs/rank_{r}.log",
            t + s(0.2 * r),
            f"{t + s(0.2 * r):%Y-%m-%d %H:%M:%S} stage {r} world_size=4 step {steps} mb 0 {text}",
        )
    return j


@case(
    "a hang by the person's word: stage 1 received a micro-batch and did not send it on as it always did; the last stage, which never sends and alone prints a loss, is as it always was",
    kinds=UNREAD,
    ranks_any=[[], [1]],
    hold=[1],
    clear=[3],
    args=["--hung"],
)
def a26_last_stage_is_no_odd_one(n: str) -> Job:
    j = stages(n, {0: "loaded", 1: "received"})
    j.put(
        "logs/rank_0.log",
        j.t0 + s(48.1),
        f"{j.t0 + s(48.1):%Y-%m-%d %H:%M:%S} stage 0 world_size=4 step 6 mb 0 sent forward",
    )
    return j


@case(
    "rank 5 has always logged errors only; rank 2 ends in words that nobody knows, the others time out: 2, and 5 is as it always was",
    kinds=CRASH + HANG,
    ranks_any=[[], [2]],
    told=[2],
    never=["established"],
)
def a27_logs_errors_only(n: str) -> Job:
    j, e = basic(n, ["er1"], 8, "2026-10-10T09:00:00", "flat", "2.6")
    j.files["logs/rank_005.log"] = []
    for k in range(3):
        j.log(5, j.t0 + s(5 * k), "cache is full, oldest entries go", "WARNING")
    j.out(2, e + s(1), "!! quorl broken: frond 41 has no zeb (0x31), no way on\n!! bye")
    j.all_timeout(e + s(602), 221, others(j, 2))
    return j
