"""A supervisor that lost sight of one process and killed it while all of them were at work: that one was killed. Of a job that stood still, nobody."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict

RANKS, TAKEN, TURN_S, TURNS = 6, 3, 20, 12
LAST = 9 * 3600 + TURNS * TURN_S  # second of the day of the last turn


def clock(second: int) -> str:
    return f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"


Say = Callable[[int, int], list[str]]  # rank, second → what its supervisor says


def go(rank: int, second: int) -> list[str]:
    return [
        f"W0612 {clock(second)}.000000 1 lease.go:20] member {rank}: lease ran out, taken for lost",
        f"I0612 {clock(second)}.500000 1 reap.go:57] member {rank}: kill -9 {7000 + rank} (trainer) done",
    ]


def warden(rank: int, second: int) -> list[str]:
    return [f"{clock(second)} warden: rank {rank} has shown no stamp for 90 s, killing pid {7000 + rank} with SIGKILL"]


def operator(rank: int, second: int) -> list[str]:
    return [f"{clock(second)} INFO scaler: Deleting pod fit-{rank}, grace period 0s"]


def job(
    folder: Path, say: Say, *, after: int = 15, before: str = "", wait: bool = False, counting: bool = True
) -> Verdict:
    """`after`: seconds from the last turn to the kill; `before`: what its printer tells first; `wait`: the others timed out."""
    lines = [before, *say(TAKEN, LAST + after), f"{clock(LAST + after + 30)} job is broken, stopping"]
    (folder / "supervisor.log").write_text("\n".join(line for line in lines if line) + "\n")
    lost = (
        "RuntimeError: all_reduce timed out after 1800 s"
        if wait
        else "torch.distributed.DistBackendError: NCCL error in: x.cpp:19, remote process exited or there was a network error"
    )
    for rank in range(RANKS):
        lines = [f"{clock(9 * 3600)} host=fit-{rank} rank={rank} world_size={RANKS} pid={7000 + rank}"]
        lines += [f"{clock(9 * 3600 + n * TURN_S)} turn {n if counting else 7} cost 2.{n:02}" for n in range(TURNS + 1)]
        lines += [f"{clock(LAST + after + 2)} {lost}"] if rank != TAKEN else []
        (folder / f"fit-{rank}.log").write_text("\n".join(lines) + "\n")
    return analyze(folder).verdict


@pytest.mark.parametrize("say", [go, warden, operator])
def test_who_was_killed_while_all_went_on_is_named(tmp_path: Path, say: Say) -> None:
    verdict = job(tmp_path, say)
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "killed", [TAKEN])


@pytest.mark.parametrize("say", [go, warden, operator])
@pytest.mark.parametrize(
    "how",
    [
        {"after": 400},
        {"wait": True},
        {"counting": False},
        {"before": "09:01:00 rank 1 exited with exit code 1"},
    ],
    ids=["of a job that stood still", "others waited in vain", "nothing counts on", "another ended before"],
)
def test_else_a_kill_names_nobody_for_it(tmp_path: Path, say: Say, how: dict[str, object]) -> None:
    verdict = job(tmp_path, say, **how)  # type: ignore[arg-type]
    assert verdict.cause != "killed" and (not verdict.ranks or "wait" in how or "before" in how), verdict.summary
    assert set(verdict.ranks) <= {TAKEN}


def test_an_image_that_was_pulled_before_is_no_other_container(tmp_path: Path) -> None:
    job(tmp_path, lambda *_: [])
    (tmp_path / "events.txt").write_text(
        "LAST SEEN   TYPE     REASON    OBJECT      MESSAGE\n"
        '2m          Normal   Pulled    pod/fit-3   Container image "lab/fit:7" already present on machine\n'
        "1m          Normal   Killing   pod/fit-3   Container fit failed liveness probe, will be restarted\n"
    )
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "killed", [TAKEN])


def _shared(folder: Path, who: dict[str, list[str]], *, until: int = 28) -> Verdict:
    """Seven processes of two hosts whose names are words, ended by their own launcher; `who`: what else hosts tell; `until`: the last step."""
    pids = {rank: 61800 + 7 * rank for rank in range(7)}
    lines = [
        f"2025-07-22 01:00:00,000 INFO spawn: host={'oak' if rank < 3 else 'elm'} pid={pid} rank={rank}"
        for rank, pid in pids.items()
    ]
    lines += [f"2025-07-22 {clock(8000 + 10 * n)},000 INFO train: step {n} loss 0.9{n:02}" for n in range(until)]
    lines += [f"2025-07-22 {clock(8280 + rank)},000 INFO spawn: killing pid {pid}" for rank, pid in pids.items()]
    for name, own in {"run.log": lines, **who}.items():
        (folder / name).write_text("\n".join(own) + "\n")
    return analyze(folder).verdict


def sudo(host: str, pid: int) -> list[str]:
    return [
        f"Jul 22 02:01:01 {host} sshd[801]: session opened for user mia",
        f"Jul 22 {clock(8276)} {host} sudo:  mia : TTY=pts/6 ; PWD=/home/mia ; USER=root ; COMMAND=/usr/bin/kill -9 {pid}",
    ]


def test_a_person_who_kills_one_of_a_job_at_work_is_heard(tmp_path: Path) -> None:
    verdict = _shared(tmp_path, {"auth.log": sudo("elm", 61835)})
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "stopped_by_hand", [5])


@pytest.mark.parametrize("pid", [61836, 4])
def test_a_person_who_kills_something_else_is_nobodys_end(tmp_path: Path, pid: int) -> None:
    assert not _shared(tmp_path, {"auth.log": sudo("elm", pid)}).ranks


def test_the_same_number_on_another_host_is_another_process(tmp_path: Path) -> None:
    assert not _shared(tmp_path, {"auth.log": sudo("ash", 61835)}).ranks
    assert not _shared(tmp_path, {"auth.log": ["mia@ash:~$ sudo kill -9 61835"]}).ranks


def test_who_ends_one_of_a_job_that_stands_still_names_nobody(tmp_path: Path) -> None:
    assert not _shared(tmp_path, {"auth.log": sudo("elm", 61835)}, until=12).ranks
