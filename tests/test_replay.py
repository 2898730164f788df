"""Steps replayed from operations with their starts: what they are lost to, at which price, and who is never named for it."""

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from forensics.case import Case
from forensics.graph.slow.program import programs
from forensics.graph.slow.shares import Replays, Shares, operations_of
from forensics.model.incident import Incident
from samples.simulator.pipeline import FORMS, Job, Layout, write
from tests.analysed import primary
from tests.log_cases import case

OWN = ("forward-compute", "backward-compute")
SMALL = Layout(4, 2, 1)


def table(job: Job) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"rank": row.rank, "step": row.step, "phase": row.kind, "start_ms": row.start_ms, "value_ms": row.end_ms - row.start_ms,
             "host": None, "file": "trace.parquet", "line": None, "record": number}
            for number, row in enumerate(job.rows())
        ],
        schema_overrides={"line": pl.Int64},
    )  # fmt: skip


def layout(job: Job) -> dict[int, dict[str, int]]:
    return {row.rank: {"dp": row.dp, "pp": row.pp, "tp": row.tp} for row in job.rows()}


def shares(job: Job) -> Shares:
    found = Replays(operations_of(table(job)), layout(job)).shares
    assert found is not None
    return found


def incident(job: Job, folder: Path, form: str = "parquet") -> Incident:
    write(job.rows(), form, folder / "bundle")
    return primary(folder / "bundle")


def is_stage(job: Job, stage: int, factor: float) -> Job:
    return replace(
        job,
        design=lambda rank, step, kind, number: factor if kind in OWN and job.layout.place(rank)[1] == stage else 1.0,
    )


def lengths(job: Job) -> Job:
    def factor(rank: int, step: int, kind: str, number: int) -> float:
        noise = random.Random(f"{job.layout.place(rank)[0]}:{step}:{number}")
        return noise.lognormvariate(0, 0.35) if kind in OWN else 1.0

    return replace(job, design=factor)


JOBS: dict[str, Callable[[], Job]] = {
    "healthy": lambda: Job(SMALL, steps=4),
    "deep": lambda: Job(Layout(1, 8, 1), steps=4),
    "no pipeline": lambda: Job(Layout(8, 1, 1), steps=4),
    "layers shared": lambda: Job(Layout(2, 2, 2), steps=4),
    "few micro-batches": lambda: Job(Layout(2, 4, 1), micro_batches=2, steps=4),
    "slow rank": lambda: Job(SMALL, steps=4).slower(5, factor=2.0),
    "uneven": lambda: is_stage(Job(Layout(3, 3, 1), steps=4), 2, 1.5),
    "lengths": lambda: lengths(Job(SMALL, steps=4)),
}


@pytest.mark.parametrize("name", JOBS)
def test_what_was_is_met(name: str) -> None:
    job = JOBS[name]()
    (program,) = programs(operations_of(table(job)), layout(job))
    assert program.steps == tuple(range(4))
    found = shares(job)
    assert found.replayed_ms == pytest.approx(found.measured_ms, rel=0.02)
    assert found.by_culprits + found.by_batches + found.by_stages <= 1


def test_members_of_pairs_and_collectives_are_learnt() -> None:
    job = Job(SMALL, micro_batches=3, steps=3)
    (program,) = programs(operations_of(table(job)), layout(job))
    together = {
        (members[0][1], tuple(sorted(rank for rank, _, _ in members)))
        for members in program.members
        if len(members) > 1
    }
    assert {who for kind, who in together if kind == "forward-send"} == {(0, 4), (1, 5), (2, 6), (3, 7)}
    assert {who for kind, who in together if kind == "grads-reduce-scatter"} == {(0, 1, 2, 3), (4, 5, 6, 7)}
    assert {who for kind, who in together if kind == "grad-norm-all-reduce"} == {tuple(range(8))}


@pytest.mark.parametrize("form", FORMS)
def test_the_rank_that_costs_most_and_its_price(form: str, tmp_path: Path) -> None:
    job = Job(SMALL, steps=8).slower(5, factor=1.6)
    found = incident(job, tmp_path, form)
    assert (found.verdict.kind, found.verdict.cause, found.verdict.ranks) == ("slow", "straggler_compute", [5])
    assert found.verdict.status == "supported"  # times alone
    assert found.counterfactual is not None and found.counterfactual.shares is not None
    price = 1 - job.without_fault().mean_ms() / job.mean_ms()
    assert found.counterfactual.shares["culprits"] == pytest.approx(price, abs=0.02)
    assert f"{100 * found.counterfactual.shares['culprits']:.1f}% shorter" in found.verdict.summary


