"""Which hosts the job runs on: a kernel's or a scheduler's word does not make a host part of it."""

from collections.abc import Mapping

import polars as pl

from forensics.identity import short_host
from parsers.tables import TableName

# What kernels, schedulers and tools print of hosts, whoever runs there.
OF_HOSTS = (
    "gpu_error", "gpu_lost", "pcie_error", "memory_error", "soft_lockup", "hung_task", "link_down", "link_up", "host_oom",
    "port_error", "storage_error", "segfault", "other", "scheduler", "node_check", "membership",
)  # fmt: skip


def job_hosts(tables: Mapping[TableName, pl.DataFrame], identity: pl.DataFrame) -> frozenset[str]:
    """Hosts that processes of the job spoke from, first labels."""
    hosts = set(identity["host"].drop_nulls().to_list()) if identity.height else set()
    for name in ("stacks", "operations", "events"):
        frame = tables[name]
        if name == "events":
            frame = frame.filter(~pl.col("kind").is_in(OF_HOSTS))
        hosts |= {short_host(host) for host in frame["host"].drop_nulls().unique().to_list() if host}
    return frozenset(hosts)
