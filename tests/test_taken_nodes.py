"""Which node a cloud took, among what else it took then: one that Kubernetes had put a pod of the job on. What somebody typed is no word of a cloud."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

POD = """Name:             fit-1
Namespace:        lab
Node:             {node}/10.1.0.4
Status:           Failed
Containers:
  main:
    Args:          torchrun --nnodes=4 --nproc_per_node=2 --node_rank=1 --master_addr=fit-0 fit.py
    State:          Terminated
      Reason:       Error
      Exit Code:    143
      Finished:     Fri, 06 Mar 2026 02:40:24 +0000"""
LOST = (
    "torch.distributed.DistBackendError: NCCL error in: x.cpp:268, remote process exited or there was a network error"
)
STOPPED = [
    "W0306 02:40:22.004000 1 torch/distributed/elastic/agent/server/api.py:704] Received Signals.SIGTERM death signal, shutting down workers",
    "W0306 02:40:22.005000 1 torch/distributed/elastic/multiprocessing/api.py:897] Sending process 66 closing signal SIGTERM",
]
ASKED = '$ cloudctl list --filter="type=instances.preempted"'
FORMS = {
    "operations": "op-77 compute.instances.preempted  eu-b/instances/{}  200  DONE",
    "audit log": '{{"methodName": "compute.instances.preempted", "resourceName": "projects/p/zones/eu-b/instances/{}"}}',
}


def taken(
    folder: Path, said: Sequence[str], node: str = "pool-x7kd"
) -> tuple[str | None, tuple[int, ...], tuple[str, ...]]:
    files = {
        "describe.txt": POD.format(node=node).split("\n"),
        "cloud.txt": said,
        "logs/fit-1.txt": STOPPED,
    }
    for pod in (0, 2, 3):
        files[f"logs/fit-{pod}.txt"] = [
            *(f"2026-03-06 02:3{at}:00 [node {pod}] step {at} loss 2.{at}" for at in range(10)),
            *(f"[rank{rank}]: {LOST}" for rank in (2 * pod, 2 * pod + 1)),
            "E0306 02:40:33.118000 1 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: 1) local_rank: 0 (pid: 66) of binary: /usr/bin/python3",
        ]
    found = analyze(written(folder, files)).verdict
    return found.cause, tuple(found.ranks), tuple(found.hosts)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("more", [(), ("batch-77aa",)])
def test_the_node_of_its_pod(tmp_path: Path, form: str, more: Sequence[str]) -> None:
    said = [ASKED, *(FORMS[form].format(node) for node in ("pool-x7kd", *more))]
    assert taken(tmp_path, said) == ("preempted", (), ("pool-x7kd",))


def test_the_node_of_no_pod_of_the_job(tmp_path: Path) -> None:
    assert taken(tmp_path, [ASKED, FORMS["operations"].format("batch-77aa")])[1:] == ((), ())


def test_what_somebody_typed_takes_nothing(tmp_path: Path) -> None:
    assert taken(tmp_path, [ASKED])[0] != "preempted"


def test_places_of_one_node_are_not_those_of_others(tmp_path: Path) -> None:
    """The launch of one node is told; exits of the first place in logs of other nodes are not its first rank's."""
    taken(tmp_path, [ASKED])
    ends = analyze(tmp_path / "bundle").verdict
    assert 2 not in ends.ranks
