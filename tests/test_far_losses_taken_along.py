"""One rank's loss leaps beyond all others in a step: where the others are as far in the next one, it was of that step; where it alone stays far, of what it holds."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

STEPS, ODD_AT = 14, 8
Losses = Sequence[Sequence[float]]  # by rank, by step


def losses(ranks: int, odd: int, *, after: Callable[[int, int], float], leap: float = 3e16) -> Losses:
    """`after`: (rank, steps since) → the loss."""
    usual = [[1.1 - step / 100 + ((rank * 7 + step * 3) % 11) / 100 for step in range(STEPS)] for rank in range(ranks)]
    for rank in range(ranks):
        for step in range(ODD_AT + 1, STEPS):
            usual[rank][step] = after(rank, step - ODD_AT)
    usual[odd][ODD_AT] = leap
    return usual


def _taken(rank: int, since: int) -> float:
    """All of them are bad from the next step on, and diverge."""
    return min((2 + rank) * 1e10 * 1e8 ** (since - 1), 1e300)


def _logs(told: Losses, line: str, base: int, name: str = "rank{}.log", mark: str = "") -> dict[str, list[str]]:
    return {
        name.format(rank): [
            f"rank {rank} of {len(told)} pid {70 + rank}",
            *(mark.format(rank) + line.format(s=step + base, v=value) for step, value in enumerate(own)),
        ]
        for rank, own in enumerate(told)
    }


def _console(told: Losses, mark: str) -> dict[str, list[str]]:
    return {
        "out.txt": [
            f"{mark.format(rank)}step {step} loss {own[step]:.6g}" for step in range(STEPS) for rank, own in enumerate(told)
        ]
    }  # fmt: skip


def _sheet(told: Losses, sep: str, comma: str) -> dict[str, list[str]]:
    head = sep.join(["step", *(f"rank {rank}" for rank in range(len(told)))])
    rows = [sep.join([str(step), *(f"{own[step]:.6g}".replace(".", comma) for own in told)]) for step in range(STEPS)]
    return {"loss_by_rank.csv": [head, *rows]}


FORMS: dict[str, Callable[[Losses], dict[str, list[str]]]] = {
    "logs": lambda told: _logs(told, "step {s} loss {v:.6g}", 0),
    "logs from 1": lambda told: _logs(told, "step={s} train_loss={v:.6g}", 1),
    "prose": lambda told: _logs(told, "iteration {s:4d} | loss: {v:.6e} | lr: 0.01", 0),
    "json": lambda told: _logs(told, '{{"step": {s}, "loss": {v:.6e}}}', 0, "metrics.rank{}.jsonl"),
    "mse": lambda told: _logs(told, "step {s} mse {v:.6g}", 0),
    "ranks before lines": lambda told: _logs(told, "step {s} loss {v:.6g}", 0, "w{}.log", "[rank{}]: "),
    "one console": lambda told: _console(told, "[rank{}]: "),
    "mpirun": lambda told: _console(told, "[1,{}]<stdout>:"),
    "folders": lambda told: _logs(told, "update {s} loss {v:.6g}", 0, "worker-{}/log.txt"),
    "a sheet": lambda told: _sheet(told, ",", "."),
    "a sheet with commas": lambda told: _sheet(told, ";", ","),
    "tabs": lambda told: _sheet(told, "\t", "."),
}


@pytest.mark.parametrize("form", FORMS)
def test_what_all_took_over_is_of_that_step(tmp_path: Path, form: str) -> None:
    at = [*FORMS].index(form)
    ranks = 3 + at % 4
    files = FORMS[form](losses(ranks, at % ranks, after=_taken))
    found = analyze(str(written(tmp_path, files))).verdict
    assert (found.kind, found.cause, found.ranks) == ("numerics", "loss_spike", [at % ranks])


@pytest.mark.parametrize("form", ["logs", "json", "one console", "a sheet"])
@pytest.mark.parametrize("far", [3e16, 3e20])
def test_a_value_that_stays_far_is_held(tmp_path: Path, form: str, far: float) -> None:
    """The others are bad as well by its gradients, and nobody as bad as it."""
    told = losses(4, 2, after=lambda rank, since: far if rank == 2 else 1e4 * (rank + 1))
    found = analyze(str(written(tmp_path, FORMS[form](told)))).verdict
    assert (found.kind, found.cause, found.ranks) == ("numerics", "bad_state", [2])


@pytest.mark.parametrize("form", ["logs", "json", "one console", "a sheet"])
def test_two_that_are_far_together_and_all_alike(tmp_path: Path, form: str) -> None:
    told = [list(own) for own in losses(4, 2, after=_taken)]
    told[0][ODD_AT] = told[1][ODD_AT] = told[3][ODD_AT] = 3e16
    assert analyze(str(written(tmp_path, FORMS[form](told)))).verdict.ranks == []
