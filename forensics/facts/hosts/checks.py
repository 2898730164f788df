"""What checks of nodes before or beside a job say of hosts: who failed which test, what the test is of, who a node is.

A test that a host makes alone accuses that host; one that it makes with another accuses both, and only a second partner
tells them apart. What a test is of follows from its name, by the list below (MegaScale, section on self-checks; DLRover's
node check). A check that passed clears nobody: a fault may come later, or show only under load.
"""

from collections import defaultdict
from collections.abc import Mapping

import msgspec
import polars as pl

from forensics.facts.rows.event_rows import Row, detail, rows
from forensics.model.names import Cause
from forensics.model.said import Said
from forensics.words import facts as words

# Words of a test's name, what it is of, and what its failure would be the cause of. The first row that fits counts.
_MEANINGS: tuple[tuple[tuple[str, ...], Said, Cause], ...] = (
    (("loopback",), words.TEST_OF["loopback"], "network_fault"),
    (("rnic_to_rnic", "nic_to_nic", "rnic2rnic", "nic2nic"), words.TEST_OF["adapters"], "network_fault"),
    (("intra", "nvlink", "mtlink", "metaxlink"), words.TEST_OF["links"], "gpu_fault"),
    (("tor", "switch", "neighbor", "neighbour"), words.TEST_OF["switch"], "network_fault"),
    (("matmul", "gemm", "compute", "stress", "flops"), words.TEST_OF["compute"], "gpu_fault"),
    (("pcie",), words.TEST_OF["pcie"], "gpu_fault"),
    (("memory", "hbm", "ecc"), words.TEST_OF["memory"], "gpu_fault"),
    (("allgather", "all_gather", "allreduce", "all_reduce", "alltoall", "bandwidth", "network"), words.TEST_OF["network"],
     "network_fault"),
)  # fmt: skip


class HostChecks(msgspec.Struct, frozen=True):
    """`failed`: test → rows of it, alone. `passed`: tests that it passed and never failed."""

    failed: Mapping[str, tuple[Row, ...]]
    passed: frozenset[str]


def meaning(test: str) -> tuple[Said, Cause] | None:
    """(what a test is of, the cause that its failure would be)."""
    name = test.lower().replace("-", "_").replace(" ", "_")
    return next(((text, cause) for parts, text, cause in _MEANINGS if any(part in name for part in parts)), None)


def host_checks(events: pl.DataFrame) -> dict[str, HostChecks]:
    """Host → its checks that it made alone, or of which the tool says that they failed; the last result of a test counts."""
    last: dict[tuple[str, str], Row] = {}
    passed: dict[str, set[str]] = defaultdict(set)
    for row in rows(events, "node_check"):
        more = detail(row)
        test = str(more.get("test") or "check")
        if row["host"] is None:
            continue
        if row["code"] == "ok":
            passed[row["host"]].add(test)
        if not more.get("peers"):
            last[row["host"], test] = row
    failed: dict[str, dict[str, tuple[Row, ...]]] = defaultdict(dict)
    for (host, test), newest in last.items():
        if newest["code"] == "failed":
            failed[host][test] = (newest,)
    hosts = {*failed, *passed}
    return {host: HostChecks(failed[host], frozenset(passed[host] - failed[host].keys())) for host in hosts}


def hosts_of_nodes(events: pl.DataFrame) -> dict[int, str]:
    """Number of a node → the host that it says it is, else the pod that is launched anew for it."""
    found: dict[int, str] = {}
    for row in rows(events, "membership"):
        if row["names_rank_space"] == "node" and row["names_hosts"] and row["code"] == "node_rank":
            found |= dict.fromkeys(row["names_ranks"] or (), row["names_hosts"][0])
    return found
