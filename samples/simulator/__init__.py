"""Simulated incidents: a training job, a fault, and everything that collectors would have gathered, with the truth.

    incident = simulate(Job(tp=4, pp=4, dp=8), Fault("rank_absent", site="data_loading"), seed=7)
    incident.write(Path("incident"))      # bundle/ and truth.json
    incident.evidence()                   # the same as evidence tables, for benchmarks

Used by tests, benchmarks and samples; no detector reads it.
"""

from samples.simulator.faults import KINDS, SITES, Fault
from samples.simulator.job import Job
from samples.simulator.noise import SOURCES, LogForm, Noise
from samples.simulator.outcome import Incident, simulate
from samples.simulator.recorder import Settings

__all__ = ["KINDS", "SITES", "SOURCES", "Fault", "Incident", "Job", "LogForm", "Noise", "Settings", "simulate"]
