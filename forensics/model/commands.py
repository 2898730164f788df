"""Commands that a report advises. The name in one comes from the bundle, whose writer is not the reader's friend.

Each function returns null where a name could be read as more than one host, or by a shell: `ALL`, in any case, is every
node of a cluster; brackets and commas are lists (Slurm, scontrol(1), NodeName). A tool is named only where the bundle shows
that it is there: a scheduler by its own lines, a pod by Kubernetes' own word that it is one, a link by its sort.
What the steps of a runbook (runbook.py) are done with stands in COMMANDS, by name.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

from forensics.model import stores
from forensics.model.frames import LIBRARY
from forensics.model.names import EvidenceKind
from parsers.text.patterns import regex

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


# EFA has no tool of its own that shows a port: the kernel's files do.
_RDMA = "sh -c 'cd /sys/class/infiniband; grep . */ports/*/state */ports/*/phys_state */ports/*/hw_counters/*'"
_OF_ANY = "ip -s link"
_LINKS: Mapping[LinkSort, str] = {
    "infiniband": "ibstat", "ethernet": "ip -s link", "efa": _RDMA, "nvlink": "nvidia-smi nvlink -s",
    "mtlink": "mthreads-gmi -q", "metaxlink": "mx-smi mxlk --show-state",
}  # fmt: skip
_CLOCKS: Mapping[Vendor, str] = {
    "nvidia": "nvidia-smi -q -d CLOCK,TEMPERATURE,POWER,PERFORMANCE", "moore_threads": "mthreads-gmi -q", "metax": "mx-smi",
    "amd": "amd-smi metric", "huawei": "npu-smi info",
}  # fmt: skip
_OF_ONE: Mapping[Vendor, str] = {
    "nvidia": " -i {}", "moore_threads": " -i {}", "metax": " -i {}", "amd": " -g {}", "huawei": " -t common -i {}",
}  # fmt: skip
_USERS: Mapping[Vendor, str] = {
    "nvidia": "nvidia-smi --query-compute-apps=gpu_bus_id,pid,process_name,used_memory --format=csv",
    "moore_threads": "mthreads-gmi", "metax": "mx-smi --show-process", "amd": "amd-smi process", "huawei": "npu-smi info",
}  # fmt: skip
_VENDOR_OF_SETUP: Mapping[Vendor, str] = {"huawei": "ascend"}  # as its table calls it
_OF_MEMORY = "ECC,ROW_REMAPPER,PAGE_RETIREMENT"
_SCRIPT = regex(r"(?:/[\w@.+-]+)+", re.ASCII)
_FILE_IN = regex(r"(?<![\w:/.])(?:/[\w@.+-]+){2,20}", re.ASCII)
_PATH = regex(r"(?:/[\w@.+-]+)+/?", re.ASCII)
_PCI = regex(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}(?:\.[0-7])?", re.IGNORECASE)
_ADDRESS = regex(r"\d{1,3}(?:\.\d{1,3}){3}")
_TAKEN = regex(
    r"(?i)\bport[: =]{1,3}(?P<port>\d{2,5})\b.{0,200}(?:EADDRINUSE|address already in use)|:(?P<other>\d{2,5})\b.{0,60}address already in use"
)
_BEFORE, _AFTER = 10, 5  # lines of a source file that are shown
_NO_PODS: Mapping[str, str | None] = MappingProxyType({})
# How Docker names a host within, and EC2 an instance: nobody reaches it by that.
_CONTAINER = regex(r"[0-9a-f]{12}|i-[0-9a-f]{8,17}")
HERE = "localhost"  # of a command that is for a host without a name
_HERE = regex(r"localhost|127(?:\.\d{1,3}){3}|::1", re.IGNORECASE)  # whoever prints it: no name that leads anywhere


Library = Literal["nccl", "mccl", "hccl", "gloo"]  # of collectives, as PyTorch's process groups are built on it
OF_VENDOR: Mapping[Vendor, Library] = {"moore_threads": "mccl", "huawei": "hccl"}  # whose builds have one of their own


class Torch(NamedTuple):
    """That the job's process groups are PyTorch's. `is_detailed`: TORCH_DISTRIBUTED_DEBUG=DETAIL was on."""

    library: Library = "nccl"
    is_detailed: bool = False


class Surroundings(NamedTuple):
    """What the bundle shows of the launcher, the devices, the job's number, the pods with the node of each, the sort of
    links between hosts, and PyTorch's process groups; null where it does not."""

    launcher: Launcher | None = None
    vendor: Vendor | None = None
    job: str | None = None
    pods: Mapping[str, str | None] = _NO_PODS
    link: LinkSort | None = None
    torch: Torch | None = None

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


