"""A controller, a scheduler or an operator stops one pod of a job, and all others lose it: that is nobody's rank, in whatever words it is told."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from tests.sources import written

PODS, PER_POD, TAKEN = 4, 2, 2
LOST = "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:268, remote process exited or there was a network error"
EVENTS = "LAST SEEN   TYPE      REASON           OBJECT            MESSAGE"
KUBELET = "Nov 05 14:22:07 gpu-k-19 kubelet[2214]: I1105 14:22:07.112000 2214 kuberuntime_container.go:745]"
TOLD: dict[str, Sequence[str]] = {
    "volcano": [
        EVENTS,
        "8m51s       Normal    Evict            podgroup/fit      Evict pod ml/fit-2, reason: preempt",
        "8m51s       Warning   Preempted        pod/fit-2         Preempted by online/serve-0 (priority 100000 > 1000) on node gpu-k-19",
        "8m51s       Normal    Killing          pod/fit-2         Stopping container trainer",
    ],
    "eviction by the API": [
        "Name:             fit-2",
        "Namespace:        ml",
        "Node:             gpu-k-19/10.0.0.19",
        "Status:           Failed",
        "Conditions:",
        "  Type               Status",
        "  DisruptionTarget   True      reason: EvictionByEvictionAPI   message: Eviction API: evicting",
        "Containers:",
        "  trainer:",
        "    State:          Terminated",
        "      Reason:       Error",
        "      Exit Code:    143",
        "      Finished:     Thu, 05 Nov 2026 14:22:09 +0000",
    ],
    "drain": [
        "$ kubectl drain gpu-k-19 --ignore-daemonsets",
        "node/gpu-k-19 cordoned",
        "evicting pod ml/fit-2",
        "pod/fit-2 evicted",
        "node/gpu-k-19 drained",
    ],
    "deleted by hand": [
        "$ date",
        "Thu Nov  5 14:22:06 UTC 2026",
        "$ kubectl -n ml delete pod fit-2",
        'pod "fit-2" deleted',
    ],
    "elastic controller": [
        '2026-11-05T14:22:06Z INFO controller.elastic "Scaling down workers" {"job": "ml/fit", "from": 4, "to": 3}',
        '2026-11-05T14:22:07Z INFO controller.elastic "Deleting pod" {"job": "ml/fit", "pod": "fit-2"}',
    ],
    "autoscaler": [
        EVENTS,
        "8m51s       Normal    ScaleDown        pod/fit-2         deleting pod for node scale down",
        "8m50s       Normal    Killing          pod/fit-2         Stopping container trainer",
    ],
    "karpenter": [
        EVENTS,
        "8m51s       Normal    DisruptionBlocked  node/gpu-k-18    Cannot disrupt Node",
        "8m51s       Normal    Evicted          pod/fit-2         Evicted pod: Underutilized",
    ],
    "descheduler": [
        'I1105 14:22:06.881000       1 evictions.go:551] "Evicted pod" pod="ml/fit-2" reason="" strategy="LowNodeUtilization" node="gpu-k-19"'
    ],
    "taint": [EVENTS, "8m51s       Normal    TaintManagerEviction   pod/fit-2   Marking for deletion Pod ml/fit-2"],
    "kubelet alone": [
        'Nov 05 14:22:07 gpu-k-19 kubelet[2214]: I1105 14:22:07.110000 2214 kubelet.go:2434] "SyncLoop DELETE" source="api" pods=["ml/fit-2"]',
        f'{KUBELET} "Killing container with a grace period" pod="ml/fit-2" containerName="trainer" gracePeriod=5',
    ],
    "killing alone": [EVENTS, "8m51s       Normal    Killing          pod/fit-2         Stopping container trainer"],
    "ray": [
        "2026-11-05 14:22:06,114 INFO autoscaler.py:1004 -- StandardAutoscaler: Terminating the node with id fit-2 and ip 10.0.0.19. (idle)"
    ],
    "german note": ["14:22 Rosa: habe Pod fit-2 auf gpu-k-19 rausgenommen, der Knoten muss in die Wartung"],
    "chinese events": [
        "最近发生   类型      原因        对象          消息",
        "8m51s     Normal   驱逐        pod/fit-2     因高优先级作业抢占，驱逐 Pod ml/fit-2（节点 gpu-k-19）",
    ],
    "nothing": [],
}
STOPS = {
    "torchrun": [
        "W1105 14:22:08.004000 1 torch/distributed/elastic/agent/server/api.py:704] Received Signals.SIGTERM death signal, shutting down workers",
        "W1105 14:22:08.005000 1 torch/distributed/elastic/multiprocessing/api.py:897] Sending process 64 closing signal SIGTERM",
        "W1105 14:22:08.005000 1 torch/distributed/elastic/multiprocessing/api.py:897] Sending process 65 closing signal SIGTERM",
    ],
    "paddle": [
        "LAUNCH INFO 2026-11-05 14:22:08,001 Terminating with signal 15",
        "LAUNCH INFO 2026-11-05 14:22:08,500 Exit with signal 15",
    ],
    "own": ["2026-11-05 14:22:08 run.sh: caught TERM, forwarding to children", "2026-11-05 14:22:09 run.sh: bye"],
    "silent": [],
    "killed after its grace": [
        "launch: 2 workers",
        "2026-11-05 14:22:38 launch: worker 0 (pid 64) was killed by signal 9",
        "2026-11-05 14:22:38 launch: worker 1 (pid 65) was killed by signal 9",
    ],
}
POD = """Name:             fit-2
Namespace:        ml
Node:             gpu-k-19/10.0.0.19
Status:           Failed
Containers:
  trainer:
    State:          Terminated
      Reason:       Error
      Exit Code:    {code}
      Finished:     Thu, 05 Nov 2026 14:22:{second} +0000"""


def job(
    folder: Path, told: Sequence[str], stop: Sequence[str], *, own: str = "", lost: str = LOST, code: int = 0
) -> Verdict:
    """Eight ranks in four pods, one of which is stopped at 14:22:07; `own`: what a rank of it had raised before."""
    files: dict[str, Sequence[str]] = {"cluster.txt": told} if told else {}
    files |= (
        {"describe_fit-2.txt": POD.format(code=code, second="09" if code == 143 else "38").split("\n")} if code else {}
    )
    for pod in range(PODS):
        for place in range(PER_POD):
            rank = PER_POD * pod + place
            lines = [f"2026-11-05 13:59:40 INFO up: host fit-{pod} rank {rank} of {PODS * PER_POD} pid {64 + place}"]
            lines += [
                f"2026-11-05 14:{minute:02}:00 INFO step {600 + minute} loss 1.{90 - minute}" for minute in range(2, 23)
            ]
            if pod != TAKEN:
                lines += [
                    f"2026-11-05 14:22:{12 + rank % 3} ERROR giving up",
                    "Traceback (most recent call last):",
                    '  File "/app/fit.py", line 88, in step',
                    "    loss.backward()",
                    LOST,
                ]
            elif own and place == 0:
                lines += ["2026-11-05 14:22:01 ERROR", *own.split("\n")]
            files[f"logs/fit-{pod}/worker.{place}"] = lines
        fail = f"E1105 14:22:16.118000 1 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: 1) local_rank: {pod % 2} (pid: {64 + pod % 2}) of binary: /usr/bin/python3"
        files[f"logs/fit-{pod}/launcher.log"] = (
            stop if pod == TAKEN and stop else ["launch: 2 workers", *([fail] if pod != TAKEN else [])]
        )
    return analyze(written(folder, files)).verdict


@pytest.mark.parametrize("form", TOLD)
@pytest.mark.parametrize("stop", ["torchrun", "silent"])
def test_whose_pod_was_stopped_is_not_named(tmp_path: Path, form: str, stop: str) -> None:
    verdict = job(tmp_path, TOLD[form], STOPS[stop])
    assert (verdict.kind, verdict.ranks) == ("crash", []), verdict.summary


HEARD = ["volcano", "drain", "autoscaler", "karpenter", "descheduler", "kubelet alone", "killing alone", "ray"]


@pytest.mark.parametrize("form", HEARD)
@pytest.mark.parametrize("code", [0, 137])
def test_nor_is_it_where_its_grace_was_over(tmp_path: Path, form: str, code: int) -> None:
    verdict = job(tmp_path, TOLD[form], STOPS["killed after its grace"], code=code)
    assert (verdict.kind, verdict.ranks) == ("crash", []), verdict.summary
    assert verdict.cause in ("preempted", "stopped_by_hand")


RAISED = 'Traceback (most recent call last):\n  File "/app/fit.py", line 71, in step\n    raise ValueError("label 71 of 64")\nValueError: label 71 of 64'


@pytest.mark.parametrize("form", ["killing alone", "kubelet alone", "drain", "nothing"])
def test_who_failed_by_itself_before_is_named_all_the_same(tmp_path: Path, form: str) -> None:
    verdict = job(tmp_path, TOLD[form], STOPS["silent"], own=RAISED)
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "exception", [PER_POD * TAKEN]), verdict.summary


def test_what_a_controller_clears_up_behind_a_failure_is_no_stop(tmp_path: Path) -> None:
    told = [
        EVENTS,
        *(
            f"8m51s       Normal    Killing          pod/fit-{pod}         Stopping container trainer"
            for pod in range(PODS)
        ),
    ]
    verdict = job(tmp_path, told, STOPS["killed after its grace"])
    assert verdict.cause != "stopped_by_hand", verdict.summary
