"""The job's own past, in the words of any log: steps that take longer from some step on, for all alike, and what is no such fall."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict

Line = Callable[[int, float], str]


def _verdict(folder: Path, line: Line, took: Callable[[int], float], ranks: int = 2, steps: int = 40) -> Verdict:
    for rank in range(ranks):
        text = "".join(line(step, took(step) + (step * 7 + rank * 3) % 5 / 100) for step in range(1, steps + 1))
        (folder / f"rank{rank}.log").write_text(text)
    return analyze(folder).verdict


def _doubled(step: int) -> float:
    return 2.0 if step <= 24 else 5.0


LINES: dict[str, Line] = {
    "a time with its unit": lambda step, took: f"step {step} time {took:.2f}s gen {took - 1:.2f} update 0.9\n",
    "parts, and a total": lambda step, took: f"11/20 03:00:00 it {step} load {took - 1:.3f}s fwd+bwd 0.95s total {took:.3f}s loss 0.42\n",
    "pairs": lambda step, took: f"INFO update={step} took={took:.2f}s lr=0.0003 loss=1.71\n",
    "milliseconds in a cell": lambda step, took: f'{{"iteration": {step}, "step_time": "{1000 * took:.0f} ms", "loss": 1.7}}\n',
    "a mean at the end of each epoch": lambda step, took: f"epoch: {step} loss is 2.1\nTrain epoch time: {625 * took:.1f} s, per step time: {1000 * took:.1f} ms\n",
    "a bar of Keras": lambda step, took: f"625/625 - {625 * took:.0f}s - loss: 2.1 - {1000 * took:.0f}ms/step\n",
}  # fmt: skip


@pytest.mark.parametrize("form", LINES)
def test_steps_that_take_longer_from_one_on_are_a_fall_and_nobodys(tmp_path: Path, form: str) -> None:
    verdict = _verdict(tmp_path, LINES[form], _doubled)
    assert (verdict.kind, verdict.cause, verdict.ranks, verdict.hosts) == ("slow", "throughput_drop", [], [])


@pytest.mark.parametrize("form", LINES)
@pytest.mark.parametrize(
    "took",
    [lambda step: 2.0, lambda step: 9.0 if step == 30 else 2.0, lambda step: 5.0 if 10 <= step < 20 else 2.0],
    ids=["as ever", "one slow step", "it recovered"],
)
def test_other_courses_are_none(tmp_path: Path, form: str, took: Callable[[int], float]) -> None:
    assert _verdict(tmp_path, LINES[form], took).kind != "slow"


def test_a_clock_since_the_start_is_no_step_that_takes_longer_and_longer(tmp_path: Path) -> None:
    verdict = _verdict(tmp_path, lambda step, took: f"step {step} loss 2.1 time {step * 2.0:.1f}s\n", lambda step: 0.0)
    assert verdict.kind != "slow"


def test_a_clock_since_the_start_that_goes_slower_is_a_fall(tmp_path: Path) -> None:
    at = lambda step: 2.0 * step + 3.0 * max(0, step - 24)  # noqa: E731
    verdict = _verdict(tmp_path, lambda step, took: f"step {step} loss 2.1 time {at(step):.1f}s\n", lambda step: 0.0)
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("slow", "throughput_drop", [])


def test_a_few_steps_tell_only_of_a_level_far_away(tmp_path: Path) -> None:
    line = LINES["a mean at the end of each epoch"]
    near, far, grows = tmp_path / "near", tmp_path / "far", tmp_path / "grows"
    for folder in (near, far, grows):
        folder.mkdir()
    assert _verdict(near, line, lambda step: 2.0 if step <= 8 else 2.4, steps=14).kind != "slow"
    assert _verdict(far, line, lambda step: 2.0 if step <= 8 else 5.0, steps=14).kind == "slow"
    assert _verdict(grows, line, lambda step: 2.0 * step, steps=14).kind != "slow", "a batch that grows"
