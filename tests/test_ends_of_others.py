"""Ends that somebody tells of a rank's number are none of the rank that goes on: services, workers and servers beside a job, earlier attempts,
tickets. The same words name it where its own record stops."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict

RANKS = range(4)
WAITED = (
    "[rank{0}]:[E1130 07:{1:02}:10.312100252 ProcessGroupNCCL.cpp:632] [Rank {0}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=21, OpType=ALLREDUCE, NumelIn=1024, NumelOut=1024, Timeout(ms)=600000) ran for 600031 milliseconds before timing out.\n"
)


def at(second: int) -> str:
    return f"2026-11-30 07:{40 + second // 60}:{second % 60:02}"


def logs(end: str = "", steps: int = 20, waited: range = range(0), own: str = "") -> dict[str, str]:
    """The logs of four ranks, a step each two seconds; `waited` gave up a collective ten minutes later; rank 2 prints `own`."""
    told = {}
    for rank in RANKS:
        said = f"{at(0)},000 INFO rank {rank}/4 pid {4700 + rank} host n0\n"
        said += "".join(
            f"{at(2 * step)},{rank}00 INFO step {step}/500 loss {2 - step / 50:.4f}\n" for step in range(1, steps)
        )
        said += f"{at(2 * steps)},000 INFO {end}\n" if end else ""
        told[f"rank{rank}.log"] = (
            said + (WAITED.format(rank, 50) if rank in waited else "") + (own if rank == 2 else "")
        )
    return told


def judged(folder: Path, *files: Mapping[str, str]) -> Verdict:
    for name, text in {name: text for one in files for name, text in one.items()}.items():
        (folder / name).write_text(text)
    return analyze(folder).verdict


BESIDE: Mapping[str, str] = {
    "a unit": "Nov 30 07:40:{second} n0 systemd[1]: rank-2.service: Main process exited, code=killed, status=9/KILL\n",
    "a server": "2026-11-30 07:40:{second} ERROR inference replica rank 2 killed (SIGKILL)\n",
    "a pool": "2026-11-30 07:40:{second},120 ERROR tokenizer pool: rank 2 terminated by signal 9, respawned\n",
    "an engine": "ERROR 2026-11-30 07:40:{second} Worker proc died, exit code: -9 (rank=2)\n",
}


@pytest.mark.parametrize("line", BESIDE.values(), ids=BESIDE)
def test_who_works_on_is_not_dead(tmp_path: Path, line: str) -> None:
    verdict = judged(tmp_path, logs(), {"other.log": line.format(second=20)})
    assert (verdict.kind, verdict.ranks, verdict.suspects.ranks) == ("unknown", [], [])


@pytest.mark.parametrize("line", BESIDE.values(), ids=BESIDE)
def test_who_ends_well_is_not_dead(tmp_path: Path, line: str) -> None:
    assert (
        judged(tmp_path, logs("training finished, exit code 0"), {"other.log": line.format(second=20)}).kind
        == "healthy"
    )


@pytest.mark.parametrize("line", BESIDE.values(), ids=BESIDE)
def test_who_waited_until_the_timeout_was_not_dead(tmp_path: Path, line: str) -> None:
    assert judged(tmp_path, logs(waited=RANKS), {"other.log": line.format(second=50)}).ranks == []


@pytest.mark.parametrize("line", BESIDE.values(), ids=BESIDE)
def test_whose_record_stops_there_is_named(tmp_path: Path, line: str) -> None:
    stops = {**logs(), "rank2.log": logs(steps=10)["rank2.log"]}
    verdict = judged(tmp_path, stops, {"other.log": line.format(second=20)})
    assert (verdict.kind, verdict.ranks) == ("crash", [2])


WHOSE: Mapping[str, tuple[str, str, list[int]]] = {
    "its own pid: the clocks differ": (f"{at(20)} launcher: rank 2 (pid 4702) killed by signal 9\n", "", [2]),
    "of nobody's pid": (f"{at(20)} launcher: rank 2 (pid 9902) killed by signal 9\n", "", []),
    "just behind its last step": (f"{at(39)} launcher: rank 2 killed by signal 9\n", "", [2]),
    "an hour before: the zones differ": ("2026-11-30 06:40:39 launcher: rank 2 killed by signal 9\n", "", [2]),
    "without a stamp": ("launcher: rank 2 exited with code 137\n", "", [2]),
    "without a stamp, but it waited": ("launcher: rank 2 exited with code 137\n", WAITED.format(2, 50), []),
    "out of memory, but it waited": ("launcher: rank 2 OOMKilled (exit code 137)\n", WAITED.format(2, 50), []),
}


@pytest.mark.parametrize(("line", "own", "ranks"), WHOSE.values(), ids=WHOSE)
def test_whose_end_it_is(tmp_path: Path, line: str, own: str, ranks: list[int]) -> None:
    assert judged(tmp_path, logs(own=own), {"launcher.log": line}).ranks == ranks


DAYS: Mapping[str, tuple[str, list[int]]] = {
    "an attempt": ("attempt 1  2026-11-27 10:00 - 11:00  FAILED  rank 2 exit 137\n", []),
    "an attempt of yesterday": (
        "attempt 1  2026-11-29 10:00 - 11:20  FAILED  rank 2 exit 137\nattempt 2  2026-11-30 07:39 -  RUNNING\n",
        [],
    ),
    "a list": ("date,job_id,rank,host,exit_code,reason\n2026-10-11,88001,2,n7,137,OOMKilled\n", []),
    "Chinese": ("第1次 2026-11-28 10:00~11:00 失败 rank 2 退出码 137\n", []),
    "a ticket": ("Created: 2026-10-02\n## Summary\nRank 2 exited with code 139, host drained. RESOLVED\n", []),
    "today": ("attempt 1  2026-11-30 07:39 - 07:41  FAILED  rank 2 exit 137\n", [2]),
    "a ticket of today": ("Created: 2026-11-30\n## Summary\nRank 2 exited with code 139, host drained.\n", [2]),
    "a day in a path": ("launcher: rank 2 of runs/2026-10-02/a exited with code 137\n", [2]),
}


@pytest.mark.parametrize(("text", "ranks"), DAYS.values(), ids=DAYS)
def test_of_which_day(tmp_path: Path, text: str, ranks: list[int]) -> None:
    name = "list.csv" if text.startswith("date,") else "notes.txt"
    assert judged(tmp_path, logs(), {name: text}).ranks == ranks


NOBODYS = "2026-11-30 07:40:{second},193 - distributed.nanny - INFO - Worker process 9911 was killed by signal 9\n"


@pytest.mark.parametrize(("second", "kind"), [(20, "unknown"), (39, "crash")])
def test_where_all_work_on_nobody_of_them_ended(tmp_path: Path, second: int, kind: str) -> None:
    assert judged(tmp_path, logs(), {"pool.log": NOBODYS.format(second=second)}).kind == kind


def test_in_one_log_of_all_the_last_steps_stand_behind_the_ends_of_others(tmp_path: Path) -> None:
    said = [
        f"[rank{rank}]: {at(2 * step)} INFO step {step}/19 loss {2 - step / 50:.4f}\n"
        for step in range(1, 20)
        for rank in RANKS
    ]
    said += [f"[rank{rank}]: {at(40)} INFO training finished, exit code 0\n" for rank in RANKS]
    assert (
        judged(tmp_path, {"all.log": "".join(said), "compose.log": "rank-2-1 exited with code 137\n"}).kind == "healthy"
    )


HOSTS: Mapping[str, tuple[str, list[int]]] = {
    "another's": ("mpirun noticed that process rank 2 with PID 5512 on node n31 exited on signal 9 (Killed).\n", []),
    "its own": ("mpirun noticed that process rank 2 with PID 5512 on node n0 exited on signal 9 (Killed).\n", [2]),
    "its own, in full": ("mpirun noticed that process rank 2 with PID 5512 on node n0.cluster exited on signal 9 (Killed).\n", [2]),
    "called otherwise": ("mpirun noticed that process rank 2 with PID 5512 on node ip-10-0-0-7 exited on signal 9 (Killed).\n", [2]),
}  # fmt: skip


@pytest.mark.parametrize(("line", "ranks"), HOSTS.values(), ids=HOSTS)
def test_on_which_host(tmp_path: Path, line: str, ranks: list[int]) -> None:
    assert judged(tmp_path, logs(), {"mpirun.log": line}).ranks == ranks


def test_on_a_host_of_a_job_that_is_larger_than_its_logs(tmp_path: Path) -> None:
    """Four of eight ranks left a log: the other host may well be the job's."""
    seen = {name: text.replace("/4 pid", "/8 pid") for name, text in logs().items()}
    line = "mpirun noticed that process rank 6 with PID 5512 on node n1 exited on signal 9 (Killed).\n"
    assert judged(tmp_path, seen, {"mpirun.log": line}).ranks == [6]


EXAMPLE = (
    "Example of what the launcher prints:\n  rank      : 2 (local_rank: 2)\n  exitcode  : -9 (pid: 44122)\n"
    "[rank2]: RuntimeError: CUDA error: an illegal memory access was encountered\n"
)


def test_an_example_in_a_document_beside_ranks_that_all_ended_well(tmp_path: Path) -> None:
    assert judged(tmp_path, logs("training finished, exit code 0"), {"README.md": EXAMPLE}).kind == "healthy"
