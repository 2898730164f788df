"""Reports of samples and of written situations, each analysed once in a process, for tests that only read them; and what is said first of a bundle."""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from forensics.analyze import analyze
from forensics.analyze import detect as detected
from forensics.case import Case, Detector
from forensics.model.finding import Finding
from forensics.model.incident import Incident
from forensics.report import Report
from samples.situations import write
from tests.sources import written

SAMPLES = Path(__file__).resolve().parents[1] / "samples"
NAMES = sorted(path.parent.name for path in SAMPLES.glob("*/truth.json"))
ANALYSIS = import_module("forensics.analyze")  # the function of the same name hides it


@cache
def heard(name: str) -> tuple[Report, tuple[Finding, ...]]:
    """A sample's report, and what its detectors said before anything was chosen."""
    said: list[Finding] = []

    def detect(case: Case, detectors: Sequence[Detector], *_: object) -> tuple[list[Finding], dict[str, str]]:
        found, missing = detected(case, detectors)
        said.extend(found)
        return found, missing

    with patch.object(ANALYSIS, "detect", detect):
        return analyze(SAMPLES / name / "bundle"), tuple(said)


def sample(name: str) -> Report:
    """The report of a sample."""
    return heard(name)[0]


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
    return _situation(name, hung)


@cache
def _situation(name: str, hung: bool) -> Report:
    with TemporaryDirectory() as folder:
        write(name, Path(folder) / name)
        return analyze(Path(folder) / name, hung=hung)
