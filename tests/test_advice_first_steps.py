"""What is done first fits what was seen: a refusal, a process that nobody saw end, a full cluster, a lost device, a pace that sinks."""

from pathlib import Path

import pytest

from forensics import analyze
from forensics.verdict.told.gone import gone, may_be_left
from tests.log_cases import case

NCCL = "n3:41:52 [1] include/socket.h:403 NCCL WARN Connect to 10.7.3.9<50821> failed : {why}\n"


@pytest.mark.parametrize(
    ("why", "refused"), [("Connection refused", True), ("No route to host", False), ("Connection timed out", False)]
)
def test_who_refuses_is_reached_so_its_process_is_looked_for(tmp_path: Path, why: str, refused: bool) -> None:
    (tmp_path / "train.log").write_text(NCCL.format(why=why))
    incident = analyze(tmp_path).incidents[0]
    first = incident.actions[0]
    assert (first.kind == "check_config", "ss --listening --tcp --numeric --processes" in (first.command or "")) == (
        refused,
        refused,
    )
    assert refused == (incident.verdict.status == "hypothesis")
    assert not refused or not any("ip -s link" in (action.command or "") for action in incident.actions)


LIVES = [{"rank": rank, "host": f"n{rank // 2}", "pid": 100 + rank, "how": "NCCL init"} for rank in range(4)]
GAVE_UP = [{"kind": "collective_timeout", "rank": rank, "seq": 3} for rank in range(3)]


def test_who_said_nothing_may_be_left_where_most_gave_up() -> None:
    one = case(GAVE_UP, 4, ranks=LIVES)
    assert sorted(may_be_left(one) & gone(one)) in ([], [3])
    assert 3 in may_be_left(one)


@pytest.mark.parametrize(
    "end",
    [
        {"kind": "exit", "code": "1", "rank": None, "host": "n1"},
        {"kind": "scheduler", "code": "time_limit"},
    ],
)
def test_who_was_ended_with_its_host_or_its_job_is_not_left(end: dict[str, object]) -> None:
    assert 3 not in may_be_left(case([*GAVE_UP, end], 4, ranks=LIVES))


EVENTS = "LAST SEEN   TYPE      REASON             OBJECT             MESSAGE\n"
WHY = "9m   Warning   FailedScheduling   pod/job-worker-3   0/9 nodes are available: 9 Insufficient nvidia.com/gpu.\n"
PODS = "NAME           READY   STATUS    RESTARTS   AGE\njob-worker-2   1/1     Running   0          9m\njob-worker-3   0/1     Pending   0          9m\n"


@pytest.mark.parametrize("is_told", [True, False])
def test_why_a_pod_has_no_place_is_asked_only_where_it_is_not_told(tmp_path: Path, is_told: bool) -> None:
    (tmp_path / "kubectl_get_pods.txt").write_text(PODS)
    if is_told:
        (tmp_path / "kubectl_events.txt").write_text(EVENTS + WHY)
    first = analyze(tmp_path).incidents[0].actions[0]
    assert first.kind == ("check_config" if is_told else "collect_more")
    assert ("9 Insufficient" in first.reason) == is_told
    assert (first.command or "").startswith("kubectl describe nodes" if is_told else "kubectl get events -A")


@pytest.mark.parametrize("beside", ["", "step 1 loss 2.31\nstep 2 loss 2.29\nstep 3 loss 2.27\n"])
@pytest.mark.parametrize(
    ("line", "is_lost"), [("79, GPU has fallen off the bus.", True), ("31, pid=77, MMU Fault", False)]
)
def test_a_device_that_its_driver_lost_is_looked_at_first_and_by_its_address(
    tmp_path: Path, line: str, is_lost: bool, beside: str
) -> None:
    (tmp_path / "dmesg.txt").write_text(
        "[86690.912146] pcieport 0000:00:03.0: AER: Uncorrected (Fatal) error received: id=0018\n"
        f"[86694.014253] NVRM: Xid (PCI:0000:04:00): {line}\n"
    )
    if beside:
        (tmp_path / "train.log").write_text(beside)
    told = [action for action in analyze(tmp_path).incidents[0].actions if action.kind == "inspect_hardware"]
    assert bool(told) == is_lost and all("0000:04:00" in action.target for action in told)


@pytest.mark.parametrize("evenly", [True, False])
def test_what_sinks_evenly_is_tested_by_one_restart(tmp_path: Path, evenly: bool) -> None:
    def rate(step: int) -> float:
        return 170 - step / 25 if evenly else 170 if step < 300 else 140

    lines = [
        f"iteration {step}/ 9000 | elapsed time per iteration (ms): 900.0 | throughput per GPU (TFLOP/s/GPU): {rate(step) + step * 7 % 5 / 10:.1f} | lm loss: 2.1 |"
        for step in range(1, 601)
    ]
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n")
    incident = analyze(tmp_path).incidents[0]
    assert incident.verdict.cause == "throughput_drop"
    kinds = [action.kind for action in incident.actions]
    # Of whom nobody is known, what would tell it comes before the look at it.
    assert ("restart_job" in kinds, kinds[0]) == ((True, "check_code") if evenly else (False, "collect_more"))
    assert evenly or kinds[1] == "inspect_hardware"
    assert "stacks" not in incident.decision.unless
