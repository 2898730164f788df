"""Simulated paces: how long each rank of a healthy or slow job takes for what, and the files that would say so.

    pace = Pace(8).slower(5, "backward", 1.1)     # the others wait for rank 5
    write(pace, "phases", Path("bundle"))         # one of FORMS

Used by tests and benchmarks; no detector reads it.
"""

from samples.simulator.pace.files import FORMS, write
from samples.simulator.pace.model import Pace, Timing

__all__ = ["FORMS", "Pace", "Timing", "write"]
