"""Three tables that every step after the parsers goes by: what an event may be, what a cause is, what follows from what.

`EVENTS[kind]` = (meaning, printer, roles): who prints such a row when it does not say so itself, and what it may be.
`CAUSES[cause]` = (kinds, holds, leads_to, domain): which kinds of incident it may be the cause of, what its subject is,
and which other causes it brings about on the same subject. `CONSEQUENCES` = which end of a process needs no cause of its
own, and what it then follows from.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from forensics.model.names import Cause, Domain, Kind
from parsers.event_kinds import EVENT_KINDS

Printer = Literal["process", "kernel", "launcher", "tool"]
# failure: ended or may end its printer. victim: its printer waited for, or lost, somebody else. symptom: shows that
# something is wrong without saying whose fault. hardware: a record of a device, link or host. recovery: something came
# back. lifecycle: the course of a job. note: neither.
Role = Literal["failure", "victim", "symptom", "hardware", "recovery", "lifecycle", "note"]


class Event(NamedTuple):
    meaning: str
    printer: Printer
    roles: tuple[Role, ...]


class CauseRow(NamedTuple):
    kinds: tuple[Kind, ...]
    holds: Literal["process", "device", "link", "call", "value", "job"]
    leads_to: tuple[Cause, ...]
    domain: Domain


def _events(printer: Printer, roles: tuple[Role, ...], *kinds: str) -> dict[str, Event]:
    return {kind: Event(EVENT_KINDS[kind], printer, roles) for kind in kinds}


EVENTS: Mapping[str, Event] = {
    **_events("launcher", ("failure", "lifecycle"), "exit", "first_failure"),
    **_events("launcher", ("lifecycle",), "closing_signal", "membership", "scheduler"),
    **_events("process", ("failure",), "exception", "cuda_error", "gpu_oom", "disk_full", "config_error", "bad_loss"),
    **_events("process", ("failure", "symptom"), "nan_assert", "replica_mismatch"),
    **_events("process", ("victim",), "collective_timeout", "store_timeout", "missing_members", "peer_closed",
              "connect_failed", "remote_error", "barrier_missing", "comm_abort"),
    **_events("process", ("victim", "symptom"), "desync", "fingerprint_mismatch", "size_mismatch", "heartbeat_lost",
              "dump_signal", "completion_error"),
    **_events("kernel", ("hardware", "failure"), "gpu_lost", "segfault", "host_oom"),
    **_events("kernel", ("hardware",), "gpu_error", "port_error", "link_down", "storage_error", "pcie_error",
              "memory_error", "soft_lockup", "hung_task"),
    **_events("kernel", ("recovery",), "link_up"),
    **_events("process", ("lifecycle",), "comm_init_start", "comm_init_complete", "comm_destroy", "job_start", "job_end",
              "checkpoint_save", "checkpoint_persist", "checkpoint_load"),
    **_events("process", ("symptom",), "loss_scale"),
    **_events("process", ("note",), "comm_warning", "other", "expert_load", "recompute"),
    **_events("tool", ("symptom",), "ras_status", "node_check", "straggler"),
}  # fmt: skip

_END: tuple[Kind, ...] = ("crash",)
_WAIT: tuple[Kind, ...] = ("hang",)
_ANY: tuple[Kind, ...] = ("hang", "crash", "launch")
CAUSES: Mapping[Cause, CauseRow] = {
    "rank_absent": CauseRow(_WAIT, "process", (), "unknown"),
    "rank_died": CauseRow(_WAIT, "process", ("rank_absent",), "unknown"),
    "collective_mismatch": CauseRow(("hang", "crash"), "call", ("rank_absent", "exception"), "workload"),
    "deadlock_cycle": CauseRow(_WAIT, "call", ("rank_absent",), "workload"),
    "network_fault": CauseRow(_ANY, "link", ("store_timeout",), "infrastructure"),
    "gpu_fault": CauseRow(
        _ANY,
        "device",
        ("kernel_stuck", "rank_absent", "rank_died", "exception", "segfault", "killed"),
        "infrastructure",
    ),
    "kernel_stuck": CauseRow(_WAIT, "device", (), "unknown"),
    "store_timeout": CauseRow(("hang", "launch"), "job", (), "unknown"),
    "exception": CauseRow(_END, "process", ("rank_absent", "rank_died"), "workload"),
    "gpu_oom": CauseRow(_END, "process", ("exception", "rank_absent", "rank_died"), "workload"),
    "host_oom": CauseRow(_END, "process", ("killed", "rank_died", "rank_absent"), "unknown"),
    "segfault": CauseRow(_END, "process", ("rank_died", "rank_absent"), "unknown"),
    "killed": CauseRow(_END, "process", ("rank_died", "rank_absent"), "unknown"),
    "disk_full": CauseRow(_END, "process", ("exception", "rank_died", "rank_absent"), "unknown"),
    "preempted": CauseRow(_END, "job", (), "infrastructure"),
    "stopped_by_hand": CauseRow(_END, "job", (), "unknown"),
    "time_limit": CauseRow(_END, "job", (), "workload"),
    "nan_birth": CauseRow(("numerics",), "value", ("exception",), "unknown"),
    "overflow": CauseRow(("numerics",), "value", ("nan_birth", "exception"), "unknown"),
    "bad_state": CauseRow(("numerics",), "value", ("nan_birth", "exception"), "unknown"),
    "bad_input": CauseRow(("numerics",), "value", ("nan_birth", "exception"), "workload"),
    "comm_corruption": CauseRow(("numerics",), "value", ("nan_birth", "exception"), "infrastructure"),
    "replica_divergence": CauseRow(("numerics",), "value", ("nan_birth", "loss_spike", "exception"), "unknown"),
    "loss_scale_collapse": CauseRow(("numerics",), "value", (), "workload"),
    "loss_spike": CauseRow(("numerics",), "value", ("nan_birth",), "workload"),
    "underflow": CauseRow(("numerics",), "value", (), "workload"),
    "straggler_compute": CauseRow(("slow",), "process", (), "unknown"),
    "straggler_host": CauseRow(("slow",), "process", (), "unknown"),
    "straggler_network": CauseRow(("slow",), "link", (), "infrastructure"),
    "throughput_drop": CauseRow(("slow",), "job", (), "unknown"),
    "imbalance": CauseRow(("slow",), "process", (), "workload"),
    "wrong_interface": CauseRow(
        ("launch",), "job", ("store_timeout", "network_fault", "missing_ranks"), "infrastructure"
    ),
    "version_mismatch": CauseRow(("launch",), "job", (), "workload"),
    "missing_ranks": CauseRow(("launch",), "process", ("store_timeout",), "unknown"),
    "config_drift": CauseRow(("launch", "numerics"), "job", (), "workload"),
}

# An end of a process → what it follows from, when that came first in the same process or by the launcher's word.
CONSEQUENCES: Mapping[str, tuple[str, ...]] = {
    "SIGABRT": ("collective_timeout", "heartbeat_lost", "comm_abort", "desync", "barrier_missing", "store_timeout"),
    "SIGSEGV": ("collective_timeout", "heartbeat_lost", "comm_abort", "closing_signal"),  # in teardown
    "SIGKILL": ("closing_signal",),  # after the grace period
    "SIGTERM": ("closing_signal",),
    "exception": (
        "collective_timeout", "store_timeout", "missing_members", "peer_closed", "remote_error", "fingerprint_mismatch",
        "barrier_missing", "desync", "nan_assert", "bad_loss", "replica_mismatch",
    ),
}  # fmt: skip