def stacks(
    host: str | None,
    pids: Sequence[int],
    around: Surroundings = NOWHERE,
    *,
    is_held: bool = False,
    is_silent: bool = False,
) -> str | None:
    """The stacks of these processes; in Kubernetes they are numbered within their pod. `is_held`: their processes are stopped, and a sampler
    that would stop them for its look gets no answer; who holds them is told by their host. `is_silent`: they have answered none, and the kernel
    says what they wait in."""
    if not pids or (around.launcher in PODS and around.pod(host) is None):
        return None
    look = "py-spy dump --pid $p"
    if is_silent:
        look = "grep -e Name -e State -e TracerPid /proc/$p/status; cat /proc/$p/wchan; echo; cat /proc/$p/stack"
    elif is_held:
        look = "grep -e State -e PPid -e TracerPid /proc/$p/status; py-spy dump --nonblocking --pid $p"
    elif len(pids) == 1:
        return _on(host, f"py-spy dump --pid {pids[0]}", around, as_root=True)
    return _on(host, f"sh -c 'for p in {' '.join(map(str, pids))}; do {look}; done'", around, as_root=True)


def kernel_log(host: str | None, around: Surroundings = NOWHERE) -> str | None:
    """What the kernel of a host, or the keeper of a pod, said."""
    if around.launcher in PODS and host in around.pods:
        return describe_pod(host)
    return _on_host(host, "dmesg -T", around, as_root=True)


def describe_pod(pod: str | None) -> str | None:
    """What Kubernetes keeps of a pod, with why it was put nowhere."""
    return f"kubectl describe pod {pod}" if is_plain(pod) else None


def events_of_pod(pod: str | None) -> str | None:
    """What Kubernetes says of a pod, in whichever namespace: none of it is looked up by its name alone."""
    return f"kubectl get events -A --field-selector involvedObject.name={pod}" if is_plain(pod) else None


def nodes() -> str:
    """Which nodes there are, what keeps pods off them, and how many devices each offers."""
    return "kubectl describe nodes"


def device(host: str | None, index: int | None, around: Surroundings = NOWHERE) -> str | None:
    """The state of one GPU of a host, or of all."""
    if around.vendor is None:
        return None
    one, every = _GPU[around.vendor]
    return _on_host(host, every if index is None else one.format(index), around)


def device_at(host: str | None, pci: str, around: Surroundings = NOWHERE) -> str | None:
    """The state of one NVIDIA device by its address, on the host that its line is from where nobody names that."""
    whole = pci if "." in pci else f"{pci}.0"  # drivers leave the function out, and tools ask for it
    known = around.vendor == "nvidia" and _PCI.fullmatch(whole)
    return _on_host(host or HERE, f"nvidia-smi -q -i {whole}", around) if known else None


def memory_errors_at(host: str | None, pci: str, around: Surroundings = NOWHERE) -> str | None:
    """The memory errors of one NVIDIA device by its address, as `device_at` finds it."""
    command = device_at(host, pci, around)
    return command and command.replace("-q -i", f"-q -d {_OF_MEMORY} -i")


def file_server(host: str | None, server: str) -> str | None:
    """Which mounts are a file server's, and whether it answers; the look itself must not wait for it."""
    if not is_plain(server):
        return None
    return _on_host(host, f"sh -c 'grep -F {server} /proc/mounts; timeout 10 rpcinfo -t {server} nfs'", NOWHERE)


