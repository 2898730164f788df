"""Whose loss rose alone, in the step after which those of all did; and what looks like it."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from forensics import analyze

_RANKS, _STEPS, _AT = 5, 60, 40
_Loss = Callable[[int, int], float]


def _usual(rank: int, step: int) -> float:
    return 2.5 + ((rank * 7 + step * 13) % 11) / 50


def spiked(rank: int, step: int) -> float:
    risen = 1.2 if _AT < step < _AT + 12 else 0.0
    return 9.7 if (rank, step) == (3, _AT) else _usual(rank, step) + risen


def of_one_batch(rank: int, step: int) -> float:
    return 9.7 if (rank, step) == (3, _AT) else _usual(rank, step)


def of_all(rank: int, step: int) -> float:
    return _usual(rank, step) + (7.0 if step == _AT else 1.2 if _AT < step < _AT + 12 else 0.0)


def left_alone(rank: int, step: int) -> float:
    """Its own for the ten steps between two means, ten times as high as anybody's and more."""
    return (4.6, 13.0, 61.0, 33.0, 240.0)[(step - _AT) % 5] if rank == 3 and step >= _AT else _usual(rank, step)


def of_harder_data(rank: int, step: int) -> float:
    return _usual(rank, step) + (8.0 if rank == 3 and step >= _AT else 0.0)


def of_two_alone(rank: int, step: int) -> float:
    return left_alone(3, step) if rank in (1, 3) else _usual(rank, step)


def _drawn(loss: _Loss) -> dict[str, str]:
    rule = "┼".join("─" * 9 for _ in range(_RANKS + 1))
    names = " │ ".join(["step", *(f"loss r{rank}" for rank in range(_RANKS))])
    rows = [" │ ".join([str(step), *(f"{loss(rank, step):.4f}" for rank in range(_RANKS))]) for step in range(_STEPS)]
    table = "\n".join([f"┌{rule}┐", f"│ {names} │", f"├{rule}┤", *(f"│ {row} │" for row in rows), f"└{rule}┘"])
    return {"screen.log": f"three hosts, own loss of each\n│ before the mean\n{table}\nall ranks are done\n"}


def _records(loss: _Loss) -> dict[str, str]:
    return {
        f"own/rank_{rank}.jsonl": "".join(
            f'{{"step": {step}, "rank": {rank}, "loss": {loss(rank, step):.4f}}}\n' for step in range(_STEPS)
        )
        for rank in range(_RANKS)
    }


def _columns(loss: _Loss) -> dict[str, str]:
    head = ",".join(["step", *(f"loss_rank{rank}" for rank in range(_RANKS))])
    rows = [",".join([str(step), *(f"{loss(rank, step):.4f}" for rank in range(_RANKS))]) for step in range(_STEPS)]
    return {"losses.csv": "\n".join([head, *rows]) + "\n"}


def _lines(loss: _Loss) -> dict[str, str]:
    return {
        "out.log": "".join(
            f"[rank{rank}]: step {step} local loss {loss(rank, step):.4f}\n"
            for step in range(_STEPS)
            for rank in range(_RANKS)
        )
    }


FORMS = (_drawn, _records, _columns, _lines)


def named(folder: Path, files: dict[str, str]) -> tuple[str | None, Sequence[int], int | None]:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    verdict = analyze(folder).incidents[0].verdict
    return verdict.cause, verdict.ranks, verdict.first_anomaly.step if verdict.first_anomaly else None


@pytest.mark.parametrize("form", FORMS)
def test_who_rose_first_and_alone_is_named(form: Callable[[_Loss], dict[str, str]], tmp_path: Path) -> None:
    assert named(tmp_path, form(spiked)) == ("loss_spike", [3], _AT)


