"""A person ends one process of a job that stands still: that is the end of the wait. Who was killed is named for nothing, and the wait is what happened."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from tests.sources import written

RANKS, TAKEN = 6, 3
PIDS = {rank: 41203 + 11 * rank for rank in range(RANKS)}
HOSTS = {rank: "oak" if rank < 3 else "elm" for rank in range(RANKS)}
SERVICE = [
    "recv_into (socket.py:705)",
    "readinto (http/client.py:482)",
    "_read_status (http/client.py:279)",
    "post (requests/api.py:115)",
    "ask_scores (scores/client.py:48)",
    "fit (trainer/loop.py:231)",
]
REDUCE = [
    "wait (torch/distributed/distributed_c10d.py:2810)",
    "all_reduce (torch/distributed/distributed_c10d.py:2806)",
    "fit (trainer/loop.py:231)",
]


def clock(second: int) -> str:
    return f"2026-10-14 {second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"


START, STOOD, KILLED = 7200, 7800, 13600

Tell = Callable[[int], Mapping[str, Sequence[str]]]  # rank → files that tell of its end


def ray(rank: int) -> Mapping[str, Sequence[str]]:
    return {
        "driver.log": [
            f"{clock(KILLED + 9)},551\tWARNING worker.py:2065 -- A worker died or was killed while executing a task by an unexpected system error. "
            f"Worker ID: 0d1be93a Node ID: 6e1f90 Worker IP address: {HOSTS[rank]} Worker port: 10018 Worker PID: {PIDS[rank]} Worker exit type: "
            "SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file.",
            "Traceback (most recent call last):",
            '  File "/app/run.py", line 171, in train',
            "    ray.get(refs)",
            '  File "/usr/lib/python3.10/dist-packages/ray/_private/worker.py", line 866, in get_objects',
            "    raise value",
            "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.",
            "\tclass_name: Fit",
            f"\tpid: {PIDS[rank]}",
            f"\tip: {HOSTS[rank]}",
            "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits.",
        ]
    }


def elastic(rank: int) -> Mapping[str, Sequence[str]]:
    at = clock(KILLED + 4)
    return {
        f"launch-{HOSTS[rank]}.log": [
            f"W1014 {at[11:]}.004000 9 torch/distributed/elastic/multiprocessing/api.py:897] Sending process {PIDS[one]} closing signal SIGTERM"
            for one in range(RANKS)
            if one != rank and HOSTS[one] == HOSTS[rank]
        ]
        + [
            f"E1014 {at[11:]}.118000 9 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -9) local_rank: {rank % 3} (pid: {PIDS[rank]}) of binary: /usr/bin/python3",
            f"  rank      : {rank} (local_rank: {rank % 3})",
            f"  exitcode  : -9 (pid: {PIDS[rank]})",
            f"  traceback : Signal 9 (SIGKILL) received by PID {PIDS[rank]}",
        ]
    }


def slurm(rank: int) -> Mapping[str, Sequence[str]]:
    return {
        "slurm-77.out": [
            f"srun: error: {HOSTS[rank]}: task {rank}: Killed",
            "srun: Terminating StepId=77.0",
            *(f"srun: error: {HOSTS[one]}: task {one}: Terminated" for one in range(RANKS) if one != rank),
        ]
    }


def mpi(rank: int) -> Mapping[str, Sequence[str]]:
    return {
        "mpirun.err": [
            f"mpirun noticed that process rank {rank} with PID {PIDS[rank]} on node {HOSTS[rank]} exited on signal 9 (Killed)."
        ]
    }


def paddle(rank: int) -> Mapping[str, Sequence[str]]:
    return {
        "launcher.log": [
            f"LAUNCH ERROR {clock(KILLED + 4)},906 Container failed !!!",
            f"Container rank {rank} status failed cmd ['/usr/bin/python3', '-u', 'fit.py'] code -9 log /logs/workerlog.{rank}",
        ]
    }


def own(rank: int) -> Mapping[str, Sequence[str]]:
    return {
        "spawn.log": [
            f"{clock(KILLED + 4)} spawn: worker {rank} (pid {PIDS[rank]}) on {HOSTS[rank]} died with signal 9"
        ]
    }


ENDS: list[Tell] = [ray, elastic, slurm, mpi, paddle, own]


def history(rank: int) -> list[str]:
    return [
        "$ history | tail -3     # " + HOSTS[rank],
        "  611  nvidia-smi",
        f"  612  date   # {clock(KILLED)} UTC 2026",
        f"  613  kill -9 {PIDS[rank]}",
    ]


def dated(rank: int) -> list[str]:
    return [f"  613  {clock(KILLED)} kill -9 {PIDS[rank]}"]


def zsh(rank: int) -> list[str]:
    return [f": 1791949591:0;kill -KILL {PIDS[rank]}"]


def prompt(rank: int) -> list[str]:
    return [f"mia@{HOSTS[rank]}:~$ date", f"{clock(KILLED)}", f"mia@{HOSTS[rank]}:~$ kill -9 {PIDS[rank]}"]


def sudo(rank: int) -> list[str]:
    return [
        f"2026-10-14T{clock(KILLED)[11:]}+00:00 {HOSTS[rank]} sudo[77]:   mia : TTY=pts/3 ; PWD=/home/mia ; USER=root ; COMMAND=/usr/bin/kill -9 {PIDS[rank]}"
    ]


def note(rank: int) -> list[str]:
    return [
        f"{clock(KILLED)} mia: nothing moves since 02:10, I killed pid {PIDS[rank]} on {HOSTS[rank]} (kill -9) to get the job out of the queue"
    ]


def german(rank: int) -> list[str]:
    return [f"{clock(KILLED)} mia: steht seit 02:10, habe PID {PIDS[rank]} auf {HOSTS[rank]} mit kill -9 beendet"]


def chinese(rank: int) -> list[str]:
    return [f"{clock(KILLED)} 小米：任务卡住了，手动 kill -9 {PIDS[rank]}（{HOSTS[rank]}）"]


def nothing(_: int) -> list[str]:
    return []


ORDERS = [history, dated, zsh, prompt, sudo, note, german, chinese, nothing]


def job(
    folder: Path,
    end: Tell,
    order: Callable[[int], list[str]],
    frames: Sequence[str] = SERVICE,
    *,
    rounds: int = 2,
    until: int = STOOD,
    odd: Sequence[str] = (),
) -> Verdict:
    """Six ranks that count until `until`, looked at `rounds` times where they stand, one of which is ended at `KILLED`."""
    files: dict[str, Sequence[str]] = {"notes.txt": order(TAKEN)} if order(TAKEN) else {}
    for rank in range(RANKS):
        files[f"rank{rank}.log"] = [
            f"{clock(START)} INFO up rank={rank} world_size={RANKS} pid={PIDS[rank]} host={HOSTS[rank]}",
            *(
                f"{clock(at)} INFO step {number} loss 2.{400 - number}"
                for number, at in enumerate(range(START, until, 60))
            ),
        ]
    for look in range(rounds):
        lines: list[str] = []
        for rank in range(RANKS):
            lines += [
                f"### {HOSTS[rank]} {clock(STOOD + 1800 + 1200 * look + rank)} py-spy dump --pid {PIDS[rank]}",
                f"Process {PIDS[rank]}: python3 fit.py",
            ]
            lines += [
                "Python v3.10.12 (/usr/bin/python3.10)",
                "",
                f'Thread {PIDS[rank]} (idle): "MainThread"',
                *(f"    {frame}" for frame in (odd if odd and rank == TAKEN else frames)),
                "",
            ]
        files[f"stacks_{look + 1}.txt"] = lines
    return analyze(written(folder, {**files, **end(TAKEN)})).verdict


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("end", [ray, own])
def test_who_was_killed_by_hand_where_all_stood_is_not_named(
    tmp_path: Path, end: Tell, order: Callable[[int], list[str]]
) -> None:
    verdict = job(tmp_path, end, order)
    assert (verdict.kind, verdict.ranks) == ("hang", []), verdict.summary


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("frames", [SERVICE, REDUCE])
def test_whoever_tells_of_its_end(tmp_path: Path, end: Tell, frames: Sequence[str]) -> None:
    verdict = job(tmp_path, end, history, frames)
    assert (verdict.kind, verdict.ranks) == ("hang", []), verdict.summary


@pytest.mark.parametrize("end", [elastic, own])
@pytest.mark.parametrize("frames", [SERVICE, REDUCE])
def test_one_look_long_after_the_last_step_shows_it_as_well(tmp_path: Path, end: Tell, frames: Sequence[str]) -> None:
    verdict = job(tmp_path, end, nothing, frames, rounds=1)
    assert (verdict.kind, verdict.ranks) == ("hang", []), verdict.summary


@pytest.mark.parametrize("end", [ray, elastic, own])
def test_very_long_after_the_last_step_nobody_knows_what_was_ended(tmp_path: Path, end: Tell) -> None:
    assert not job(tmp_path, end, nothing, rounds=0).ranks


@pytest.mark.parametrize("end", [ray, elastic, mpi, own])
@pytest.mark.parametrize("rounds", [0, 2])
def test_who_was_killed_while_all_went_on_is_named_as_before(tmp_path: Path, end: Tell, rounds: int) -> None:
    """Looks in which all stand at one call by chance are none of a standstill: steps were completed after them."""
    verdict = job(tmp_path, end, nothing, rounds=rounds, until=KILLED)
    assert (verdict.kind, verdict.ranks) == ("crash", [TAKEN]), verdict.summary


def test_who_stands_elsewhere_is_asked_for_and_not_the_call_of_the_others(tmp_path: Path) -> None:
    verdict = job(
        tmp_path,
        own,
        history,
        REDUCE,
        odd=["flock (filelock/_unix.py:40)", "acquire (filelock/_api.py:201)", "fit (trainer/loop.py:97)"],
    )
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("hang", "rank_absent", [TAKEN]), verdict.summary
