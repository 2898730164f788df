"""What a reader prints is of what a step is given: who alone shows a value in it that is no number, and whose check then ends it, is named; a part of a model
that is called so is none."""

from pathlib import Path

import pytest

from forensics import Report, analyze
from tests.sources import written

WORLD, ODD = 4, 2
FORMS = {
    "counted": "reader n=8192 price[min={a} max={b} nan={n}] age[min=0.5 max=97.5 nan=0]",
    "with a level": "INFO reader feat n=8192 file=part-00{s}.rec price_z[min={a} max={b} nan={n}] age[min=0.5 max=98.5 nan=0]",
    "of a loader": "loader: rows 8192 price min {a} max {b} nan {n}",
    "of a dataset": "dataset part-00{s} price: min={a}, max={b}, nan={n}",
    "in brackets": "[reader] price nan={n} min={a} max={b}",
}
END = [
    "Traceback (most recent call last):",
    '  File "/app/fit.py", line 141, in main',
    "    check(loss)",
    "FloatingPointError: loss is nan",
]


def job(form: str, bad: tuple[int, ...] = (ODD,), checks: tuple[int, ...] = (ODD,)) -> list[str]:
    text = [f"[rank{rank}]: rank {rank} of {WORLD}, pid {700 + rank}" for rank in range(WORLD)]
    for step in range(6):
        for rank in range(WORLD):
            count = 212 if step == 5 and rank in bad else 0
            text.append(
                f"[rank{rank}]: " + form.format(a=f"-3.{rank}{step}", b=f"5.{step}{rank}", n=count, s=10 * step + rank)
            )
    return text + [f"[rank{rank}]: {line}" for rank in checks for line in END]


def judged(folder: Path, form: str, **given: tuple[int, ...]) -> Report:
    return analyze(str(written(folder, {"run.log": job(form, **given)})))


@pytest.mark.parametrize("form", FORMS)
def test_who_read_what_is_no_number_is_named(form: str, tmp_path: Path) -> None:
    verdict = judged(tmp_path, FORMS[form]).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("numerics", "bad_input", [ODD])


def test_all_who_did_alike_are_not(tmp_path: Path) -> None:
    every = tuple(range(WORLD))
    assert judged(tmp_path, FORMS["counted"], bad=every, checks=every).verdict.ranks == []


def test_what_a_part_of_a_model_makes_is_not_read(tmp_path: Path) -> None:
    verdict = judged(tmp_path, "reader.loss n=8192 value[min={a} max={b} nan={n}]").verdict
    assert verdict.cause != "bad_input"
