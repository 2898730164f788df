"""One rank's figure, whatever it is called, that leapt a hundredfold in the step before the losses of all rose; and what looks like it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import Report, analyze

RANKS, STEPS, ODD, AT = 4, 44, 1, 30
Line = Callable[[int, int, float, float], str]  # rank, step, loss, figure
FORMS: dict[str, Line] = {
    "words": lambda rank, step, loss, figure: (
        f"rank {rank}: step {step} loss {loss:.4f} shard_update_norm {figure:.4e} lr 2.00e-03"
    ),
    "pairs": lambda rank, step, loss, figure: f"[rank{rank}] iter={step} loss={loss:.4f} trust_ratio={figure:.5f}",
    "records": lambda rank, step, loss, figure: (
        f'{{"rank": {rank}, "step": {step}, "loss": {loss:.4f}, "opt/step_size": {figure:.6f}}}'
    ),
}


def _logged(
    folder: Path, form: str, figures: dict[int, float], *, rise: float = 1.4, at: int = AT, loads: bool = False
) -> Report:
    for rank in range(RANKS):
        lines = []
        for step in range(STEPS):
            if loads and step == AT:
                lines.append(f"rank {rank}: resumed from ckpt/step{AT - 1}: optim_shard_{rank}.pt step={AT - 1}")
            loss = 3.8 - step / 20 + (step * 5 + rank * 3) % 7 / 60 + (rise if at < step < at + 9 else 0)
            figure = figures.get(rank, 0.13) if step == AT else 0.12 + (step * 3 + rank * 5) % 9 / 100
            lines.append(FORMS[form](rank, step, loss, figure))
        (folder / f"rank_{rank}.log").write_text("\n".join(lines) + "\n")
    return analyze(folder)


@pytest.mark.parametrize("form", FORMS)
def test_whose_figure_leapt_alone_before_all_losses_rose_is_named(tmp_path: Path, form: str) -> None:
    verdict = _logged(tmp_path, form, {ODD: 47.5}).verdict
    assert (verdict.kind, list(verdict.ranks), verdict.first_anomaly.step) == ("numerics", [ODD], AT)


def test_in_the_first_step_after_a_restart_it_is_what_was_loaded(tmp_path: Path) -> None:
    verdict = _logged(tmp_path, "words", {ODD: 47.5}, loads=True).verdict
    assert (verdict.cause, list(verdict.ranks)) == ("bad_state", [ODD])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("figures", "rise", "at"),
    [
        ({ODD: 47.5}, 0.0, AT),  # nothing came of it
        ({ODD: 47.5}, 1.4, AT + 5),  # the losses rose later
        ({ODD: 47.5}, 1.4, AT - 3),  # they had risen before
        ({ODD: 4.5}, 1.4, AT),  # not far
        ({ODD: 47.5, 2: 51.0}, 1.4, AT),
        ({0: 47.5, 1: 47.5, 2: 47.5, 3: 47.5}, 1.4, AT),
    ],
)
def test_what_was_not_alone_or_not_carried_on_names_nobody(
    tmp_path: Path, form: str, figures: dict[int, float], rise: float, at: int
) -> None:
    assert not _logged(tmp_path, form, figures, rise=rise, at=at).verdict.ranks
