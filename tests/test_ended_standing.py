"""Whoever watches ended all processes because nothing moved: a hang of theirs, by its word; of two programs, of the one that was ended first."""

import re
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from reports import markdown, terminal
from tests.sources import written

Logs = dict[str, list[str]]
ENDS = {
    "one line, pids": ["09:05:00 ERROR guard: no step for 120 s, sending SIGKILL to pids 811 and 812"],
    "a line for each": [
        "09:05:00 ERROR guard: no progress for 2 min",
        "09:05:00 WARN guard: sending SIGKILL to process 811",
        "09:05:01 WARN guard: sending SIGKILL to process 812",
    ],
    "killing with": ["09:05:00 guard: training stalled for 120 seconds, killing processes [811, 812] with SIGKILL"],
}


def job(ends: list[str], folder: str = "") -> Logs:
    """Two processes that say who they are and go on for a while, and who watches them."""
    logs = {
        f"{folder}rank_{rank}.log": [
            f"2026-10-03 09:00:00 [rank{rank}] INFO up pid={811 + rank} local_rank={rank} world_size=2",
            *(f"2026-10-03 09:0{n}:00 [rank{rank}] INFO basket {n} of beans carried" for n in range(1, 4)),
        ]
        for rank in range(2)
    }
    return {**logs, f"{folder}guard.log": [f"2026-10-03 {line}" for line in ends]}


def trainer(at: str) -> Logs:
    """Four ranks of another program that gave up a collective at that time."""
    call = "WorkNCCL(SeqNum=45, OpType=BROADCAST, NumelIn=4096, NumelOut=4096, Timeout(ms)=600000) ran for 600007 milliseconds before timing out."
    return {
        f"trainer/rank_{rank}.log": [
            f"2026-10-03 09:00:00 [rank{rank}] INFO up pid={411 + rank} local_rank={rank} world_size=4",
            f"2026-10-03 09:00:10 [rank{rank}] INFO step 44 done loss 2.1",
            f"[rank{rank}]:[E1003 {at}.0500{rank} ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective operation timeout: {call}",
        ]
        for rank in range(4)
    }


def verdict(tmp_path: Path, logs: Logs) -> Verdict:
    return analyze(written(tmp_path, logs)).verdict


@pytest.mark.parametrize("ends", ENDS)
def test_all_that_were_ended_are_suspects_and_nobody_is_named(tmp_path: Path, ends: str) -> None:
    found = verdict(tmp_path, job(ENDS[ends]))
    assert (found.kind, found.cause, found.ranks, found.suspects.ranks) == ("hang", None, [], [0, 1])


@pytest.mark.parametrize("ends", ENDS)
def test_of_two_programs_it_is_the_one_that_was_ended_before_the_other_gave_up(tmp_path: Path, ends: str) -> None:
    found = verdict(tmp_path, job(ENDS[ends], "engine/") | trainer("09:12:00"))
    assert (found.program, found.ranks, found.suspects.ranks) == ("engine", [], [0, 1])


def test_who_gave_up_before_is_not_explained_by_it(tmp_path: Path) -> None:
    found = verdict(tmp_path, job(ENDS["one line, pids"], "engine/") | trainer("09:02:00"))
    assert found.program != "engine" and found.ranks == []


@pytest.mark.parametrize(
    "ends",
    [
        ["09:05:00 ERROR guard: no step for 120 s, sending SIGKILL to process 812"],
        ["09:05:00 ERROR guard: no step for 120 s"],
        ["09:05:00 ERROR guard: sending SIGKILL to pids 811 and 812"],
        [
            "09:04:00 guard: no step for 120 s",
            *["09:04:01 guard: look"] * 5,
            "09:05:00 guard: sending SIGKILL to pids 811 and 812",
        ],
    ],
    ids=["one of two", "nobody is ended", "nothing stood", "not in one breath"],
)
def test_else_nobody_is_suspected_for_it(tmp_path: Path, ends: list[str]) -> None:
    found = verdict(tmp_path, job(ends))
    assert found.ranks == [] and found.first_anomaly.signature != "ended_standing"


def test_the_program_is_said_where_several_have_ranks_of_these_numbers(tmp_path: Path) -> None:
    report = analyze(written(tmp_path, job(ENDS["one line, pids"], "engine/") | trainer("09:12:00")))
    for text in (terminal.render(report, color=False, width=None, is_brief=True), markdown.render(report)):
        assert re.search(r"program\W+engine", text)
