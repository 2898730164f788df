"""Pictures of numbers: where values first turned bad, and how figures ran around the onset."""

from typing import Any

from forensics.case import Case
from forensics.model.drawn import FirstBad, Series
from forensics.model.finding import Finding
from forensics.model.incident import FirstAnomaly
from forensics.views.numbers import MODULES, POINTS, SERIES, numbers
from parsers.schema.tables import TABLE_NAMES, table
from tests.first_anomaly_answers import answer
from tests.tensor_rows import Job


def job_of(steps: int, fault_at: int) -> Job:
    """Three ranks, fc1 and fc2; in step `fault_at` fc2's output is NaN on rank 1, and all gradients after it."""
    job = Job()
    for step in range(steps):
        for rank in range(3):
            hit = rank == 1 and step == fault_at
            size = {"absmax": float(1 + rank), "nan_count": 0, "inf_count": 0}
            job.op(rank, "fc1", size, size, step=step)
            job.op(rank, "fc2", size, "nan" if hit else size, step=step)
            job.row(rank, "output", {"max": 0.5, "numel": 1}, step=step, module="loss", op="loss")
        if step == fault_at:
            job.reduce(
                {0: ("ok", "nan"), 1: ("nan", "nan"), 2: ("ok", "nan")}, [0, 1, 2], step=step, module="fc2.weight"
            )
    return job


def drawn(case: Case, finding: Finding) -> tuple[list[FirstBad], dict[tuple[str, str, int | None], Series], list[str]]:
    cells, series, notes = numbers(case, finding)
    return cells, {(one.what, one.who, one.rank): one for one in series}, notes


def logged(*rows: dict[str, Any]) -> Case:
    given = {"steps": table("steps", [{"file": "out.log", "line": at} | row for at, row in enumerate(rows, 1)])}
    return Case(tables={name: given.get(name, table(name, [])) for name in TABLE_NAMES})


def test_each_module_shows_on_which_ranks_it_first_turned_bad_and_in_which_step() -> None:
    job = job_of(4, 2)
    cells, _, notes = drawn(job.case(), answer(job))
    assert cells == [
        FirstBad(module="fc2", step=2, phase="forward", value="nan", ranks="1", origin=True),
        FirstBad(module="fc2", step=2, phase="grad_sync", value="nan", ranks="0,2", origin=False),
    ]
    assert notes == []


def test_the_culprits_figure_stands_beside_the_median_of_its_peers() -> None:
    job = job_of(4, 2)
    _, series, _ = drawn(job.case(), answer(job))
    culprit, peers = series["absmax", "culprit", 1], series["absmax", "peers", None]
    assert (culprit.module, culprit.tensor, culprit.onset, culprit.steps) == ("fc2", "output", 2, [0, 1, 2, 3])
    assert culprit.values == [2.0, 2.0, "NaN", 2.0]
    assert peers.values == [1.0, 1.0, 1.0, 1.0]
    assert culprit.ref is not None
    assert culprit.ref.text == "step 2: absmax NaN"
    assert series["loss", "peers", None].values == [0.5] * 4


def test_a_long_series_is_thinned_but_not_around_the_onset() -> None:
    job = job_of(1000, 700)
    series = drawn(job.case(), answer(job))[1]["absmax", "culprit", 1]
    assert len(series.steps) == len(series.values) <= POINTS
    assert (series.steps[0], series.steps[-1]) == (0, 999)
    assert set(range(660, 740)) <= set(series.steps)
    assert series.values[series.steps.index(700)] == "NaN"


def test_more_modules_than_a_picture_holds_are_counted() -> None:
    job = Job()
    for number in range(MODULES + 5):
        job.op(0, f"fc{number}", "nan" if number else "ok", "nan")
    cells, _, notes = drawn(job.case(), answer(job))
    assert [cell.module for cell in cells] == [f"fc{number}" for number in range(MODULES)]
    assert notes == [f"5 more modules turned bad later than the {MODULES} shown"]


def test_a_log_alone_gives_loss_gradient_norm_and_scale() -> None:
    case = logged(
        {"step": 1, "loss": 2.0, "grad_norm": 1.0, "loss_scale": 4.0},
        {"step": 2, "loss": float("nan"), "grad_norm": float("inf"), "loss_scale": 2.0},
        {"step": 2, "loss": 0.1, "phase": "eval"},
    )
    finding = Finding(detector="loss_log", severity="fatal", first_anomaly=FirstAnomaly(step=2))
    cells, series, _ = drawn(case, finding)
    assert cells == []
    assert {key: one.values for key, one in series.items()} == {
        ("loss", "job", None): [2.0, "NaN"],
        ("grad_norm", "job", None): [1.0, "Inf"],
        ("loss_scale", "job", None): [4.0, 2.0],
    }


def test_many_suspects_do_not_make_many_lines() -> None:
    rows = [{"rank": rank, "step": step, "loss": 1.0, "grad_norm": 1.0} for rank in range(64) for step in range(3)]
    found = numbers(logged(*rows), Finding(detector="loss_log", severity="fatal", suspect_ranks=tuple(range(64))))[1]
    assert len(found) <= SERIES
    assert [(one.who, one.rank) for one in found if one.what == "loss"] == [
        ("suspect", 0),
        ("suspect", 1),
        ("peers", None),
    ]


def test_what_is_no_numeric_incident_draws_no_numbers() -> None:
    job = job_of(4, 2)
    assert numbers(job.case(), Finding(detector="never_entered", cause="rank_absent")) == ([], [], [])
