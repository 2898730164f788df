"""A tracker's runs of each rank, in folders of whatever names: two attempts, or none where nothing goes on."""

from pathlib import Path

import pytest

from forensics import Report, analyze
from tests.sources import written

COUNT, ODD, FIRST, AGAIN, LAST = 4, 2, 0, 30, 60


def _norm(step: int, rank: int, stale: int | None) -> float:
    return 40.0 + 0.0312345678 * (step - (7 if rank == stale else 0))


def _run(rank: int, steps: range, seconds: int, stale: int | None, world: str | None = "4") -> dict[str, list[str]]:
    told = [(1790000000 + seconds + step, step) for step in steps]
    files = {
        "params/rank": [str(rank)],
        "metrics/param_norm": [f"{at}000 {_norm(step, rank, stale):.10f} {step}" for at, step in told],
        "metrics/grad_norm": [f"{at}000 {1.5 + 0.0712345678 * (step % 7):.10f} {step}" for at, step in told],
        "metrics/loss": [f"{at}000 {5 - 0.01 * step + 0.013 * ((3 * rank + step) % 5):.6f} {step}" for at, step in told],
    }  # fmt: skip
    return files | ({"params/world_size": [world]} if world else {})


def _report(folder: Path, begins: int, later: int, world: str | None = "4") -> Report:
    files: dict[str, list[str]] = {}
    for rank in range(COUNT):
        both = (_run(rank, range(FIRST, AGAIN + 5), 0, None, world), _run(rank, range(begins, LAST), later, ODD, world))
        for nth, run in enumerate(both):
            files |= {f"runs/7/{(rank * 5 + nth * 3 + 1) * 7919:06x}cafe/{name}": own for name, own in run.items()}
    return analyze(written(folder, files))


def test_who_loaded_another_state_than_the_others(tmp_path: Path) -> None:
    report = _report(tmp_path, AGAIN, 400)
    told = report.incidents[-1].verdict
    assert (told.kind, told.cause, told.ranks) == ("numerics", "replica_divergence", [ODD])
    assert (told.first_anomaly.step, len(report.incidents)) == (AGAIN, 2)


@pytest.mark.parametrize(("begins", "later"), [(FIRST, 400), (AGAIN, -20)])
def test_seeds_and_runs_at_once_are_no_attempts(begins: int, later: int, tmp_path: Path) -> None:
    assert len(_report(tmp_path, begins, later).incidents) == 1


def test_a_plain_rank_that_comes_again_needs_a_world(tmp_path: Path) -> None:
    """It may be an adapter's."""
    assert not any(one.verdict.ranks for one in _report(tmp_path, AGAIN, 400, None).incidents)