def cpu_limit(host: str | None, folder: str, version: int | None) -> str | None:
    """The quota of processor time of a control group: in two files, or in one since its second version."""
    if _PATH.fullmatch(folder) is None or version is None:
        return None
    files = ("cpu.cfs_quota_us", "cpu.cfs_period_us") if version == 1 else ("cpu.max",)
    return _on_host(host, " ".join(["cat", *(f"{folder.rstrip('/')}/{one}" for one in files)]), NOWHERE)


def reach(host: str | None, address: str, around: Surroundings = NOWHERE) -> str | None:
    """Whether a host finds an address, and whether anybody listens there."""
    name, _, port = address.rpartition(":")
    if not is_plain(name) or not port.isascii() or not port.isdigit():
        return None
    return _on_host(host, f"sh -c 'getent hosts {name}; nc -zv -w 5 {name} {port}'", around)


# Which GIDs an adapter has; a slot of zeros is empty.
_GIDS = "grep -rsv 0000:0000:0000:0000:0000:0000:0000:0000 /sys/class/infiniband/*/ports/*/gids"


def way(host: str | None, address: str | None, is_silent: bool, is_of_adapter: bool) -> str | None:
    """Which way a host takes to an address, by which interface; `is_silent`: and whether it answers; `is_of_adapter`: and what an RDMA adapter
    is known by."""
    known = address is not None and _ADDRESS.fullmatch(address)
    looks = ["ip -br addr", f"ip route get {address}" if known else "ip route"]
    looks += [f"ip neigh show to {address}"] if known else [f"getent hosts {address}"] if is_plain(address) else []
    looks += [f"ping -c 3 -W 2 {address}"] if is_silent and is_plain(address) else []
    looks += [_GIDS] if is_of_adapter else []
    return _on_host(host, f"sh -c '{'; '.join(looks)}'", NOWHERE)


REPLAY = "python -c 'from forensics.probe import replay; help(replay)'"  # how a step is repeated, on the devices of neighbours as well
# Which device is which, by the address that NCCL prints without its zeros.
DEVICES_HERE = "nvidia-smi --query-gpu=index,pci.bus_id --format=csv"


def users(host: str | None, around: Surroundings = NOWHERE) -> str | None:
    """Which processes run on the devices of a host."""
    return None if around.vendor is None else _on_host(host, _USERS[around.vendor], around)


def ports(host: str | None, around: Surroundings = NOWHERE) -> str | None:
    """The state of a host's links, by the tool for their sort; of an unknown sort, what the kernel counts of any."""
    return _on_host(host, _OF_ANY if around.link is None else _LINKS[around.link], around)


class Target(NamedTuple):
    """What a command is built from; null or empty where the bundle does not show it. `asks`: kinds of evidence for the next run."""

    host: str | None = None
    pids: tuple[int, ...] = ()
    gpu: int | None = None
    pci: str | None = None
    file: str | None = None
    line: int | None = None
    checkpoint: str | None = None
    asks: tuple[EvidenceKind, ...] = ()
    around: Surroundings = NOWHERE
    path: str | None = None  # of the file that could not be written or read


def store(host: str | None, url: str, around: Surroundings = NOWHERE) -> str | None:
    """How a store answers that is no file system of any host."""
    told = stores.look(url)
    return told if told is None or host is None else _on_host(host, told, around)


def _space(at: Target) -> str | None:
    """How full the file system of a path is, else all of them; one that does not answer must not hold up the look. Without a host, there where its rank ran."""
    if "://" in (at.path or ""):
        return store(at.host, at.path or "", at.around)
    folder = (at.path or "").rpartition("/")[0]
    known = f" {folder}" if _PATH.fullmatch(folder) else ""
    look = f"sh -c 'timeout 20 df -h{known}; timeout 20 df -i{known}'"
    return look if known and at.host is None else _on_host(at.host, look, at.around)


