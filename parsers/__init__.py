"""Bytes in, evidence tables out: `read(bundle)` and the tuple of all parsers. Knows nothing of verdicts."""

from builtins import map as serial
from collections.abc import Sequence

from parsers.bundle import BundleError
from parsers.comm import (
    addresses,
    cann,
    clog,
    coordination,
    hccl,
    horovod,
    libfabric,
    nccl,
    nccl_collectives,
    nccl_inspector,
    oneccl,
    proxy_dump,
    ras,
)
from parsers.dense import Dense
from parsers.device import (
    dcgmi_dmon,
    ib,
    ib_counters,
    lspci,
    mthreads_gmi,
    mx_smi,
    nvidia_smi_csv,
    nvidia_smi_dmon,
    nvidia_smi_q,
    nvidia_smi_table,
    nvidia_smi_xml,
    nvlink_status,
    pair_matrix,
    prometheus,
    prometheus_range,
    telemetry_table,
)
from parsers.evidence import Evidence, joined
from parsers.kernel import (
    amdgpu,
    bug_report,
    fabric_manager,
    host,
    kernel_log,
    metax,
    mthreads,
    nic,
    pci_memory,
    rocm,
    xid,
)
from parsers.ledger import Map, Progress, read_bundle
from parsers.limits import Limits
from parsers.location import ib_fabric, node_labels, rack_map, slurm_topology
from parsers.logs import failures
from parsers.numerics import (
    anomaly_mode,
    hf_underflow,
    msprobe,
    msprobe_monitor,
    nan_asserts,
    overflow,
    replica_hashes,
    rerun_tracker,
    te_stats,
    tensor_stats,
)
from parsers.parser import Parser
from parsers.pytorch import desync, elastic, error_json, flight_recorder, fr_report, process_group, traceback
from parsers.scheduling import (
    checkpoint,
    deepspeed_launcher,
    dlrover,
    heartbeat,
    kubernetes,
    lightning_launcher,
    mpi,
    pod_description,
    preemption,
    preflight,
    ray,
    sacct,
    serving,
    shell,
    slurm,
)
from parsers.stacks import faulthandler, native, pasted, proc_stack, py_spy, torch_cpp, xpu_timer_stack
from parsers.timing import (
    checkpoint_times,
    kineto,
    megatron_timers,
    msprof,
    nccl_tests,
    nvrx,
    phases,
    step_json,
    step_records,
    step_times,
)
from parsers.training import deepspeed, environment, expert_load, hf_trainer, lightning, process_line, steps, world

__all__ = ["PARSERS", "BundleError", "Evidence", "Limits", "joined", "read"]

# File parsers first: the first that accepts a file has it alone. Their order matters, that of line parsers does not.
PARSERS: tuple[Parser, ...] = (
    kineto.PARSER,  # before the flight recorder: a trace tells the groups of its job, too
    flight_recorder.PARSER,
    py_spy.PARSER,
    faulthandler.PARSER,
    native.PARSER,
    proc_stack.PARSER,
    xpu_timer_stack.PARSER,
    ras.REPORT,
    proxy_dump.COUNTERS,
    bug_report.PARSER,
    nvidia_smi_xml.PARSER,
    nvidia_smi_q.PARSER,
    nvidia_smi_csv.PARSER,
    nvlink_status.PARSER,
    nvidia_smi_dmon.PARSER,
    dcgmi_dmon.PARSER,
    mthreads_gmi.PARSER,
    mx_smi.PARSER,
    ib.PARSER,
    ib_counters.PARSER,
    ib_fabric.PARSER,
    lspci.PARSER,
    prometheus.PARSER,
    prometheus_range.PARSER,
    nccl_inspector.PARSER,
    clog.PARSER,
    kubernetes.PARSER,
    pod_description.PARSER,
    node_labels.PARSER,
    sacct.PARSER,
    msprof.PARSER,
    phases.PARSER,
    step_records.PARSER,
    preflight.PARSER,
    heartbeat.PARSER,
    telemetry_table.PARSER,
    rack_map.PARSER,
    msprobe.PARSER,
    msprobe_monitor.PARSER,
    tensor_stats.PARSER,
    kernel_log.PARSER,
    process_group.PARSER,
    desync.PARSER,
    fr_report.PARSER,
    nccl.PARSER,
    hccl.PARSER,
    cann.PARSER,
    horovod.PARSER,
    coordination.PARSER,
    oneccl.PARSER,
    libfabric.PARSER,
    ras.MONITOR,
    proxy_dump.DUMP,
    addresses.PARSER,
    elastic.PARSER,
    traceback.PARSER,
    error_json.PARSER,
    torch_cpp.PARSER,
    pasted.PARSER,
    steps.PARSER,
    deepspeed.PARSER,
    hf_trainer.PARSER,
    lightning.PARSER,
    environment.PARSER,
    process_line.PARSER,
    world.PARSER,
    expert_load.PARSER,
    overflow.PARSER,
    nan_asserts.PARSER,
    replica_hashes.PARSER,
    rerun_tracker.PARSER,
    anomaly_mode.PARSER,
    hf_underflow.PARSER,
    te_stats.PARSER,
    megatron_timers.PARSER,
    nvrx.PARSER,
    step_times.PARSER,
    checkpoint_times.PARSER,
    step_json.PARSER,
    nccl_tests.PARSER,
    checkpoint.PARSER,
    dlrover.PARSER,
    slurm.PARSER,
    slurm_topology.PARSER,
    deepspeed_launcher.PARSER,
    mpi.PARSER,
    serving.PARSER,
    ray.PARSER,
    lightning_launcher.PARSER,
    preemption.PARSER,
    shell.PARSER,
    xid.PARSER,
    host.PARSER,
    pci_memory.PARSER,
    nic.PARSER,
    fabric_manager.PARSER,
    nvidia_smi_table.PARSER,
    pair_matrix.PARSER,
    mthreads.PARSER,
    metax.PARSER,
    amdgpu.PARSER,
    rocm.PARSER,
    failures.PARSER,
)

# Line forms that fill whole files, read by columns in place of the line parser that they belong to.
DENSE: tuple[Dense, ...] = (nccl_collectives.DENSE,)


def read(
    bundle_path: str,
    *,
    parsers: Sequence[Parser] = PARSERS,
    progress: Progress | None = None,
    map: Map = serial,  # noqa: A002  (the name says what it replaces)
    limits: Limits | None = None,
    year: int | None = None,
) -> Evidence:
    """Read a bundle: folder, file, archive, or "-" for a tar on standard input; or what `store` kept. Raises BundleError.

    `progress(bytes_read, bytes_in_all)` is called after each unit of work. `map`: a pool's map, results in order.
    `limits`: what the bundle may cost. `year`: of stamps that print none, where no other stamp of the bundle tells it.
    """
    return read_bundle(bundle_path, parsers, DENSE, progress, map, limits, year)
