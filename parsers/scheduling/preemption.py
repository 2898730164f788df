"""What clouds, clusters and launchers without a format of their own say of machines that are taken away and workers that end.

    Spot instance interruption notice: instance i-0a1 will be terminated at 2026-01-31T10:13:12Z
    {"EventId": "0A1B", "EventType": "Preempt", "Resources": ["gpu-3"], "NotBefore": "…"}                       Azure
    GET …/latest/meta-data/spot/instance-action -> 200 {"action": "terminate", "time": "2026-01-31T10:13:12Z"}       whoever asks it, on that machine
    node gpu-3: the instance was preempted  ·  compute.instances.preempted gpu-3
    Preempted in order to admit critical pod                                                                                    kubelet
    Preempted to accommodate a workload (UID: 8b2f-13, JobUID: 2cc2) due to prioritization in the ClusterQueue                  Kueue
    Evicted to accommodate a workload (UID: 8b2f-13) due to migration to more favorable resource flavor                         Kueue
    Pod is evicted, because of preempt                       or reclaim, gangpreempt, gangreclaim                               Volcano
    evicting pod lab/fit-2                                                                                         kubectl drain
    "Evicted pod" pod="lab/fit-2" reason="" strategy="LowNodeUtilization" node="gpu-3"                             descheduler
    StandardAutoscaler: Terminating the node with id fit-2 and ip 10.1.0.4. (idle)                                 Ray
    INF Adding new event to the event store event={"Description":"Spot ITN received. Instance will be interrupted at …","NodeName":"gpu-3"}  AWS
    Scale-down: removing node gpu-3, utilization: {0.04 0.11 0 cpu 0.11}, pods to reschedule: ml/worker-2           cluster-autoscaler
    =>> PBS: job killed: walltime 43221 exceeded limit 43200                                                       PBS, TORQUE
    TERM_RUNLIMIT: job killed after reaching LSF run time limit.                                                   LSF
    job 811.1 exceeded hard wallclock time - initiate terminate method                                             Grid Engine
    flux-job: job.exception type=timeout severity=0 resource allocation expired                                    Flux
    Job to be deleted at request of ann@login1                                                                     PBS, TORQUE: a person's qdel
    TERM_OWNER: job killed by owner.                                                                               LSF
    via condor_rm (by user ann)                                                                                    HTCondor
    06/01/2026 04:15:02|worker|sge|I|ann has registered the job 811 for deletion                                   Grid Engine
    submitit WARNING (2026-01-31 10:11:12,000) - Caught signal SIGUSR2 on gpu-3: this job is preempted.    (or timed-out)
    LAUNCH INFO 2026-01-31 10:11:12,000 Terminating with signal 2                                       Paddle, to which it was sent
    LAUNCH ERROR 2026-01-31 10:11:12,000 Container rank 3 status failed cmd ['python', 'a.py'] code -9 log log/workerlog.3   Paddle
    [ERROR] ME(…) worker process 4711 exit with exception. Error code: -9                                               MindSpore
    The node: 3 is timed out. It may exit with exception, please check this node's log.                                 MindSpore

A preemption is an event `scheduler` with code preemption, the end of a job's time one with code time_limit, its deletion by a person one with code cancelled: an order from outside, no fault. Kubernetes' TaintManagerEviction is
none: it follows a node that is not ready. Paddle's rank is the container's
in its pod (`local_rank` by its log's name), MindSpore's node is a process of the job.

Printed by: cloud agents, Kubernetes' schedulers and autoscalers, PBS, LSF, Grid Engine, Flux, submitit (its signal handler, signal USR2 before the end), paddle.distributed.launch, msrun of MindSpore.
Versions: kubectl 1.17 and later, descheduler 0.20 and later, Ray 1 and 2; Paddle 2.3 to 3.1, MindSpore 2.0 to 2.7; the words of clouds change.
Source: read were kueue's pkg/scheduler/preemption and scheduler.go; volcano's pkg/scheduler/cache/cache.go with the reasons of
pkg/scheduler/actions (shuffle is none: it moves a pod); kubelet's message before it admits a critical pod.
Not read for this list, forms as users print them: AWS' node termination handler, the cluster autoscaler's actuator, Karpenter's events, resmom
of PBS, TERM_RUNLIMIT and TERM_OWNER of LSF, condor_rm's log, Grid Engine's qmaster, Flux's job-exec; submitit/core/job_environment.py; paddle/distributed/launch/job/container.py and
controllers/controller.py; mindspore/parallel/cluster and meta_server_node.cc; cloud documentation.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from parsers.schema.parser import LineParser
from parsers.schema.rules import Rule, integer, read_rules
from parsers.schema.tables import Tables
from parsers.text.patterns import regex
from parsers.text.signals import SIGNALS, ended
from parsers.text.taken_away import BY_HAND, OF_ASKING, OUT_OF_TIME, TAKEN_AWAY


def _coded(groups: Mapping[str, str]) -> dict[str, Any]:
    if not groups.get("number"):  # MindSpore up to 2.4 does not print it
        return {"code": "exception", "severity": "error"}
    name = ended(integer(groups["number"]) or 0)
    return {"code": name, "severity": "info" if name in ("0", "SIGTERM") else "error", "detail": {"number": None}}


def _signalled(groups: Mapping[str, str]) -> dict[str, Any]:
    number = integer(groups["number"]) or 0
    return {"code": SIGNALS.get(number), "detail": {"number": None}}


RULES = (
    Rule(OF_ASKING, "scheduler", "fatal", "preemption", lambda _: {"detail": {"of": "printer"}}),
    *(Rule(pattern, "scheduler", "fatal", "preemption") for pattern in TAKEN_AWAY),
    *(Rule(pattern, "scheduler", "fatal", "time_limit") for pattern in OUT_OF_TIME),
    *(Rule(pattern, "scheduler", "fatal", "cancelled") for pattern in BY_HAND),
    Rule(regex(r"Caught signal SIG\w{2,8} on \S{1,255}: this job is (?P<how>preempted|timed-out)\b"), "scheduler", "fatal",
         refine=lambda groups: {"code": "preemption" if groups["how"] == "preempted" else "time_limit", "detail": {"how": None}}),
    Rule(
        regex(r"\bContainer rank (?P<container>-?\d{1,7}) status (?P<status>failed|\w{1,20}) .{0,4000}?\bcode (?P<number>-?\d{1,5}) log "
                   r"\S{0,300}?workerlog\.(?P<local_rank>\d{1,4})"),
        "exit", refine=_coded,
    ),
    Rule(regex(r"LAUNCH INFO .{10,40} Terminating with signal (?P<number>\d{1,2})\s*$"), "closing_signal", "warning", refine=_signalled),
    Rule(
        regex(r"(?i)\bworker process (?P<pid>\d{1,9}) exit with exception\b\.?(?: ?rank(?: id)?: (?P<rank>\d{1,7}),?)?(?: ?(?:error|exit) code: (?P<number>-?\d{1,5}))?"), "exit", refine=_coded
    ),
    Rule(regex(r"The node: (?P<node>\d{1,7}) is timed out\. It may exit with exception"), "heartbeat_lost",
         refine=lambda groups: {"names_ranks": [int(groups["node"])], "detail": {"node": None}}),
)  # fmt: skip
_NODE = r"(?i)\bnode[ _-]?name\\?\"?[=:] ?\\?\"?([a-z\d][a-z\d.-]{1,252})|\bremoving node ([a-z\d][a-z\d.-]{1,252})|: node ([a-z\d][a-z\d.-]{1,252}) is going to be deleted|/instances/([a-z\d][a-z\d-]{1,252})\b"
_NAME = r"([a-z0-9][a-z0-9.-]{0,252})"
_POD = rf"\bevicting pod [a-z0-9-]{{1,63}}/{_NAME}|\"Evicted pod\" pod=\"[a-z0-9-]{{1,63}}/{_NAME}\"|\bTerminating the node with id {_NAME} and ip\b"
_COMMAND = r"^(?:\S+@[^$#]*)?\$ "  # what somebody typed asks, and tells of nothing


def parse(lines: pl.DataFrame) -> Tables:
    """events scheduler, with the node or the pod that is told in `detail.object`, exit, closing_signal, heartbeat_lost."""
    tables = dict(read_rules(lines.filter(~pl.col("text").str.contains(_COMMAND)), RULES))
    node = pl.coalesce(pl.col("text").str.extract(_NODE, group) for group in (1, 2, 3, 4)).str.to_lowercase()
    pod = pl.coalesce(pl.col("text").str.extract(_POD, group) for group in (1, 2, 3))
    is_told, of_pod = ((pl.col("kind") == "scheduler") & name.is_not_null() for name in (node, pod))
    of_node, told_pod = (
        pl.concat_str(pl.lit(f'{{"object": "{kind}/'), name, pl.lit('"}'))
        for kind, name in (("node", node), ("pod", pod))
    )
    tables["events"] = tables["events"].with_columns(
        names_hosts=pl.when(is_told).then(pl.concat_list(node)).otherwise("names_hosts"),
        detail=pl.when(of_pod).then(told_pod).when(is_told).then(of_node).otherwise("detail"),
    )
    return tables


PARSER = LineParser(
    name="preemption",
    anchors=(
        b"preempted", b"nterruption notice", b"nterruption warning", b"nterruption Notice", b"nterruption Warning", b"EventType", b'"action": "', b'"action":"', b"Preempted ", b"Evicted to accommodate", b"Pod is evicted", b"reemption notice",
        b"be interrupted", b"being interrupted", b"be reclaimed", b"being reclaimed", b"be taken back", b"being terminated", b"being preempted", b"Scale-down: ", b"scale down", b"evicting pod ", b'"Evicted pod" pod=', b"StandardAutoscaler: Terminating",
        b"walltime", b"wallclock", b"wall time", b"TERM_RUNLIMIT", b"run time limit", b"type=timeout", b"specified deadline", b"enforced h_rt", b"MaxRuntimeExceeded",
        b"exceeded timeout", b"time limit", b"TIME LIMIT",
        b"deleted at request of ", b"TERM_OWNER", b"condor_rm", b" has deleted job ", b" for deletion",
        b"Container rank ", b"Terminating with signal ", b"exit with exception", b" is timed out. It may", b": this job is ",
    ),
    parse=parse,
)  # fmt: skip
