"""Charts of a report: what they hold, and what is said where Altair is missing."""

import json
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import polars as pl
import pytest

import forensics
from forensics.model.incident import Report

SAMPLES = Path(__file__).resolve().parents[1] / "samples"


@cache
def report(name: str) -> Report:
    return forensics.analyze(SAMPLES / name / "bundle")


def test_without_altair_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(ModuleNotFoundError, match=r"collective-forensics\[plot\]"):
        report("data_loader_stall").plot.ranks()


def test_a_square_for_each_rank_with_its_state() -> None:
    pytest.importorskip("altair")
    rows = report("data_loader_stall").plot.ranks().to_dict()["data"]["values"]
    assert {row["rank"]: row["state"] for row in rows} == dict.fromkeys(range(8), "waiting for others") | {
        5: "at fault"
    }
    assert {(row["host"], row["place"]) for row in rows} == {("localhost", place) for place in range(8)}


def test_the_timeline_has_what_happened() -> None:
    pytest.importorskip("altair")
    chart = report("data_loader_stall").plot.timeline().to_dict()
    times = [row["time"] for row in chart["data"]["values"]]
    assert times and times == sorted(times) and "Rank 5 (localhost)" in chart["title"]


def test_series_are_lines_over_steps() -> None:
    pytest.importorskip("altair")
    rows = report("inf_in_mlp").plot.series().to_dict()["data"]["values"]
    assert {"rank 5 (at fault)"} <= {row["who"] for row in rows} and {type(row["value"]) for row in rows} <= {
        float,
        int,
    }


def test_the_example_notebook_runs_from_the_first_cell_to_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its code, cell after cell; charts only where Altair is."""
    root = SAMPLES.parent
    cells = json.loads((root / "docs" / "notebook.ipynb").read_text())["cells"]
    has_charts = find_spec("altair") is not None
    monkeypatch.chdir(root)
    there: dict[str, object] = {}
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    for text in code:
        if ".plot." not in text or has_charts:
            exec(text, there)
    found = there["report"]
    assert isinstance(found, Report) and found.verdict.ranks == [5]
    assert isinstance(there["errors"], pl.DataFrame)
