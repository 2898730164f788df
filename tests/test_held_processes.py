"""Of a job that stands still: whose log stops before those of all others, and whose host says that its process runs nothing any more."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from tests.sources import written

RANKS, LAST, OUT = 6, 9, 4

Line = Callable[[int, int], str]  # rank, round → text
COURSES: Mapping[str, tuple[Line, Line]] = {
    "words of nobody": (
        lambda rank, n: f"09:0{n % 10}:{rank:02} quux({rank}) lap {n} taken",
        lambda rank, n: f"09:0{n % 10}:1{rank} quux({rank}) lap {n} over the hill",
    ),
    "Korean": (
        lambda rank, n: f"<09:0{n}:{rank:02}> 단계 {n} 시작",
        lambda rank, n: f"<09:0{n}:1{rank}> 단계 {n} 완료, 손실 {n}.{rank}5",
    ),
}


def logs(folder: Path, course: str, late: int | None = OUT, *, waits: bool = False) -> None:
    """`late` stops a line before the others; `waits`: it stops with them, and all others print that they wait instead."""
    for rank in range(RANKS):
        lines = [f"09:00:00 rank {rank} of {RANKS}, pid {4700 + rank}"]
        lines += [line(rank, n) for n in range(1, LAST) for line in COURSES[course]]
        if waits:
            lines += [f"09:30:0{rank} 等待他人", f"09:50:0{rank} 仍在等待"] if rank != late else []
        else:
            lines += [line(rank, LAST) for line in COURSES[course]][: 1 if rank == late else 2]
        (folder / f"rank_{rank}.log").write_text("\n".join(lines) + "\n")


def ps(folder: Path, states: Mapping[int, str]) -> None:
    rows = [
        f" {4700 + rank}  4000 {states.get(rank, 'Sl'):4} futex_wait_queue     python -u run.py"
        for rank in range(RANKS)
    ]
    (folder / "ps.txt").write_text("\n".join(["  PID  PPID STAT WCHAN                COMMAND", *rows]) + "\n")


def top(folder: Path, *looks: Mapping[int, str]) -> None:
    head = "    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND"
    for number, states in enumerate(looks, 1):
        rows = [
            f"   {4700 + rank} me        20   0   48.1g   9.0g   1.1g {states.get(rank, 'S')}   1.2   1.8  19:00.11 run"
            for rank in range(RANKS)
        ]
        lines = [f"top - 09:{number}0:00 up 41 days,  3 users,  load average: 3.92, 4.10, 4.44", "", head, *rows]
        (folder / f"top_{number}.txt").write_text("\n".join(lines) + "\n")


def verdict(folder: Path, *, hung: bool = True) -> Verdict:
    return analyze(folder, hung=hung).verdict


@pytest.mark.parametrize("course", COURSES)
@pytest.mark.parametrize("waits", [False, True])
def test_who_is_stopped_and_behind_is_named(tmp_path: Path, course: str, waits: bool) -> None:
    logs(tmp_path, course, waits=waits)
    ps(tmp_path, {OUT: "Tl"})
    found = verdict(tmp_path)
    assert (found.kind, found.cause, found.ranks) == ("hang", "rank_absent", [OUT])


@pytest.mark.parametrize("course", COURSES)
def test_whom_a_tracer_holds_in_each_look_is_named(tmp_path: Path, course: str) -> None:
    logs(tmp_path, course)
    top(tmp_path, {OUT: "t", 1: "D"}, {OUT: "t"})
    assert verdict(tmp_path).ranks == [OUT]


@pytest.mark.parametrize("course", COURSES)
@pytest.mark.parametrize("waits", [False, True])
def test_who_is_dead_and_behind_is_named_without_a_witness_of_time(tmp_path: Path, course: str, waits: bool) -> None:
    logs(tmp_path, course, waits=waits)
    ps(tmp_path, {OUT: "Z"})
    found = verdict(tmp_path, hung=False)
    assert (found.kind, found.cause, found.ranks) == ("hang", "rank_died", [OUT])


@pytest.mark.parametrize(
    "looks",
    [({OUT: "t"},), ({OUT: "t"}, {}), ({OUT: "D"},), (dict.fromkeys(range(RANKS), "T"),)],
    ids=["a tracer in one look", "a tracer in one of two looks", "a disk in one look", "all are stopped"],
)
def test_what_is_no_more_than_a_moment_names_nobody(tmp_path: Path, looks: tuple[Mapping[int, str], ...]) -> None:
    logs(tmp_path, "Korean")
    top(tmp_path, *looks)
    found = verdict(tmp_path)
    assert (found.ranks, found.suspects.ranks) == ([], [OUT])


@pytest.mark.parametrize("state", ["T", "Z"])
def test_where_another_one_is_behind_nobody_is_named(tmp_path: Path, state: str) -> None:
    logs(tmp_path, "Korean")
    ps(tmp_path, {1: state})
    found = verdict(tmp_path)
    assert found.ranks == []
    assert OUT in found.suspects.ranks


def test_who_died_after_it_waited_as_long_as_all_is_not_named(tmp_path: Path) -> None:
    logs(tmp_path, "Korean", late=None, waits=True)
    ps(tmp_path, {OUT: "Z"})
    assert verdict(tmp_path).ranks == []
    assert verdict(tmp_path, hung=False).ranks == []


def test_a_wait_that_is_counted_from_another_beginning_makes_nobody_late(tmp_path: Path) -> None:
    logs(tmp_path, "Korean", late=None, waits=True)
    for rank in range(RANKS):
        with (tmp_path / f"rank_{rank}.log").open("a") as log:
            log.writelines(f"09:5{n}:00 {60 * n - (3 if rank == 1 else 0)} 초 대기\n" for n in (1, 2, 3))
    assert verdict(tmp_path).suspects.ranks == []


@pytest.mark.parametrize(
    ("said", "suspects"),
    [("", [OUT]), ("slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-02-03T09:55:00 ***\n", [])],
    ids=["nobody ended it", "it was stopped"],
)
def test_last_words_alone_make_a_suspect_where_nothing_tells_of_an_end(
    tmp_path: Path, said: str, suspects: list[int]
) -> None:
    logs(tmp_path, "Korean", waits=True)
    (tmp_path / "job.out").write_text(f"start\n{said}")
    found = verdict(tmp_path)
    assert (found.ranks, found.suspects.ranks) == ([], suspects)


def test_who_gave_up_the_wait_itself_had_come(tmp_path: Path) -> None:
    """Rank 1 sleeps in storage as well, for it writes what it has to say of its time-out."""
    places = {rank: f"gx0{rank // 4}" for rank in range(8)}
    said = [f"10:00:00 {host} [rank{rank}] rank {rank} pid {410 + rank} is up" for rank, host in places.items()]
    said += [f"10:00:0{n} {host} [rank{rank}] step {n} loss 2.{n}" for n in range(4) for rank, host in places.items()]
    said += [
        f"[rank{rank}]:[E1103 10:10:40.12 ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=812, "
        "OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 600021 milliseconds before timing out."
        for rank in places
        if rank != OUT
    ]
    files = {"train.log": said}
    for host in ("gx00", "gx01"):
        here = [rank for rank, at in places.items() if at == host]
        rows = [
            f" {410 + rank}  400 {'Dl' if rank in (1, OUT) else 'Sl':4} {'nfs_wa' if rank in (1, OUT) else 'futex_':8} python train.py"
            for rank in here
        ]
        files[f"{host}/ps.txt"] = ["$ ps -eo pid,ppid,stat,wchan,cmd", "  PID  PPID STAT WCHAN  CMD", *rows]
    assert analyze(written(tmp_path, files)).verdict.ranks == [OUT]
