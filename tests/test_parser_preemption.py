"""Machines that are taken away, and the ends that launchers of Paddle and MindSpore tell."""

from typing import Any

import pytest

from parsers.scheduling.preemption import PARSER
from tests.lines import lines


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Spot instance interruption notice: i-0a1 will be terminated", [("scheduler", "preemption", None, None)]),
        ("EC2 Spot Instance Interruption Warning", [("scheduler", "preemption", None, None)]),
        (
            '{"EventId": "0A1B", "EventType": "Preempt", "Resources": ["gpu-3"]}',
            [("scheduler", "preemption", None, None)],
        ),
        ('{"EventId": "0A1B", "EventType": "Freeze", "Resources": ["gpu-3"]}', []),
        ("node gpu-3: the instance was preempted", [("scheduler", "preemption", None, None)]),
        ("Normal TaintManagerEviction pod/tr-2 Marking for deletion Pod default/tr-2", []),
        (
            "Container rank 3 status failed cmd ['python', 'a.py'] code -9 log log/workerlog.3",
            [("exit", "SIGKILL", 3, None)],
        ),
        ("[ERROR] ME(1) Worker process 4711 exit with exception. Error code: -11.", [("exit", "SIGSEGV", None, None)]),
        ("[ERROR] ME(1) Worker process 4711 exit with exception.", [("exit", "exception", None, None)]),
        (
            "The node: 3 is timed out. It may exit with exception, please check this node's log.",
            [("heartbeat_lost", None, None, [3])],
        ),
        (
            "submitit WARNING (2026-01-31 10:11:12,000) - Caught signal SIGUSR2 on gpu-3: this job is preempted.",
            [("scheduler", "preemption", None, None)],
        ),
        (
            "submitit WARNING (2026-01-31 10:11:12,000) - Caught signal SIGUSR2 on gpu-3: this job is timed-out.",
            [("scheduler", "time_limit", None, None)],
        ),
        (
            "Message: Preempted to accommodate a workload (UID: 8b2f-13, JobUID: 2cc2) due to prioritization in the ClusterQueue",
            [("scheduler", "preemption", None, None)],
        ),
        ("Warning Evict pod/tr-2 Pod is evicted, because of preempt", [("scheduler", "preemption", None, None)]),
        ("Pod is evicted, because of gang", []),
        (
            "^CLAUNCH INFO 2026-03-01 10:11:12,000 Terminating with signal 2",
            [("closing_signal", "SIGINT", None, None)],
        ),
        ("LAUNCH INFO 2026-03-01 10:11:12,000 Exit with signal 2", []),
        ("Warning Evict pod/tr-2 Pod is evicted, because of reclaim", [("scheduler", "preemption", None, None)]),
        ("Warning Evict pod/tr-2 Pod is evicted, because of gangpreempt", [("scheduler", "preemption", None, None)]),
        ("Warning Evict pod/tr-2 Pod is evicted, because of gangreclaim", [("scheduler", "preemption", None, None)]),
        ("Pod is evicted, because of shuffle", []),
        ("Message: Preempted in order to admit critical pod", [("scheduler", "preemption", None, None)]),
        (
            "Evicted to accommodate a workload (UID: 8b2f-13) due to migration",
            [("scheduler", "preemption", None, None)],
        ),
        ("nothing is lost if: this job is preempted", []),
        ("the kernel may be preempted", []),
        ("", []),
    ],
)
def test_lines(text: str, expected: list[tuple[Any, ...]]) -> None:
    assert PARSER.parse(lines(text))["events"].select("kind", "code", "local_rank", "names_ranks").rows() == expected
