"""One question per file, asked in this order. Each answers from a Case with findings; verdict.py chooses among them."""

from forensics.case import Detector
from forensics.detectors import (
    all_entered,
    deadlock_cycle,
    first_anomaly,
    healthy,
    mismatched_call,
    never_entered,
    odd_stack,
    process_died,
    replica_divergence,
    stopped_device,
)

DETECTORS: tuple[Detector, ...] = (
    first_anomaly.DETECTOR,
    replica_divergence.DETECTOR,
    process_died.DETECTOR,
    mismatched_call.DETECTOR,
    deadlock_cycle.DETECTOR,
    stopped_device.DETECTOR,
    never_entered.DETECTOR,
    odd_stack.DETECTOR,
    all_entered.DETECTOR,
    healthy.DETECTOR,
)
