"""Which kinds of events there are (tables.py, `events.kind`), and what each means; codes, phases and ways that readers and the analysis know by one name."""

from collections.abc import Mapping

STILL = "stood_still"  # `code` of a heartbeat_lost that somebody says of the job, not of the process that prints it
ATTEMPTS = "counted_attempts"  # code of an event other: its printer tries the same thing again and again
MISMATCH = "collective_mismatch"  # code of what a library says of members that bring different calls
POD_LISTED = "pod_listed"
NO_RANK = "process of no rank"
BAR = "tqdm"  # the framework of a row whose step is the count of a progress bar, or of batches in an epoch
CLOSING, LAST_STEP = "closing", "last_step"  # codes of a job_end that is one only if all ranks close alike
MEAN = "mean"  # the phase of a row that tells what steps took since the last such line, and counts these lines
RENDEZVOUS = "elastic rendezvous"  # `how` of what an agent tells of its ranks
WORKERS = "workers"  # the code of a job_end that an agent says of all that it started
DIALS, TELLS = "dials", "tells an address"  # by its words where somebody looks for others; in any other words
CALL, PRINTED = "message call", "prints a number"
IN_TURN = "host of a script"
EVENT_KINDS: Mapping[str, str] = {
    "exit": "a process ended; code = exit code, or the name of the signal",
    "closing_signal": "the launcher stopped a process that was still alive: a victim",
    "first_failure": "the failure a launcher saw first: a witness of time, not of origin",
    "exception": "an exception was raised; code = its class",
    "collective_timeout": "a rank waited for an operation until its timeout",
    "desync": "a desync report; names_ranks = lagging ranks",
    "fingerprint_mismatch": "two ranks run different collectives; detail holds both",
    "size_mismatch": "a transport received another size than its call expects",
    "barrier_missing": "a monitored barrier names the ranks that did not come",
    "missing_members": "a store or rendezvous counted fewer members than expected",
    "store_timeout": "a key-value store did not answer in time",
    "dump_signal": "a flight-recorder dump was asked for; names_ranks = who timed out first",
    "heartbeat_lost": "a watchdog or heartbeat monitor saw no progress",
    "peer_closed": "a connection was closed by the peer; names_hosts = the peer's address",
    "connect_failed": "a connection could not be made; names_hosts = the address",
    "remote_error": "a library says that a remote process or the network failed",
    "completion_error": "an InfiniBand work completion failed; code = status; names_hosts = peer",
    "port_error": "a host adapter port failed locally",
    "link_down": "a network or accelerator link went down",
    "link_up": "it came back",
    "gpu_error": "a driver reported a device error; code = xid:N, sxid:N, eid:0x…, mt:N, or text",
    "gpu_lost": "a device fell off the bus or could not be initialised",
    "cuda_error": "a CUDA, MUSA or MACA call failed in a process; code = the error text",
    "gpu_oom": "out of device memory",
    "host_oom": "the kernel killed a process for memory",
    "segfault": "a process crashed on a memory access",
    "disk_full": "no space left on a device; also /dev/shm",
    "storage_error": "a file system, disk or network storage failed",
    "pcie_error": "PCI Express error report",
    "memory_error": "a memory controller or machine check reported an error; code = correctable | uncorrectable",
    "soft_lockup": "the kernel saw a processor stuck",
    "hung_task": "the kernel saw a task blocked",
    "comm_init_start": "a communicator's initialisation began",
    "comm_init_complete": "it ended",
    "comm_abort": "a communicator was aborted",
    "comm_destroy": "a communicator was destroyed",
    "comm_warning": "any other warning of a collective library",
    "config_error": "a configuration cannot work (duplicate device, version mismatch, …); code says which",
    "nan_assert": "a check found NaN or Inf; names_ranks = where",
    "replay": "a step was computed again; rank = by whom, names_ranks = whose, code = the bits of the result; detail holds the rest",
    "replica_mismatch": "a check of the job found replicas of its weights to differ; names_ranks = who differs",
    "loss_scale": "a dynamic loss scale changed; value = new scale",
    "bad_loss": "a script stopped because its loss was NaN or Inf",
    "checkpoint_save": "a checkpoint was written; step set",
    "checkpoint_persist": "a checkpoint reached storage; step set",
    "checkpoint_load": "a checkpoint was loaded; step set",
    "job_start": "a process or job says that it starts or has initialised",
    "job_end": "a process or job says that it ended well",
    "node_check": "a preflight or node-check result; code = ok | failed",
    "membership": "ranks or hosts joined or left the job",
    "scheduler": "what a scheduler says of the job",
    "ras_status": "NCCL RAS status of a communicator",
    "straggler": "a tool named slow ranks",
    "expert_load": "how many tokens the busiest expert of a rank has, as a multiple of the mean",
    "recompute": "a process says that it computes activations a second time",
    "other": "a warning or error that no other kind fits",
}
