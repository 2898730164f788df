"""A parameter and the master copy that the optimizer updates: apart on one rank, on all, never, and states that are no masters."""

from collections.abc import Callable
from typing import Any

import pytest

from forensics.detectors.numerics import cast_copy
from tests.tensor_rows import Job

STEPS, RANKS = 14, 4
Size = Callable[[int, int], float]  # rank, step → how large


def master(rank: int, step: int) -> float:
    return 1.0 + 0.02 * step + 0.001 * rank


def cast(rank: int, step: int) -> float:
    return master(rank, step) * (1 + 0.002 * (-1) ** step)


def figures(size: float) -> dict[str, Any]:
    return {
        "absmax": size,
        "max": size,
        "min": -size / 2,
        "mean": size / 100,
        "l2norm": 8 * size,
        "nan_count": 0,
        "inf_count": 0,
    }


def job(copy: Size, key: str = "master", *, kept: Size = master, steps: int = STEPS, leaf: str = "weight.") -> Job:
    made = Job(phase="optimizer", op="step")
    for rank in range(RANKS):
        for step in range(steps):
            for module in ("layers.0", "layers.1"):
                columns = {"step": step, "module": module}
                made.row(rank, f"optimizer_state.{leaf}exp_avg", figures(0.01 + 0.003 * (step % 3)), **columns)
                made.row(rank, f"optimizer_state.{leaf}{key}", figures(kept(rank, step)), **columns)
                own = copy(rank, step) if module == "layers.1" else cast(rank, step)
                made.row(rank, f"param.{leaf}".rstrip("."), figures(own), **columns)
    return made


def stale(*ranks: int, since: int = 9) -> Size:
    return lambda rank, step: 1.6 * cast(rank, step) if rank in ranks and step >= since else cast(rank, step)


@pytest.mark.parametrize("key", ["master", "master_param", "fp32_from_fp16", "x7"])
@pytest.mark.parametrize("leaf", ["weight.", ""])
def test_whose_copy_left_its_master_is_named(key: str, leaf: str) -> None:
    (found,) = cast_copy.detect(job(stale(1), key, leaf=leaf).case())
    assert (found.ranks, found.first_anomaly.step, found.first_anomaly.module) == ((1,), 9, "layers.1")


@pytest.mark.parametrize("ranks", [(0, 1), (0, 1, 2, 3)])
def test_on_half_of_the_ranks_it_is_the_program(ranks: tuple[int, ...]) -> None:
    (found,) = cast_copy.detect(job(stale(*ranks)).case())
    assert (found.ranks, found.domain) == ((), "workload")


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(job(cast), id="what a cast changes"),
        pytest.param(job(stale(1), kept=lambda rank, step: 0.3 + 0.01 * step), id="a state that is no master"),
        pytest.param(job(stale(0, 1, 2, 3, since=0)), id="apart from the first update on"),
        pytest.param(
            job(lambda rank, step: cast(rank, step) * (2 if (rank, step) == (1, 9) else 1)), id="for one step"
        ),
        pytest.param(job(stale(1, since=0), steps=1), id="too few to know a master"),
    ],
)
def test_nothing_is_said(made: Job) -> None:
    assert cast_copy.detect(made.case()) == ()
