"""Simulated steps of jobs in a 3D layout, every operation with its start: what a replay is measured by.

    job = Job(Layout(dp=4, pp=4, tp=1), micro_batches=8, seed=3).slower(5, 1.8)
    write(job.rows(), "parquet", Path("bundle"))     # one of FORMS
    1 - job.without_fault().mean_ms() / job.mean_ms()   # the price of the fault

Used by tests and benchmarks; no detector reads it.
"""

from samples.simulator.pipeline.files import FORMS, write
from samples.simulator.pipeline.job import Job, Layout, Row

__all__ = ["FORMS", "Job", "Layout", "Row", "write"]
