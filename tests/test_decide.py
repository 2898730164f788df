"""What to do: restart, stop, evict, wait, or cannot tell."""

from typing import Any

import msgspec
import pytest

from forensics.model.commands import Surroundings
from forensics.model.incident import (
    Action,
    BlastRadius,
    Candidate,
    Counterfactual,
    Device,
    FirstAnomaly,
    Incident,
    Lost,
    Verdict,
)
from forensics.verdict.advice.decide import carried_out, decide
from forensics.verdict.past.recurrence import mark_repeats

GPU = {"devices": [Device(host="n1", pci="0000:3b:00.0")], "hosts": ["n1"], "cause": "gpu_fault"}


def incident(stalled_s: float | None = None, **verdict: Any) -> Incident:
    signature = FirstAnomaly(signature=verdict.pop("signature", None))
    told = Verdict(**{"kind": "crash", "status": "supported", "ranks": [3], "first_anomaly": signature} | verdict)
    return Incident(
        attempt=0, verdict=told, evidence=[], alternatives=[], blast_radius=BlastRadius(), severity=None,
        lost=Lost(stalled_s=stalled_s), actions=[],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("verdict", "do"),
    [
        ({"kind": "healthy"}, "wait"),
        ({"kind": "unknown", "undecided": ["no_hang"]}, "wait"),
        ({"kind": "unknown"}, "cannot_tell"),
        ({"kind": "hang", "cause": "rank_absent", "status": "hypothesis"}, "cannot_tell"),
        ({"kind": "hang", "cause": "rank_absent"}, "restart"),
        ({"kind": "hang", "cause": "collective_mismatch"}, "stop"),
        ({"kind": "hang", "cause": "collective_mismatch", "status": "hypothesis"}, "cannot_tell"),
        (GPU | {"signature": "device:xid:79"}, "evict"),
        (GPU | {"signature": "device:xid:94"}, "restart"),
        (GPU | {"signature": "device:xid:63"}, "restart"),  # a reset is asked for, and can wait
        (GPU | {"signature": "device:xid:145"}, "restart"),  # its sub-code decides, and is not told
        (GPU | {"signature": "device:eid:0x1101"}, "evict"),  # the vendor's list says: repair
        (GPU | {"signature": "device:eid:0x1103"}, "restart"),  # it heals itself
        (GPU | {"signature": "device:mt:1"}, "restart"),  # a list without a word on what helps
        (GPU | {"signature": "device:made up"}, "restart"),
        (GPU | {"signature": "gpu_fault:RuntimeError"}, "restart"),
        (GPU | {"signature": "device:xid:79", "status": "hypothesis"}, "cannot_tell"),
        (GPU | {"signature": "device:xid:79", "devices": [Device(host="n1"), Device(host="n2")]}, "evict"),
        (GPU | {"signature": "device:xid:79", "devices": [Device(pci="0000:3b:00.0")]}, "restart"),
        ({"cause": "exception", "domain": "workload", "signature": "exception:AttributeError"}, "stop"),
        ({"cause": "exception", "domain": "workload", "signature": "exception:OSError"}, "cannot_tell"),
        ({"cause": "exception", "domain": "workload", "signature": "exception:torch.cuda.OutOfMemoryError"}, "cannot_tell"),
        ({"cause": "exception", "domain": "unknown", "signature": "exception:AttributeError"}, "cannot_tell"),
        ({"kind": "slow", "cause": "straggler_compute"}, "keep_running"),
        ({"kind": "slow", "cause": "straggler_network", "ranks": [], "hosts": ["n1"]}, "keep_running"),
        ({"kind": "slow", "cause": "straggler_host"}, "wait"),
        ({"kind": "slow", "cause": "throughput_drop", "ranks": []}, "wait"),
        ({"kind": "slow", "cause": "imbalance", "ranks": [], "domain": "workload"}, "wait"),
        ({"kind": "slow", "cause": "straggler_compute", "status": "hypothesis"}, "cannot_tell"),
        ({"kind": "numerics", "cause": "nan_birth"}, "cannot_tell"),
    ],
)  # fmt: skip
def test_what_to_do(verdict: dict[str, Any], do: str) -> None:
    assert decide(incident(**verdict), 8).do == do


@pytest.mark.parametrize("cause", ["straggler_compute", "straggler_host", "straggler_network", "throughput_drop"])
def test_a_run_that_ended_is_not_let_run(cause: str) -> None:
    ended = msgspec.structs.replace(incident(kind="slow", cause=cause, hosts=["n1"]), has_ended=True)
    assert decide(ended, 8).do == "change_first"
    running = msgspec.structs.replace(incident(kind="unknown", undecided=["no_hang"]), has_ended=True)
    assert decide(running, 8).do == "cannot_tell"


@pytest.mark.parametrize(
    ("verdict", "do"),
    [
        ({"kind": "hang", "cause": "rank_absent", "hosts": ["n1"]}, "evict"),
        ({"kind": "slow", "cause": "straggler_compute", "hosts": ["n1"]}, "evict"),
        ({"kind": "hang", "cause": "rank_absent", "hosts": ["n2"]}, "restart"),
        ({"kind": "hang", "cause": "rank_absent", "hosts": ["n1"], "status": "hypothesis"}, "cannot_tell"),
        ({"cause": "exception", "hosts": ["n1"], "domain": "workload"}, "cannot_tell"),
    ],
)
def test_a_host_that_was_accused_before_goes(verdict: dict[str, Any], do: str) -> None:
    assert decide(incident(**verdict), 8, {"n1"}).do == do


