"""Written incidents: the verdict must say what an honest reader of the files could, and name nobody innocent.

Each situation's sentence of truth (`samples/situations`) is the reason of its test.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from forensics.model.incident import Verdict
from samples.situations import WEIGHED, write
from tests.advice import against_the_evidence
from tests.analysed import REORDERED, is_same_in_any_order, situation

OPEN: dict[str, str] = {}  # situation → what is not judged yet
SAID_HUNG = [name for name, case in WEIGHED.items() if "--hung" in case.expect.get("args", ())]


def verdict_of(name: str, *, hung: bool = False) -> Verdict:
    report = situation(name, hung=hung)
    assert against_the_evidence(report) == []
    return report.incidents[report.primary].verdict if report.incidents else Verdict(kind="unknown")


def accepted(expect: Mapping[str, Any]) -> list[set[int]]:
    """The sets of ranks of which one must be named."""
    return [set(ranks) for ranks in expect.get("ranks_any") or [expect["ranks"]]]


def guilty(expect: Mapping[str, Any]) -> set[int]:
    """All ranks that may be named, in whatever role."""
    return set().union(*accepted(expect), expect.get("may", ()), expect.get("cycle", ()))


def hosts_of(verdict: Verdict) -> set[str]:
    return {*verdict.hosts, *(device.host for device in verdict.devices if device.host)}


def marked(name: str) -> Any:
    marks = [pytest.mark.xfail(strict=True, reason=OPEN[name])] if name in OPEN else []
    return pytest.param(name, id=name, marks=marks)


@pytest.mark.parametrize("name", [marked(name) for name in WEIGHED])
def test_the_verdict_says_what_the_files_prove(name: str) -> None:
    truth, expect = WEIGHED[name].truth, WEIGHED[name].expect
    verdict, may = verdict_of(name, hung=name in SAID_HUNG), set(expect.get("may", ()))
    assert verdict.kind in expect["kinds"], truth
    assert "causes" not in expect or verdict.cause in expect["causes"], truth
    assert any(ranks <= set(verdict.ranks) <= ranks | may for ranks in accepted(expect)), f"{verdict.ranks}: {truth}"
    assert "hosts" not in expect or hosts_of(verdict) & set(expect["hosts"]), truth
    assert "cycle" not in expect or set(verdict.cycle) == set(expect["cycle"]), truth
    assert "site" not in expect or verdict.site in expect["site"], truth
    for place in ("step", "module"):
        assert place not in expect or getattr(verdict.first_anomaly, place) == expect[place], truth


@pytest.mark.parametrize("name", [name for name in WEIGHED if name in REORDERED])
def test_no_order_of_detectors_changes_a_verdict(name: str) -> None:
    assert is_same_in_any_order(name, hung=name in SAID_HUNG)


@pytest.mark.parametrize("name", OPEN)
def test_what_is_still_open_names_nobody_innocent(name: str) -> None:
    expect = WEIGHED[name].expect
    verdict = verdict_of(name)
    assert set(verdict.ranks) <= guilty(expect), WEIGHED[name].truth
    assert hosts_of(verdict) <= set(expect.get("hosts", ())), WEIGHED[name].truth


@pytest.mark.parametrize("name", SAID_HUNG)
def test_unless_somebody_says_that_the_job_stood_still_the_culprit_is_a_suspect(name: str) -> None:
    """Named it may be, too; innocent ones may not."""
    truth, expect = WEIGHED[name].truth, WEIGHED[name].expect
    verdict = verdict_of(name)
    assert set(verdict.ranks) <= guilty(expect), truth
    assert set(expect["ranks"]) <= {*verdict.ranks, *verdict.suspects.ranks, *verdict.cycle}, truth


@pytest.mark.parametrize("name", ["exc_srun_nokill", "nan_origin_backward"])
def test_a_situation_is_the_same_bytes_each_time(name: str, tmp_path: Path) -> None:
    bundles = []
    for folder in (tmp_path / "first", tmp_path / "second"):
        write(name, folder)
        bundles.append({path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()})
    assert bundles[0] == bundles[1] != {}
