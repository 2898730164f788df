"""XLA's coordination service: whose heartbeats stopped, who did not come to a barrier."""

from typing import Any

import pytest

from parsers.comm.coordination import PARSER
from tests.lines import lines

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
        ("heartbeat timeout is 100 s", []),
        ("", []),
    ],
)  # fmt: skip
def test_lines(text: str, expected: list[tuple[Any, ...]]) -> None:
    assert _read(text) == expected


def test_counts_of_a_barrier_are_kept() -> None:
    [row] = PARSER.parse(lines("# of tasks that reached the barrier: 14/16."))["events"].rows(named=True)
    assert row["detail"] == '{"expected": "16", "reached": "14"}'
