"""A situation: what a job left behind, the truth about it, and what a verdict must say then."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from samples.situations.job import Job

CRASH, HANG = ["crash"], ["hang"]


@dataclass(frozen=True)
class Situation:
    """`expect`: allowed kinds, causes and site; ranks, the exact set to name, or ranks_any, several such sets; may, ranks
    that may be named too; hosts, of which one is named; cycle; step and module of the first anomaly; args, options."""

    make: Callable[[str], Job]
    truth: str
    expect: Mapping[str, Any]


def case(truth: str, **expect: Any) -> Callable[[Callable[[str], Job]], Situation]:
    """Makes the function below, which writes a job of the given name, a situation."""
    return lambda make: Situation(make, truth, expect)
