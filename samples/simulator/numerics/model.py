"""What a simulated job computes and what of it is written down."""

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Literal, NamedTuple

Bad = Literal["", "nan", "inf", "-inf"]
NOBODY: frozenset[int] = frozenset()


class Tensor(NamedTuple):
    """A tensor as far as statistics go. `content`: equal where the bits are equal; `taint`: births it comes from."""

    content: int
    bad: Bad = ""
    taint: frozenset[int] = NOBODY
    size: float = 1.0  # order of its largest absolute value; 0 = all zero


def mixed(*parts: object) -> int:
    """A number that is equal where the parts are, and else is not."""
    return int.from_bytes(blake2b(repr(parts).encode(), digest_size=7).digest(), "little")


def merged(tensors: "list[Tensor] | tuple[Tensor, ...]") -> Tensor:
    """A sum or a concatenation: NaN wins over Inf, taint is united."""
    if len(tensors) == 1:
        return tensors[0]
    bad = {tensor.bad for tensor in tensors}
    value: Bad = (
        "nan" if "nan" in bad or {"inf", "-inf"} <= bad else "inf" if "inf" in bad else "-inf" if "-inf" in bad else ""
    )
    taint = frozenset().union(*(tensor.taint for tensor in tensors if tensor.bad)) if value else NOBODY
    return Tensor(mixed(*(tensor.content for tensor in tensors)), value, taint, max(tensor.size for tensor in tensors))


@dataclass(frozen=True, slots=True)
class Model:
    """`sharded`: gradients are scattered and parameters gathered instead of all-reduced. `scaled`: dynamic loss scale,
    a step with a bad gradient is skipped on all ranks. `clip`: a gradient norm over all ranks. `guards`: each layer
    begins by replacing NaN by zero. `masks`: attention masks of -Inf."""

    dtype: Literal["float32", "bfloat16", "float16"] = "bfloat16"
    recompute: bool = False
    masks: bool = True
    sharded: bool = False
    scaled: bool = False
    clip: bool = True
    guards: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """What the hooks write. `calls`: stated (group, members, number of the call), named (a group's name only), bare (the
    operator alone), none (no communications). `finite`: minimum and maximum of the finite values only, so that the
    counts tell. `prefilled`: the destination buffer of a receive is shown as an input, and is NaN."""

    calls: Literal["stated", "named", "bare", "none"] = "stated"
    counts: bool = True
    finite: bool = False
    params: bool = True  # parameters in forward passes
    inputs: bool = True
    gradients: bool = False  # param_grad in backward passes
    norm: bool = True  # the gradient norm and the found-inf flag
    checksum: bool = False
    seq: bool = False
    microbatch: bool = True
    slices: bool = True  # exchanges and gathers slot by slot
    prefilled: bool = False
    log: bool = False
    attempts: bool = False  # launches in folders attempt_N, else one after the other in one file


@dataclass(frozen=True, slots=True)
class NumericNoise:
    """`every`: statistics of every n-th step only. `modules`: share of modules with hooks. `lost`, `truncated`: shares of
    ranks without a file, or with one that ends early. `culprit_lost`: True takes the culprits' files, False spares
    them. `skew_s`: largest error of a clock."""

    every: int = 1
    modules: float = 1.0
    lost: float = 0.0
    truncated: float = 0.0
    culprit_lost: bool | None = None
    skew_s: float = 300.0
    form: Form = field(default_factory=Form)
