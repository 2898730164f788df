"""What a line of a step tells beside its loss is heard as in a record: whose own figure alone was no number is named, and nobody else."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import Report, analyze

RANKS, STEPS, ODD, AT = 5, 30, 3, 17
Line = Callable[[int, float, str, str, str], str]  # step, loss, own norm, norm of all, where it is largest
FORMS: dict[str, Line] = {
    "pairs": lambda step, loss, own, mean, place: (
        f"step={step} loss={loss:.4f} gnorm_local={own} gnorm={mean} ({place})"
    ),
    "columns": lambda step, loss, own, mean, place: (
        f"iter {step} | loss {loss:.4f} | local grad norm {own} | grad norm {mean}"
    ),
    "colons": lambda step, loss, own, mean, place: (
        f"[{place}] Step: {step}, train_loss: {loss:.4f}, rank_grad_norm: {own}, total_norm: {mean}"
    ),
    "update": lambda step, loss, own, mean, place: (
        f"step {step:4d}  loss {loss:.4f}  own_update_norm {own}  update_norm {mean}"
    ),
}


def _logged(folder: Path, form: str, odd: set[int], value: str, more: str = "", places: bool = True) -> Report:
    for rank in range(RANKS):
        lines = []
        for step in range(STEPS):
            is_odd = step == AT
            own = value if is_odd and rank in odd else f"{0.6 + (step * 7 + rank * 3) % 11 / 50:.3f}"
            mean = value if is_odd else f"{0.4 + step % 5 / 90:.4f}"
            place = f"blocks.{rank}.fc" if places and is_odd and rank in odd else "head.weight"
            loss = 3 - step / 20 + (step * 5 + rank * 7) % 13 / 90
            lines.append(FORMS[form](step, loss, own, mean, place) + more)
        (folder / f"rank_{rank}.log").write_text("\n".join(lines) + "\n")
    return analyze(folder)


@pytest.mark.parametrize("value", ["inf", "nan"])
@pytest.mark.parametrize("form", FORMS)
def test_whose_own_figure_alone_was_lost_is_named(tmp_path: Path, form: str, value: str) -> None:
    verdict = _logged(tmp_path, form, {ODD}, value).verdict
    assert (verdict.kind, list(verdict.ranks)) == ("numerics", [ODD])
    assert verdict.first_anomaly.step == AT
    assert verdict.cause == {"inf": "overflow", "nan": "nan_birth"}[value]


@pytest.mark.parametrize("form", FORMS)
def test_of_two_at_once_nobody_is_named(tmp_path: Path, form: str) -> None:
    assert not _logged(tmp_path, form, {1, ODD}, "inf").verdict.ranks


@pytest.mark.parametrize("form", FORMS)
def test_how_a_loss_scale_finds_its_height_is_nobodys_fault(tmp_path: Path, form: str) -> None:
    assert not _logged(tmp_path, form, {ODD}, "inf", " loss_scale 65536.0").verdict.ranks


@pytest.mark.parametrize("form", FORMS)
def test_what_all_lost_together_is_nobodys(tmp_path: Path, form: str) -> None:
    assert not _logged(tmp_path, form, set(range(RANKS)), "inf").verdict.ranks