def file_in(text: str) -> str | None:
    """The one whole path of a file in a text; a program's own is none."""
    found = {path.rstrip(".,:;") for path in _FILE_IN.findall(text) if not path.endswith((".py", "/"))}
    return found.pop() if len(found) == 1 else None


def file_there(host: str | None, path: str) -> str | None:
    """Whether a file is there, how large, and since when; of a host that nobody names, as one stands on it."""
    return _on_host(host or HERE, f"ls -la --time-style=full-iso {path}", NOWHERE) if _PATH.fullmatch(path) else None


def link_test(one: str, other: str) -> str | None:
    """How fast one host writes to the other over RDMA, for ten seconds; the first waits for the second."""
    if any(not is_plain(name) or _HERE.fullmatch(name) or _CONTAINER.fullmatch(name) for name in (one, other)):
        return None
    test = "timeout 60 ib_write_bw -D 10"
    return f"sh '-c' 'ssh {one} {test} & sleep 3; ssh {other} {test} {one}'"


def _shared_memory(at: Target) -> str | None:
    """How large shared memory is; of a container by its id, as Docker was told."""
    if at.host is not None and _CONTAINER.fullmatch(at.host) and not at.host.startswith("i-"):
        return f"docker inspect --format '{{{{.HostConfig.ShmSize}}}}' {at.host}"
    return _on_host(at.host, "df -h /dev/shm", at.around)


def _raylet(at: Target) -> str | None:
    """What the keeper of a node's memory in Ray said; Ray finds a node by its address."""
    return f"ray logs raylet.out -ip {at.host}" if _ADDRESS.fullmatch(at.host or "") else None


def taken_port(text: str) -> str | None:
    """The port that an error of the system says is taken."""
    found = _TAKEN.search(text)
    return found["port"] or found["other"] if found else None


def holder_of_port(text: str) -> str | None:
    """Who listens on that port; on the host where that was said."""
    port = taken_port(text)
    return f"ss --listening --tcp --numeric --processes 'sport = :{port}'" if port else None


def pci_state(pci: str | None) -> str | None:
    """What the bus sees of a device, on the host that its line is from."""
    return f"sudo lspci '-vv' '-s' {pci}" if _PCI.fullmatch(pci or "") else None


def _source(at: Target) -> str | None:
    """The lines around the one in question. Only a whole path leads there from wherever somebody stands: samplers and Cython cut
    theirs short; and a library's own code is not what is to be changed."""
    if at.line is None or _SCRIPT.fullmatch(at.file or "") is None or LIBRARY.search(at.file or ""):
        return None
    return f"sed -n '{max(1, at.line - _BEFORE)},{at.line + _AFTER}p' {at.file}"


def _py_spy(at: Target, what: str) -> str | None:
    """A look at the Python code of a process, on its host."""
    if not at.pids or (at.around.launcher in PODS and at.around.pod(at.host) is None):
        return None
    return _on(at.host, f"py-spy {what} --pid {at.pids[0]}", at.around, as_root=True)


def _of_vendor(at: Target, tools: Mapping[Vendor, str], one: Mapping[Vendor, str] | None = None) -> str | None:
    if at.around.vendor is None:
        return None
    of_one = "" if one is None or at.gpu is None else one[at.around.vendor].format(at.gpu)
    return _on_host(at.host, tools[at.around.vendor] + of_one, at.around)


def _memory_errors(at: Target) -> str | None:
    """The counters of memory errors of an NVIDIA device, and whether it waits for a reset; of others their state."""
    if at.around.vendor != "nvidia":
        return device(at.host, at.gpu, at.around)
    return _of_vendor(at, {"nvidia": f"nvidia-smi -q -d {_OF_MEMORY}"}, _OF_ONE)


def _pci_state(at: Target) -> str | None:
    """What the bus sees of a device that its own tool may not see."""
    if _PCI.fullmatch(at.pci or ""):
        return _on_host(at.host, f"lspci -vv -s {at.pci}", at.around, as_root=True)
    return _on_host(at.host, "lspci -d 10de:", at.around) if at.around.vendor == "nvidia" else None


