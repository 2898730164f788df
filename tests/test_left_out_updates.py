"""Lines that say that the update of their step was left out: a bad norm there was never taken over."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from forensics import analyze

RANKS, LAST, BAD = range(4), 40, (0, 1, 2, 17)

Line = Callable[[int, str, int], str]
FORMS: Mapping[str, Line] = {
    "words behind": lambda step, norm, scale: (
        f"step {step} loss 2.{90 - step} grad_norm {norm}"
        + (" overflow, skipping the optimizer step" * (norm == "nan"))
    ),
    "words in brackets": lambda step, norm, _: (
        f"iter {step} | loss 2.{90 - step} | grad_norm {norm}" + (" (update skipped)" * (norm == "nan"))
    ),
    "a flag": lambda step, norm, _: f"step={step} loss=2.{90 - step} grad_norm={norm} found_inf={norm == 'nan'}",
    "the scale before": lambda step, norm, scale: f"step {step} loss 2.{90 - step} grad_norm {norm} scale {scale}",
    "the scale after": lambda step, norm, scale: (
        f"iter {step} loss 2.{90 - step} grad_norm {norm} loss_scale {scale if norm != 'nan' else scale / 2}"
    ),
}


def _written(folder: Path, line: Line, *, bad: tuple[int, ...] = BAD) -> Path:
    for rank in RANKS:
        scale, told = 65536.0, [f"rank {rank} of {len(RANKS)}"]
        for step in range(LAST):
            told.append(f"rank {rank} {line(step, 'nan' if step in bad else '0.5', int(scale))}")
            scale /= 2 if step in bad else 1
        (folder / f"rank{rank}.log").write_text("\n".join((*told, f"rank {rank}: training complete, {LAST} steps")))
    return folder


@pytest.mark.parametrize("form", FORMS)
def test_a_few_of_them_are_no_fault(tmp_path: Path, form: str) -> None:
    assert analyze(_written(tmp_path, FORMS[form])).verdict.kind == "healthy"


@pytest.mark.parametrize(
    "line",
    [
        "step {step} loss 2.1 grad_norm {norm}",
        "step {step} loss 2.1 grad_norm {norm} skipped steps: 0",
        "step {step} loss 2.1 grad_norm {norm} update not skipped",
        "step {step} loss 2.1 grad_norm {norm} scale 1024",
    ],
)
def test_what_says_nothing_of_this_update_excuses_none(tmp_path: Path, line: str) -> None:
    told = analyze(_written(tmp_path, lambda step, norm, _: line.format(step=step, norm=norm), bad=(17,))).verdict
    assert (told.kind, told.ranks, told.first_anomaly.step) == ("numerics", [], 17)


def test_left_out_to_the_end_is_no_training(tmp_path: Path) -> None:
    told = analyze(_written(tmp_path, FORMS["words behind"], bad=tuple(range(17, LAST)))).verdict
    assert (told.kind, told.ranks, told.first_anomaly.step) == ("numerics", [], 17)
