"""Two looks at one process, headings of pasted stacks, and what a watchdog says after its rank lost another."""

from pathlib import Path

import pytest

from forensics import analyze

WAIT = "    all_reduce (torch/distributed/distributed_c10d.py:1992)\n    fit (fit.py:7)\n"
LOCK = "    flock (fcntl.py:3)\n    acquire (locks.py:41)\n    fit (fit.py:5)\n"


def thread(rank: int, frames: str) -> str:
    return f'Process {700 + rank}: python fit.py\nThread {700 + rank} (idle): "MainThread"\n{frames}\n'


def looks(heading: str, odd: int = 2) -> str:
    return "".join(heading.format(rank) + "\n" + thread(rank, LOCK if rank == odd else WAIT) for rank in range(4))


@pytest.mark.parametrize(
    "heading",
    [
        "===== rank {} @ 06:33:31",
        "### trainer rank {}, host n1{}, 17:59".replace("n1{}", "n1"),
        "# RANK {}",
        "--- global rank {} (2nd look) ---",
    ],
)
def test_a_heading_tells_whose_stack_comes(heading: str, tmp_path: Path) -> None:
    for look in (1, 2):
        (tmp_path / f"look{look}.txt").write_text(looks(heading))
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.ranks) == ("hang", [2])


@pytest.mark.parametrize("heading", ["### local rank {}", "### node rank {}, host n1", "rank {} is late"])
def test_other_words_tell_nobody(heading: str, tmp_path: Path) -> None:
    for look in (1, 2):
        (tmp_path / f"look{look}.txt").write_text(looks(heading))
    assert analyze(tmp_path).verdict.ranks == []


def test_ranks_of_two_programs_in_one_paste_are_nobodys(tmp_path: Path) -> None:
    for look in (1, 2):
        text = looks("### trainer rank {}", odd=9) + looks("### engine rank {}")
        (tmp_path / f"look{look}.txt").write_text(text)
    assert analyze(tmp_path).verdict.ranks == []


def native(rank: int, poll: str, call: str, at: str, library: str = "/usr/lib/libucp.so.0") -> str:
    return (
        f"solver rank={rank} pid={800 + rank} host=n1 taken {at}\n\n"
        f'Thread 1 (Thread 0x7f (LWP {800 + rank}) "solver"):\n'
        f"#0  0x00007f01 in {poll} () from {library}\n"
        f"#1  0x00007f02 in {call} () at allreduce.c:113\n"
        "#2  0x00005502 in Solver::step (this=0x1) at src/solver.cpp:318\n"
        "#3  0x00005503 in main (argc=3) at src/main.cpp:146\n"
    )


@pytest.mark.parametrize("folders", [("a", "b"), ("bt_18h22", "bt_18h37"), ("first", "second")])
@pytest.mark.parametrize("moves", [False, True])
def test_who_polls_stands_at_its_call(folders: tuple[str, str], moves: bool, tmp_path: Path) -> None:
    """All are seen twice at the same call; where one went on, it is slow."""
    for nth, folder in enumerate(folders):
        (tmp_path / folder).mkdir()
        for rank in range(6):
            poll = ("opal_progress", "ucp_worker_progress")[(rank + nth) % 2]
            text = native(rank, poll, "PMPI_Allreduce", f"04:4{nth}:20")
            if rank == 4:
                line = 57 + nth if moves else 57
                text = native(rank, "pread64", "readShard", f"04:4{nth}:20", "/lib/x86_64-linux-gnu/libc.so.6").replace(
                    "solver.cpp:318", f"solver.cpp:{line}"
                )
            (tmp_path / folder / f"rank{rank}.bt").write_text(text)
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.ranks) == ("slow" if moves else "hang", [4])


def watchdog(rank: int, second: int, *, lost: bool) -> str:
    at = f"[E1128 03:12:{second}.0{rank}"
    error = (
        f"[rank{rank}]:{at}689256 ProcessGroupNCCL.cpp:552] [Rank {rank}] Collective WorkNCCL(SeqNum=77, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, "
        "Timeout(ms)=600000) raised the following async exception: NCCL error: remote process exited or there was a network error, NCCL version 2.21.5\n"
    )
    late = (
        f"[rank{rank}]:{at}789256 ProcessGroupNCCL.cpp:1834] [PG ID 0 PG GUID 0(default_pg) Rank {rank}] Timeout at NCCL work: 77, "
        "last enqueued NCCL work: 77, last completed NCCL work: 76.\n"
    )
    return (error if lost else "") + late


