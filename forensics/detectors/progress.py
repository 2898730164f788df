"""What records say of progress: the step that was in progress, when the first member began to wait in an operation."""

import polars as pl

from forensics.case import Case
from forensics.coverage import iso
from forensics.graph.operations import Operation


def newest(numbers: pl.Series) -> int | None:
    """The largest of integers, null where there is none."""
    value = numbers.max()
    return value if isinstance(value, int) else None


def step_in_progress(case: Case, rank: int | None = None) -> int | None:
    """Last completed step + 1: the rank's own where it printed steps, else what most ranks say."""
    steps = case.tables["steps"].filter((pl.col("phase") == "train").fill_null(True) & pl.col("step").is_not_null())
    own = steps.filter(pl.col("rank") == rank) if rank is not None else steps.clear()
    if own.height:
        return (newest(own["step"]) or 0) + 1
    if not steps.height:
        return None
    last = steps.group_by("rank").agg(pl.col("step").max())
    return int(last.group_by("step").len().sort(["len", "step"], descending=True)["step"][0]) + 1


def opened_utc(operation: Operation | None) -> str | None:
    """When the first of those that stand in an operation made its call, by that host's clock: since then it is open."""
    calls = operation.calls if operation is not None else ()
    return iso(min((call.time_created_ns for call in calls if call.time_created_ns), default=None))
