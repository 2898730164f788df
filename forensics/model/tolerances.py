"""How far figures may be apart before that is called a deviation. A program that drops or pads tokens, or whose kernels add
in no fixed order, differs by design: only the person knows by how much."""

from collections.abc import Mapping
from math import isfinite
from typing import Self

import msgspec

from forensics.model.said import Form

_ALLOWED = Form(
    "as you allow: replicas may differ by {replicas} %, a loss may rise by {loss} %; what stays below is no deviation",
    "按设定：副本差异不超过 {replicas}%、loss 上升不超过 {loss}% 不算异常",
)


class Tolerances(msgspec.Struct, frozen=True):
    """Shares: 0.01 is one percent."""

    loss: float = 0.5  # of the loss before: a loss that rises by less is no spike
    replicas: float = 0.0  # tensors that must be equal bit by bit, and a recompute beside its forward pass

    @classmethod
    def of(cls, given: Mapping[str, str | float]) -> Self:
        """From {"loss": "100%", "replicas": 0.01}. Raises ValueError."""
        if unknown := given.keys() - set(cls.__struct_fields__):
            raise ValueError(f"no tolerance is called {min(unknown)}; there are {', '.join(cls.__struct_fields__)}")
        made = cls(**{name: _share(value) for name, value in given.items()})
        if not made.loss:
            raise ValueError("a loss that may not rise at all is none: give more than 0")
        return made

    @property
    def told(self) -> list[str]:
        """What the person has set, as a sentence; nothing where all is as built in."""
        if self == BUILT_IN:
            return []
        return [_ALLOWED(replicas=f"{100 * self.replicas:.4g}", loss=f"{100 * self.loss:.4g}")]


BUILT_IN = Tolerances()


def _share(value: str | float) -> float:
    """`1%` or `0.01` → 0.01."""
    text = str(value)
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not (isfinite(share) and share >= 0):
        raise ValueError(f"not a share such as 0.01 or 1%: {text!r}")
    return share