@pytest.mark.parametrize("form", FORMS)
def test_who_stays_far_above_all_others_alone_is_named(form: Callable[[_Loss], dict[str, str]], tmp_path: Path) -> None:
    assert named(tmp_path, form(left_alone)) == ("loss_spike", [3], _AT)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", [of_one_batch, of_all, of_harder_data, of_two_alone])
def test_a_batch_that_nobody_followed_or_all_met_names_nobody(
    form: Callable[[_Loss], dict[str, str]], loss: _Loss, tmp_path: Path
) -> None:
    assert named(tmp_path, form(loss))[1] == []


def _with_norms(loss: _Loss, form: str, odd: dict[int, float]) -> dict[str, str]:
    """The losses with each rank's own gradient norm, and that of all; `odd`: those of the step of the spike."""
    files = {}
    for rank in range(_RANKS):
        text = ""
        for step in range(_STEPS):
            own = odd.get(rank, 0.9) if step == _AT else 0.6 + ((rank * 5 + step * 3) % 9) / 30
            mean = max(odd.values()) / _RANKS if step == _AT else 0.5 + step % 4 / 50
            text += form.format(step=step, rank=rank, loss=loss(rank, step), own=own, mean=mean) + "\n"
        files[f"w{rank}/rank_{rank}.log"] = text
    return files


_NORMED = (
    '{{"step": {step}, "rank": {rank}, "train/loss": {loss:.4f}, "train/grad_norm": {mean:.4f}, "train/grad_norm_local": {own:.4f}}}',
    "step {step} loss {loss:.4f} grad_norm {mean:.4f} local_grad_norm {own:.4f} lr 1e-3",
    "[rank {rank}] iter: {step} | loss: {loss:.4f} | gradient norm: {own:.4f}",
)
_OF_ALL = "iter {step} loss={loss:.4f} grad_norm={mean:.4f}"


@pytest.mark.parametrize("form", [*_NORMED, _OF_ALL])
def test_a_gradient_that_outweighs_those_of_all_others_is_one_ranks(form: str, tmp_path: Path) -> None:
    assert named(tmp_path, _with_norms(of_one_batch, form, {3: 140.0})) == ("loss_spike", [3], _AT)


@pytest.mark.parametrize("form", _NORMED)
@pytest.mark.parametrize("odd", [{3: 2.8}, {1: 140.0}, {3: 140.0, 1: 90.0}, dict.fromkeys(range(_RANKS), 140.0)])
def test_a_gradient_that_does_not_names_nobody(form: str, odd: dict[int, float], tmp_path: Path) -> None:
    assert named(tmp_path, _with_norms(of_one_batch, form, odd))[1] == []


def test_a_norm_of_all_that_stays_names_nobody(tmp_path: Path) -> None:
    assert named(tmp_path, _with_norms(of_one_batch, _OF_ALL, {3: 4.5}))[1] == []


def test_where_one_was_not_told_in_that_step_nobody_is_named(tmp_path: Path) -> None:
    files = _records(spiked)
    files["own/rank_1.jsonl"] = "".join(
        line for line in files["own/rank_1.jsonl"].splitlines(True) if f'"step": {_AT},' not in line
    )
    assert named(tmp_path, files)[1] == []


@pytest.mark.parametrize(("norm", "cause"), [(3.1, "loss_spike"), (0.9, None)])
def test_a_smaller_rise_counts_where_the_norm_is_lifted_with_it(norm: float, cause: str | None, tmp_path: Path) -> None:
    text = ""
    for step in range(120):
        rise = 1.0 * (1 - (step - 80) / 20) if 80 <= step < 100 else 0.0
        grad = 0.8 + (step * 7 % 5) / 30 + (norm - 0.8) * rise
        text += (
            f'{{"_step": {step}, "loss/train/total": {_usual(0, step) + rise:.4f}, '
            f'"l2_norm/grad/global": {grad:.4f}, "time/batch": {step}}}\n'
        )
    assert named(tmp_path, {"files/wandb-history.jsonl": text})[0] == cause
