"""Trainings with a loss for each of several nets, under names that nobody knows, of which one process records means over all: NaN from a step on, and
nobody is to be named; and what is no such training."""

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict

STEPS, AT = 24, 15
Figures = Mapping[str, list[str]]  # name → what it was in each step, from 1 on
Writer = Callable[[Path, Figures], None]


def figures(names: Sequence[str], bad: Callable[[str, int], bool]) -> Figures:
    return {
        name: [
            "nan" if bad(name, step) else f"{1.4 - 0.02 * step + 0.1 * nth + 0.003 * (step * 7 % 5):.5f}"
            for step in range(1, STEPS + 1)
        ]
        for nth, name in enumerate(names)
    }


def _steps(told: Figures) -> list[tuple[int, dict[str, str]]]:
    return [(step, {name: own[step - 1] for name, own in told.items()}) for step in range(1, STEPS + 1)]


def _mlflow(folder: Path, told: Figures) -> None:
    run = folder / "mlruns" / "905867383170946657" / "a3f851a031fc4f53b11f6c95c9294fc3"
    for name, own in told.items():
        path = run / "metrics" / name.replace("(", "_").replace(")", "")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{1796012195015 + 170 * step} {one} {step}\n" for step, one in enumerate(own, 1)))
    (run / "params").mkdir()
    (run / "params" / "world_size").write_text("4")


def _curves(folder: Path, told: Figures) -> None:
    for name, own in told.items():
        rows = "".join(f"{1790000000.5 + step},{step},{one}\n" for step, one in enumerate(own, 1))
        (folder / f"run-tb-tag-{name}.csv").write_text("Wall time,Step,Value\n" + rows)


def _csv(folder: Path, told: Figures) -> None:
    rows = "".join(",".join((str(step), *own.values())) + "\n" for step, own in _steps(told))
    (folder / "history.csv").write_text(",".join(("step", *told)) + "\n" + rows)


def _drawn(folder: Path, told: Figures) -> None:
    rows = "".join("| " + " | ".join((str(step), *own.values())) + " |\n" for step, own in _steps(told))
    (folder / "history.md").write_text(
        "| step | " + " | ".join(told) + " |\n" + "|---" * (1 + len(told)) + "|\n" + rows
    )


def _lines(line: Callable[[int, dict[str, str]], str]) -> Writer:
    def write(folder: Path, told: Figures) -> None:
        (folder / "train.log").write_text("\n".join(line(step, own) for step, own in _steps(told)) + "\nbye\n")

    return write


def _numbers(own: Mapping[str, str]) -> dict[str, float]:
    return {name: float(cell) for name, cell in own.items()}


def _yaml(folder: Path, told: Figures) -> None:
    parts = (
        f"step: {step}\n" + "".join(f"{name}: {one.replace('nan', '.nan')}\n" for name, one in own.items())
        for step, own in _steps(told)
    )
    (folder / "history.yaml").write_text("---\n" + "---\n".join(parts))


def _ini(folder: Path, told: Figures) -> None:
    parts = (
        f"[step {step}]\n" + "".join(f"{name} = {one}\n" for name, one in own.items()) for step, own in _steps(told)
    )
    (folder / "history.ini").write_text("\n".join(parts))


def _report(folder: Path, told: Figures) -> None:
    parts = (
        f"## Step {step}\n\n" + "".join(f"* {name}: {one}\n" for name, one in own.items()) for step, own in _steps(told)
    )
    (folder / "history.md").write_text("# Means over all workers\n\n" + "\n".join(parts))


FORMS: Mapping[str, Writer] = {
    "MLflow": _mlflow,
    "TensorBoard": _curves,
    "columns": _csv,
    "drawn": _drawn,
    "objects": _lines(lambda step, own: json.dumps({"step": step, **_numbers(own)})),
    "logfmt": _lines(lambda step, own: f"step={step} " + " ".join(f"{name}={one}" for name, one in own.items())),
    "prose": _lines(lambda step, own: f"step {step}: " + ", ".join(f"{name} {one}" for name, one in own.items())),
    "bars": _lines(lambda step, own: f"iter {step} | " + " | ".join(f"{name}: {one}" for name, one in own.items())),
    "of how many": _lines(lambda step, own: f"[04:16:{step:02}] step {step:3}/{STEPS}  " + "  ".join(f"{name} {one}" for name, one in own.items())),
    "python": _lines(lambda step, own: str({"iter": step, **_numbers(own)})),
    "documents": _yaml,
    "sections": _ini,
    "a report": _report,
}  # fmt: skip
NAMES = (
    ("loss_D", "loss_G", "D_real", "D_fake"),
    ("d_loss", "g_loss"),
    ("critic", "actor", "alpha"),
    ("D", "G", "D(x)"),
)
_turn = count()
JOBS = [(form, NAMES[next(_turn) % len(NAMES)]) for form in FORMS]


def judged(folder: Path, form: str, told: Figures) -> Verdict:
    FORMS[form](folder, told)
    return analyze(folder).verdict


@pytest.mark.parametrize(("form", "names"), JOBS)
def test_where_none_is_a_number_any_more_it_is_the_training(tmp_path: Path, form: str, names: Sequence[str]) -> None:
    verdict = judged(tmp_path, form, figures(names, lambda _, step: step >= AT))
    assert (verdict.kind, list(verdict.ranks), verdict.first_anomaly and verdict.first_anomaly.step) == (
        "numerics",
        [],
        AT,
    )


@pytest.mark.parametrize(("form", "names"), JOBS[::2])
def test_what_comes_and_goes_is_nothing(tmp_path: Path, form: str, names: Sequence[str]) -> None:
    verdict = judged(tmp_path, form, figures(names, lambda name, step: name == names[-1] and step % 5 == 0))
    assert (verdict.kind == "numerics", list(verdict.ranks)) == (False, [])


@pytest.mark.parametrize(("form", "names"), JOBS[1::2])
def test_a_sound_training_is_none(tmp_path: Path, form: str, names: Sequence[str]) -> None:
    assert judged(tmp_path, form, figures(names, lambda *_: False)).kind != "numerics"


@pytest.mark.parametrize("form", [*FORMS][::3])
def test_what_is_judged_has_no_value_at_times(tmp_path: Path, form: str) -> None:
    told = figures(["val_fid", "val_auc"], lambda _, step: step >= AT) | figures(["loss_D"], lambda *_: False)
    assert judged(tmp_path, form, told).kind != "numerics"