def test_a_slow_rank_amid_unequal_sequences() -> None:
    """Single steps differ too much to tell; over all of them it takes longer for what the others do, too."""
    found = shares(lengths(Job(Layout(6, 2, 1), steps=12)).slower(4, factor=1.7))
    assert found.ranks == (4,)
    assert found.by_culprits > 0.05 and found.is_by_data
    assert shares(lengths(Job(Layout(6, 2, 1), steps=12))).ranks == ()


def test_two_that_hold_the_job_up_each_alone() -> None:
    """Without one of them the steps are as long: only both together heal it."""
    found = shares(Job(Layout(8, 2, 1), steps=6).slower(3, 12, factor=1.7))
    assert found.ranks == (3, 12)
    assert max(found.alone.values()) < 0.1 < found.by_culprits


def test_a_host_that_keeps_its_device_waiting_between_operations(tmp_path: Path) -> None:
    def stall(rank: int, step: int, kind: str, number: int) -> float:
        return 150.0 if rank == 6 and kind in OWN and (step + number) % 3 == 0 else 0.0

    job = Job(SMALL, steps=10, stall=stall)
    found = incident(job, tmp_path)
    assert (found.verdict.cause, found.verdict.ranks) == ("straggler_host", [6])
    assert shares(job).idle == (6,)


def test_both_ends_of_a_slow_link_are_suspects(tmp_path: Path) -> None:
    job = Job(
        SMALL, steps=8, fault=lambda rank, step, kind, number: 40.0 if rank == 2 and kind.endswith("-link") else 1.0
    )
    found = incident(job, tmp_path).verdict
    assert (found.cause, found.ranks, found.suspects.ranks) == ("straggler_network", [], [2, 6])


@pytest.mark.parametrize(
    ("stage", "said"), [(2, "the last stage also has"), (0, "the first stage also has"), (1, "stage 1 has")]
)
def test_a_stage_with_more_to_do_accuses_nobody(stage: int, said: str, tmp_path: Path) -> None:
    found = incident(is_stage(Job(Layout(4, 3, 1), steps=6), stage, 1.5), tmp_path)
    assert (found.verdict.cause, found.verdict.domain, found.verdict.ranks, found.verdict.suspects.ranks) == (
        "imbalance",
        "workload",
        [],
        [],
    )
    assert said in found.verdict.summary
    assert any(f"give stage {stage} fewer layers" in action.reason for action in found.actions)


def test_a_stage_of_one_rank_may_be_slow_itself(tmp_path: Path) -> None:
    found = incident(Job(Layout(1, 4, 1), steps=6).slower(2, factor=1.6), tmp_path).verdict
    assert (found.ranks, found.status) == ([], "hypothesis")


def test_sequence_lengths_accuse_nobody(tmp_path: Path) -> None:
    found = incident(lengths(Job(Layout(6, 2, 1), steps=10)), tmp_path)
    assert (found.verdict.cause, found.verdict.ranks, found.verdict.suspects.ranks) == ("imbalance", [], [])
    assert any("pack or sort sequences" in action.reason for action in found.actions)


LEGAL: dict[str, Callable[[], Job]] = {
    "jitter": lambda: Job(SMALL, steps=8, jitter=0.06),
    "one of two": lambda: Job(Layout(2, 3, 1), steps=8).slower(3, factor=1.8),
    "two of four": lambda: Job(SMALL, steps=8).slower(1, 2, factor=1.8),
    "one long step": lambda: Job(SMALL, steps=8).slower(5, factor=4.0, when=lambda step: step == 3),
    "nobody waits for it": lambda: is_stage(Job(Layout(4, 3, 1), steps=8), 2, 1.8).slower(1, factor=1.25),
}


@pytest.mark.parametrize("name", LEGAL)
def test_nobody_is_named_for(name: str, tmp_path: Path) -> None:
    assert incident(LEGAL[name](), tmp_path).verdict.ranks == []


def test_operations_without_a_layout_are_not_replayed_as_if_nobody_waited() -> None:
    job = Job(SMALL, steps=4).slower(5, factor=1.6)
    assert Replays(operations_of(table(job)), {}).shares is None


def test_slowdowns_of_single_parts() -> None:
    job = Job(SMALL, steps=6).slower(5, factor=2.0)
    replays = Replays(
        operations_of(table(job)), layout(job), dict.fromkeys(range(4), "a") | dict.fromkeys(range(4, 8), "b")
    )
    ranks, stages, kinds, hosts = (replays.slowdown(axis) for axis in ("rank", "pp", "kind", "host"))
    assert max(ranks, key=lambda rank: ranks[rank]) == 5
    assert stages[1] > stages[0] and hosts["b"] > hosts["a"]
    assert kinds["backward-compute"] > kinds["forward-compute"] > kinds["optimizer"]


def test_a_case_without_starts_has_nothing_to_replay() -> None:
    plain: Case = case(timings=[{"rank": 0, "step": 1, "phase": "forward", "value_ms": 3.0}])
    assert plain.replays is None and plain.shares is None