@pytest.mark.parametrize(
    ("times", "do"), [(1, "restart"), (2, "restart"), (3, "stop")], ids=["once", "twice", "three times in a row"]
)
def test_the_same_end_three_times_in_a_row_is_no_reason_for_a_fourth(times: int, do: str) -> None:
    told = decide(incident(kind="hang", cause="rank_absent"), 8, (), times)
    assert told.do == do and told.unless
    assert decide(incident(cause="preempted"), 8, (), times).do == "restart"  # nothing of it failed


def test_attempts_in_a_row_count_only_with_the_same_ranks() -> None:
    ends = [msgspec.structs.replace(incident(kind="hang", cause="rank_absent"), attempt=n) for n in range(3)]
    other = msgspec.structs.replace(incident(kind="hang", cause="rank_absent", ranks=[5]), attempt=1)
    assert mark_repeats(ends, 2, 16)[2].decision.do == "stop"
    assert mark_repeats([ends[0], other, ends[2]], 2, 16)[2].decision.do == "restart"


def test_what_the_stall_cost() -> None:
    assert decide(incident(cause="killed", stalled_s=1800.0), 64).lost_gpu_hours == 32.0
    assert decide(incident(cause="killed", stalled_s=1800.0), 0).lost_gpu_hours is None


@pytest.mark.parametrize(
    ("verdict", "hours"),
    [
        ({"cause": "straggler_compute", "hosts": ["n1"]}, "12.0"),
        ({"cause": "imbalance", "ranks": [], "domain": "workload"}, "3.6"),
        ({"cause": "straggler_compute", "ranks": [4]}, None),  # it is another one that the replay blames
        ({"cause": "straggler_compute", "status": "hypothesis"}, None),
    ],
)
def test_what_a_slow_job_loses_every_day(verdict: dict[str, Any], hours: str | None) -> None:
    shares = {"culprits": 0.5, "batches": 0.1, "stages": 0.05}
    slow = msgspec.structs.replace(
        incident(kind="slow", **verdict), counterfactual=Counterfactual(ranks=[3], shares=shares)
    )
    reason = decide(slow, 16).reason
    assert (f"costs {hours} hours a day on 16 GPUs" in reason) if hours else ("a day" not in reason)


@pytest.mark.parametrize(
    ("cause", "now", "do"),
    [("rank_absent", 11, "evict"), ("rank_absent", 3, "restart"), ("gpu_fault", 3, "evict")],
    ids=["other ranks ran there", "the same rank each time", "a device, whoever runs there"],
)
def test_the_same_rank_on_the_same_host_may_be_the_ranks_own_fault(cause: str, now: int, do: str) -> None:
    first = incident(kind="hang", cause=cause, ranks=[3], hosts=["n1"])
    second = msgspec.structs.replace(incident(kind="hang", cause=cause, ranks=[now], hosts=["n1"]), attempt=1)
    marked = mark_repeats([first, second], 1, 16)
    assert marked[1].decision.do == do


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        ({"cause": "preempted"}, "no lasting fault is shown"),
        ({"cause": "time_limit"}, "no lasting fault is shown"),
        ({"cause": "time_limit", "devices": [Device(host="n1")]}, "records of hardware, to be looked at before"),
        ({"cause": "killed"}, "it may come back"),
        ({"kind": "hang", "cause": "rank_absent"}, "it may come back"),
        (GPU | {"signature": "device:xid:94"}, "leave out n1 until its GPU has passed a test"),
        (
            {"kind": "hang", "cause": "network_fault", "hosts": ["n1"]},
            "leave out n1 until its network has passed a test",
        ),
        ({"kind": "hang", "cause": "network_fault"}, "which host the fault is on is not recorded"),
        ({"cause": "gpu_oom"}, "as much GPU memory"),
        ({"cause": "host_oom"}, "as much memory of the host"),
        ({"cause": "disk_full"}, "it stays full"),
        ({"cause": "segfault"}, "whether it comes back is not shown"),
        ({"kind": "launch", "cause": "network_fault", "hosts": ["n1"]}, "whether it comes back is not shown"),
    ],
)
def test_that_no_fault_lasts_is_said_only_of_what_cannot_last(verdict: dict[str, Any], words: str) -> None:
    told = decide(incident(**verdict), 8)
    assert words in told.reason
    assert (told.without == ["n1"]) == ("leave out n1" in words)


def test_a_device_that_was_weighed_is_a_record_of_a_fault() -> None:
    weighed = msgspec.structs.replace(
        incident(cause="preempted"),
        choice=[Candidate(kind="crash", cause="gpu_fault", subjects=[3], refuted_by=None, left_over=1, basis="hint", detectors=[], summary="")],
    )  # fmt: skip
    assert "no lasting fault" not in decide(weighed, 8).reason


def test_nothing_is_taken_down_first() -> None:
    around = Surroundings("slurm", job="881")
    alone = msgspec.structs.replace(incident(cause="killed"), decision=decide(incident(cause="killed"), 8))
    assert [action.command for action in carried_out(alone, around).actions] == [None]
    looked = msgspec.structs.replace(
        alone, actions=[Action(kind="check_code", target="a.py:7", command=None, reason="")]
    )
    assert [action.command for action in carried_out(looked, around).actions] == [None, "scontrol requeue 881"]
