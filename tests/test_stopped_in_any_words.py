"""A job that is stopped from outside, in the words of batch systems, clouds and autoscalers: the stop explains what follows, and names nobody."""

from pathlib import Path

import pytest

from forensics import analyze
from forensics.detectors.ranks import stopped_from_outside
from forensics.model.incident import Verdict
from parsers.scheduling import kubelet, preemption, sacct
from parsers.text.taken_away import is_out_of_time, is_taken_away
from tests.lines import lines
from tests.log_cases import case
from tests.sources import source

LIMITS = [
    "=>> PBS: job killed: walltime 3623 exceeded limit 3600",
    "TERM_RUNLIMIT: job killed after reaching LSF run time limit.",
    "09/01/2026 04:15:02|worker|sge|W|job 811.1 exceeded hard wallclock time - initiate terminate method",
    "flux-job: 3.2s: job.exception type=timeout severity=0 resource allocation expired",
    "Job was active longer than specified deadline",
]
TAKEN = [
    'INF Adding new event to the event store event={"Description":"Spot ITN received. Instance will be interrupted at 2026-05-06T10:03:04Z","NodeName":"gpu-3"}',
    "I0504 10:00:00.1 1 actuator.go:211] Scale-down: removing node gpu-3, utilization: {0.04 0.11 0 cpu 0.11}, pods to reschedule: ml/worker-2",
    "Evicted pod: Underutilized",
    "deleting pod for node scale down",
]


@pytest.mark.parametrize("text", LIMITS)
def test_the_time_of_a_job_was_over(text: str) -> None:
    assert is_out_of_time(text) and not is_taken_away(text)


@pytest.mark.parametrize("text", TAKEN)
def test_a_node_was_taken(text: str) -> None:
    assert is_taken_away(text) and not is_out_of_time(text)


@pytest.mark.parametrize(
    "text",
    [
        "requested walltime 12:00:00, limit 24:00:00",
        "time limit of 3600 s for the evaluation",
        "job submitted with a wall time of 12 h",
        "Scale-down calculation: ignoring 2 nodes unremovable in the last 5m0s",
        "gpu-3 is unneeded since 2026-05-04 10:00:00 +0000 UTC duration 98s",
        "exceeded the loss threshold",
    ],
)
def test_what_only_speaks_of_them(text: str) -> None:
    assert not is_out_of_time(text) and not is_taken_away(text)
    assert not preemption.PARSER.parse(lines(text))["events"].height


def test_the_node_that_a_line_tells_of() -> None:
    for text in TAKEN[:2]:
        events = preemption.PARSER.parse(lines(text))["events"]
        assert events.select("kind", "code").row(0) == ("scheduler", "preemption")
        assert events["names_hosts"].to_list() == [["gpu-3"]] and '"node/gpu-3"' in events["detail"][0]


def _job(folder: Path, last: str) -> Verdict:
    steps = "".join(
        f"[2026-05-04 10:00:{step:02}] rank 0/2 step {step} loss {3 - step / 40:.3f}\n" for step in range(40)
    )
    (folder / "job.out").write_text(
        f"{steps}{last}\nTraceback (most recent call last):\n"
        '  File "/app/train.py", line 40, in <module>\n    loop.run()\n  File "/app/sig.py", line 7, in on_term\n    raise SystemExit(143)\n'
        "SystemExit: 143\nn1: rank 1 died from signal 15\n"
    )
    return analyze(folder).verdict


@pytest.mark.parametrize("text", LIMITS[:3])
def test_what_follows_the_stop_is_its_effect(tmp_path: Path, text: str) -> None:
    verdict = _job(tmp_path, text)
    assert (verdict.kind, verdict.cause, verdict.ranks, verdict.hosts) == ("crash", "time_limit", [], [])


def test_without_a_word_of_a_stop_it_is_none(tmp_path: Path) -> None:
    assert _job(tmp_path, "[2026-05-04 10:00:41] saving").cause != "time_limit"


ROWS = "JobID|State|ExitCode\n77|PREEMPTED|0:0\n77|COMPLETED|0:0\n77.0|COMPLETED|0:0\n"


def test_how_an_earlier_run_of_a_job_ended_is_information() -> None:
    events = sacct.PARSER.parse(source(ROWS))["events"]
    assert events.select("code", "severity").rows() == [
        ("preempted", "info"),
        ("completed", "info"),
        ("completed", "info"),
    ]