def _accounting(at: Target) -> str | None:
    job = at.around.job
    fields = "JobID,State,ExitCode,DerivedExitCode,NodeList%40,MaxRSS,ReqMem,Elapsed,Timelimit,End"
    return f"sacct -j {job} --format={fields}" if at.around.launcher == "slurm" and is_plain(job) else None


def _of_pod(at: Target, command: str) -> str | None:
    pod = at.around.pod(at.host) if at.around.launcher in PODS else None
    return f"kubectl {command.format(pod)}" if is_plain(pod) else None


def _core(at: Target) -> str | None:
    """What systemd kept of the process."""
    return _on_host(at.host, f"coredumpctl info {at.pids[0]}", at.around, as_root=True) if len(at.pids) == 1 else None


def _of_nvidia(at: Target, command: str, *, as_root: bool = False) -> str | None:
    """On one of NVIDIA's devices."""
    known = at.around.vendor == "nvidia" and at.gpu is not None
    return _on_host(at.host, f"{command} -i {at.gpu}", at.around, as_root=as_root) if known else None


def next_run(asks: Sequence[EvidenceKind], around: Surroundings) -> str | None:
    """What prints the settings by which the next run leaves these kinds of evidence."""
    vendor = around.vendor
    told = "" if vendor in (None, "nvidia") else f" --vendor {_VENDOR_OF_SETUP.get(vendor, vendor)}"
    return f"forensics setup {' '.join(asks)}{told}" if asks else None


_RECORDERS: Mapping[Library, str] = {  # the older name of the ring is that of PyTorch before 2.9
    "nccl": "TORCH_FR_BUFFER_SIZE=20000 TORCH_NCCL_TRACE_BUFFER_SIZE=20000 TORCH_NCCL_DUMP_ON_TIMEOUT=1",
    "mccl": "TORCH_MCCL_TRACE_BUFFER_SIZE=20000 TORCH_MCCL_DUMP_ON_TIMEOUT=1 TORCH_MCCL_ENABLE_MONITORING=1",
    "hccl": "TORCH_HCCL_TRACE_BUFFER_SIZE=20000 TORCH_HCCL_DUMP_ON_TIMEOUT=1 TORCH_HCCL_ENABLE_MONITORING=1",
}


def recorder(around: Surroundings) -> str | None:
    """Settings that make the next run leave Flight Recorder dumps; only PyTorch's process groups have that recorder, and gloo's no such
    settings."""
    told = None if around.torch is None else _RECORDERS.get(around.torch.library)
    return None if told is None else f"export {told}"


def _fingerprints(at: Target) -> str | None:
    """PyTorch's own comparison of calls; nothing where it was on already."""
    torch = at.around.torch
    known = torch is not None and not torch.is_detailed
    return "export TORCH_DISTRIBUTED_DEBUG=DETAIL TORCH_SHOW_CPP_STACKTRACES=1" if known else None


def _bug_report(at: Target) -> str | None:
    """All that NVIDIA's driver knows, which a reset or a restart of the host takes away; its safe mode asks no device that is gone."""
    known = at.around.vendor == "nvidia"
    return _on_host(at.host, "nvidia-bug-report.sh --safe-mode", at.around, as_root=True) if known else None


def _on_host(host: str | None, command: str, around: Surroundings, *, as_root: bool = False) -> str | None:
    """On the host itself, by its own name: the job may have ended, and a step of Slurm would wait for a node that is drained, down
    or held by the job."""
    around = around._replace(job=None, launcher=None if around.launcher == "slurm" else around.launcher)
    return _on(host, command, around if host in around.pods else around._replace(pods=_NO_PODS), as_root=as_root)


