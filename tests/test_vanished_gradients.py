"""A gradient that became exactly zero while the loss went on; and zeros that say nothing."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import analyze

_STEPS, _AT = 40, 28
_Norm = Callable[[int], float]


def vanishing(at: int) -> float:
    return 0.0 if at >= _AT else 0.8 * (1 - at / _STEPS)


def _line(norm: _Norm, loss: Callable[[int], float], more: str = "") -> dict[str, str]:
    return {
        "train.log": "".join(
            f"step {10 * at} loss {loss(at):.4f} grad_norm {norm(at):.4f}{more}\n" for at in range(_STEPS)
        )
    }


def _records(norm: _Norm, loss: Callable[[int], float], more: str = "") -> dict[str, str]:
    return {
        "m.jsonl": "".join(
            f'{{"step": {10 * at}, "loss": {loss(at):.4f}, "grad_norm": {norm(at):.4f}, '
            f'"zero_frac": {1.0 if not norm(at) else 0.1}}}\n' for at in range(_STEPS)
        )
    }  # fmt: skip


def _curves(norm: _Norm, loss: Callable[[int], float], more: str = "") -> dict[str, str]:
    files = {
        f"mlruns/0/a1/metrics/{name}": "".join(
            f"{1770772800000 + at * 1000} {cell(at):.4f} {10 * at}\n" for at in range(_STEPS)
        )
        for name, cell in (("train/grad_norm", norm), ("train/loss", loss))
    }
    for rank in range(3):
        files[f"mlruns/0/a1/metrics/rank{rank}/loss_local"] = "".join(
            f"{1770772800000 + at * 1000} {loss(at) + (at * 7 + rank * 3) % 5 / 50:.4f} {10 * at}\n"
            for at in range(_STEPS)
        )
    return files


FORMS = (_line, _records, _curves)


def verdict_of(folder: Path, files: dict[str, str]):
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return analyze(folder).verdict


@pytest.mark.parametrize("form", FORMS)
def test_a_gradient_that_vanished_is_an_underflow_and_nobodys(
    tmp_path: Path, form: Callable[..., dict[str, str]]
) -> None:
    verdict = verdict_of(tmp_path, form(vanishing, lambda _: 3.3))
    assert (verdict.kind, verdict.cause, verdict.ranks, verdict.first_anomaly.step) == (
        "numerics",
        "underflow",
        [],
        10 * _AT,
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("norm", "loss"),
    [
        (lambda at: 0.0 if at % 4 else 0.7, lambda _: 3.3),  # computed now and then
        (lambda at: 0.0, lambda _: 3.3),
        (lambda at: 0.0 if at > _STEPS - 4 else 0.7, lambda _: 3.3),  # too few to tell
        (vanishing, lambda at: 0.0 if at >= _AT else 3.3),  # how NaN is printed
        (lambda at: 0.0 if 20 < at < 28 else 0.7, lambda _: 3.3),  # it came back
    ],
)
def test_what_is_zero_for_other_reasons_is_none(
    tmp_path: Path, form: Callable[..., dict[str, str]], norm: _Norm, loss: Callable[[int], float]
) -> None:
    assert verdict_of(tmp_path, form(norm, loss)).cause != "underflow"


def test_where_updates_were_skipped_the_scale_says_more(tmp_path: Path) -> None:
    files = _line(vanishing, lambda _: 3.3, " loss_scale 1024 skipped 1")
    assert verdict_of(tmp_path, files).cause != "underflow"


@pytest.mark.parametrize("low", [1.0, 64.0])
def test_below_a_scale_that_was_set_lower_gradients_vanish(low: float, tmp_path: Path) -> None:
    files = {
        f"metrics_process{rank}.jsonl": "".join(
            f'{{"process": {rank}, "step": {at}, "loss": {0.5 + 0.01 * ((at + rank) % 3)}, "grad_norm": {vanishing(at)}, '
            f'"loss_scale": {32768.0 if at < _AT else low}}}\n'
            for at in range(_STEPS)
        )
        for rank in range(3)
    }
    told = verdict_of(tmp_path, files)
    assert (told.kind, told.cause, told.ranks, told.first_anomaly.step) == ("numerics", "underflow", [], _AT)


def test_a_scale_that_falls_on_says_more(tmp_path: Path) -> None:
    """Updates are skipped, and their norm is told as zero."""
    files = {
        "train.log": "".join(
            f"step {at} loss 0.5 grad_norm {vanishing(at):.4f} loss_scale {2.0 ** max(0, 15 - max(0, at - _AT + 1))}\n"
            for at in range(_STEPS)
        )
    }
    assert verdict_of(tmp_path, files).cause != "underflow"
