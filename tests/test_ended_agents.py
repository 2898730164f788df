"""What launchers say of all their processes: a job whose every launcher saw them end well did end well."""

import json
from typing import Any

import pytest

from forensics.verdict.judged.health import healthy
from tests.log_cases import case

ENDED = {"kind": "job_end", "code": "workers", "severity": "info", "line": 9}
CLOSED = {"kind": "peer_closed", "severity": "error", "line": 5}


def log(host: str, processes: int = 2, *, ends: bool = True) -> list[dict[str, Any]]:
    rows = [{"kind": "comm_init_start", "host": host, "pid": 10 + n, "line": n} for n in range(processes)]
    return [row | {"file": f"{host}.log"} for row in ([*rows, ENDED] if ends else rows)]


def members(count: int) -> dict[str, list[dict[str, Any]]]:
    return {"groups": [{"group": "world", "size": count, "how": "NCCL Init START", "file": "a.log", "line": 1}]}


@pytest.mark.parametrize(
    ("events", "size", "ended"),
    [
        pytest.param([*log("a"), *log("b")], 4, True, id="both say so"),
        pytest.param([*log("a"), *log("b", ends=False)], 4, False, id="one does not"),
        pytest.param(log("a"), 4, False, id="the log of one is not there"),
        pytest.param([*log("a"), *log("b"), CLOSED | {"file": "rank3.log"}], 4, False, id="a process speaks elsewhere"),
        pytest.param([*log("a"), {"kind": "scheduler", "code": "Preempting", "file": "k8s.txt"}], 2, True,
                     id="what a scheduler says of hosts is no log of the job"),
    ],
)  # fmt: skip
def test_a_job_ended_well_if_every_launcher_says_so(events: list[dict[str, Any]], size: int, ended: bool) -> None:
    assert case(events, **members(size)).ended_well == ended


def test_what_launchers_say_is_told() -> None:
    found = healthy(case([*log("a"), *log("b")], **members(4)))
    assert found is not None
    assert found.summary == "No fault found: 2 launchers say that all processes ended normally."


@pytest.mark.parametrize(("hosts", "ends"), [(["a", "a"], {0: "ended", 1: "ended"}), (["a", "b"], {})])
def test_the_ranks_of_one_launcher_ended_well(hosts: list[str], ends: dict[int, str]) -> None:
    ranks = [{"rank": rank, "host": host, "how": "init", "file": "a.log"} for rank, host in enumerate(hosts)]
    whole = case([ENDED | {"file": "a.log"}], ranks=ranks)
    assert {rank: end.how for rank, end in whole.ends.items()} == ends


@pytest.mark.parametrize(
    ("expected", "summary"), [(1, "1 process ended normally"), (8, "1 of 8 processes ended normally")]
)
def test_how_many_processes_ended(expected: int, summary: str) -> None:
    found = healthy(case([{"kind": "job_end", "rank": 0}], expected=expected))
    assert found is not None
    assert summary in found.summary


def test_an_end_that_nobody_in_particular_tells_of() -> None:
    found = healthy(case([{"kind": "job_end", "local_rank": 0}]))
    assert found is not None
    assert found.summary == "No fault found: the job says that it ended."


def step(job: str, state: str = "completed", code: str = "0:0") -> dict[str, Any]:
    told = json.dumps({"JobID": job, "ExitCode": code})
    return {"kind": "scheduler", "code": state, "severity": "info", "detail": told}


@pytest.mark.parametrize(
    ("events", "ended"),
    [
        pytest.param([step("7"), step("7.batch"), step("7.0")], True, id="all completed"),
        pytest.param([step("7"), step("7.batch")], False, id="a script may end with 0 after what it ran had failed"),
        pytest.param([step("7.0"), step("7.1", "failed", "1:0")], False, id="one step failed"),
        pytest.param([step("7.0"), step("8", "running")], False, id="another job still runs"),
        pytest.param([step("7.0"), {"kind": "exit", "code": "1", "rank": 3}], False, id="a shell hid how it ended"),
    ],
)
def test_the_scheduler_says_that_all_steps_ended_well(events: list[dict[str, Any]], ended: bool) -> None:
    found = healthy(case(events))
    assert (found is not None) == ended