def _on(host: str | None, command: str, around: Surroundings, *, as_root: bool = False) -> str | None:
    """`as_root`: most distributions show it to nobody else. Within a pod, or a step of the job, one is who the job is."""
    if not is_plain(host) or host is None or _CONTAINER.fullmatch(host):
        return None
    if around.launcher in PODS and is_plain(pod := around.pod(host)):
        return f"kubectl exec {pod} -- {command}"
    if around.launcher == "slurm" and not _HERE.fullmatch(host):
        job = f"--jobid={around.job} --overlap " if around.job else ""
        return f"srun {job}-w {host} {command}"
    command = f"sudo {command}" if as_root else command
    if _HERE.fullmatch(host):
        return command
    quoted = '"' + command.replace("$", "\\$") + '"' if "'" in command else command
    return f"ssh {'-t ' if as_root else ''}{host} {quoted}"  # a terminal, for sudo may ask for a password


CommandName = Literal[
    "source", "loaders", "locals", "kernel_log", "device", "memory_errors", "clocks", "pci_state", "fabric_manager", "users_of_memory",
    "links", "space", "accounting", "pod", "previous_log", "core", "addresses", "load", "locks", "fingerprints", "recorder",
    "checkpoint", "diagnosis", "reset", "bug_report", "boot_before", "bmc", "shared_memory", "gather", "next_run", "uptime", "listeners", "profile", "raylet", "held",
]  # fmt: skip

COMMANDS: Mapping[CommandName, Callable[[Target], str | None]] = {
    "source": _source,
    "loaders": lambda at: _py_spy(at, "dump --subprocesses"),
    "locals": lambda at: _py_spy(at, "dump --locals"),
    "profile": lambda at: _py_spy(at, "record --duration 30 --format raw --output /dev/stdout"),
    "kernel_log": lambda at: kernel_log(at.host, at.around),
    "device": lambda at: device(at.host, at.gpu, at.around),
    "memory_errors": _memory_errors,
    "clocks": lambda at: _of_vendor(at, _CLOCKS, _OF_ONE),
    "pci_state": _pci_state,
    "fabric_manager": lambda at: _on_host(at.host, "systemctl status nvidia-fabricmanager", at.around),
    "users_of_memory": lambda at: _of_vendor(at, _USERS),
    "uptime": lambda at: _on_host(at.host, "uptime -s", at.around),
    "links": lambda at: ports(at.host, at.around),
    "space": _space,
    "shared_memory": _shared_memory,
    "raylet": _raylet,
    "accounting": _accounting,
    "pod": lambda at: _of_pod(at, "describe pod {}"),
    "previous_log": lambda at: _of_pod(at, "logs {} --previous"),
    "core": _core,
    "addresses": lambda at: _on_host(at.host, "ip -br addr", at.around),
    "load": lambda at: _on_host(at.host, "sh -c 'top -b -n 1 | head -n 30; iostat -x 1 3'", at.around),
    "listeners": lambda at: _on_host(at.host, "ss --listening --tcp --numeric --processes", at.around, as_root=True),
    "locks": lambda at: _on_host(at.host, "lslocks --notruncate", at.around),
    "fingerprints": _fingerprints,
    "recorder": lambda at: recorder(at.around),
    "checkpoint": lambda at: f"ls -la {at.checkpoint}" if _PATH.fullmatch(at.checkpoint or "") else None,
    "diagnosis": lambda at: _of_nvidia(at, "dcgmi diag -r 3"),
    "reset": lambda at: _of_nvidia(at, "nvidia-smi --gpu-reset", as_root=True),
    "bug_report": _bug_report,
    # Before the host was started anew: its ring of messages has only what came since.
    "boot_before": lambda at: _on_host(at.host, "journalctl -k -b -1 --no-pager", at.around, as_root=True),
    "bmc": lambda at: _on_host(at.host, "ipmitool sel list", at.around, as_root=True),
    "held": lambda at: stacks(at.host, at.pids, at.around, is_held=True),
    "gather": lambda at: "forensics setup --gather --output gather.sh" if at.asks else None,
    "next_run": lambda at: next_run(at.asks, at.around),
}
