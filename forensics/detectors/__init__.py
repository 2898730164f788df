"""One question per file, asked in this order. Each answers from a Case with findings; verdict/ chooses among them."""

from forensics.case import Detector
from forensics.detectors.hardware import (
    device_fault,
    idle_device,
    link_before_wait,
    network,
    node_failure,
    ring_counters,
    shared_storage,
    stopped_call,
    stopped_device,
)
from forensics.detectors.launch import bad_config, init_never_completed, missing_at_start
from forensics.detectors.numerics import (
    exhausted_range,
    first_anomaly,
    loss_log,
    loss_scale,
    replica_divergence,
    rerun_verdict,
)
from forensics.detectors.ranks import (
    absent,
    all_entered,
    deadlock_cycle,
    mismatch,
    never_entered,
    no_answer,
    novel_line,
    odd_stack,
    process_ended,
    received_size,
    silent_member,
    silent_process,
    stopped_from_outside,
)
from forensics.detectors.slow import throughput_drop

DETECTORS: tuple[Detector, ...] = (
    first_anomaly.DETECTOR,
    replica_divergence.DETECTOR,
    loss_log.DETECTOR,
    loss_scale.DETECTOR,
    exhausted_range.DETECTOR,
    rerun_verdict.DETECTOR,
    process_ended.DETECTOR,
    mismatch.DETECTOR,
    deadlock_cycle.DETECTOR,
    stopped_device.DETECTOR,
    never_entered.DETECTOR,
    odd_stack.DETECTOR,
    silent_process.DETECTOR,
    shared_storage.DETECTOR,
    received_size.DETECTOR,
    absent.DETECTOR,
    no_answer.DETECTOR,
    device_fault.DETECTOR,
    stopped_from_outside.DETECTOR,
    network.DETECTOR,
    node_failure.DETECTOR,
    link_before_wait.DETECTOR,
    missing_at_start.DETECTOR,
    init_never_completed.DETECTOR,
    bad_config.DETECTOR,
    stopped_call.DETECTOR,
    silent_member.DETECTOR,
    throughput_drop.DETECTOR,
    idle_device.DETECTOR,
    ring_counters.DETECTOR,
    all_entered.DETECTOR,
    novel_line.DETECTOR,
)
