"""A data loader worker that the kernel killed for memory, and the rank that it worked for."""

from typing import Any

import pytest

from forensics.detectors.ranks.process_ended import DETECTOR
from tests.log_cases import case, judged

SECOND = 10**9
LOST = {"rank": 2, "file": "r2.log", "time_ns": 100 * SECOND, "time_basis": "utc"}
WORKER = "RuntimeError: DataLoader worker (pid 77) is killed by signal: Killed."
RAISED = LOST | {"kind": "exception", "code": "RuntimeError", "line": 9, "text": WORKER}
TOLD = LOST | {
    "kind": "other", "code": "dataloader_worker", "line": 9, "pid": 77,
    "detail": '{"process": "dataloader worker", "how": "is killed by signal: Killed"}',
}  # fmt: skip
AT = '{"frames": [["step", "/job/train.py", 40]], "from_line": 1}'
PEERS = [
    {"rank": rank, "kind": "remote_error", "file": f"r{rank}.log", "time_ns": 102 * SECOND, "time_basis": "utc"}
    for rank in (0, 1, 3)
]
HERE = [{"rank": rank, "host": "n1", "pid": 40 + rank} for rank in range(4)]


def killed(pid: int, task: str = "python", **columns: Any) -> dict[str, Any]:
    row = {"kind": "host_oom", "severity": "fatal", "code": "host", "pid": pid, "file": "dmesg", "time_ns": 99 * SECOND}
    return row | {"time_basis": "utc", "detail": f'{{"task": "{task}"}}'} | columns


@pytest.mark.parametrize(
    ("kills", "rank"),
    [
        pytest.param([killed(77)], 2, id="the pid that it lost"),
        pytest.param([killed(77, host="n1")], 2, id="on its host"),
        pytest.param([killed(77, host="n2")], None, id="the same pid of another host"),
        pytest.param([killed(78)], None, id="another pid"),
        pytest.param([killed(9001, "pt_data_worker", host="k7")], 2, id="a container counts otherwise"),
        pytest.param([killed(9001, "pt_data_worker", host="n1")], None, id="a host whose pids are known"),
        pytest.param([killed(9001, "java", host="k7")], None, id="another program"),
        pytest.param(
            [killed(9001, "pt_data_worker", host="k7"), killed(9009, "pt_data_worker", host="k8")],
            None,
            id="two killed",
        ),
        pytest.param([killed(9001, "pt_data_worker", host="k7", time_ns=1)], None, id="long before"),
        pytest.param(
            [killed(9001, "pt_data_worker", host="k7", time_ns=3699 * SECOND, time_basis="local")], 2, id="another zone"
        ),
    ],
)
def test_whose_worker_it_was(kills: list[dict[str, Any]], rank: int | None) -> None:
    found = case([RAISED, TOLD, *kills], ranks=HERE).events.filter(kind="host_oom")
    assert set(found["rank"]) == {rank}


def test_two_ranks_that_lost_workers_share_no_kill() -> None:
    other = [RAISED | {"rank": 3, "file": "r3.log"}, TOLD | {"rank": 3, "file": "r3.log"}]
    for kill in (killed(77), killed(9001, "pt_data_worker", host="k7")):
        found = case([RAISED, TOLD, *other, kill], ranks=HERE).events.filter(kind="host_oom")
        assert found["rank"].to_list() == [None]


def test_memory_is_the_cause_and_the_rank_is_named() -> None:
    found = judged(case([RAISED, TOLD, *PEERS, killed(77, host="n1")], 4, ranks=HERE), DETECTOR)
    assert (found.cause, found.ranks) == ("host_oom", (2,))


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(WORKER, id="PyTorch's loader"),
        pytest.param(
            "SystemError: (Fatal) DataLoader process (pid 31) exited is killed by signal: Killed.", id="Paddle's"
        ),
        pytest.param("RuntimeError: tokenizer worker 5 was killed by SIGKILL", id="a program's own"),
        pytest.param("ChildProcessError: child process 812 was killed by signal 9", id="a child by its number"),
    ],
)
def test_the_parent_says_that_its_worker_was_killed(said: str) -> None:
    rank = judged(case([RAISED | {"text": said, "detail": AT}, *PEERS], 4), DETECTOR)
    assert (rank.cause, rank.ranks) == ("killed", (2,))
    nobody = judged(case([RAISED | {"text": said, "rank": None}]), DETECTOR)
    assert (nobody.cause, nobody.ranks) == ("killed", ())


@pytest.mark.parametrize(
    "said",
    [
        pytest.param("RuntimeError: DataLoader worker (pid 77) is killed by signal: Terminated.", id="asked to end"),
        pytest.param("RuntimeError: DataLoader worker (pid(s) 77) exited unexpectedly", id="not how"),
        pytest.param("ValueError: worker 3 may be killed by the scheduler", id="what may be"),
    ],
)
def test_a_worker_that_nothing_says_was_killed(said: str) -> None:
    assert judged(case([RAISED | {"text": said, "rank": None}]), DETECTOR).cause != "killed"


def test_what_was_raised_before_is_why() -> None:
    first = RAISED | {
        "text": "ValueError: no tokens",
        "code": "ValueError",
        "rank": None,
        "time_ns": 90 * SECOND,
        "line": 2,
    }
    assert judged(case([first, RAISED | {"rank": None}]), DETECTOR).cause == "exception"
