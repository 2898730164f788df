"""Reports of samples and of written situations, each analysed once in a process, for tests that only read them; and what is said first of a bundle."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import parsers
from forensics.analyze import analyze
from forensics.analyze import detect as detected
from forensics.case import Case, Detector
from forensics.model.finding import Finding
from forensics.model.incident import Incident
from forensics.report import Report
from parsers import Evidence
from samples.situations import CASES, write
from tests.any_order import ANALYSIS, in_any_order
from tests.sources import written

SAMPLES = Path(__file__).resolve().parents[1] / "samples"
NAMES = sorted(path.parent.name for path in SAMPLES.glob("*/truth.json"))
REORDERED = list(CASES)[::3]  # situations whose detectors are asked in other orders, too


def heard(name: str) -> tuple[Report, tuple[Finding, ...]]:
    """A sample's report, and what its detectors said before anything was chosen."""
    report, findings, _ = _heard(name)
    return report, findings


@cache
def _heard(name: str) -> tuple[Report, tuple[Finding, ...], Evidence]:
    said: list[Finding] = []
    had: list[Evidence] = []

    def detect(case: Case, detectors: Sequence[Detector], *_: object) -> tuple[list[Finding], dict[str, str]]:
        found, missing = detected(case, detectors)
        said.extend(found)
        return found, missing

    def read(*bundle: Any, **options: Any) -> Evidence:
        had.append(parsers.read(*bundle, **options))
        return had[-1]

    with patch.object(ANALYSIS, "detect", detect), patch.object(ANALYSIS, "read", read):
        return analyze(SAMPLES / name / "bundle"), tuple(said), had[0]


def sample(name: str) -> Report:
    """The report of a sample."""
    return heard(name)[0]


def evidence(name: str) -> Evidence:
    """What was read of a sample."""
    return _heard(name)[2]


def primary(folder: Path) -> Incident:
    """The incident that comes first in the report of a bundle."""
    report = analyze(folder)
    return report.incidents[report.primary]


def cause_and_ranks(folder: Path, files: Mapping[str, str]) -> tuple[str | None, list[int]]:
    """The cause that a bundle of these files shows, and the ranks that are named."""
    verdict = analyze(
        written(folder, {name: text.removesuffix("\n").split("\n") for name, text in files.items()})
    ).verdict
    return verdict.cause, [*verdict.ranks]


def situation(name: str, *, hung: bool = False) -> Report:
    """The report of a written situation. `hung`: somebody says that the job stood still."""
    return _situation(name, hung)[0]


def is_same_in_any_order(name: str, *, hung: bool = False) -> bool:
    """Of the situations of REORDERED: whether each of its verdicts is, in whatever order the detectors are asked."""
    same = _situation(name, hung)[1]
    return bool(same) and all(same)


@cache
def _situation(name: str, hung: bool) -> tuple[Report, list[bool]]:
    asked = in_any_order() if name in REORDERED else nullcontext([])
    with TemporaryDirectory() as folder, asked as same:
        write(name, Path(folder) / name)
        return analyze(Path(folder) / name, hung=hung), same
