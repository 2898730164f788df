"""Which of several names is that of the training's loss, and which that of its gradient norm.

    loss · train/loss · train_loss · loss_metrics/global_avg_loss · local_loss · train/grad_norm · global_grad_norm

The column of the first of these names behind the last `/` that exactly one column has, unless a part of the name says that it
is of an evaluation. A rank's own loss comes before one that may be of all ranks; a norm that a rank made alone is none of these.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache

from parsers.patterns import regex

EVALUATION = frozenset(("eval", "evaluation", "val", "valid", "validation", "test", "dev"))
_LOSSES = (
    "local_loss",
    "train_local_loss",
    "loss",
    "train_loss",
    "training_loss",
    "lm_loss",
    "global_avg_loss",
    "avg_loss",
    "total_loss",
    "train_loss_step",
)
_NORMS = ("grad_norm", "global_grad_norm", "gradient_norm", "total_norm")
_WORD = regex(r"[A-Za-z0-9]+")


def loss_and_norm(told: Mapping[str, str]) -> tuple[str | None, str | None]:
    """Name → column: the columns of the loss and of the gradient norm."""
    return _first(told, _LOSSES), _first(told, _NORMS)


@lru_cache(maxsize=1024)
def of_names(names: tuple[str, ...]) -> tuple[str | None, str | None]:
    """As loss_and_norm, where each column is called by its name: of records that are all alike."""
    return loss_and_norm({name: name for name in names})


def _first(told: Mapping[str, str], wanted: Iterable[str]) -> str | None:
    """The column of the first wanted name that one column of the training has, and no other."""
    for last in wanted:
        found = {
            column
            for name, column in told.items()
            if name.rpartition("/")[2].strip().replace(" ", "_").lower() == last
            and EVALUATION.isdisjoint(_WORD.findall(name.lower()))
        }
        if len(found) == 1:
            return found.pop()
    return None
