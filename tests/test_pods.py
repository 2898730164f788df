"""Pods and the nodes they run on: a kernel's record is about the one pod of the job that runs on its node."""

import json
from typing import Any

import pytest

from tests.log_cases import case


def scheduled(pod: str, node: str) -> dict[str, Any]:
    told = json.dumps({"object": f"pod/{pod}", "node": node})
    return {"kind": "scheduler", "code": "Scheduled", "severity": "info", "detail": told, "file": "events.txt"}


LOST = {
    "kind": "gpu_lost",
    "code": "xid:79",
    "severity": "fatal",
    "host": "gn42",
    "pci": "0000:52:00",
    "file": "kern.log",
}
RANKS = [{"rank": rank, "host": f"w{rank}", "pci": "0000:52:00.0", "how": "init"} for rank in range(3)]


@pytest.mark.parametrize(
    ("pods", "rank", "on_job"),
    [
        pytest.param([("w1", "gn42"), ("w2", "gn43")], 1, True, id="its only pod"),
        pytest.param([("w1", "gn42.cluster")], 1, True, id="with the node's domain"),
        pytest.param([("w1", "gn42"), ("w2", "gn42")], None, False, id="two pods of the job on the node"),
        pytest.param([("w1", "gn42"), ("other", "gn42")], 1, True, id="a pod of somebody else beside it"),
        pytest.param([("other", "gn42")], None, False, id="a pod of somebody else"),
        pytest.param([("w1", "gn42"), ("w1", "gn43")], None, False, id="a pod that was moved"),
        pytest.param([], None, False, id="nothing tells"),
    ],
)
def test_whose_device_a_node_speaks_of(pods: list[tuple[str, str]], rank: int | None, on_job: bool) -> None:
    (record,) = case([*(scheduled(*one) for one in pods), LOST], ranks=RANKS).hardware
    assert (record.host, record.rank, record.on_job) == ("gn42", rank, on_job)
