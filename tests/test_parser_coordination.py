"""XLA's coordination service: whose heartbeats stopped, who did not come to a barrier."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forensics.detectors import DETECTORS
from parsers.comm.coordination import PARSER
from tests.lines import lines
from tests.log_cases import case, judged
from tests.pasted import verdict_of

TASK = "/job:jax_worker/replica:0/task:"


def _read(text: str) -> list[tuple[Any, ...]]:
    return PARSER.parse(lines(text))["events"].select("kind", "code", "names_ranks", "line").rows()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"E xla/x.cc:11] {TASK}3 has been set to ERROR in coordination service: UNAVAILABLE: Task {TASK}3 heartbeat timeout. "
         "This indicates that the remote task has failed", [("heartbeat_lost", None, [3], 1)]),
        (f"E xla/x.cc:11] {TASK}3 has been set to ERROR in coordination service: INTERNAL: x", [("remote_error", "task_error", [3], 1)]),
        (f"UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats):\n{TASK}3\n{TASK}12\nThe tasks have crashed.",
         [("heartbeat_lost", None, [3, 12], 1)]),
        ("F pjrt/client.h:77] Terminating process because the JAX distributed service detected fatal errors. This most likely",
         [("remote_error", "coordination_service", None, 1)]),
        (f"DEADLINE_EXCEEDED: Barrier timed out. Id: warm::0. This usually happens\n# of tasks that reached the barrier: 14/16.\n"
         f"The first task at the barrier: {TASK}1. Some timed out task names:\n{TASK}6\n{TASK}9",
         [("missing_members", "barrier", None, 1), ("missing_members", "barrier", [6, 9], 2)]),
        (f"ABORTED: {TASK}1 unexpectedly tried to connect with a different incarnation. It has likely restarted.",
         [("other", "restarted", [1], 1)]),
        ("E0926 17:26:32.075402 1 agent.cc:332] Polled an error from coordination service (this can be an error from this or", []),
        ("Barrier failed because: task is set to ERROR: UNAVAILABLE: Task 3 heartbeat timeout. This indicates that the remote",
         [("heartbeat_lost", None, [3], 1)]),
        ("information from remote target x while calling /tensorflow.CoordinationService/RegisterTask:\n"
         ':{"created":"@1.2","description":"Deadline Exceeded","grpc_status":4}', [("store_timeout", "coordination_service", None, 2)]),
        ("while calling /tensorflow.CoordinationService/RegisterTask:\n"
         ':UNKNOWN:Error received from peer  {grpc_status:4, grpc_message:"Deadline Exceeded"}', [("store_timeout", "coordination_service", None, 2)]),
        ("DEADLINE_EXCEEDED: Deadline Exceeded while calling /tensorflow.CoordinationService/RegisterTask",
         [("store_timeout", "coordination_service", None, 1)]),
        (f'while calling /tensorflow.CoordinationService/RegisterTask:\n:{{grpc_message:"{TASK}1 is already there"}}', []),
        ("while calling /tensorflow.CoordinationService/RegisterTask:\na\nb\nc\nd\nDeadline Exceeded", []),
        ("while calling /tensorflow.WorkerService/RecvBuf:\nDeadline Exceeded", []),
        ("heartbeat timeout is 100 s", []),
        ("", []),
    ],
)  # fmt: skip
def test_lines(text: str, expected: list[tuple[Any, ...]]) -> None:
    assert _read(text) == expected


def test_counts_of_a_barrier_are_kept() -> None:
    [row] = PARSER.parse(lines("# of tasks that reached the barrier: 14/16."))["events"].rows(named=True)
    assert row["detail"] == '{"expected": "16", "reached": "14"}'


# --- what stands in a line of its own below the word of the service, as collectors keep lines --------------------------------------------


COUNTED = (
    "DEADLINE_EXCEEDED: Barrier timed out. Id: [Init]Connect::0. Look at the logs of tasks.",
    "# of tasks that reached the barrier: 3/4.",
    f"The first task at the barrier: {TASK}1. Some timed out task names:",
)


def in_docker(line: str) -> str:
    return json.dumps({"log": f"{line}\n", "stream": "stderr", "time": "2026-03-01T10:00:00.5Z"})


def in_a_record(line: str) -> str:
    return json.dumps({"ts": "2026-03-01T10:00:00Z", "pod": "w-0", "message": line, "level": "error"})


@pytest.mark.parametrize("kept", [str, in_docker, in_a_record, "w-0  | {}".format])
@pytest.mark.parametrize(("below", "named"), [(f"{TASK}2", (2,)), (f"{TASK}2 will be asked again", ())])
def test_tasks_listed_below_in_lines_of_collectors(
    kept: Callable[[str], str], below: str, named: tuple[int, ...], tmp_path: Path
) -> None:
    found = verdict_of(tmp_path, "".join(f"{kept(line)}\n" for line in (*COUNTED, below)))
    assert (found.kind, tuple(found.ranks)) == ("launch", named)


# --- a barrier of the service that timed out after steps ---------------------------------------------------------------------------


def verdict(missing: list[int], reached: int, steps: bool = True) -> tuple[str | None, list[int]]:
    """Four tasks, of which each prints the service's word, those who are named as well."""
    said = {"kind": "missing_members", "code": "barrier", "names_ranks": missing, "names_rank_space": "global"}
    told = f'{{"expected": "4", "reached": "{reached}"}}'
    events = [
        row
        for rank in range(4)
        for row in (
            {"kind": "collective_timeout", "rank": rank, "file": f"{rank}.log", "line": 7},
            said | {"rank": rank, "file": f"{rank}.log", "line": 8, "detail": told},
        )
    ]
    made = [{"rank": rank, "step": 9, "phase": "train", "file": f"{rank}.log"} for rank in range(4 if steps else 0)]
    ranks = [{"rank": rank, "world_size": 4, "how": "init", "file": f"{rank}.log"} for rank in range(4)]
    found = judged(case(events, steps=made, ranks=ranks), *DETECTORS)
    return found.finding.cause, list(found.ranks)


def test_who_did_not_come_is_named_though_it_prints_the_word_of_the_service_too() -> None:
    assert verdict([2], 3) == ("rank_absent", [2])


@pytest.mark.parametrize(
    ("missing", "reached", "steps"), [([2], 2, True), ([2], 3, False)], ids=["some are not listed", "before any step"]
)
def test_a_barrier_that_names_nobody(missing: list[int], reached: int, steps: bool) -> None:
    assert verdict(missing, reached, steps)[1] == []
