"""The kernel killed a process in a pod in which several ranks run: it was the one that somebody saw go, and the others lived on."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import Report, analyze
from tests.sources import written

Files = dict[str, list[str]]
UIDS = ("470e53b2-781a-4d10-89d6-531aa85c9488", "650cb5ab-6e12-4631-ad34-e13f49ff2b38")
NODES, IPS = ("kn-11", "kn-22"), ("10.244.3.118", "10.244.6.31")
PODS = ("sft-gpu-worker-4zq6t", "sft-gpu-worker-s8wkd")
IDS = ("c166fc1de87738255a10f581f0806e7ed4ba80c35b886885bff46fca", "7b1e8624794e18743fa5c2a6c4ed1ceeb690234e26f8405976ace5ce")  # fmt: skip
WORKERS = ((0, 0, 1213), (0, 1, 1214), (1, 1, 1188), (1, 0, 1187))  # pod, place there, pid, by rank
GONE = 3


def driver(gone: tuple[int, ...] = (GONE,)) -> Files:
    started = [
        f"(TorchTrainer pid=906, ip={IPS[0]}) - (node_id={IDS[pod]}, ip={IPS[pod]}, pid={pid}) world_rank={rank}, local_rank={at}, node_rank={pod}"
        for rank, (pod, at, pid) in enumerate(WORKERS)
    ]
    died = [
        f"(raylet, ip={IPS[1]}) A worker died or was killed while executing a task by an unexpected system error. Lease ID: e100 Worker ID: 104a Node ID: {IDS[1]} Worker IP address: {IPS[1]} Worker port: 10013 Worker PID: {WORKERS[rank][2]} Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file."
        for rank in gone
    ]
    lost = [
        f"(RayTrainWorker pid={pid}, ip={IPS[pod]}) [rank{rank}]:[E1120 19:50:2{rank}.773776207 ProcessGroupNCCL.cpp:632] NCCL error: remote process exited or there was a network error. Last error: socketProgressOpt: Call to recv from {IPS[1]}<48114> failed : Connection reset by peer"
        for rank, (pod, _, pid) in enumerate(WORKERS)
        if rank not in gone
    ]
    return {
        "driver.log": [
            f"(RayTrainWorker pid=1213, ip={IPS[0]}) Setting up process group for: env:// [rank=0, world_size=4]",
            f"(TorchTrainer pid=906, ip={IPS[0]}) Started distributed worker processes: ",
            *started,
            *died,
            *lost,
        ]
    }


def listed() -> list[str]:
    return [
        line
        for uid, node, ip, pod in zip(UIDS, NODES, IPS, PODS, strict=True)
        for line in (
            "- apiVersion: v1", "  kind: Pod", "  metadata:", f"    name: {pod}", f"    uid: {uid}", "  spec:", f"    nodeName: {node}",
            "  status:", "    phase: Running", f"    podIP: {ip}",
        )
    ]  # fmt: skip


PODS_TOLD: dict[str, Files] = {
    "a list": {"pods.yaml": ["apiVersion: v1", "items:", *listed(), "kind: List"]},
    "blocks": {"pods.txt": [line for uid, node, ip, pod in zip(UIDS, NODES, IPS, PODS, strict=True) for line in (f"name={pod}", f"uid={uid}", f"podIP={ip}", f"node={node}", "")]},
    "records": {"pods.json": ['{"items": [' + ", ".join(f'{{"metadata": {{"name": "{pod}", "uid": "{uid}"}}, "spec": {{"nodeName": "{node}"}}, "status": {{"podIP": "{ip}"}}}}' for uid, node, ip, pod in zip(UIDS, NODES, IPS, PODS, strict=True)) + "]}"]},
    "a table": {"pods.txt": ["NAME                    UID                                     IP             NODE", *(f"{pod}    {uid}    {ip}    {node}" for uid, node, ip, pod in zip(UIDS, NODES, IPS, PODS, strict=True))]},
    "a table with marks": {"pods.csv": ["pod,uid,ip,node", *(f"{pod},{uid},{ip},{node}" for uid, node, ip, pod in zip(UIDS, NODES, IPS, PODS, strict=True))]},
    "lines": {"pods.log": [f"pod {pod} uid={uid} ip={ip} node={node}" for uid, node, ip, pod in zip(UIDS, NODES, IPS, PODS, strict=True)]},
}  # fmt: skip
SLICE, PATH = UIDS[1].replace("-", "_"), UIDS[1]
GROUPS = {
    "systemd's, burstable": f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{SLICE}.slice",
    "systemd's, guaranteed": f"/kubepods.slice/kubepods-pod{SLICE}.slice",
    "cgroupfs": f"/kubepods/burstable/pod{PATH}",
    "of kubelet": f"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod{SLICE}.slice",
}


def kernel(
    group: str, name: Callable[[str], str] = lambda node: f"dmesg_{node}.txt", task: str = "ray::RayTrainWo"
) -> Files:
    at = "[Fri Nov 20 19:50:11 2026]"
    return {
        name(NODES[1]): [
            f"root@{NODES[1]}:~# dmesg -T | tail -45",
            f"{at} oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-containerd,mems_allowed=0-1,oom_memcg={group},task_memcg={group}/cri-containerd-77.scope,task={task},pid=3391401,uid=1000",
            f"{at} Memory cgroup out of memory: Killed process 3391401 ({task}) total-vm:201675288kB, anon-rss:80211004kB, file-rss:247676kB, shmem-rss:0kB, UID:1000 pgtables:166484kB oom_score_adj:907",
        ]
    }  # fmt: skip


def judged(folder: Path, files: Files) -> Report:
    return analyze(str(written(folder, files)))


@pytest.mark.parametrize(
    ("told", "group"), [(told, [*GROUPS][(at + more) % 4]) for at, told in enumerate(PODS_TOLD) for more in (0, 1)]
)
def test_who_went_from_that_pod_was_killed(told: str, group: str, tmp_path: Path) -> None:
    verdict = judged(tmp_path, driver() | PODS_TOLD[told] | kernel(GROUPS[group])).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "host_oom", [GONE])


def test_of_two_that_went_neither_is_said_to_be_killed(tmp_path: Path) -> None:
    verdict = judged(tmp_path, driver((2, 3)) | PODS_TOLD["a list"] | kernel(GROUPS["cgroupfs"])).verdict
    assert verdict.cause != "host_oom" or verdict.ranks == []


def test_the_kill_in_another_pod_is_not_its_end(tmp_path: Path) -> None:
    other = GROUPS["cgroupfs"].replace(UIDS[1], UIDS[0])
    verdict = judged(tmp_path, driver() | PODS_TOLD["a list"] | kernel(other)).verdict
    assert verdict.cause != "host_oom"


def test_an_unknown_pod_is_nobodys(tmp_path: Path) -> None:
    other = GROUPS["cgroupfs"].replace("650c", "1111")
    verdict = judged(tmp_path, driver() | PODS_TOLD["a list"] | kernel(other)).verdict
    assert verdict.cause != "host_oom"


def pod(ends: tuple[str, ...], raised: str = "") -> Files:
    """A pod of four by its log: how each of them ended, in this order."""
    lines = [f"[rank{rank}]: INFO init world_size=4 rank={rank} pid={310 + rank} host={NODES[1]}" for rank in range(4)]
    lines += [f"[rank{rank}]: INFO step {step} loss 2.9{step}" for step in range(1, 9) for rank in range(4)]
    lines += [f"[rank2]: {line}" for line in (*_TRACEBACK, raised)] if raised else []
    return {f"var/log/pods/ml_fit-0_{UIDS[1]}/trainer/0.log": [*lines, *ends]}


_TRACEBACK = ("Traceback (most recent call last):", '  File "/srv/fit.py", line 180, in <module>', "    next(it)")
_KILLED = "worker rank=1 pid=311 exitcode=-9"


@pytest.mark.parametrize(
    ("ends", "raised", "named"),
    [
        ((_KILLED, "worker rank=0 pid=310 exitcode=-15", "worker rank=2 pid=312 exitcode=-15"), "", True),
        (("worker rank=2 pid=312 exitcode=1", _KILLED, "worker rank=0 pid=310 exitcode=-15"), "", False),
        ((_KILLED, "worker rank=2 pid=312 exitcode=1"), "", False),
        ((_KILLED,), "RuntimeError: DataLoader worker (pid 4577) is killed by signal: Killed.", False),
    ],
    ids=["it alone", "another failed before", "another failed", "another lost a worker"],
)
def test_who_was_killed_where_another_failed_is_not_the_kernels(
    ends: tuple[str, ...], raised: str, named: bool, tmp_path: Path
) -> None:
    verdict = judged(tmp_path, pod(ends, raised) | kernel(GROUPS["cgroupfs"], task="python")).verdict
    assert (verdict.cause == "host_oom" and verdict.ranks == [1]) == named
