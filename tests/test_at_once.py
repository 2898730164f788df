"""Labels behind a word for a process: ranks where each trains in the same steps with a loss of its own."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import Report, analyze
from tests.sources import written

COUNT, ODD, AT, STEPS = 4, 2, 20, 27
Form = Callable[[int, int, float, float], str]


def _report(form: Form, folder: Path) -> Report:
    lines = ["notebook of Tuesday", ""]
    for step in range(STEPS):
        for at in range(COUNT):
            rank = (at * 3 + step) % COUNT
            is_lost = step > AT or (step == AT and rank == ODD)
            loss = float("nan") if is_lost else 3.0 - 0.05 * step + 0.011 * ((7 * rank + step) % 5)
            lines.append(form(rank, step, loss, float("nan") if step >= AT else 1.0 + 0.01 * step))
    return analyze(written(folder, {"notes.md": lines}))


@pytest.mark.parametrize(
    "form",
    [
        lambda rank, step, loss, norm: f"    [worker {rank}] step {step:2d} | loss {loss:.4f} | gnorm {norm:.3f}",
        lambda rank, step, loss, norm: f"(proc {rank}) iter {step}: loss={loss:.4f} grad_norm={norm:.3f}",
        lambda rank, step, loss, norm: f"trainer{rank}> iter {step} train loss {loss:.4f} lr 1e-3",
    ],
)
def test_a_process_that_trains_beside_others_is_a_rank(form: Form, tmp_path: Path) -> None:
    told = _report(form, tmp_path).incidents[0].verdict
    assert (told.kind, told.ranks, told.first_anomaly.step) == ("numerics", [ODD], AT)


@pytest.mark.parametrize(
    "form",
    [
        lambda rank, step, loss, norm: f"[expert {rank}] step {step} | loss {loss:.4f} | gnorm {norm:.3f}",
        lambda rank, step, loss, norm: f"[p{rank}] step {step} | loss {loss:.4f} | gnorm {norm:.3f}",
        lambda rank, step, _loss, norm: f"[worker {rank}] step {step} | queue {norm:.4f}",  # of loaders
    ],
)
def test_what_one_process_counts_is_no_rank(form: Form, tmp_path: Path) -> None:
    assert not any(told.verdict.ranks for told in _report(form, tmp_path).incidents)
