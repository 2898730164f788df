"""The closed lists of words that incident.json and the findings are written in."""

from typing import Literal

Kind = Literal["hang", "crash", "numerics", "slow", "launch", "healthy", "unknown"]
Cause = Literal[
    "rank_absent", "rank_died", "collective_mismatch", "deadlock_cycle", "network_fault", "gpu_fault", "kernel_stuck",
    "store_timeout", "exception", "gpu_oom", "host_oom", "segfault", "killed", "disk_full", "preempted", "stopped_by_hand",
    "time_limit", "nan_birth", "overflow", "bad_state", "bad_input", "comm_corruption", "replica_divergence", "loss_scale_collapse",
    "loss_spike", "underflow", "straggler_compute", "straggler_host", "straggler_network", "throughput_drop", "imbalance",
    "wrong_interface", "version_mismatch", "missing_ranks", "config_drift",
]  # fmt: skip
Status = Literal["established", "supported", "hypothesis", "unknown"]
Site = Literal[
    "data_loading", "checkpoint_io", "storage_io", "compute", "lock", "compile", "gpu_sync", "logging", "evaluation", "teardown",
    "unresponsive", "communication", "unknown",
]  # fmt: skip
Reason = Literal[
    "all_entered_no_counters", "culprit_among_missing", "two_member_mismatch", "ring_buffer_wrapped", "clock_error_exceeds_gap",
    "single_snapshot", "tied_explanations", "membership_unknown", "mixed_attempts", "no_baseline", "collector_is_suspect",
    "conflicting_evidence", "no_hang", "nothing_found", "sampled_statistics", "replica_tie", "no_time_witness",
]  # fmt: skip
ActionKind = Literal[
    "ignore", "restart_job", "rollback", "skip_data", "drain_node", "reset_gpu", "reboot_node", "inspect_hardware",
    "inspect_network", "check_code", "check_data", "check_config", "collect_more",
]  # fmt: skip
Domain = Literal["workload", "infrastructure", "unknown"]
Severity = Literal["minor", "severe", "fatal"]
Direction = Literal["for", "against", "unseen"]
SymptomKind = Literal["waiting", "ended", "bad_value", "slow", "never_started"]
DecisionKind = Literal["restart", "stop", "evict", "keep_running", "change_first", "wait", "cannot_tell"]
# What an incident is decided by; forensics/setup/settings.toml says what each of them is, and how it is got.
EvidenceKind = Literal[
    "dump", "stack", "log", "comm", "ras", "kernel", "device", "port", "launcher", "core", "tensors", "times", "settings",
]  # fmt: skip
RankState = Literal["ok", "waiting", "culprit", "suspect", "dead", "ended", "no_data"]
# What a source says of a rank and a call of its group (facts/waits/positions.py).
POSITION_STATES = ("unknown", "absent", "entered", "enqueued", "started", "completed", "timed_out")
POSITION_SOURCES = (
    "flight_record", "watchdog", "collective_line", "ras", "desync", "barrier", "fingerprint", "stack",
)  # fmt: skip
