"""Who started the job, and whose devices it ran on: what decides which command reaches a process or a host."""

from collections.abc import Mapping

import polars as pl

from forensics.facts.hosts.pods import labelled_pods, pods_of
from forensics.model.commands import OF_VENDOR, PODS, Launcher, Library, Surroundings, Torch, Vendor
from parsers.schema.tables import Tables
from parsers.text.patterns import regex

_DIGITS = regex(r"[0-9]+")
# Parsers whose lines only this launcher, or only this vendor's software, prints.
_LAUNCHERS: Mapping[Launcher, frozenset[str]] = {
    "slurm": frozenset(["slurm", "sacct"]),
    "kubernetes": frozenset(["kubernetes", "pod_description", "pod_status"]),
    "dlrover": frozenset(["dlrover"]),
}
_VENDORS: Mapping[Vendor, frozenset[str]] = {
    "nvidia": frozenset(["nvidia_smi_csv", "nvidia_smi_q", "nvidia_smi_table", "nvidia_smi_xml", "xid", "dcgmi_dmon",
                         "fabric_manager", "bug_report", "nvlink_status"]),
    "moore_threads": frozenset(["mthreads", "mthreads_gmi"]),
    "metax": frozenset(["metax", "mx_smi"]),
    "amd": frozenset(["amdgpu", "rocm"]),
    "huawei": frozenset(["cann", "hccl", "msprof"]),
}  # fmt: skip
# Process groups of PyTorch that only one vendor's build has; upstream's name is kept by AMD and MetaX. Habana has an HCCL of its own.
_VENDOR_OF: Mapping[Library, Vendor] = {library: vendor for vendor, library in OF_VENDOR.items()}
_GROUPS: Mapping[Library, str] = {
    library: f"ProcessGroup{library.upper()}|Work{library.upper()}|TORCH_{library.upper()}_" for library in _VENDOR_OF
}
_OTHER_HCCL = "habanalabs"
_TORCH = frozenset(["process_group", "desync", "flight_recorder", "fr_report", "elastic", "torch_cpp", "deepspeed", "hf_trainer",
                    "lightning", "megatron_timers", "dlrover"])  # fmt: skip
_OF_TORCH = regex(r"\btorch/|\btorch\.[a-z]|\bTORCH_|^torch$|\bc10d\b|ProcessGroup|\btorch_(?:npu|musa)\b")
_STEP = r"(?:slurmstepd|srun).{0,120}?\b(?:StepId=|JobId=|STEP |JOB )(\d{1,10})\b"
# Errors of CUDA's runtime; who builds upon its names has words of its own beside them.
_OF_CUDA, _AS_CUDA = (
    r"CUDA error: |\bcudaError[A-Z]|\bCUDA out of memory|\bCuda failure",
    r"(?i)\bHIP\b|\bmaca|metax|\bmusa\b|\bmc(?:Error|runtime)",
)
# The job's collectives are gloo's where its errors are, and nothing at all is of a device.
_OF_GLOO, _OF_DEVICES = (
    r"[/\[]gloo/|\[Gloo\]|gloo::|ProcessGroupGloo",
    r"(?i)nccl|cuda|[mh]ccl|\bgpu\b|\bib_|infiniband",
)
_DETAIL = "Detected mismatch between collectives|CollectiveFingerPrint"


def surroundings(tables: Tables) -> Surroundings:
    """Known only where the files speak for exactly one launcher, vendor or job."""
    files = tables["files"]
    read = set(files["parsers"].explode().drop_nulls())
    launchers = [name for name, own in _LAUNCHERS.items() if own & read]
    torch = _torch(tables, read)
    text = tables["events"]["text"]
    is_cuda = text.str.contains(_OF_CUDA).any() and not text.str.contains(_AS_CUDA).any()
    runtime: set[Vendor] = {"nvidia"} if is_cuda else set()
    groups = {_VENDOR_OF[torch.library]} if torch is not None and torch.library in _VENDOR_OF else set()
    vendors = sorted({name for name, own in _VENDORS.items() if own & read} | groups) or sorted(runtime)
    jobs = files["launch"].drop_nulls().unique().to_list()
    if not jobs and launchers == ["slurm"]:  # the name of no file tells it, but Slurm's own lines may
        told = tables["events"].filter(pl.col("text").str.contains(_STEP))["text"]
        jobs = told.str.extract(_STEP, 1).drop_nulls().unique().to_list()
    pods: Mapping[str, str | None] = pods_of(tables["events"])
    may_be_pods = launchers in ([], ["kubernetes"])
    if may_be_pods and (labelled := labelled_pods(files["last_lines"], tables["ranks"]["host"])):
        launchers, pods = ["kubernetes"], {**labelled, **pods}
    if "dlrover" in launchers:  # it runs upon Kubernetes
        launchers = [name for name in launchers if name != "kubernetes"]
    launcher = launchers[0] if len(launchers) == 1 else None
    job = jobs[0] if len(jobs) == 1 and launcher == "slurm" and _DIGITS.fullmatch(str(jobs[0])) else None
    vendor = vendors[0] if len(vendors) == 1 else None
    return Surroundings(launcher, vendor, job, pods if launcher in PODS else {}, None, torch)


def _torch(tables: Tables, read: set[str]) -> Torch | None:
    """PyTorch's process groups, by what they print, or by frames, calls and settings of PyTorch; by whose build, as they call
    themselves, else by whose devices."""
    text, used = tables["events"]["text"], set(tables["operations"]["backend"].unique())
    own = [name for name, pattern in _GROUPS.items() if name in used or text.str.contains(pattern).any()]
    if _OTHER_HCCL in read:
        own = [library for library in own if library != "hccl"]
    names = tables["settings"]["name"]
    is_said = (said.str.contains(_OF_TORCH.pattern).any() for said in (names, text))
    if not (own or _TORCH & read or any(is_said) or _has_frames(tables["stacks"])):
        return None
    by_devices = [library for library, vendor in _VENDOR_OF.items() if _VENDORS[vendor] & read]
    library = own[0] if len(own) == 1 else by_devices[0] if len(by_devices) == 1 else _by_words(text, names, read)
    is_set = (names == "TORCH_DISTRIBUTED_DEBUG") & (tables["settings"]["value"] == "DETAIL")
    return Torch(library, bool(text.str.contains(_DETAIL).any() or is_set.any()))


def _by_words(text: pl.Series, names: pl.Series, read: set[str]) -> Library:
    """Of a job that neither its process groups nor its devices tell of: gloo, where its errors are and nothing is of a device."""
    has_device = any(own & read for own in _VENDORS.values())
    if has_device or not text.str.contains(_OF_GLOO).any():
        return "nccl"
    return "nccl" if any(said.str.contains(_OF_DEVICES).any() for said in (text, names)) else "gloo"


def _has_frames(stacks: pl.DataFrame) -> bool:
    """Is a frame of PyTorch among the stacks?"""
    files = stacks.select(pl.col("frames").list.eval(pl.element().struct.field("file"))).to_series().explode()
    return bool(files.str.contains(_OF_TORCH.pattern).any())