@pytest.mark.parametrize(("lost", "kind", "ranks"), [(True, "crash", [3]), (False, "hang", [])])
def test_a_time_out_after_a_loss_is_the_loss(lost: bool, kind: str, ranks: list[int], tmp_path: Path) -> None:
    """The launcher tells the end of rank 3 later than the others lost it; after a true time-out it would have followed."""
    table = (
        "E1128 03:14:59.000000 41 torch/distributed/elastic/multiprocessing/api.py:880] failed (exitcode: -11) local_rank: 3 (pid: 4133) of binary: python\n"
        "============================================================\nfit.py FAILED\n"
        "------------------------------------------------------------\nRoot Cause (first observed failure):\n[0]:\n"
        "  time      : 2026-11-28_03:14:59\n  host      : n1\n  rank      : 3 (local_rank: 3)\n  exitcode  : -11 (pid: 4133)\n"
        "  error_file: <N/A>\n  traceback : Signal 11 (SIGSEGV) received by PID 4133\n"
        "============================================================\n"
    )
    text = "".join(watchdog(rank, 41 + rank, lost=lost) for rank in range(3)) + table
    (tmp_path / "train.log").write_text("world_size: 4\n" + text)
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.ranks) == (kind, ranks)


def test_a_rank_that_calls_a_service_whose_process_was_killed_is_not_named(tmp_path: Path) -> None:
    call = "    sleep (urllib3/util/retry.py:358)\n    urlopen (urllib3/connectionpool.py:871)\n    post (requests/sessions.py:637)\n    fit (fit.py:5)\n"
    caught = (
        "[rank{0}]:[E1128 03:12:4{0}.0 ProcessGroupNCCL.cpp:632] [Rank {0}] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=77, OpType=BROADCAST, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 600014 milliseconds before timing out.\n"
    )
    (tmp_path / "train.log").write_text(
        "".join(f"[rank{rank}]: world_size=4\n" for rank in range(4))
        + "".join(caught.format(rank) for rank in (1, 2, 3))
    )
    for look in (1, 2):
        (tmp_path / f"look{look}.txt").write_text("=== rank 0 ===\n" + thread(0, call))
    assert analyze(tmp_path).verdict.ranks == [0]
    killed = "Nov 28 03:01:58 n2 systemd[1]: reward.service: Main process exited, code=killed, status=9/KILL\n"
    (tmp_path / "journal.txt").write_text(killed)
    assert analyze(tmp_path).verdict.ranks == []


def test_a_document_calls_variables_as_its_commands_do(tmp_path: Path) -> None:
    """RANK of a pod is a node's where the pod's command gives it to torchrun: then no pod is one rank."""
    environment = "".join(
        f"### {pod}\nHOSTNAME={pod}\nRANK={at}\nWORLD_SIZE=2\n\n" for at, pod in enumerate(("fit-0", "fit-1"))
    )
    rows = "".join(
        f"ts=2026-03-04T05:06:0{step}.1Z pod={pod} lr={local} step={step} compute_ms={900 if (pod, local) == ('fit-1', 1) else 400 + local}.1 wait_ms={20 if (pod, local) == ('fit-1', 1) else 500}.2\n"
        for step in range(10)
        for pod in ("fit-0", "fit-1")
        for local in range(2)
    )
    (tmp_path / "env.txt").write_text(environment)
    (tmp_path / "steps.logfmt").write_text(rows)
    (tmp_path / "job.yaml").write_text(
        "spec:\n  command: torchrun --nnodes=2 --nproc_per_node=2 --node_rank=$RANK fit.py\n"
    )
    assert analyze(tmp_path).verdict.ranks != [1]


@pytest.mark.parametrize(("times", "kind"), [(1, "healthy"), (5, "unknown")])
def test_what_is_finished_again_and_again_is_no_job(times: int, kind: str, tmp_path: Path) -> None:
    for rank in range(2):
        lines = [f"[rank{rank}]: 2026-03-04 05:06:{at:02} step {at} loss 2.1\n" for at in range(10, 16)]
        done = [f"[rank{rank}]: 2026-03-04 05:07:{at:02} Finished training in {at} s\n" for at in range(times)]
        (tmp_path / f"rank{rank}.log").write_text("".join([f"[rank{rank}]: world_size=2\n", *lines, *done]))
    assert analyze(tmp_path).verdict.kind == kind


@pytest.mark.parametrize(("minutes", "kind"), [(3, "unknown"), (-3, "hang")])
@pytest.mark.parametrize(
    "heading", ["# py-spy dump (host n1, 2026-03-04 05:10:00 UTC)", "=== 2026-03-04T05:10:00Z ==="]
)
def test_a_log_that_goes_on_after_the_look_is_of_a_running_job(
    minutes: int, kind: str, heading: str, tmp_path: Path
) -> None:
    stacks = heading + "\n" + looks("=== rank {} ===")
    (tmp_path / "look.txt").write_text(stacks)
    lines = [f"[rank0]: 2026-03-04 05:{10 + minutes:02}:{at:02} step {at} loss 2.1\n" for at in range(10, 50, 10)]
    (tmp_path / "train.log").write_text("[rank0]: world_size=4\n" + "".join(lines))
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.ranks) == (kind, [])
