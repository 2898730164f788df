"""Simulated paces through the bytes of every form: the slow rank is named, and nobody else ever."""

from pathlib import Path

import pytest

from forensics.model.incident import Verdict
from samples.simulator.pace import FORMS, Pace, write
from tests.analysed import primary


def verdict(pace: Pace, form: str, folder: Path, *, layout: bool = True) -> Verdict:
    write(pace, form, folder / "bundle", layout)
    return primary(folder / "bundle").verdict


@pytest.mark.parametrize("form", FORMS)
def test_the_slow_rank_is_named(form: str, tmp_path: Path) -> None:
    slow = Pace(8).slower(7, "backward", 1.12).slower(7, "forward", 1.12)
    found = verdict(slow, form, tmp_path)
    cause = None if form == "calls" else "straggler_compute"
    assert (found.kind, found.cause, found.ranks) == ("slow", cause, [7])


@pytest.mark.parametrize("form", FORMS)
def test_a_healthy_job_is_not_slow(form: str, tmp_path: Path) -> None:
    found = verdict(Pace(8, seed=5), form, tmp_path)
    assert (found.kind, found.ranks, found.suspects.ranks) == ("unknown", [], [])


def test_where_no_layout_is_printed_the_last_rank_is_a_suspect(tmp_path: Path) -> None:
    found = verdict(Pace(8).slower(7, "backward", 1.2), "phases", tmp_path, layout=False)
    assert (found.kind, found.ranks, found.suspects.ranks) == ("slow", [], [7])
    assert found.undecided == ["membership_unknown"]
