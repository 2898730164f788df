"""Plain words for the closed sets of the report. One place, so that terminal, page and Markdown say the same."""

from collections.abc import Mapping

from forensics.model.names import ActionKind, Cause, DecisionKind, Domain, Kind, Reason, Site, Status

KIND: Mapping[Kind, str] = {
    "hang": "HANG",
    "crash": "CRASH",
    "numerics": "NUMERICS",
    "slow": "SLOW",
    "launch": "LAUNCH FAILED",
    "healthy": "HEALTHY",
    "unknown": "UNKNOWN",
}
CAUSE: Mapping[Cause, str] = {
    "rank_absent": "alive, never entered the operation",
    "rank_died": "the process died while others waited",
    "collective_mismatch": "called another operation, size or type than the other members",
    "deadlock_cycle": "ranks wait for each other (deadlock)",
    "network_fault": "the network failed",
    "gpu_fault": "the GPU failed",
    "kernel_stuck": "entered the operation, but the GPU never finished it",
    "store_timeout": "the rendezvous store did not answer",
    "exception": "an exception was raised",
    "gpu_oom": "GPU memory ran out",
    "host_oom": "host memory ran out",
    "segfault": "segmentation fault",
    "killed": "killed by a signal",
    "disk_full": "the disk is full",
    "preempted": "the scheduler took its nodes away",
    "stopped_by_hand": "somebody stopped it",
    "time_limit": "the scheduler ended it at its time limit",
    "nan_birth": "NaN produced from finite inputs",
    "overflow": "overflow to Inf",
    "bad_state": "weights, optimizer or checkpoint already bad",
    "bad_input": "the input was already bad",
    "comm_corruption": "finite before the communication, bad after it",
    "replica_divergence": "replicas differ while all values are finite",
    "loss_scale_collapse": "the loss scale collapsed",
    "loss_spike": "the loss jumped",
    "underflow": "values vanished to zero",
    "straggler_compute": "computes more slowly than its peers",
    "straggler_host": "its host is slower than the others",
    "straggler_network": "its network is slower than the others",
    "throughput_drop": "throughput fell",
    "imbalance": "the work is spread unevenly",
    "wrong_interface": "the wrong network interface was chosen",
    "version_mismatch": "versions differ",
    "missing_ranks": "ranks never arrived",
    "config_drift": "settings differ between ranks",
}
STUCK: Mapping[Site, str] = {  # after "is stuck"
    "data_loading": "in data loading",
    "checkpoint_io": "reading or writing a checkpoint",
    "storage_io": "waiting for storage",
    "compute": "computing",
    "lock": "waiting for a lock",
    "compile": "compiling",
    "gpu_sync": "waiting for its GPU",
    "logging": "writing logs",
    "evaluation": "in evaluation",
    "teardown": "shutting down",
    "unresponsive": "and does not answer",
    "communication": "in communication",
    "unknown": "at a place that is not known",
}
STATUS: Mapping[Status, str] = {
    "established": "two or more sources that could have disagreed agree; none contradicts",
    "supported": "one source; none contradicts it",
    "hypothesis": "the best explanation; others are not excluded",
    "unknown": "the evidence does not decide",
}
REASON: Mapping[Reason, str] = {
    "all_entered_no_counters": "all members entered, and no counter shows who stopped",
    "culprit_among_missing": "a rank that said nothing of it may be at fault",
    "two_member_mismatch": "two members differ, and nothing shows which one is wrong",
    "ring_buffer_wrapped": "the Flight Recorder had overwritten the entries that decide",
    "clock_error_exceeds_gap": "the clocks differ by more than the gap between the events",
    "single_snapshot": "one snapshot does not show whether a rank is slow or stuck",
    "tied_explanations": "several explanations fit equally well",
    "membership_unknown": "the members of the group are not recorded",
    "mixed_attempts": "records of several launches cannot be told apart",
    "no_baseline": "there are no normal steps to compare with",
    "collector_is_suspect": "collecting the records may itself have caused this",
    "conflicting_evidence": "sources contradict each other",
    "no_hang": "nothing shows that the job hung",
    "nothing_found": "no rule explains what is in the bundle",
    "sampled_statistics": "not all tensors were observed, so the first bad value may not be recorded",
    "replica_tie": "replicas differ, and no majority shows which one is wrong",
    "no_time_witness": "nothing shows that the job stood still when this was taken",
}
ACTION: Mapping[ActionKind, tuple[str, str, str]] = {  # what to do, the same about a target, and who normally does it
    "ignore": ("Nothing has to be repaired", "Nothing has to be repaired in {}", "nobody"),
    "restart_job": ("Restart the job", "Restart {}", "scheduler"),
    "rollback": ("Load an older checkpoint", "Load {}", "model team"),
    "skip_data": ("Skip the data", "Skip {}", "model team"),
    "drain_node": ("Drain the host", "Drain {}", "scheduler"),
    "reset_gpu": ("Reset the GPU", "Reset {}", "data-centre operations"),
    "reboot_node": ("Reboot the host", "Reboot {}", "data-centre operations"),
    "inspect_hardware": ("Inspect the hardware", "Inspect the hardware of {}", "data-centre operations"),
    "inspect_network": ("Inspect the network", "Inspect the network of {}", "network operations"),
    "check_code": ("Check the code", "Check {}", "model team"),
    "check_data": ("Check the data", "Check {}", "model team"),
    "check_config": ("Check the settings", "Check the settings of {}", "model team"),
    "collect_more": ("Collect more evidence", "Collect {}", "whoever runs the job"),
}
DOMAIN: Mapping[Domain, str] = {
    "workload": "workload: model, data or configuration",
    "infrastructure": "infrastructure: GPU, host or network",
    "unknown": "not known whether workload or infrastructure",
}
DECISION: Mapping[DecisionKind, str] = {
    "restart": "restart",
    "stop": "do not restart yet",
    "evict": "restart without this host",
    "keep_running": "replace at the next checkpoint",
    "change_first": "change this first",
    "wait": "let it run",
    "cannot_tell": "",
}
VALUE: Mapping[str, str] = {"nan": "NaN", "inf": "Inf", "finite": "a finite value"}
ROLE: Mapping[str, str] = {"root": "first", "echo": "again", "infected": "spread"}
STATE: Mapping[str, str] = {
    "ok": "ok",
    "waiting": "waiting for others",
    "culprit": "at fault",
    "suspect": "suspect",
    "dead": "dead",
    "ended": "ended afterwards",
    "no_data": "no record",
}
LANE: Mapping[str, str] = {"culprit": "named ranks", "peers": "other ranks", "system": "hardware, system"}
