"""Whether a bad value outlives a step: parameters that are seen clean say nothing of those that no row shows."""

from collections.abc import Iterable

import pytest

from tests.first_anomaly_answers import answer
from tests.tensor_rows import Job

RANKS = range(4)


def exchange(job: Job, step: int, given: Iterable[str], got: str, call: int, **columns: str) -> None:
    for rank, value in zip(RANKS, given, strict=True):
        place = {"module": columns["module"], "op": "all_to_all", "phase": "comm", "step": step, "call": call}
        job.row(rank, "input", value, group="ep", group_ranks="0-3", **place)
        job.row(rank, "output", got, group="ep", group_ranks="0-3", **place)


def experts(params: bool = True, sync: bool = True) -> Job:
    """The expert of rank 2 makes NaN of clean tokens in step 1; the embedding, whose parameters no row shows, gets its gradient."""
    job = Job()
    for step in range(3):
        spoiled = step == 2
        exchange(job, step, ["nan" if spoiled else "ok"] * 4, "nan" if spoiled else "ok", 2 * step, module="dispatch")
        for rank in RANKS:
            own = spoiled or (step == 1 and rank == 2)
            place = {"module": "expert", "op": "Linear", "step": step}
            job.row(rank, "input", "nan" if spoiled else "ok", **place)
            if params:
                job.row(rank, "param.weight", "nan" if spoiled and rank == 2 else "ok", **place)
            job.row(rank, "output", "nan" if own else "ok", **place)
        given = ["nan" if spoiled or (step == 1 and rank == 2) else "ok" for rank in RANKS]
        exchange(job, step, given, "nan" if step else "ok", 2 * step + 1, module="combine")
        if sync:
            bad = "nan" if step else "ok"
            job.reduce(dict.fromkeys(RANKS, (bad, bad)), RANKS, module="emb.weight", step=step)
    return job


@pytest.mark.parametrize("columns", [(), ("phase",), ("op",), ("module",), ("group", "group_ranks", "call")], ids=str)
@pytest.mark.parametrize("sync", [True, False], ids=["gradients", "no gradients"])
@pytest.mark.parametrize("params", [True, False], ids=["parameters of experts", "no parameters"])
def test_a_birth_in_the_step_before_is_not_lost(params: bool, sync: bool, columns: tuple[str, ...]) -> None:
    job = experts(params, sync)
    job.rows = [{name: value for name, value in row.items() if name not in columns} for row in job.rows]
    found = answer(job, expected=RANKS)
    assert (found.ranks, found.first_anomaly.step) == ((2,), 1)


def test_a_gradient_that_all_ranks_have_summed_is_none_of_their_own_without_an_operator() -> None:
    """Rows that state a group, or a gradient that goes in and comes out, are a communication whatever they lack."""
    job = Job()
    job.op(1, "fc", "ok", "nan")
    for rank in (0, 2):
        job.op(rank, "fc", "ok", "ok")
    job.reduce({0: ("ok", "nan"), 1: ("nan", "nan"), 2: ("ok", "nan")}, module="emb.weight", op=None)
    found = answer(job, expected=range(3))
    assert (found.ranks, found.first_anomaly.module) == ((1,), "fc")
