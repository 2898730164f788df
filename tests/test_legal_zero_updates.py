"""Updates that are legally zero: a replica that was cut from its group, a node whose update is skipped, an expert without
tokens, a step that is left out. None of them is an anomaly, and nobody is named for it."""

from typing import Any

import pytest
from msgspec.structs import replace

from forensics.case import Case
from forensics.detectors.numerics import exhausted_range, replica_divergence
from forensics.model.finding import Finding
from parsers.schema.tables import table
from tests.hang_tables import Rows, call
from tests.tensor_rows import OK, Job

STEPS, RANKS = 6, 4
ZERO: dict[str, Any] = {**OK, "absmax": 0.0, "min": 0.0, "max": 0.0}


def weight(step: int) -> dict[str, Any]:
    """The parameter after the update of a step."""
    return {**OK, "max": 1.0 + step}


def training(kept: dict[int, int], cut: dict[int, int] | None = None) -> Job:
    """Replicas that reduce their gradients and update a weight. `kept`: rank → the step whose update it skips, which it lags
    behind by from then on. `cut`: rank → the step from which on it is no member and updates nothing."""
    job, gone = Job(), cut or {}
    for step in range(STEPS):
        there = [rank for rank in range(RANKS) if step < gone.get(rank, STEPS)]
        job.reduce(dict.fromkeys(there, (OK, OK)), there, step=step, module="w")
        for rank in range(RANKS):
            last = gone[rank] - 1 if step >= gone.get(rank, STEPS) else step - (step >= kept.get(rank, STEPS))
            job.params([rank], weight(last), step=step)
    return job


def logged(case: Case, *skipped: tuple[int | None, int]) -> Case:
    """With a training log in which (rank, step) is skipped; rank None: of the whole job."""
    lines = [
        {"rank": rank, "step": step, "skipped": 1, "phase": "train", "file": "train.log", "line": number}
        for number, (rank, step) in enumerate(skipped, 1)
    ]
    return replace(case, tables={**case.tables, "steps": table("steps", lines)})


def diverged(case: Case) -> list[Finding]:
    return list(replica_divergence.DETECTOR.detect(case))


def test_a_replica_that_was_cut_from_its_group_may_keep_its_weights() -> None:
    assert diverged(training({}, cut={3: 2}).case()) == []


def test_a_node_whose_update_was_skipped_by_the_log_may_lag_behind() -> None:
    assert diverged(logged(training({3: 2}).case(), (3, 2))) == []


def test_weights_that_stayed_while_the_others_moved_are_an_update_that_was_left_out() -> None:
    (found,) = diverged(training({3: 2}).case())
    assert (found.ranks, found.suspect_ranks, found.domain) == ((), (3,), "unknown")
    assert found.undecided == ("tied_explanations",)
    assert "are those of the step before" in found.summary
    assert not [action for action in found.actions if action.kind == "inspect_hardware"]


def test_behind_a_skipped_update_another_rank_is_found() -> None:
    job = training({3: 2})
    for row in job.rows:
        if (row["rank"], row["tensor"], row["step"]) == (1, "param", 4):
            row["max"] = 77.0
    (found,) = diverged(logged(job.case(), (3, 2)))
    assert (found.ranks, found.first_anomaly.step) == ((1,), 4)


def test_of_two_halves_either_may_be_wrong() -> None:
    case = training({2: 2, 3: 2}).case()
    (found,) = diverged(case)
    assert (found.ranks, found.suspect_ranks, found.undecided) == ((), (0, 1, 2, 3), ("replica_tie",))
    assert diverged(logged(case, (2, 2), (3, 2))) == []


def test_weights_that_moved_elsewhere_are_no_skipped_update() -> None:
    job = training({})
    for row in job.rows:
        if (row["rank"], row["tensor"], row["step"]) == (3, "param", 2):
            row["max"] = 77.0
    (found,) = diverged(job.case())
    assert found.ranks == (3,)


def backward(sizes: list[float], fed: list[dict[str, Any]] | None = None) -> Job:
    """Gradients of these sizes, a step each; `fed`: what the modules got in the forward pass of that step."""
    job = Job()
    for step, size in enumerate(sizes):
        figures = {**OK, "absmax": size, "min": -size, "max": size}
        for rank in range(2):
            for layer in range(3):
                if fed is not None:
                    job.op(rank, f"expert{layer}", fed[step], fed[step], step=step)
                job.op(rank, f"expert{layer}", figures, figures, phase="backward", step=step)
    return job


def vanished(case: Case) -> list[str | None]:
    return [found.cause for found in exhausted_range.DETECTOR.detect(case)]


def test_gradients_of_a_step_that_the_log_skipped_may_be_zero() -> None:
    case = backward([1.0, 1.0, 1.0, 0.0]).case()
    assert vanished(case) == ["underflow"]
    assert vanished(logged(case, (None, 3))) == []
    assert vanished(logged(case, (0, 3), (1, 3))) == []
    assert vanished(logged(case, (0, 3))) == ["underflow"]


def test_experts_that_got_no_tokens_have_no_gradient() -> None:
    sizes = [1.0, 1.0, 0.0, 0.0]
    assert vanished(backward(sizes, [OK, OK, ZERO, ZERO]).case()) == []
    assert vanished(backward(sizes, [OK] * 4).case()) == ["underflow"]


@pytest.mark.parametrize("has_old_records", [True, False])
def test_ranks_that_were_cut_from_the_job_are_not_missed_in_its_new_groups(has_old_records: bool) -> None:
    before = [call("world", step, done=True) for step in (1, 2, 3)]
    job = Rows(8, smaller=range(6)).placed()
    for rank in range(6):
        last = [] if rank == 3 else [call("smaller", 2)]
        job.dump(rank, *before, call("smaller", 1, done=True), *last)
    for rank in (6, 7) if has_old_records else ():
        job.dump(rank, *before)
    verdict = job.verdict(expected=8)
    assert (verdict.cause, verdict.ranks, verdict.suspects.ranks) == ("rank_absent", [3], [])
