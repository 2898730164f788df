"""Who never came to a job, as launchers, schedulers and their tables say it: a host that cannot be reached or has no address, a pod
or a group of them that was put nowhere.

    node07: ssh: Could not resolve hostname node07: Temporary failure in name resolution          ssh, below pdsh, mpirun, dask-ssh …
    ssh: connect to host node07 port 22: No route to host
    ssh_exchange_identification: …  /  Host key verification failed.                              (not read: no host stands there)
    Warning  FailedScheduling  34m  default-scheduler  0/9 nodes are available: 4 Insufficient nvidia.com/gpu.
    trainer-worker-3   0/1   Pending   0   34m                                                    kubectl get pods
    pod group is not ready, 3 Pending, 1 Running; 3/4 tasks in gang unschedulable                 Volcano
    (autoscaler +1m4s) Warning: The following resource request cannot be scheduled right now: {'GPU': 1.0}       Ray
    There are not enough slots available in the system to satisfy the 24                          Open MPI
    srun: error: Unable to create step for job 7: More processors requested than permitted        Slurm
    The worker group startup timed out after 1800.0 seconds waiting for 16 workers.               Ray Train

Events `missing_members`: code `unreachable` with names_hosts, `not_placed` (detail.pod where a pod is named), `too_few`. A host that is named is
the one that the launcher asked for.

Printed by: ssh below launchers, kubectl, Volcano, Ray, Open MPI, Slurm.
Versions: OpenSSH 3 to 10, Kubernetes 1, Volcano 1, Ray 2, Open MPI 1.8 to 5, Slurm 20 to 25.
Source: not read: sshconnect.c of OpenSSH, the scheduler's FitError of Kubernetes, Volcano's plugin gang, Ray's event summaries and
Ray Train's errors; the forms are as users print them.
"""

from collections.abc import Mapping

import polars as pl

from parsers.schema.parser import LineParser
from parsers.schema.rules import Rule, read_rules
from parsers.schema.tables import Tables
from parsers.text.patterns import regex

_HOST = r"(?P<name>[A-Za-z\d][\w.:-]{0,254}?)"
_WAITS = (
    r"Pending|ContainerCreating|PodInitializing|SchedulingGated|Unschedulable|ErrImagePull|ImagePullBackOff|InvalidImageName"
    r"|CreateContainerError|CreateContainerConfigError|Init:[\w/:]{1,30}"
)
# More processes are asked for than there are places: a launcher that says so starts none.
_ASKS_MORE = (
    r"\bThere are not enough slots available in the system\b|\bAll nodes which are allocated for this job are already filled\b"
    r"|\b(?:Unable to create step for job \d{1,12}|Unable to allocate resources|Batch job submission failed): (?:More \w{1,20} requested than permitted|Requested node configuration is not available|Node count specification invalid)"
)


def _named(groups: Mapping[str, str]) -> Mapping[str, object]:
    return {"names_hosts": [groups["name"]], "detail": {"name": None}}


RULES = (
    Rule(regex(rf"\bssh: Could not resolve hostname {_HOST}(?:: |\s*$)"), "missing_members", code="unreachable", refine=_named),
    Rule(
        regex(
            rf"\bssh: connect to host {_HOST} port \d{{1,5}}: (?:No route to host|Connection (?:refused|timed out|reset by peer)|Network is unreachable|Operation timed out)"
        ),
        "missing_members", code="unreachable", refine=_named,
    ),
    Rule(regex(r"\b0/(?P<of>\d{1,6}) nodes are available: (?P<why>[^.]{1,200})"), "missing_members", code="not_placed"),
    Rule(
        regex(
            rf"^\s*(?:[a-z\d][a-z\d-]{{0,62}}\s+)?(?P<pod>[a-z\d][a-z\d.-]{{2,252}})\s+0/\d{{1,3}}\s+(?P<state>{_WAITS})\s+\d{{1,6}}\s"
        ),
        "missing_members", code="not_placed",
    ),
    Rule(regex(r"\b(?P<missing>\d{1,6})/(?P<expected>\d{1,6}) tasks? in gang unschedulable"), "missing_members", code="not_placed"),
    Rule(
        regex(
            r"\bresource (?:request|demand)s? (?:cannot|can't|could not) be scheduled\b|\bplacement group\b.{0,60}\b(?:cannot|can't|infeasible|not schedulable)"
        ),
        "missing_members", code="not_placed", severity="warning",
    ),
    Rule(
        regex(r"\bworker group startup timed out after (?P<seconds>[\d.]{1,12}) seconds waiting for (?P<expected>\d{1,7}) workers"),
        "missing_members", code="too_few",
    ),
    Rule(regex(_ASKS_MORE), "missing_members", code="not_placed"),
)  # fmt: skip


def parse(lines: pl.DataFrame) -> Tables:
    """events missing_members."""
    return read_rules(lines, RULES, rank=None)


PARSER = LineParser(
    name="never_came",
    anchors=(
        b"ssh: ", b"nodes are available", b"in gang unschedulable", b"be scheduled", b"placement group", b"startup timed out", b"Pending ",
        b"ContainerCreating", b"PodInitializing", b"SchedulingGated", b"Unschedulable", b"ImagePull", b"InvalidImageName", b"CreateContainer",
        b"Init:", b"enough slots available", b"are already filled", b"requested than permitted", b"node configuration is not", b"count specification invalid",
    ),
    parse=parse,
)  # fmt: skip
