"""Who started the job, and whose devices it ran on: what decides which command reaches a process or a host."""

from collections.abc import Mapping

import polars as pl

from forensics.facts.pods import pods_of
from forensics.model.commands import PODS, Launcher, Surroundings, Vendor
from parsers.schema.tables import TableName
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


def surroundings(tables: Mapping[TableName, pl.DataFrame]) -> Surroundings:
    """Known only where the files speak for exactly one launcher, vendor or job."""
    files = tables["files"]
    read = set(files["parsers"].explode().drop_nulls())
    launchers = [name for name, own in _LAUNCHERS.items() if own & read]
    vendors = [name for name, own in _VENDORS.items() if own & read]
    jobs = files["launch"].drop_nulls().unique().to_list()
    if "dlrover" in launchers:  # it runs upon Kubernetes
        launchers = [name for name in launchers if name != "kubernetes"]
    launcher = launchers[0] if len(launchers) == 1 else None
    job = jobs[0] if len(jobs) == 1 and launcher == "slurm" and _DIGITS.fullmatch(str(jobs[0])) else None
    vendor = vendors[0] if len(vendors) == 1 else None
    return Surroundings(launcher, vendor, job, pods_of(tables["events"]) if launcher in PODS else {})
