"""Commands that a report advises. The name in one comes from the bundle, whose writer is not the reader's friend.

Each function returns null where a name could be read as more than one host, or by a shell: `ALL`, in any case, is every
node of a cluster; brackets and commas are lists (Slurm, scontrol(1), NodeName). A tool is named only where the bundle shows
that it is there: a scheduler by its own lines, a pod by Kubernetes' own word that it is one, a link by its sort.
"""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

from parsers.patterns import regex

_NAME = regex(r"(?!all\Z)[A-Za-z0-9][A-Za-z0-9._-]*", re.IGNORECASE)

Launcher = Literal["slurm", "kubernetes", "dlrover"]  # DLRover runs its workers as pods
Vendor = Literal["nvidia", "moore_threads", "metax", "amd", "huawei"]
LinkSort = Literal["infiniband", "ethernet", "efa", "nvlink", "mtlink", "metaxlink"]

_GPU: Mapping[Vendor, tuple[str, str]] = {  # of one device, of all
    "nvidia": ("nvidia-smi -q -i {}", "nvidia-smi -q"),
    "moore_threads": ("mthreads-gmi -q -i {}", "mthreads-gmi -q"),
    "metax": ("mx-smi -i {}", "mx-smi"),
    "amd": ("amd-smi metric -g {}", "amd-smi metric"),
    "huawei": ("npu-smi info -t health -i {}", "npu-smi info"),
}


_LINKS: Mapping[LinkSort, str] = {
    "infiniband": "ibstat", "ethernet": "ip -s link", "efa": "fi_info -p efa", "nvlink": "nvidia-smi nvlink -s",
    "mtlink": "mthreads-gmi -q", "metaxlink": "mx-smi mxlk --show-state",
}  # fmt: skip
_NO_PODS: Mapping[str, str | None] = MappingProxyType({})
_HERE = regex(r"localhost|127(?:\.\d{1,3}){3}|::1", re.IGNORECASE)  # whoever prints it: no name that leads anywhere


class Surroundings(NamedTuple):
    """What the bundle shows of the launcher, the devices, the job's number, the pods with the node of each, and the sort of
    links between hosts; null where it does not."""

    launcher: Launcher | None = None
    vendor: Vendor | None = None
    job: str | None = None
    pods: Mapping[str, str | None] = _NO_PODS
    link: LinkSort | None = None

    def pod(self, host: str | None) -> str | None:
        """The pod that goes by this name, or the only one on the node of this name."""
        on = [pod for pod, node in self.pods.items() if node is not None and node == host]
        return host if host in self.pods else on[0] if len(on) == 1 else None

    def is_node(self, host: str | None) -> bool:
        """Does Kubernetes call it a node?"""
        return host is not None and host in self.pods.values()


NOWHERE = Surroundings()
PODS: tuple[Launcher | None, ...] = ("kubernetes", "dlrover")


def is_plain(name: str | None) -> bool:
    """May the name stand in a command?"""
    return name is not None and _NAME.fullmatch(name) is not None


def drain_node(host: str | None, reason: str, around: Surroundings = NOWHERE) -> str | None:
    """Takes a host out of service; the cluster knows the node of a pod."""
    if not is_plain(host):
        return None
    if around.launcher in PODS and host in around.pods:
        return f"kubectl cordon $(kubectl get pod {host} -o jsonpath='{{.spec.nodeName}}')"
    if around.launcher in PODS and around.is_node(host):
        return f"kubectl cordon {host}"
    return f"scontrol update nodename={host} state=drain reason={reason}" if around.launcher == "slurm" else None


def restart_job(host: str | None, around: Surroundings = NOWHERE) -> str | None:
    """Begins the job anew: all of it in Slurm, the pod at fault where a controller or DLRover's master replaces it."""
    if around.launcher == "slurm":
        return f"scontrol requeue {around.job}" if is_plain(around.job) else None
    return f"kubectl delete pod {host}" if host in around.pods and is_plain(host) else None


def stacks(host: str | None, pids: Sequence[int], around: Surroundings = NOWHERE) -> str | None:
    """The stacks of these processes; in Kubernetes they are numbered within their pod."""
    if not pids or (around.launcher in PODS and around.pod(host) is None):
        return None
    listed = " ".join(str(pid) for pid in pids)
    many = f"sh -c 'for p in {listed}; do py-spy dump --pid $p; done'"
    return _on(host, f"py-spy dump --pid {pids[0]}" if len(pids) == 1 else many, around)


def kernel_log(host: str | None, around: Surroundings = NOWHERE) -> str | None:
    """What the kernel of a host, or the keeper of a pod, said."""
    if around.launcher in PODS and host in around.pods:
        return f"kubectl describe pod {host}" if is_plain(host) else None
    return _on_host(host, "dmesg -T", around)


def device(host: str | None, index: int | None, around: Surroundings = NOWHERE) -> str | None:
    """The state of one GPU of a host, or of all."""
    if around.vendor is None:
        return None
    one, every = _GPU[around.vendor]
    return _on_host(host, every if index is None else one.format(index), around)


def ports(host: str | None, around: Surroundings = NOWHERE) -> str | None:
    """The state of a host's links, by the tool for their sort."""
    return None if around.link is None else _on_host(host, _LINKS[around.link], around)


def recorder() -> str:
    """Settings that make the next run leave Flight Recorder dumps; the older name is that of PyTorch before 2.9."""
    return "export TORCH_FR_BUFFER_SIZE=20000 TORCH_NCCL_TRACE_BUFFER_SIZE=20000 TORCH_NCCL_DUMP_ON_TIMEOUT=1"


def _on_host(host: str | None, command: str, around: Surroundings) -> str | None:
    """On the host itself: the job may have ended, and a node is reached by its own name."""
    around = around._replace(job=None)
    return _on(host, command, around if host in around.pods else around._replace(pods=_NO_PODS))


def _on(host: str | None, command: str, around: Surroundings) -> str | None:
    if not is_plain(host) or host is None:
        return None
    if around.launcher in PODS and is_plain(pod := around.pod(host)):
        return f"kubectl exec {pod} -- {command}"
    if _HERE.fullmatch(host):
        return command
    if around.launcher == "slurm":
        job = f"--jobid={around.job} --overlap " if around.job else ""
        return f"srun {job}-w {host} {command}"
    quoted = '"' + command.replace("$", "\\$") + '"' if "'" in command else command
    return f"ssh {host} {quoted}"
