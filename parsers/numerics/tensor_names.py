"""How recorders call statistics of tensors, the tensors themselves, and digests, whatever the form of their records."""

from collections.abc import Mapping, Sequence, Set

from parsers.text import vocabulary
from parsers.text.patterns import regex

STATISTICS: Mapping[str, str] = {
    **dict.fromkeys(("absmax", "abs_max", "max_abs", "maxabs", "amax"), "absmax"),
    **{name: name for name in ("min", "max", "mean", "l2norm", "nan_count", "inf_count")},
    **dict.fromkeys(
        ("nonfinite", "non_finite", "nonfin", "num_nonfinite", "n_nonfinite", "nan", "nans", "num_nan", "n_nan"),
        "nan_count",
    ),
    **dict.fromkeys(("inf", "infs", "num_inf", "n_inf"), "inf_count"),
}
_OF_VERSION_1 = frozenset(("min", "max", "mean", "l2norm", "absmax", "nan_count", "inf_count", "checksum", "amax"))
_SPELLED_OTHERWISE = frozenset(STATISTICS) - _OF_VERSION_1
DIGEST = regex(r"(?i)(?:0x)?(?=[0-9a-f]*\d)[0-9a-f]{8,128}")
TENSORS = (
    ("grad_output", regex(r"(?i)grad_?out(?:put)?s?|dy|dout|gy")),
    ("grad_input", regex(r"(?i)grad_?in(?:put)?s?|dx|din|gx")),
    ("param_grad", regex(r"(?i)(?:param|weight|w)?_?grad(?:ient)?s?|dw|wgrad")),
    ("param", regex(r"(?i)(?:params?|parameters?|weights?|w)(?:_(?:before|after|loaded|new|old))?")),
    (
        "optimizer_state",
        regex(
            r"(?i)optim(?:izer)?(?:_states?)?|exp_avg(?:_sq)?|(?:first_|second_)?moment(?:um|s|_?\d)?(?:_\d)?|adam_[mv]"
        ),
    ),
    ("input", regex(r"(?i)in(?:put)?s?|x|args?")),
    ("output", regex(r"(?i)out(?:put)?s?|y|act(?:ivation)?s?")),
)
BACKWARD = ("grad_output", "grad_input", "param_grad")


def trailing_statistic(name: str) -> tuple[list[str], str] | None:
    """(the words before it, the column) of a name that ends in a statistic: `act_inf_count`."""
    parts = vocabulary.words_of(name)
    ends = ((at, STATISTICS.get("_".join(parts[at:]))) for at in range(1, len(parts)))
    return next(((parts[:at], column) for at, column in ends if column is not None), None)


def tensor_of(words: Sequence[str]) -> tuple[str, str]:
    """(phase, tensor) of which words before a figure tell; an output where none do."""
    spelled = ["_".join(words[at:]) for at in range(len(words))]
    tensor = next((name for name, form in TENSORS if any(map(form.fullmatch, (*spelled, *words)))), "output")
    return "backward" if tensor in BACKWARD else "forward", tensor


def is_version_1(names: Set[str]) -> bool:
    """Are these columns of this project's own format (tensor_stats.py)? It calls no statistic otherwise: whose do, are somebody's own (own_rows.py)."""
    is_of_tensors = "step" in names and not names.isdisjoint(("tensor", "module"))
    return is_of_tensors and not names.isdisjoint(_OF_VERSION_1) and names.isdisjoint(_SPELLED_OTHERWISE)


def as_version_1(names: Sequence[str]) -> dict[str, str]:
    """Spelling → the format's own name, of statistics that it does not have already: the first of several that mean one."""
    renamed: dict[str, str] = {}
    for name in names:
        column = STATISTICS.get(name)
        if column is not None and column not in {*names, *renamed.values()}:
            renamed[name] = column
    return renamed
