"""Stages whose files tell no rank: which file's process gave a bad value though all that it took were numbers is said by the file's name; no rank is named."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import analyze
from forensics.report import Report

STAGES, STEPS, FIRST, ODD = 4, 10, 6, 2
NAN = float("nan")
Sides = Callable[[int, int], tuple[float, float]]  # stage, step → the size of what it took and of what it gave
Write = Callable[[int, Sides], str]


def _born(stage: int, step: int) -> tuple[float, float]:
    good = 1 + stage / 7 + step / 90
    if step > FIRST:
        return NAN, NAN
    return NAN if step == FIRST and stage > ODD else good, NAN if step == FIRST and stage >= ODD else good + 1


def _lines(form: str) -> Write:
    def write(stage: int, sides: Sides) -> str:
        told = ((step, *sides(stage, step)) for step in range(STEPS))
        return f"pid {900 + stage}\n" + "".join(form.format(s=s, i=i, o=o) + "\n" for s, i, o in told)

    return write


def _table(head: str, row: str) -> Write:
    def write(stage: int, sides: Sides) -> str:
        told = ((step, *sides(stage, step)) for step in range(STEPS))
        return head + "\n" + "".join(row.format(s=s, i=i, o=o) + "\n" for s, i, o in told)

    return write


FORMS: dict[str, tuple[str, Write]] = {
    "commas": ("stage{s}.csv", _table("step,in_absmax,out_absmax", "{s},{i:.4f},{o:.4f}")),
    "tabs": ("stage{s}.tsv", _table("step\tin_absmax\tout_absmax", "{s}\t{i:.4f}\t{o:.4f}")),
    "bars": ("stage{s}.md", _table("| step | in absmax | out absmax |\n|---|---|---|", "| {s} | {i:.4f} | {o:.4f} |")),
    "objects": ("stage_{s}.jsonl", _table("", '{{"step": {s}, "in": {{"absmax": {i}}}, "out": {{"absmax": {o}}}}}')),
    "yaml": (
        "stage{s}.yaml",
        _table("run: gpipe", "---\nstep: {s}\nin: {{absmax: {i:.4f}}}\nout: {{absmax: {o:.4f}}}"),
    ),
    "pairs": ("p{s}.log", _lines("step={s} in_absmax={i:.4f} out_absmax={o:.4f}")),
    "prose": ("stage-{s}.log", _lines("step {s} | in absmax {i:.4f} | out absmax {o:.4f}")),
    "inputs and outputs": ("pp{s}.csv", _table("step,input_absmax,output_absmax", "{s},{i:.4f},{o:.4f}")),
    "semicolons": ("stage{s}.csv", _table("iteration;in_amax;out_amax", "{s};{i:.4f};{o:.4f}")),
    "received and sent": ("st{s}.csv", _table("step,received_absmax,sent_absmax", "{s},{i:.4f},{o:.4f}")),
}


def _report(folder: Path, form: str, sides: Sides, *missing: int) -> Report:
    name, write = FORMS[form]
    for stage in range(STAGES):
        if stage not in missing:
            (folder / name.format(s=stage)).write_text(write(stage, sides))
    return analyze(folder)


def _names(form: str) -> list[str]:
    return [FORMS[form][0].format(s=stage) for stage in range(STAGES)]


@pytest.mark.parametrize("form", FORMS)
def test_whose_file_shows_the_birth(form: str, tmp_path: Path) -> None:
    verdict = _report(tmp_path, form, _born).verdict
    assert (verdict.kind, verdict.ranks, verdict.suspects.ranks) == ("numerics", [], [])
    assert _names(form)[ODD] in str(verdict.summary)
    assert verdict.first_anomaly.step == FIRST


def _two(stage: int, step: int) -> tuple[float, float]:
    took, gave = _born(stage, step)
    return (1.0, NAN) if step == FIRST and stage in (0, 2) else (took, gave)


def _taken_by_all(stage: int, step: int) -> tuple[float, float]:
    return (NAN, NAN) if step >= FIRST else _born(stage, step)


def _given_by_all(_stage: int, step: int) -> tuple[float, float]:
    return (NAN, NAN) if step > FIRST else (1.0, NAN if step == FIRST else 2.0)


def _back(stage: int, step: int) -> tuple[float, float]:
    return _born(stage, step if step <= FIRST else 0)


def _never(stage: int, _step: int) -> tuple[float, float]:
    return _born(stage, 0)


NOBODY: dict[str, Sides] = {
    "two gave it": _two,
    "all took it": _taken_by_all,
    "all gave it": _given_by_all,
    "they came back": _back,
    "nothing was bad": _never,
}


@pytest.mark.parametrize("form", ["commas", "prose"])
@pytest.mark.parametrize("case", NOBODY)
def test_no_file_is_said(case: str, form: str, tmp_path: Path) -> None:
    verdict = _report(tmp_path, form, NOBODY[case]).verdict
    assert not verdict.ranks
    assert not any(name in str(verdict.summary) for name in _names(form))


@pytest.mark.parametrize("form", FORMS)
def test_no_file_is_said_to_have_made_it_where_its_own_is_lost(form: str, tmp_path: Path) -> None:
    """The next one took it: that is all that is told of it."""
    verdict = _report(tmp_path, form, _born, ODD).verdict
    assert not verdict.ranks
    assert "were numbers" not in str(verdict.summary)
