"""Programs of one bundle that tell no pids: by the sizes that they count themselves off by, by the names that engines print, by whose process a shared log quotes."""

from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

_RAISED = [
    "Traceback (most recent call last):",
    '  File "/srv/app/pick.py", line 33, in pick',
    "    return table[index]",
    "IndexError: list index out of range",
]
# The files of a larger and of a smaller program, and what stands before their lines.
FORMS = [
    ("logs/learner_{}.txt", "logs/sampler_{}.txt", "[Learner-{}/{}] ", "sampler process {} of {} | "),
    ("train/w{}.out", "score/w{}.out", "({}/{}) ", "score rank {} of {}: "),
    ("policy.{}.log", "critic.{}.log", "<policy {}/{}> ", "critic rank={} world_size={} "),
]


def _two(folder: Path, large: str, small: str, before: str, beside: str, fails: int, *, later: int = 0) -> Path:
    """A program of four, whose rank `fails` raises, and one of two beside it, or hours `later`."""
    files = {
        place.format(rank): [
            f"2026-10-04 1{1 + hours}:{20 + at:02}:0{rank} {head.format(rank, size)}round {at} finished after {at % 7}.2 s"
            for at in range(12)
        ]
        for place, head, size, hours in ((large, before, 4, 0), (small, beside, 2, later))
        for rank in range(size)
    }
    files[large.format(fails)] += _RAISED
    return written(folder, files)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("fails", [1, 3])
def test_who_counts_otherwise_is_another_program(tmp_path: Path, form: tuple[str, str, str, str], fails: int) -> None:
    report = analyze(_two(tmp_path, *form, fails))
    assert (report.verdict.kind, report.verdict.ranks) == ("crash", [fails])
    assert sorted(",".join(one.ranks_seen) for one in report.coverage.programs) == ["0-1", "0-3"]


def test_a_smaller_launch_before_is_no_program(tmp_path: Path) -> None:
    assert analyze(_two(tmp_path, *FORMS[0], 3, later=3)).coverage.programs == []


@pytest.mark.parametrize("called", ["looks/rank{}.txt", "after/stack_{}/rank_{}.txt"])
def test_a_folder_of_looks_is_no_program(tmp_path: Path, called: str) -> None:
    folder = _two(tmp_path, *FORMS[1], 3)
    stack = [
        "Process 90: python fit.py",
        'Thread 90 (idle): "MainThread"',
        "    wait (threading.py:320)",
        "    fit (fit.py:9)",
    ]
    written(folder, {called.format(rank, rank): stack for rank in range(4)})
    report = analyze(folder)
    assert sorted(one.name for one in report.coverage.programs) == ["score", "train"]
    assert report.verdict.ranks == [3]


def _with_driver(folder: Path, pid: int) -> Path:
    files = {
        f"workers/{name}_{rank}_{first + rank}.log": [
            f"2026-11-04 17:58:2{rank} {name}: rank={rank} world_size=3 pid={first + rank}",
            *(f"2026-11-04 18:{at:02}:0{rank} {name} pass {at}" for at in range(8)),
        ]
        for name, first in (("policy", 4410), ("judge", 4420))
        for rank in range(3)
    }
    files["workers/judge_1_4421.log"] += _RAISED
    files["main.log"] = [
        "Traceback (most recent call last):",
        '  File "/srv/app/main.py", line 74, in fit',
        "    scores = ray.get(refs)",
        f"ray.exceptions.RayTaskError(IndexError): ray::Judge.score() (pid={pid}, ip=10.1.2.7)",
        "IndexError: list index out of range",
    ]
    return written(folder, files)


def test_what_a_shared_log_quotes_of_a_process_is_of_its_program(tmp_path: Path) -> None:
    verdict = analyze(_with_driver(tmp_path, 4421)).verdict
    assert (verdict.kind, verdict.ranks, verdict.program) == ("crash", [1], "judge")


# An engine's log, without what raises; whose word stands before it; who that is.
ENGINES = [
    (["[2026-11-02 22:00:0{} TP0] Decode batch, #running-req: 1{}", "[2026-11-02 22:02:0{} TP2] retract requests: {}"],
     "[2026-11-02 22:03:00 TP2] Scheduler hit an exception: Traceback (most recent call last):", "server_args=ServerArgs(tp_size=4)"),
    (["(Worker_TP0 pid=90) INFO 11-02 22:00:0{} [gpu.py:{}] captured", "(Worker_TP2 pid=92) INFO 11-02 22:00:0{} [gpu.py:{}] captured"],
     "(Worker_TP2 pid=92) Traceback (most recent call last):", "vllm serve /m --tensor-parallel-size 4"),
]  # fmt: skip


def _engine(folder: Path, form: tuple[list[str], str, str], before: str = "") -> Path:
    said, head, launch = form
    prefix = "(Worker_TP2 pid=92) " if head.startswith("(") else ""
    trainer = {
        f"megatron/rank_{rank}.log": [
            f"[2026-11-02 21:55:0{rank}] [rank {rank}] up, world_size=4",
            *(f"[2026-11-02 22:0{at}:10] [rank {rank}] step {at} loss 1.{at}" for at in range(3)),
        ]
        for rank in range(4)
    }
    lines = [launch, *(line.format(at, at) for at in range(4) for line in said)]
    return written(
        folder, {**trainer, "engine_1.log": [*lines, before + head, *(prefix + line for line in _RAISED[1:])]}
    )


@pytest.mark.parametrize("form", ENGINES)
def test_a_place_in_an_engine_is_its_rank_and_none_of_the_trainer(
    tmp_path: Path, form: tuple[list[str], str, str]
) -> None:
    verdict = analyze(_engine(tmp_path, form)).verdict
    assert (verdict.kind, verdict.ranks, verdict.program) == ("crash", [2], "engine_1")


def test_a_place_beside_another_axis_is_no_rank(tmp_path: Path) -> None:
    said, head, launch = ENGINES[0]
    form = ([line.replace("TP", "DP1 TP") for line in said], head.replace("TP", "DP1 TP"), launch)
    assert analyze(_engine(tmp_path, form)).verdict.ranks == []


@pytest.mark.parametrize("code", ["ERR00100", "EI0002"])
def test_the_number_of_a_message_is_no_host(tmp_path: Path, code: str) -> None:
    files = {
        f"out/rank{rank}.log": [
            f"rank {rank} of 4 is up, pid {4000 + rank}",
            f"[ERROR] 2026-11-07-14:22:3{rank} (PID:{4000 + rank}, Device:{rank}, RankID:{rank}) {code} call failed",
        ]
        for rank in range(4)
    }
    files["out/rank2.log"] += _RAISED
    verdict = analyze(written(tmp_path, files)).verdict
    assert (verdict.ranks, verdict.hosts) == ([2], [])
