"""Which hosts the job runs on: a kernel's or a scheduler's word does not make a host part of it."""

import polars as pl

from forensics.model.hosts import short_host
from forensics.model.told import values
from parsers.schema.event_kinds import IN_TURN, NO_RANK
from parsers.schema.tables import Tables

# What kernels, schedulers and tools print of hosts, whoever runs there.
OF_HOSTS = (
    "gpu_error", "gpu_lost", "pcie_error", "memory_error", "soft_lockup", "hung_task", "link_down", "link_up", "host_oom",
    "port_error", "storage_error", "segfault", "other", "scheduler", "node_check", "membership",
)  # fmt: skip

_OF_PROCESSES = (
    "node name",
    NO_RANK,
    IN_TURN,
)  # statements of `ranks` that tell no rank, and where a process of the job runs


def job_hosts(tables: Tables, identity: pl.DataFrame) -> frozenset[str]:
    """Hosts that processes of the job spoke from, or say that they run on, first labels; where a script begins the job on a list of hosts, all of these."""
    hosts = values(identity["host"]) if identity.height else set()
    nodes = tables["ranks"].filter(pl.col("how").is_in(_OF_PROCESSES))["host"]
    hosts |= {short_host(host) for host in values(nodes)}
    for name in ("stacks", "operations", "events"):
        frame = tables[name]
        if not frame.height:
            continue
        if name == "events":
            frame = frame.filter(~pl.col("kind").is_in(OF_HOSTS))
        hosts |= {short_host(host) for host in values(frame["host"]) if host}
    listed = {short_host(host) for host in values(tables["ranks"].filter(pl.col("how") == IN_TURN)["host"])}
    return frozenset(hosts | listed if hosts <= listed else hosts)  # else the script is another job's


def is_only_about_hosts(tables: Tables, events: pl.DataFrame, seen: frozenset[int]) -> bool:
    """Does every file speak of hosts and devices alone, so that nothing of a job is there to be blamed or cleared?"""
    kinds = [kind for kind in OF_HOSTS if kind != "other"]  # which any program may print: alone it tells of no host
    told = (events.filter(pl.col("kind").is_in(kinds)), tables["devices"], tables["locations"])
    about = {file for frame in told for file in frame["file"]}
    files = tables["files"].filter(pl.col("bytes").fill_null(0) > 0)["file"].to_list()
    processes = events.filter(~pl.col("kind").is_in(OF_HOSTS))
    return set(files) <= about and not (seen or processes.height or tables["steps"].height)
