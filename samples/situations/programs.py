"""Two programs in one bundle, each with ranks of its own."""

from collections.abc import Callable

from samples.situations.job import Job, s
from samples.situations.own import MAIN, SP
from samples.situations.situation import CRASH, HANG, case

ENGINE = [
    (f"{SP}/rollout/engine.py", 64, "<module>", "serve(Engine())"),
    (f"{SP}/rollout/engine.py", 51, "serve", "engine.step()"),
    ("/workspace/rl/sampler.py", 33, "pick", "return self.table[index]"),
]


def two(n: str, day: int, trainers: int, engines: int, path: Callable[[str, int], str]) -> tuple:
    """(trainer, engine, when both had made their last step): jobs on one host; `path(program, rank)` is a log's name."""
    both = []
    for program, per, base in (("trainer", trainers, 15001), ("engine", engines, 25001)):
        j = Job(n, [f"rl{day}"], per, f"2026-10-{day:02}T09:00:00", "flat", "2.6", script=f"/workspace/rl/{program}.py")
        j.base = [base]
        j.out = lambda r, t, text, err=False, j=j, program=program: j.put(
            path(program, r), t, text.replace(" trainer: ", f" {program}: ")
        )
        both.append(j)
    trainer, engine = both
    trainer.start()
    for r in engine.ranks:
        engine.log(r, engine.t0 + s(0.01 * r), f"engine ready pid={engine.pid(r)} local_rank={r} world_size={engines}")
    e = trainer.steps(41, 44, trainer.t0 + s(20))
    for k in range(8):
        for r in engine.ranks:
            engine.log(r, trainer.t0 + s(15 + 1.5 * k + 0.01 * r), f"served batch {k} of 64 prompts")
    return trainer, engine, e


def together(trainer: Job, engine: Job) -> Job:
    trainer.files |= engine.files
    return trainer


def folder(program: str, rank: int) -> str:
    return f"{program}/rank_{rank}.log"


def suffix(program: str, rank: int) -> str:
    return f"logs/rank_{rank}.{program}.log"


def engine_raised(n: str, day: int, trainers: int, engines: int, path: Callable[[str, int], str]) -> Job:
    trainer, engine, e = two(n, day, trainers, engines, path)
    engine.log(2, e + s(1), "sampler failed, leaving", "ERROR")
    engine.trace(2, e + s(1.01), ENGINE, "IndexError: list index out of range")
    trainer.all_timeout(e + s(602), 45, trainer.ranks, op="BROADCAST")
    return together(trainer, engine)


@case(
    "folders of two programs: the engine's rank 2 raised, all ranks of the trainer waited for its weights and timed out: the engine's 2",
    kinds=CRASH,
    causes=["exception"],
    ranks=[2],
    program="engine",
)
def a16_engine_beside_trainer(n: str) -> Job:
    return engine_raised(n, 1, 8, 4, folder)


@case(
    "the same, told apart by a word in the files' names, with equal worlds",
    kinds=CRASH,
    causes=["exception"],
    ranks_any=[[2], []],
    suspects_any=[[], [2]],
    program="engine",
)
def a45_word_in_the_names(n: str) -> Job:
    return engine_raised(n, 2, 4, 4, suffix)


@case(
    "the engine's watchdog ended the engine during a long transfer of weights; the trainer's four time out ten minutes later and are victims",
    kinds=CRASH + HANG,
    causes=["killed", "exception", "rank_died", None],
    ranks_any=[[], [0], [1], [0, 1]],
    suspects_any=[[], [0], [1], [0, 1]],
    program="engine",
)
def a37_watchdog_of_the_engine(n: str) -> Job:
    trainer, engine, e = two(n, 3, 4, 2, folder)
    for r in engine.ranks:
        engine.log(r, e + s(1), "receiving weights of step 45")
    t = e + s(61)
    engine.put(
        "engine/watchdog.log",
        t,
        f"{t:%Y-%m-%d %H:%M:%S},000 ERROR watchdog: engine made no step for 60 s, sending SIGKILL to pids {engine.pid(0)} and {engine.pid(1)}",
    )
    trainer.all_timeout(e + s(602), 45, trainer.ranks, op="BROADCAST")
    return together(trainer, engine)


@case(
    "one process is the trainer's rank 3 and the engine's tensor-parallel rank 1; it raised in the trainer's code: rank 3 of the trainer, never 1",
    kinds=CRASH,
    causes=["exception"],
    ranks=[3],
)
def a44_one_process_of_both(n: str) -> Job:
    j = Job(n, ["10.0.0.3"], 4, "2026-10-04T09:00:00")
    pids = [15901, 15909, 15917, 15925]

    def said(r: int, t, text: str) -> None:
        j.put(
            "driver.log",
            t,
            "\n".join(f"(WorkerDict pid={pids[r]}, ip={j.hosts[0]}) {line}" for line in text.split("\n")),
        )

    for r in j.ranks:
        said(r, j.t0 + s(r), f"[trainer] rank {r} of 4 pid {pids[r]} on cuda:{r}")
        said(
            r,
            j.t0 + s(5 + r),
            f"INFO 10-04 09:00:{5 + r:02} [parallel_state.py:1065] rank {r % 2} in world size 2 is assigned as DP rank 0, PP rank 0, TP rank {r % 2}",
        )
    for k in range(5):
        t = j.t0 + s(20 + 5 * k)
        j.put(
            "driver.log",
            t,
            f"(TaskRunner pid=15700, ip={j.hosts[0]}) {t:%Y-%m-%d %H:%M:%S} step {k} done actor loss {0.2 - 0.01 * k:.4f}",
        )
    frames = [*MAIN, ("/workspace/rl/actor.py", 120, "update_policy", "weight = self.by_uid[uid]")]
    said(
        3,
        j.t0 + s(45),
        "Traceback (most recent call last):\n"
        + "".join(f'  File "{f}", line {a}, in {fn}\n    {code}\n' for f, a, fn, code in frames)
        + "KeyError: 'uid-77'",
    )
    return j


@case(
    "trainer and engine share a host, its eight devices and a port that is used again; the engine's process of device 6 raised: no rank of the trainer follows from device or port",
    kinds=CRASH,
    causes=["exception"],
    ranks_any=[[], [6]],
    suspects_any=[[], [6]],
    program="engine",
)
def a46_shared_devices(n: str) -> Job:
    trainer, engine, e = two(n, 5, 8, 8, folder)
    engine.files.clear()

    def said(r: int, t, text: str) -> None:
        engine.put(
            "engine/serve.log", t, "\n".join(f"(EngineCore pid={engine.pid(r)}) {line}" for line in text.split("\n"))
        )

    for r in trainer.ranks:
        trainer.log(
            r,
            trainer.t0 + s(1),
            f"MASTER_ADDR={trainer.hosts[0]} MASTER_PORT=29500 device=cuda:{r} bus {trainer.pci(r)}.0",
        )
        said(
            r,
            trainer.t0 + s(9),
            f"{trainer.t0 + s(9):%Y-%m-%d %H:%M:%S} INFO engine process ready on cuda:{r} bus {trainer.pci(r)}.0, store port 29500",
        )
    said(
        6,
        e + s(1),
        f"{e + s(1):%Y-%m-%d %H:%M:%S} ERROR leaving\nTraceback (most recent call last):\n"
        + "".join(f'  File "{f}", line {a}, in {fn}\n    {code}\n' for f, a, fn, code in ENGINE)
        + "IndexError: list index out of range",
    )
    trainer.all_timeout(e + s(602), 45, trainer.ranks, op="BROADCAST")
    return together(trainer, engine)
