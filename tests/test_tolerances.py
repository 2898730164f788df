"""How far figures may be apart before that is a deviation: what is built in, and what the person allows."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from forensics.analyze import analyze
from forensics.case import Case
from forensics.cli import cli
from forensics.detectors.numerics import loss_log, replica_divergence
from forensics.model.tolerances import Tolerances
from forensics.report import Report
from tests.tensor_rows import OK, Job
from tests.test_detector_loss_log import CALM, log

Figures = dict[str, Any]


def scaled(by: float, **figures: Any) -> Figures:
    return {name: value * by if isinstance(value, float) else value for name, value in {**OK, **figures}.items()}


def reduced(others: dict[int, Figures], ranks: int = 4) -> Case:
    job = Job()
    job.reduce({rank: (OK, others.get(rank, OK)) for rank in range(ranks)}, range(ranks))
    return job.case()


def accused(case: Case, **allowed: float) -> list[tuple[int, ...]]:
    found = replica_divergence.DETECTOR.detect(replace(case, tolerances=Tolerances(**allowed)))
    return [one.ranks for one in found]


@pytest.mark.parametrize(
    ("rank_2", "allowed", "named"),
    [
        (scaled(1.004), {}, [(2,)]),
        (scaled(1.004), {"replicas": 0.01}, []),
        (scaled(1.02), {"replicas": 0.01}, [(2,)]),
        (scaled(1.004, mean=0.0), {"replicas": 0.01}, []),
    ],
    ids=["bit by bit, unless said", "dropped tokens", "more than was allowed", "a mean of zero has no share"],
)
def test_replicas(rank_2: Figures, allowed: dict[str, float], named: list[tuple[int, ...]]) -> None:
    assert accused(reduced({2: rank_2}), **allowed) == named


def test_a_chain_of_small_distances_accuses_no_end_of_it() -> None:
    apart = {rank: scaled(1 + 0.008 * rank) for rank in range(4)}
    assert accused(reduced(apart), replicas=0.01) == []


def test_checksums_without_figures_tell_no_distance() -> None:
    bare = [{"checksum": text, "nan_count": 0, "inf_count": 0} for text in "aaba"]
    job = Job()
    job.reduce({rank: (OK, bare[rank]) for rank in range(4)}, range(4))
    assert (accused(job.case()), accused(job.case(), replicas=0.01)) == ([(2,)], [])


def test_a_later_step_beyond_the_tolerance_is_found_behind_many_within() -> None:
    job = Job()
    for step in range(12):
        odd = scaled(1.5 if step == 11 else 1.001)
        job.reduce({rank: (OK, odd if rank == 1 else OK) for rank in range(4)}, range(4), step=step)
    case = replace(job.case(), tolerances=Tolerances(replicas=0.01))
    (found,) = replica_divergence.DETECTOR.detect(case)
    assert (found.ranks, found.first_anomaly.step) == ((1,), 11)


def test_a_recompute_within_the_tolerance_is_none() -> None:
    job = Job()
    job.op(3, "fc", OK, OK, microbatch=0)
    job.op(3, "fc", OK, scaled(1.004), microbatch=0, phase="recompute")
    assert (accused(job.case()), accused(job.case(), replicas=0.01)) == ([(3,)], [])


@pytest.mark.parametrize(
    ("loss", "allowed", "found"),
    [(3.3, 0.5, True), (3.3, 1.0, False), (2.6, 0.5, False), (2.6, 0.2, True)],
    ids=["as built in", "a higher rise is allowed", "a small rise", "a small rise is none to be allowed"],
)
def test_loss(loss: float, allowed: float, found: bool) -> None:
    case = log([*CALM, *[{"loss": loss, "grad_norm": 9.0}] * 5])
    assert bool(loss_log.DETECTOR.detect(replace(case, tolerances=Tolerances(loss=allowed)))) == found


@pytest.mark.parametrize(
    ("texts", "made"),
    [
        ({}, Tolerances()),
        ({"loss": "100%"}, Tolerances(loss=1.0)),
        ({"replicas": "1%", "loss": "0.25"}, Tolerances(loss=0.25, replicas=0.01)),
    ],
)
def test_how_it_is_written(texts: dict[str, str], made: Tolerances) -> None:
    assert Tolerances.of(texts) == made


@pytest.mark.parametrize(
    "text", ["loss", "loss=", "loss=-1%", "loss=nan", "loss=0", "replicas=inf", "speed=1%", "loss=1e400"]
)
def test_what_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "train.log").write_text("iteration 1/ 9 | lm loss: 2.0E+00 |\n")
    assert CliRunner().invoke(cli, ["analyze", str(tmp_path), "--tolerance", text]).exit_code == 2


def test_what_was_set_is_said(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text("".join(f" iteration {at}/ 9 | lm loss: 2.0E+00 |\n" for at in range(1, 9)))
    said = "as you allow: replicas may differ by 1 %, a loss may rise by 50 %; what stays below is no deviation"
    told: Report = analyze(tmp_path, tolerances={"replicas": 0.01})
    assert said in told.limits
    assert not [limit for limit in analyze(tmp_path).limits if "allow" in limit]
    answer = CliRunner().invoke(cli, ["analyze", str(tmp_path), "--json", "-", "--tolerance", "replicas=1%"])
    assert said in answer.stdout
