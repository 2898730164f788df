"""A figure that went from one level to another when the pace did, and what looks like one."""

from collections.abc import Callable

import polars as pl
import pytest

from forensics.facts.figures.jumped_figures import jumped_at
from tests.log_cases import case

Figures = Callable[[int], str]
FORMS: dict[str, tuple[Figures, str | None]] = {
    "a limit": (lambda step: f"max_len={4096 if step < 38 else 16384} score={0.3 + step % 3 / 10}", "max_len"),
    "a noisy one": (lambda step: f"accept={0.90 + step % 4 / 100 if step < 41 else 0.30 + step % 3 / 100}", "accept"),
    "of two the one that stands": (
        lambda step: f"share={0.02 + step % 2 / 1000 if step < 40 else 0.4} retries={1 if step < 40 else 4}", "retries"),
    "it grows all the time": (lambda step: f"tokens={step * 100}", None),
    "it changed long before": (lambda step: f"max_len={4096 if step < 31 else 16384}", None),
    "it is all noise": (lambda step: f"score={step * 7 % 11}", None),
    "a little": (lambda step: f"max_len={4096 if step < 40 else 4608}", None),
    "no figure": (lambda step: "", None),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_what_jumped_about_the_step(form: str) -> None:
    figures, name = FORMS[form]
    rows = [{"step": step, "figures": figures(step) or None, "file": "a.log", "line": step} for step in range(80)]
    found = jumped_at(case(steps=rows).tables["steps"], 40)
    assert (found.name if found else None) == name


def test_its_levels_and_its_line() -> None:
    rows = [
        {"step": step, "figures": f"n={8 if step < 39 else 64}", "file": "a.log", "line": 2 * step}
        for step in range(80)
    ]
    found = jumped_at(pl.DataFrame(case(steps=rows).tables["steps"]), 40)
    assert found is not None and found[1:] == (8.0, 64.0, 39, "a.log", 78, True)
