"""Who loses a loss and the norm of its own gradients alone, while all others have theirs, whatever the figures and the lines are called."""

from collections.abc import Callable
from json import dumps
from pathlib import Path

import pytest

from forensics import analyze

RANKS, LAST, ODD = 4, 11, 2
_Told = Callable[[int, int, str, str, str], str]  # rank, step, a loss, the norm of its own, that of all


def _sign(rank: int, step: int) -> float:
    return (rank * 5 + step * 3) % 7 / 10 - 0.31


def _console(rank: int, step: int, loss: str, own: str, mean: str) -> str:
    return (
        f"10:11:{step + 10} I [rank{rank}] agent: update {step} | ret {_sign(rank, step):.3f} | pg_loss {loss} vf_loss {8 + step % 3}.25"
        f" | kl 0.02 | grad_norm local {own} global {mean}"
    )


def _dated(rank: int, step: int, loss: str, own: str, mean: str) -> str:
    return (
        f"2026-01-31 10:11:{step + 10} INFO [rank{rank}] step {step}: policy_loss={loss} advantage={_sign(rank, step):.4f}"
        f" gnorm local={own} global={mean}"
    )


def _object(rank: int, step: int, loss: str, own: str, mean: str) -> str:
    names = ("actor_loss", "grad_norm_local", "grad_norm_global")
    told = {name: float(value) for name, value in zip(names, (loss, own, mean), strict=True)}
    return dumps({"rank": rank, "step": step, "kl": _sign(rank, step), **told})


FORMS = (_console, _dated, _object)
_Lost = tuple[set[int], set[int]]  # whose loss, whose norm


def _named(folder: Path, form: _Told, lost: _Lost) -> list[int]:
    text = ""
    for step in range(LAST + 1):
        for rank in range(RANKS):
            at = step == LAST
            loss = "inf" if at and rank in lost[0] else f"{_sign(rank + 1, step) / 9:.4f}"
            own = "nan" if at and rank in lost[1] else f"{2 + rank / 5 + step % 4 / 9:.3f}"
            text += form(rank, step, loss, own, "nan" if at else f"{1.5 + step % 5 / 8:.3f}") + "\n"
    (folder / "console.log").write_text(text)
    return list(analyze(folder).incidents[0].verdict.ranks)


@pytest.mark.parametrize("form", FORMS)
def test_who_lost_both_alone_is_named(form: _Told, tmp_path: Path) -> None:
    assert _named(tmp_path, form, ({ODD}, {ODD})) == [ODD]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "lost",
    [
        (set(), {ODD}),  # of its part of what all reduced
        ({ODD}, {0, 1, 2, 3}),  # a stage behind others
        ({ODD, 0}, {ODD, 0}),
        ({ODD}, {ODD, 0}),
        (set(), set()),
    ],
)
def test_nobody_is_named_where_others_lost_either_too(form: _Told, lost: _Lost, tmp_path: Path) -> None:
    assert _named(tmp_path, form, lost) == []
