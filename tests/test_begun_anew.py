"""A restart that took over nothing: the loss behind it is back near what the run once began with."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

Form = Callable[[int, float], str]


def plain(step: int, loss: float) -> str:
    return f"iter {step}: loss {loss:.4f}, time 40.1ms"


def stamped(step: int, loss: float) -> str:
    return f"2026-03-02 10:{step // 60:02}:{step % 60:02},120 INFO trainer: step {step} | train loss {loss:.4f} | lr 2.0e-4"


def record(step: int, loss: float) -> str:
    return f'{{"step": {step}, "loss": {loss:.4f}, "lr": 0.0002}}'


def fallen(step: int) -> float:
    return 2.4 + 1.8 * 0.94 ** (step / 2) + (0.03 if step % 3 else -0.03)


def job(tmp_path: Path, form: Form, after: Callable[[int], float]) -> Path:
    """An attempt of forty lines, and one that goes on from its thirty-fifth."""
    first = [form(step, fallen(step)) for step in range(0, 80, 2)]
    second = [form(step, after(step)) for step in range(70, 100, 2)]
    return written(
        tmp_path,
        {
            "job_40017.out": ["world_size = 4", *first, "received SIGTERM, exiting"],
            "job_40023.out": ["world_size = 4", "Resuming training from out", *second],
        },
    )


@pytest.mark.parametrize("form", [plain, stamped, record])
def test_what_begins_anew_lost_its_state(tmp_path: Path, form: Form) -> None:
    incident = analyze(job(tmp_path, form, lambda step: fallen(step - 70))).incident
    assert (incident.verdict.kind, incident.verdict.cause, incident.verdict.ranks) == ("numerics", "bad_state", [])
    assert incident.verdict.first_anomaly is not None and incident.verdict.first_anomaly.step == 70


@pytest.mark.parametrize(
    "after",
    [
        fallen,
        lambda step: fallen(step) + 0.5,
        lambda step: fallen(step - 70) if step == 70 else fallen(step),
        lambda step: fallen(step - 25),
    ],
    ids=["goes on", "harder data", "one line", "an older checkpoint"],
)  # fmt: skip
def test_what_goes_on_did_not(tmp_path: Path, after: Callable[[int], float]) -> None:
    assert analyze(job(tmp_path, plain, after)).incident.verdict.kind == "unknown"


def test_too_little_learnt_tells_nothing(tmp_path: Path) -> None:
    """Losses that fell by less than a seventh, and those that leap from line to line."""

    def flat(step: int, loss: float) -> str:
        return plain(step, 2.0 + loss / 9)

    def noisy(step: int, loss: float) -> str:
        return plain(step, loss + (0.5 if step % 4 else -0.5))

    for name, form in (("flat", flat), ("noisy", noisy)):
        bundle = job(tmp_path / name, form, lambda step: fallen(step - 70))
        assert analyze(bundle).incident.verdict.kind == "unknown"
