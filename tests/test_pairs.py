"""Two faults in one job: both are told, or the one that ended it; nobody innocent; and no order of detectors decides."""

import random
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

import pytest

from forensics.analyze import about, conclude_evidence
from forensics.analyze import detect as detected
from forensics.case import Case, Detector
from forensics.detectors import DETECTORS
from forensics.model.drawn import Views
from forensics.model.finding import Finding
from forensics.model.said import Said
from forensics.report import Report
from forensics.verdict.conclude import choose, conclude
from parsers import Evidence, read
from samples.situations import CASES, write
from samples.situations.pairs import FAULTS, PAIRS, RANKS, job_of
from tests.analysed import ANALYSIS

DETECTED = [detector.name for detector in DETECTORS]
ORDERS = (tuple(DETECTED[::-1]), tuple(random.Random(7).sample(DETECTED, len(DETECTED))))


def evidence_of(first: str, second: str, folder: Path, layout: str = "flat") -> Evidence:
    job_of(first, second, layout).write(folder)
    return read(folder)


def told(report: Report) -> set[str]:
    """The faults of the pair that the incidents tell, by rank or by what they may be called; of one with suspects alone, these."""
    ranks = {rank for one in report.incidents for rank in one.verdict.ranks}
    return ranks or set(report.incidents[report.primary].verdict.suspects.ranks)


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_of_two_faults_both_are_told_or_the_one_that_ended_the_job(first: str, second: str, tmp_path: Path) -> None:
    evidence = evidence_of(first, second, tmp_path / "bundle")
    report = concluded_in_any_order(evidence)
    assert told(report) <= set(RANKS), "an innocent rank"
    causes = {one.verdict.cause for one in report.incidents}
    for name, rank in zip((first, second), RANKS, strict=True):
        assert rank in told(report) or causes & set(FAULTS[name].causes), f"{name} of rank {rank} is not told"


@pytest.mark.parametrize(("first", "second"), PAIRS[::5])
@pytest.mark.parametrize("layout", ["srun_l", "tee", "json"])
def test_neither_another_form_nor_a_lost_file_makes_anybody_innocent_guilty(
    first: str, second: str, layout: str, tmp_path: Path
) -> None:
    folder = tmp_path / "bundle"
    assert told(conclude_evidence(evidence_of(first, second, folder, layout))) <= set(RANKS)
    (folder / "fr" / "nccl_trace_rank_3").unlink()
    assert told(conclude_evidence(read(folder))) <= set(RANKS)


def verdicts(case: Case, findings: Sequence[Finding]) -> list[tuple[object, ...]]:
    said = (one.verdict for one in conclude(case, choose(case, findings, about(DETECTORS)), lambda _: Views()))
    return [
        (one.kind, one.cause, one.ranks, one.hosts, one.suspects, one.status, one.undecided, one.site, str(one.summary))
        for one in said
    ]


def concluded_in_any_order(evidence: Evidence) -> Report:
    """The report; what detectors found in each attempt, and in each program of it, comes to the same in whatever order they are asked."""
    asked = 0

    def detect(case: Case, detectors: Sequence[Detector], *_: object) -> tuple[list[Finding], dict[str, Said]]:
        nonlocal asked
        asked += 1
        found = {one.name: detected(case, [one]) for one in detectors}
        in_order = {order: [one for name in order for one in found[name][0]] for order in (tuple(found), *ORDERS)}
        first, *others = (verdicts(case, findings) for findings in in_order.values())
        assert all(other == first for other in others)
        return in_order[tuple(found)], {name: why for _, missing in found.values() for name, why in missing.items()}

    with patch.object(ANALYSIS, "detect", detect):
        report = conclude_evidence(evidence)
    assert asked
    return report


@pytest.mark.parametrize("name", list(CASES)[::3])
def test_no_order_of_detectors_changes_a_verdict(name: str, tmp_path: Path) -> None:
    write(name, tmp_path / "bundle")
    concluded_in_any_order(read(tmp_path / "bundle"))


REPORT = """Detected inf/nan during batch_number={step}
Last 2 forward frames:
abs min  abs max  metadata
                  {module}.up Linear
2.17e-07 4.50e+00 weight
1.79e-06 4.65e+00 input[0]
3.18e-04 6.27e+04 output
                  {module}.drop Dropout
3.18e-04 6.27e+04 input[0]
0.00e+00      inf output
"""


@pytest.mark.parametrize("step", [0, 7])
@pytest.mark.parametrize("module", ["decoder.1", "encoder.block.2.layer.1"])
def test_of_two_readings_of_one_report_the_one_that_says_where_leads(step: int, module: str, tmp_path: Path) -> None:
    """A check failed at this step; and the last of its frames made Inf of finite inputs."""
    (tmp_path / "train.log").write_text(REPORT.format(step=step, module=module))
    verdict = concluded_in_any_order(read(tmp_path)).verdict
    assert (verdict.cause, verdict.first_anomaly.module) == ("overflow", f"{module}.drop")
