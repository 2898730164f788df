"""What the person expects of a step: by a simulation, a search over layouts, or the same job elsewhere."""

from collections.abc import Mapping
from math import isfinite
from typing import Self

import msgspec


class Expected(msgspec.Struct, frozen=True):
    """`step`: seconds of a step; `tflops`, `rate`: as the log prints them (rate: samples or tokens per second)."""

    step: float | None = None
    tflops: float | None = None
    rate: float | None = None

    @classmethod
    def of(cls, given: Mapping[str, str | float]) -> Self:
        """From {"step": "2.1"}. Raises ValueError."""
        if unknown := given.keys() - set(cls.__struct_fields__):
            there = ", ".join(cls.__struct_fields__)
            raise ValueError(f"nothing that can be expected is called {min(unknown)}; there are {there}")
        return cls(**{name: _positive(value) for name, value in given.items()})


NOTHING_EXPECTED = Expected()


def _positive(value: str | float) -> float:
    try:
        number = float(value)
    except ValueError:
        number = 0.0
    if not (isfinite(number) and number > 0):
        raise ValueError(f"not a number above 0: {str(value)!r}")
    return number
