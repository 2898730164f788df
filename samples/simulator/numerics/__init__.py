"""Simulated numeric incidents: a job in which a NaN is born, or replicas drift apart, and the statistics of its tensors.

    incident = simulate_numerics(Job(tp=2, pp=2, dp=2), NumericFault("nan_backward"), seed=7)
    incident.write(Path("incident"))      # bundle/ and truth.json
    incident.evidence()                   # the same as evidence tables, for benchmarks

Used by tests, benchmarks and samples; no detector reads it.
"""

from samples.simulator.numerics.faults import NUMERIC_KINDS, NumericFault
from samples.simulator.numerics.model import Form, Model, NumericNoise
from samples.simulator.numerics.outcome import NumericIncident, simulate_numerics

__all__ = ["NUMERIC_KINDS", "Form", "Model", "NumericFault", "NumericIncident", "NumericNoise", "simulate_numerics"]
