"""Two tables that every step after the parsers goes by: what an event may be, and what follows from what. Causes have a folder
of their own (causes/).

`EVENTS[kind]` = (meaning, printer, roles): who prints such a row when it does not say so itself, and what it may be.
`CONSEQUENCES` = which end of a process needs no cause of its own, and what it then follows from.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from parsers.schema.event_kinds import EVENT_KINDS

Printer = Literal["process", "kernel", "launcher", "tool"]
# failure: ended or may end its printer. victim: its printer waited for, or lost, somebody else. symptom: shows that
# something is wrong without saying whose fault. hardware: a record of a device, link or host. recovery: something came
# back. lifecycle: the course of a job. note: neither.
Role = Literal["failure", "victim", "symptom", "hardware", "recovery", "lifecycle", "note"]


class Event(NamedTuple):
    meaning: str
    printer: Printer
    roles: tuple[Role, ...]


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
    **_events("process", ("note",), "comm_warning", "other", "expert_load", "recompute",
              "replay"),
    **_events("tool", ("symptom",), "ras_status", "node_check", "straggler"),
}  # fmt: skip

# A wait for others that ended at its time-out, by the word of who waited. Readers that ask for more add it.
RAN_OUT = ("collective_timeout", "barrier_missing", "store_timeout")

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
