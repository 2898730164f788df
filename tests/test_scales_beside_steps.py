"""The scale of the loss in the line of a step, whatever it is called, and what its search leaves out."""

from pathlib import Path

import pytest

from forensics import analyze

SKIPPED = "GradScaler: inf in gradients, skipped optimizer step, scale {a} -> {b}"


def _run(folder: Path, left_out: str, fine: str, falls_to_the_end: bool = False) -> str:
    for rank in range(2):
        scale, lines = 2**24, []
        for step in range(40):
            is_bad = step < 5 or step == 17 or (falls_to_the_end and step > 20)
            before, scale = scale, scale // 2 if is_bad else scale
            told = (left_out if is_bad else fine).format(a=before, b=scale)
            lines.append(
                f"rank {rank} step {step} loss {4.7 - step / 20:.4f} grad_norm {'inf' if is_bad else 0.51} {told}"
            )
        end = "" if falls_to_the_end else f"rank {rank}: training complete, 40/40 steps\n"
        (folder / f"rank_{rank}.log").write_text("\n".join(lines) + f"\n{end}")
    return analyze(folder).verdict.kind


FORMS = [
    (SKIPPED, "scale {b}"),
    ("amp_scale={a}->{b} (step skipped)", "amp_scale={b}"),
    ("| scaler: {a} => {b} | skipping update", "| scaler: {b} |"),
    ("overflow, skipping this step; loss scale {a} to {b}", "loss scale {b}"),
]


@pytest.mark.parametrize(("left_out", "fine"), FORMS)
def test_the_search_for_a_scale_is_no_fault(tmp_path: Path, left_out: str, fine: str) -> None:
    assert _run(tmp_path, left_out, fine) == "healthy"


@pytest.mark.parametrize(("left_out", "fine"), FORMS)
def test_a_scale_that_falls_to_the_end_is_one(tmp_path: Path, left_out: str, fine: str) -> None:
    assert _run(tmp_path, left_out, fine, falls_to_the_end=True) == "numerics"