@pytest.mark.parametrize(
    ("state", "jobs", "cause"),
    [("timeout", "77", "time_limit"), ("preempted", "77", "preempted"), ("timeout", "76", None)],
)
def test_a_state_of_the_one_job_of_a_table_is_a_stop(state: str, jobs: str, cause: str | None) -> None:
    rows = [("77.0", "cancelled"), (jobs, state)]
    events = [{"kind": "scheduler", "code": code, "detail": f'{{"JobID": "{job}"}}'} for job, code in rows]
    found = [one for one in stopped_from_outside.DETECTOR.detect(case(events)) if one.cause != "stopped_by_hand"]
    assert [one.cause for one in found] == ([cause] if cause else [])


def test_a_kubelet_tells_of_which_pod_it_speaks() -> None:
    text = (
        'I0504 10:14:01.221004   11872 kuberuntime_manager.go:1026] "Message for Container of pod" containerName="trainer" '
        'pod="ml/worker-2" containerMessage="Container trainer failed liveness probe, will be restarted"\n'
        'I0504 10:14:01.221066   11872 kuberuntime_container.go:808] "Killing container with a grace period" pod="ml/worker-2" containerName="trainer"\n'
        'I0504 10:14:01.3   11872 kubelet.go:2453] "SyncLoop (PLEG): event for pod" pod="ml/worker-2"'
    )
    events = kubelet.PARSER.parse(lines(text))["events"]
    assert events["code"].to_list() == ["Killing", "Killing"]
    assert all('"pod/worker-2"' in said and '"trainer"' in said for said in events["detail"])


@pytest.mark.parametrize(
    "text",
    [
        '{"methodName": "compute.instances.preempted", "resourceName": "projects/p/zones/eu-b/instances/mill-spot-3", "at": 4}',
        "compute.instances.preempted   eu-b/instances/mill-spot-3   DONE",
        'node was preempted nodeName="mill-spot-3"',
    ],
)
def test_whose_machine_a_cloud_took(text: str) -> None:
    [hosts] = preemption.PARSER.parse(lines(text))["events"]["names_hosts"].to_list()
    assert hosts == ["mill-spot-3"]


DELETED = [
    "05/04/2026 10:00:41  S    Job to be deleted at request of ann@login1",
    "Mon May  4 10:00:41 2026: Job <77> TERM_OWNER: job killed by owner.",
    "009 (077.000.000) 05/04 10:00:41 Job was aborted. via condor_rm (by user ann)",
    "05/04/2026 10:00:41|worker|sge|I|ann has registered the job 77 for deletion",
]


@pytest.mark.parametrize("text", DELETED)
def test_a_person_deleted_the_job(tmp_path: Path, text: str) -> None:
    verdict = _job(tmp_path, text)
    assert (verdict.kind, verdict.cause, verdict.ranks, verdict.hosts) == ("crash", "stopped_by_hand", [], [])


@pytest.mark.parametrize(
    "text",
    [
        "05/04/2026 10:00:41  S    Job to be deleted at request of root@pbs1",
        "05/04/2026 10:00:41  S    Job to be deleted at request of PBS_Server@pbs1",
        "05/04/2026 10:00:41  S    Job Run at request of Scheduler@pbs1",
        "ann has deleted job_cache before the run",
        "condor_rm ends a job",
    ],
)
def test_what_no_person_asked_for(text: str) -> None:
    assert not preemption.PARSER.parse(lines(text))["events"].height


def test_who_failed_before_a_person_deleted_the_job_is_named(tmp_path: Path) -> None:
    (tmp_path / "rank1.log").write_text(
        "2026-05-04 09:59:01 rank 1 of 2 step 4 loss 2.1\nTraceback (most recent call last):\n"
        '  File "/app/train.py", line 9, in <module>\n    raise ValueError("odd batch")\nValueError: odd batch\n'
    )
    (tmp_path / "rank0.log").write_text("2026-05-04 09:59:01 rank 0 of 2 step 4 loss 2.1\n")
    (tmp_path / "server.log").write_text(f"{DELETED[0]}\n")
    verdict = analyze(tmp_path).verdict
    assert verdict.cause == "exception" and verdict.ranks == [1]
