"""Two faults in one job: both are told, or the one that ended it; nobody innocent; and no order of detectors decides (of one
fault: test_situations.py)."""

from pathlib import Path

import pytest

from forensics.analyze import conclude_evidence
from forensics.report import Report
from parsers import read
from samples.situations.pairs import FAULTS, PAIRS, RANKS, job_of
from tests.any_order import concluded_in_any_order
from tests.relations import in_turn, pairs


def told(report: Report) -> set[str]:
    """The faults of the pair that the incidents tell, by rank or by what they may be called; of one with suspects alone, these."""
    ranks = {rank for one in report.incidents for rank in one.verdict.ranks}
    return ranks or set(report.incidents[report.primary].verdict.suspects.ranks)


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_of_two_faults_both_are_told_or_the_one_that_ended_the_job(first: str, second: str, tmp_path: Path) -> None:
    job_of(first, second).write(tmp_path / "bundle")
    report = concluded_in_any_order(read(tmp_path / "bundle"))
    assert told(report) <= set(RANKS), "an innocent rank"
    causes = {one.verdict.cause for one in report.incidents}
    for name, rank in zip((first, second), RANKS, strict=True):
        assert rank in told(report) or causes & set(FAULTS[name].causes), f"{name} of rank {rank} is not told"


LAYOUTS = ("srun_l", "tee", "json")
SOME = PAIRS[::5]
IN_TURN = in_turn(SOME, LAYOUTS)


@pytest.mark.parametrize(("pair", "layout"), pairs(SOME, LAYOUTS))
def test_neither_another_form_nor_a_lost_file_makes_anybody_innocent_guilty(
    pair: tuple[str, str], layout: str, tmp_path: Path
) -> None:
    """Each pair in each form without a file; with all files in one form each, in turn (`make relations`: in each)."""
    folder = tmp_path / "bundle"
    job_of(*pair, layout).write(folder)
    if (pair, layout) in IN_TURN:
        assert told(conclude_evidence(read(folder))) <= set(RANKS)
    (folder / "fr" / "nccl_trace_rank_3").unlink()
    assert told(conclude_evidence(read(folder))) <= set(RANKS)


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
