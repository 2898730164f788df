"""Who never came to a job: a host that the launcher could not reach, a pod that was put nowhere."""

from pathlib import Path

import pytest

from forensics import analyze
from parsers.scheduling.never_came import PARSER
from tests.lines import lines

STORE = "torch.distributed.DistStoreError: Timed out after 901 seconds waiting for clients. 24/32 clients joined."


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("node07: ssh: Could not resolve hostname node07: Temporary failure in name resolution", "node07"),
        ("ssh: Could not resolve hostname gpu-3.cluster.local: Name or service not known", "gpu-3.cluster.local"),
        ("ssh: connect to host 10.0.0.7 port 22: No route to host", "10.0.0.7"),
        ("mpirun: ssh: connect to host w9 port 2222: Connection timed out", "w9"),
        ("b: ssh: connect to host b port 22: Connection refused", "b"),
    ],
)
def test_a_host_that_cannot_be_reached(text: str, host: str) -> None:
    [row] = PARSER.parse(lines(text, rank=0))["events"].rows(named=True)
    assert (row["kind"], row["code"], row["names_hosts"], row["rank"]) == (
        "missing_members",
        "unreachable",
        [host],
        None,
    )


@pytest.mark.parametrize("prefix", ["", "node07: ", "[launcher] "])
@pytest.mark.parametrize("why", ["Temporary failure in name resolution", "Name or service not known"])
def test_the_host_that_left_no_word_is_named(tmp_path: Path, prefix: str, why: str) -> None:
    said = f"{prefix}ssh: Could not resolve hostname node07: {why}"
    (tmp_path / "launch.log").write_text(f"{said}\nnode01: {STORE}\nnode02: {STORE}\n")
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.cause, verdict.hosts, verdict.ranks) == ("launch", "missing_ranks", ["node07"], [])


def test_a_host_that_came_in_the_end_is_not_named(tmp_path: Path) -> None:
    late = "node07: Traceback (most recent call last):\nnode07: ValueError: bad flag"
    said = "node07: ssh: connect to host node07 port 22: Connection refused"
    (tmp_path / "launch.log").write_text(f"{said}\n{late}\nnode01: {STORE}\n")
    assert analyze(tmp_path).verdict.hosts != ["node07"]


PENDING = {
    "events": "  Warning  FailedScheduling  34m  default-scheduler  0/9 nodes are available: 4 Insufficient nvidia.com/gpu.",
    "table": "NAME   READY   STATUS   RESTARTS   AGE\ntrainer-worker-2   1/1   Running   0   34m\ntrainer-worker-3   0/1   Pending   0   34m",
    "image": "train   trainer-worker-3   0/2   ImagePullBackOff   0   12m",
    "gang": "pod group is not ready, 3 Pending, 1 Running; 3/4 tasks in gang unschedulable: pod group is not ready",
    "ray": "(autoscaler +1m4s) Warning: The following resource request cannot be scheduled right now: {'GPU': 1.0}",
    "slots": "There are not enough slots available in the system to satisfy the 24\nslots that were requested by the application:",
    "slots that are taken": "All nodes which are allocated for this job are already filled.",
    "tasks": "srun: error: Unable to create step for job 71: More processors requested than permitted",
    "nodes": "srun: error: Unable to allocate resources: Requested node configuration is not available",
    "ray train": "The worker group startup timed out after 1800.0 seconds waiting for 16 workers.",
}


@pytest.mark.parametrize("text", PENDING.values(), ids=PENDING)
def test_a_job_of_which_a_part_was_put_nowhere_never_started(tmp_path: Path, text: str) -> None:
    (tmp_path / "notes.txt").write_text(f"$ collected by hand\n{text}\n")
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("launch", "missing_ranks", [])


@pytest.mark.parametrize("text", PENDING.values(), ids=PENDING)
def test_a_job_that_trained_waited_for_a_place_before(tmp_path: Path, text: str) -> None:
    steps = "\n".join(f"step {step} loss 2.1" for step in range(20))
    (tmp_path / "run.log").write_text(f"{text}\n{steps}\ntraining finished\n")
    assert analyze(tmp_path).verdict.kind == "healthy"


@pytest.mark.parametrize(
    "text",
    [
        "3/4 tasks done",
        "worker-3 1/1 Running 0 34m",
        "9/9 nodes are available",
        "ssh: keys loaded",
        "not enough free slots in the cache, waiting",
        "step 3: more samples requested than kept",
    ],
)
def test_other_lines(text: str) -> None:
    assert PARSER.parse(lines(text))["events"].is_empty()
