"""Commands that a report advises. The name in one comes from the bundle, whose writer is not the reader's friend.

Each function returns null where a name could be read as more than one host, or by a shell: `ALL`, in any case, is every
node of a cluster; brackets and commas are lists (Slurm, scontrol(1), NodeName).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from parsers.patterns import regex

_NAME = regex(r"(?!all\Z)[A-Za-z0-9][A-Za-z0-9._-]*", re.IGNORECASE)

Launcher = Literal["slurm", "kubernetes", "dlrover"]  # DLRover runs its workers as pods
Vendor = Literal["nvidia", "moore_threads", "metax", "amd", "huawei"]

_GPU: Mapping[Vendor, tuple[str, str]] = {  # of one device, of all
    "nvidia": ("nvidia-smi -q -i {}", "nvidia-smi -q"),
    "moore_threads": ("mthreads-gmi -q -i {}", "mthreads-gmi -q"),
    "metax": ("mx-smi -i {}", "mx-smi"),
    "amd": ("amd-smi metric -g {}", "amd-smi metric"),
    "huawei": ("npu-smi info -t health -i {}", "npu-smi info"),
}


class Surroundings(NamedTuple):
    """What the bundle shows of the launcher, the devices and the job's number; null where it does not."""

    launcher: Launcher | None = None
    vendor: Vendor | None = None
    job: str | None = None


NOWHERE = Surroundings()
_PODS: tuple[Launcher | None, ...] = ("kubernetes", "dlrover")


def is_plain(name: str | None) -> bool:
    """May the name stand in a command?"""
    return name is not None and _NAME.fullmatch(name) is not None


def drain_node(host: str | None, reason: str, around: Surroundings = NOWHERE) -> str | None:
    """Takes a host out of service. In Kubernetes the host of a process is its pod, and the cluster knows the node; DLRover
    starts the worker anew elsewhere once its pod is gone."""
    if not is_plain(host):
        return None
    if around.launcher in _PODS:
        node = f"kubectl cordon $(kubectl get pod {host} -o jsonpath='{{.spec.nodeName}}')"
        return f"{node} && kubectl delete pod {host}" if around.launcher == "dlrover" else node
    return f"scontrol update nodename={host} state=drain reason={reason}"


def restart_job(host: str | None, around: Surroundings = NOWHERE) -> str | None:
    """Begins the job anew: all of it in Slurm, the pod at fault where a controller or DLRover's master replaces it."""
    if around.launcher == "slurm":
        return f"scontrol requeue {around.job}" if is_plain(around.job) else None
    return f"kubectl delete pod {host}" if around.launcher in _PODS and is_plain(host) else None


def stacks(host: str | None, pids: Sequence[int], around: Surroundings = NOWHERE) -> str | None:
    """The stacks of these processes."""
    if len(pids) == 1:
        return _on(host, f"py-spy dump --pid {pids[0]}", around)
    listed = " ".join(str(pid) for pid in pids)
    return _on(host, f"sh -c 'for p in {listed}; do py-spy dump --pid $p; done'", around) if pids else None


def kernel_log(host: str | None, around: Surroundings = NOWHERE) -> str | None:
    """What the kernel of a host, or the keeper of a pod, said."""
    if around.launcher in _PODS:
        return f"kubectl describe pod {host}" if is_plain(host) else None
    return _on(host, "dmesg -T", around._replace(job=None))  # the job has ended


def device(host: str | None, index: int | None, around: Surroundings = NOWHERE) -> str | None:
    """The state of one GPU of a host, or of all."""
    if around.vendor is None:
        return None
    one, every = _GPU[around.vendor]
    return _on(host, every if index is None else one.format(index), around._replace(job=None))


def ports(host: str | None, around: Surroundings = NOWHERE) -> str | None:
    """The state of a host's network ports."""
    return _on(host, "ibstat", around._replace(job=None))


def recorder() -> str:
    """Settings that make the next run leave Flight Recorder dumps; the older name is that of PyTorch before 2.9."""
    return "export TORCH_FR_BUFFER_SIZE=20000 TORCH_NCCL_TRACE_BUFFER_SIZE=20000 TORCH_NCCL_DUMP_ON_TIMEOUT=1"


def _on(host: str | None, command: str, around: Surroundings) -> str | None:
    if not is_plain(host):
        return None
    if around.launcher in _PODS:
        return f"kubectl exec {host} -- {command}"
    if around.launcher == "slurm":
        job = f"--jobid={around.job} --overlap " if around.job else ""
        return f"srun {job}-w {host} {command}"
    quoted = '"' + command.replace("$", "\\$") + '"' if "'" in command else command
    return f"ssh {host} {quoted}"
