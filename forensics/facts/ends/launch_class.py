"""What a launch failed by, in the four classes that acceptance checks know: node, sub-health, network, storage."""

from typing import Literal

from forensics.facts.ends.storage_waits import STORAGE_SITES
from forensics.model.finding import Finding

LaunchClass = Literal["a node", "the sub-health of a node", "the network", "storage"]
_NODE = ("gpu_fault", "host_oom")
_NETWORK = ("network_fault", "wrong_interface")
_CHECKS = ("failed_node_check", "failed_check_of_host")


def launch_class(finding: Finding) -> LaunchClass | None:
    """By what a finding says, of a job that never came past its start; None: a program, a setting, or not known."""
    if finding.detector in _CHECKS:
        return "the sub-health of a node"
    if finding.site in STORAGE_SITES or finding.cause == "disk_full":
        return "storage"
    if finding.cause in _NODE or finding.detector == "node_failure":
        return "a node"
    return "the network" if finding.cause in _NETWORK else None
