"""What the words of a verdict mean: per cause, status, site and reason what it says, what looks alike, and what to do."""

from collections.abc import Mapping
from typing import NamedTuple

from forensics.model.names import Cause, Reason, Status


class Meaning(NamedTuple):
    """`means`: what happened. `alike`: what looks like it, and what tells them apart. `do`: what helps."""

    means: str
    alike: str
    do: str


CAUSES: Mapping[Cause, Meaning] = {
    "rank_absent": Meaning(
        "A living rank never entered an operation that all other members wait in. The fault is in what it did instead: data loading, a checkpoint, a lock, a slow branch.",
        "A dead rank (rank_died) prints no more; a rank that entered and did not finish (kernel_stuck) has the operation in its own record; a rank without any record is no absent rank.",
        "Look at the stack of that rank, at the line it names, and at what this line waits for: storage, another process, a lock.",
    ),
    "rank_died": Meaning(
        "A process ended while others waited for it, and nothing shows of what.",
        "With an exit code or an exception the cause is a crash; a rank that is silent and alive is rank_absent.",
        "Read the kernel log of its host and the scheduler's record of the job.",
    ),
    "collective_mismatch": Meaning(
        "Members of a group made different calls at the same place: another operation, size or type, or one call more.",
        "rank_absent: the rank made no call at all. The side that differs is named only where more than half of all members agree.",
        "Look for a branch that depends on data or on the rank: an evaluation, a skipped batch, a parameter without gradient.",
    ),
    "deadlock_cycle": Meaning(
        "Ranks wait for each other: each has entered the operation that another one has yet to reach.",
        "One absent rank may hold up many groups; a cycle is closed only where every rank in it waits for another one of it.",
        "Give all ranks the same order of groups, or of sends and receives.",
    ),
    "network_fault": Meaning(
        "A link, adapter or switch failed: transfers were given up, or a port reported it.",
        "A process that died closes its connections, which looks the same from the other end.",
        "Read the port counters of both ends and the switch's log; keep the host out until they are clear.",
    ),
    "gpu_fault": Meaning(
        "A GPU reported an error of its own before the job stopped.",
        "An error after the job was stopped is a consequence. A correctable error accuses nobody.",
        "Take the host out of service and test the GPU.",
    ),
    "kernel_stuck": Meaning(
        "A rank entered an operation, all other members completed it, and its GPU did not.",
        "gpu_fault has a record of the driver besides. Where nobody completed it, no member can be told from another.",
        "Take a native stack of the process, and read the driver's log of that GPU.",
    ),
    "store_timeout": Meaning(
        "The store where ranks meet did not answer in time.",
        "The process that holds it may be gone, or ranks that never started are waited for (missing_ranks).",
        "Look at rank 0 and at the host of the store first.",
    ),
    "exception": Meaning(
        "A rank raised an exception that is no consequence of somebody else's failure.",
        "Time-outs and closed connections are raised by victims, and do not count.",
        "Read the innermost line of the user's own code in the traceback.",
    ),
    "gpu_oom": Meaning(
        "A rank ran out of GPU memory.",
        "host_oom is the memory of the host; a leak shows as growth over steps.",
        "Smaller micro-batches, more sharding, recomputation.",
    ),
    "host_oom": Meaning(
        "The kernel, or the limit of a container, ended a process because memory of the host ran out.",
        "SIGKILL without such a record is killed: nobody knows who sent it.",
        "Fewer data workers and batches kept ahead; a higher limit.",
    ),
    "segfault": Meaning(
        "A process crashed in native code.",
        "A crash while the job is taken down is a consequence.",
        "Read the core dump; compare versions of libraries and drivers.",
    ),
    "killed": Meaning(
        "A process was ended by SIGKILL, and no record shows who sent it.",
        "With a kernel record it is host_oom; with a scheduler's record preempted or time_limit.",
        "Read the kernel log and the scheduler's record.",
    ),
    "disk_full": Meaning(
        "Writing failed because the disk, or shared memory, was full.",
        "A full /dev/shm says the same as a full disk; the path tells which.",
        "Make room before the restart.",
    ),
    "preempted": Meaning(
        "The scheduler took the job's nodes for another job.",
        "time_limit is planned.",
        "Nothing in the job is at fault: restart it.",
    ),
    "stopped_by_hand": Meaning(
        "Somebody stopped the job.",
        "People stop jobs that hang: stacks or records from before tell whether it did.",
        "If it hung, take stacks before it is stopped the next time.",
    ),
    "time_limit": Meaning(
        "The scheduler ended the job at its time limit.",
        "A job that hung until the limit ends in the same way.",
        "Look at the last step: did the job still make progress?",
    ),
    "nan_birth": Meaning(
        "NaN came out of an operation whose inputs were finite.",
        "overflow shows Inf first; bad_state and bad_input were bad before; comm_corruption came out of a communication.",
        "Repeat the operation with the same inputs, on another GPU too.",
    ),
    "overflow": Meaning(
        "A value left the range of its format: Inf before any NaN.",
        "nan_birth has no Inf before it. An Inf that a mask makes is none.",
        "Check the learning rate, the loss scale and the format of that module.",
    ),
    "bad_state": Meaning(
        "Weights or the optimizer's state were bad when first seen.",
        "The cause lies before: an earlier step, or the checkpoint that was loaded.",
        "Load an older checkpoint; check the one that was loaded.",
    ),
    "bad_input": Meaning(
        "The batch was bad already.", "A first layer that makes NaN has a finite input.", "Check the data of that step."
    ),
    "comm_corruption": Meaning(
        "A communication gave a bad value although all its observed inputs were finite.",
        "A sum can overflow: that is overflow.",
        "Test the GPUs and the links between them.",
    ),
    "replica_divergence": Meaning(
        "Ranks that must hold the same values differ, and all values are finite: silent corruption, or a missing synchronisation.",
        "Sums in another order differ in the last bits; compared are only copies of one result.",
        "Repeat the step on another GPU; check that all replicas take part in the synchronisation.",
    ),
    "loss_scale_collapse": Meaning(
        "The loss scale fell step by step, because gradients kept overflowing.",
        "A scale that falls now and then and recovers is normal.",
        "Find the module whose gradients overflow.",
    ),
    "loss_spike": Meaning(
        "The loss rose suddenly.", "A slow rise is no spike.", "Check the data of that step; go back and skip it."
    ),
    "underflow": Meaning(
        "Gradients vanished to zero.",
        "Frozen parameters have none.",
        "A higher loss scale, or a format with more range.",
    ),
    "straggler_compute": Meaning(
        "A rank computes more slowly than its peers.",
        "A rank that waits for a slow one looks slow in total; its own compute time is not.",
        "Check clocks, temperature and power of that GPU.",
    ),
    "straggler_host": Meaning(
        "A rank loses time on the host: data, Python, the file system.",
        "straggler_compute loses it on the GPU.",
        "Look for other processes on that host, and at its data loader.",
    ),
    "straggler_network": Meaning(
        "A rank's transfers are slower than those of its peers.",
        "Waiting for a slow rank looks like a slow transfer.",
        "Read port counters, and compare the rates of the links.",
    ),
    "throughput_drop": Meaning(
        "The job became slower at a step and stayed slow.",
        "One log does not show which rank holds the others up.",
        "Record timers per rank.",
    ),
    "imbalance": Meaning(
        "The work is spread unevenly: some ranks get more tokens, experts or layers.",
        "A slow GPU is slow with equal work.",
        "Spread the work anew.",
    ),
    "wrong_interface": Meaning(
        "A rank announced an address that other hosts cannot reach.",
        "A firewall refuses good addresses, too.",
        "Name the interface: NCCL_SOCKET_IFNAME, GLOO_SOCKET_IFNAME.",
    ),
    "version_mismatch": Meaning(
        "Ranks run different versions of a library.", "config_drift is a setting.", "Give all hosts one image."
    ),
    "missing_ranks": Meaning(
        "Some ranks never came to the start of the job.",
        "With an unreachable address they came and could not speak (wrong_interface).",
        "Read the logs of the ranks that did not come.",
    ),
    "config_drift": Meaning(
        "A setting differs between ranks.", "Settings that must differ, such as ranks, do not count.", "Set it alike."
    ),
}
STATUSES: Mapping[Status, Meaning] = {
    "established": Meaning(
        "Two or more sources that could have disagreed agree, and none contradicts.",
        "Many ranks that say the same are one source: they are all peers.",
        "Act on it.",
    ),
    "supported": Meaning(
        "One source says so, and none contradicts.",
        "established has a second source.",
        "Act on it, and look for a second source.",
    ),
    "hypothesis": Meaning(
        "The best explanation; others are not excluded.",
        "A list of suspects is a hypothesis too: the rank at fault is one of them.",
        "Collect what the report lists before anything is taken out of service.",
    ),
    "unknown": Meaning(
        "No rule explains what is in the bundle.",
        "healthy needs proof that the run ended well.",
        "Read the error lines that the report lists.",
    ),
}
REASONS: Mapping[Reason, Meaning] = {
    "all_entered_no_counters": Meaning(
        "All members entered the operation, none completed it, and no counter shows who stopped.",
        "With counters of transfers, or a record of a GPU, one member can be told.",
        "Collect NCCL's RAS status or proxy dumps, and native stacks.",
    ),
    "culprit_among_missing": Meaning("A rank that said nothing of it, or left no record, may be at fault.", "Silence is no proof of absence.", "Collect the records of these ranks."),
    "two_member_mismatch": Meaning("Two members differ: there is no majority.", "With a third member the majority decides.", "Compare their code paths."),
    "ring_buffer_wrapped": Meaning("The Flight Recorder had overwritten the entries that decide.", "A short record without overwriting is complete.", "Set a larger TORCH_FR_BUFFER_SIZE."),
    "clock_error_exceeds_gap": Meaning("The clocks differ by more than the time between the events.", "On one host the order is known.", "Keep clocks in step (chrony, PTP)."),
    "single_snapshot": Meaning("One snapshot does not show whether a rank is slow or stuck.", "A second one with the same stack shows it.", "Take two dumps, a minute apart."),
    "tied_explanations": Meaning("Several explanations fit equally well.", "One that explains more symptoms would win.", "Collect what the report lists."),
    "membership_unknown": Meaning("The members of the group are not recorded.", "Flight Recorder dumps hold them.", "Collect Flight Recorder dumps."),
    "mixed_attempts": Meaning("Records of several launches could not be told apart.", "Folders or launch ids per attempt tell them.", "Keep the logs of each launch apart."),
    "no_baseline": Meaning("There are no normal steps to compare with.", "An earlier, normal stretch of the log would do.", "Keep the whole log."),
    "collector_is_suspect": Meaning("Collecting the records may itself have caused what they show.", "A dump taken afterwards shows it too.", "Collect once more, in another way."),
    "conflicting_evidence": Meaning("Sources contradict each other.", "A record that is older than another does not contradict it.", "Look at both places that the report names."),
    "no_hang": Meaning("No line shows that the job hung.", "A hang needs a witness of time.", "If you know that it hung, say --hung."),
    "nothing_found": Meaning("No rule explains what is in the bundle.", "Quiet is not the same as healthy.", "Collect the logs of all ranks, and dumps before the job is stopped."),
    "sampled_statistics": Meaning("Not all tensors were observed, so the first bad value may not be recorded.", "With every module and step it is.", "Record every module around that step."),
    "replica_tie": Meaning("Replicas differ, and no majority shows which one is wrong.", "Three replicas have a majority.", "Repeat the step on another GPU."),
    "no_time_witness": Meaning("No line shows that the job stood still when the records were taken.", "A time-out, or a second dump, would.", "Take a second dump, or say --hung."),
}  # fmt: skip
