"""Who is slower than its peers, and what looks like it and is none."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from forensics.analyze import about, detect
from forensics.case import Case
from forensics.detectors import DETECTORS
from forensics.detectors.slow import late_rank, slow_network, straggler
from forensics.verdict.conclude import choose
from tests.log_cases import Judged, case, judged
from tests.slow_tables import Timed

ALL = (straggler.DETECTOR, late_rank.DETECTOR, slow_network.DETECTOR)
KNOWN = [{"name": "pipeline_model_parallel_size", "value": "1"}]


def timed(job: Timed, waits: bool = True, **more: Any) -> Case:
    """What each rank wrote by itself."""
    return case(timings=[row | {"file": f"rank_{row['rank']}.csv"} for row in job.rows(waits)], **more)


def verdict(whole: Case) -> Judged:
    return judged(whole, *ALL)


@pytest.mark.parametrize("waits", [True, False], ids=["with waits", "work alone"])
@pytest.mark.parametrize(("phase", "factor"), [("backward", 1.15), ("forward", 1.3)])
def test_the_rank_whose_work_takes_longer(phase: str, factor: float, waits: bool) -> None:
    found = verdict(timed(Timed(8).slower(5, phase, factor), waits, settings=KNOWN))
    assert (found.kind, found.cause, found.ranks) == ("slow", "straggler_compute", (5,))
    assert found.status == "supported"  # times alone, however many tell them
    assert "from the first step on" in found.finding.summary


def test_two_readings_of_one_table_are_one_observer() -> None:
    """That it takes longer, and that the others wait for it, somebody wrote into one file for all of them."""
    rows = Timed(8).slower(5, "backward", 1.3).rows()
    one = verdict(case(timings=rows, settings=KNOWN))
    assert (one.ranks, one.status, len(one.observers)) == ((5,), "supported", 1)
    halves = [row | {"file": f"{row['rank'] // 4}.csv"} for row in rows]
    assert len(verdict(case(timings=halves, settings=KNOWN)).observers) == 2
    log = [{"file": "timings.log", "lines": 4 * len(rows)}]  # each line of a log of all ranks has its own printer
    assert len(verdict(case(timings=rows, settings=KNOWN, files=log)).observers) == 2


def test_of_an_unknown_layout_it_may_be_a_stage_of_its_own() -> None:
    """From the start, and few enough for a pipeline of single ranks: named as the best explanation only."""
    found = verdict(timed(Timed(8).slower(5, "backward", 1.3)))
    assert (found.ranks, found.status, found.undecided) == ((5,), "hypothesis", ("membership_unknown",))
    assert verdict(timed(Timed(32).slower(5, "backward", 1.3))).status == "supported"
    assert verdict(timed(Timed(8).slower(5, "backward", 1.3, lambda step: step >= 20))).status == "supported"


def test_the_host_that_keeps_its_device_waiting() -> None:
    found = verdict(timed(Timed(8).slower(5, "data", 20)))
    assert (found.cause, found.ranks, found.finding.site) == ("straggler_host", (5,), "data_loading")


def test_since_when_and_at_what_price() -> None:
    found = verdict(timed(Timed(8).slower(5, "backward", 1.3, lambda step: step >= 30)))
    assert found.ranks == (5,)
    assert found.finding.first_anomaly.step == 30
    assert "from step 30 on" in found.finding.summary
    assert "% of the time of all steps" in found.finding.summary


def test_on_and_off() -> None:
    found = verdict(timed(Timed(8).slower(5, "backward", 1.6, lambda step: step % 7 in (1, 2, 4))))
    assert found.ranks == (5,)
    assert "on and off" in found.finding.summary


def test_two_of_sixteen() -> None:
    found = verdict(timed(Timed(16).slower(5, "backward", 1.2).slower(11, "backward", 1.2)))
    assert found.ranks == (5, 11)


LEGAL: dict[str, Callable[[], Timed]] = {
    "nothing": lambda: Timed(8),
    "one slow step": lambda: Timed(8).slower(5, "backward", 9, lambda step: step == 20),
    "two slow steps": lambda: Timed(8).slower(5, "backward", 9, lambda step: step in (20, 41)),
    "all slower from a step on": lambda: Timed(8).by(lambda rank, step, phase: 1.5 if step >= 25 else 1),
    "ramp of the batch": lambda: Timed(8).by(lambda rank, step, phase: 1 + step / 10),
    "checkpoint of all": lambda: Timed(8).by(lambda rank, step, phase: 90 if phase == "data" and step % 10 == 9 else 1),
    "at a fixed beat, one rank alone": lambda: Timed(8).slower(3, "optimizer", 20, lambda step: step % 5 == 4),
    "longer in one phase, shorter in another": lambda: (
        Timed(8).slower(5, "forward", 1.3).by(lambda rank, step, phase: 0.85 if rank == 5 and phase == "backward" else 1)
    ),
    "too small to matter": lambda: Timed(8).slower(5, "optimizer", 1.15),
    "one part in fifty of a step": lambda: Timed(8).slower(5, "forward", 1.1),
}  # fmt: skip


@pytest.mark.parametrize("name", LEGAL)
def test_what_is_legal_accuses_nobody(name: str) -> None:
    assert detect(timed(LEGAL[name]()), ALL)[0] == []


@pytest.mark.parametrize(
    ("settings", "ranks", "suspects"),
    [
        ([], (), (7,)),
        (KNOWN, (7,), ()),
        ([{"name": "pipeline_model_parallel_size", "value": "8"}, {"name": "world_size", "value": "8"}], (), ()),
        ([{"name": "pipeline_model_parallel_size", "value": "2"}, {"name": "world_size", "value": "8"}], (7,), ()),
    ],
    ids=["layout unknown", "no pipeline", "a stage of its own", "three others in its stage"],
)
def test_the_last_rank_may_be_a_stage_of_its_own(
    settings: list[dict[str, Any]], ranks: tuple[int, ...], suspects: tuple[int, ...]
) -> None:
    found, _ = detect(timed(Timed(8).slower(7, "backward", 1.3), settings=settings), ALL)
    assert [(one.ranks, one.suspect_ranks) for one in found] == ([(ranks, suspects)] if ranks or suspects else [])


def test_a_last_rank_that_becomes_slow_is_no_stage() -> None:
    found = verdict(timed(Timed(8).slower(7, "backward", 1.3, lambda step: step >= 20)))
    assert found.ranks == (7,)


@pytest.mark.parametrize(
    ("wait", "ranks"),
    [("allreduce", (7,)), ("reduce_scatter_grads", (7,)), ("recv_forward comm", ()), ("all_gather", ()), ("comm", ())],
)
def test_who_reduces_with_the_others_is_no_stage(wait: str, ranks: tuple[int, ...]) -> None:
    rows = timed(Timed(8).slower(7, "backward", 1.3)).tables["timings"].to_dicts()
    renamed = [row | {"phase": wait if row["phase"] == "comm" else row["phase"]} for row in rows]
    assert detect(case(timings=renamed), ALL)[0][0].ranks == ranks


def test_uneven_stages_are_legal() -> None:
    """Four stages of two ranks: the first and the last differ by design."""
    job = Timed(8).by(lambda rank, step, phase: {0: 1.15, 3: 0.6}.get(rank // 2, 1.0))
    sizes = [{"name": "pipeline_model_parallel_size", "value": "4"}, {"name": "world_size", "value": "8"}]
    assert detect(timed(job, settings=sizes), ALL)[0] == []
    found = detect(timed(job), ALL)[0]
    assert [one.ranks for one in found] == [()] * len(found)


@pytest.mark.parametrize(
    ("topology", "ranks", "suspects"),
    [
        ({}, (4, 5, 6, 7), ()),
        ({"dp": 16}, (4, 5, 6, 7), ()),
        ({"dp": 4}, (), (4, 5, 6, 7)),
        ({"dp": 4, "pp": 4}, (), ()),
    ],
    ids=["of an unknown layout", "all do the same", "a part of the layout", "a stage"],
)
def test_all_ranks_of_one_host(topology: dict[str, int], ranks: tuple[int, ...], suspects: tuple[int, ...]) -> None:
    job = Timed(16).by(lambda rank, step, phase: 30 if phase == "data" and rank // 4 == 1 else 1)
    rows = [row | {"host": f"n{row['rank'] // 4}"} for row in job.rows()]
    whole = replace(case(timings=rows, expected=16), topology=topology)
    found, _ = detect(whole, ALL)
    assert [(one.ranks, one.suspect_ranks) for one in found] == ([(ranks, suspects)] if ranks or suspects else [])


@pytest.mark.parametrize(
    ("phase", "slow", "ranks"),
    [
        ("data", range(4, 8), (4, 5, 6, 7)),
        ("forward", range(4, 8), ()),
        ("data", range(12, 16), ()),
        ("data", range(4, 12), ()),
    ],
    ids=["its host", "a stage has other work", "the last stage reads labels", "two hosts"],
)
def test_a_host_in_the_middle_that_keeps_its_devices_waiting(phase: str, slow: range, ranks: tuple[int, ...]) -> None:
    job = Timed(16).by(lambda rank, step, at: 30 if at == phase and rank in slow else 1)
    rows = [row | {"host": f"n{row['rank'] // 4}"} for row in job.rows()]
    found = verdict(case(timings=rows, expected=16))
    assert (found.ranks, found.status == "hypothesis" or not ranks) == (ranks, True)


def test_slow_pairs_at_equal_distances_have_a_task_of_their_own() -> None:
    job = Timed(32).by(lambda rank, step, phase: 30 if phase == "data" and rank % 8 == 0 else 1)
    (found,) = detect(timed(job, settings=KNOWN), ALL)[0]
    assert (found.ranks, found.undecided) == ((), ("membership_unknown",))


def test_more_tokens_are_an_imbalance_and_no_slow_rank() -> None:
    job = Timed(8).slower(6, "backward", 2.2).slower(6, "forward", 2.2)
    job.tokens = dict.fromkeys(range(8), 30000) | {6: 90000}
    found = verdict(timed(job))
    assert (found.kind, found.cause, found.ranks, found.suspects) == ("slow", "imbalance", (), ())
    job.tokens = dict.fromkeys(range(8), 30000)
    assert verdict(timed(job)).ranks == (6,)


def _saves(longer: Callable[[int], float], size: Callable[[int], int | None] = lambda rank: 5 * 10**9) -> Case:
    """Five checkpoints of eight ranks, each of which then waits for the last one; a step takes 0.4 s."""
    rows: list[dict[str, Any]] = []
    for step in range(50, 300, 50):
        times = {rank: longer(rank) * (8000 + 37 * (step * 7 + rank * 13) % 900) for rank in range(8)}
        for rank, ms in times.items():
            common = {"rank": rank, "step": step, "level": 0}
            rows += [
                common | {"phase": "checkpoint", "name": "checkpoint", "value_ms": ms, "tokens": size(rank)},
                common | {"phase": "barrier", "name": "barrier", "value_ms": max(times.values()) - ms + 100},
                common | {"phase": "step", "name": "step_time", "value_ms": 400},
            ]
    return case(timings=rows)


def test_the_one_who_takes_longer_to_write_its_part_of_each_checkpoint() -> None:
    found = verdict(_saves(lambda rank: 25.0 if rank == 5 else 1.0))
    assert (found.cause, found.ranks, found.finding.site) == ("straggler_host", (5,), "checkpoint_io")
    assert "%" not in found.finding.summary  # it lies between two steps


def test_checkpoints_that_take_all_long_accuse_nobody() -> None:
    assert verdict(_saves(lambda rank: 25.0)).ranks == ()


def test_who_has_more_to_write_is_not_slow() -> None:
    found = verdict(_saves(lambda rank: 4.0 if rank == 5 else 1.0, lambda rank: 20 * 10**9 if rank == 5 else 5 * 10**9))
    assert (found.cause, found.ranks) == ("imbalance", ())
    assert "more to write" in found.finding.summary


def test_tokens_count_in_the_steps_that_take_longer() -> None:
    """The load of one rank grows late in the run: over all steps its median is as its peers'."""
    job = Timed(8).slower(6, "backward", 3.0, lambda step: step >= 40)
    rows = [row | {"tokens": 90000 if row["rank"] == 6 and row["step"] >= 40 else 30000} for row in job.rows()]
    assert (verdict(case(timings=rows)).cause, verdict(case(timings=rows)).ranks) == ("imbalance", ())


def test_experts_without_token_counts_leave_a_suspect() -> None:
    whole = timed(Timed(8).slower(5, "backward", 1.4), settings=[{"name": "num_experts", "value": "64"}])
    found = verdict(whole)
    assert (found.ranks, found.suspects, found.undecided) == ((), (5,), ("no_baseline",))


SPLIT = [{"name": "tensor_model_parallel_size", "value": "2"}, {"name": "world_size", "value": "8"}, *KNOWN]


def test_ranks_that_share_each_layer_hold_each_other_up() -> None:
    """One of the two is slow, and both take longer; which of them, only what was measured of their devices tells."""
    job = Timed(8).slower(6, "backward", 1.3).slower(7, "backward", 1.3)
    found = verdict(timed(job, settings=SPLIT))
    assert (found.ranks, found.suspects, found.undecided) == ((), (6, 7), ("tied_explanations",))
    clocks = [
        {"rank": rank, "metric": "clocks.sm", "value": 1200.0 if rank == 6 else 1980.0, "time_ns": moment}
        for rank in range(8) for moment in range(3)
    ]  # fmt: skip
    assert verdict(timed(job, settings=SPLIT, devices=clocks)).ranks == (6,)
    assert verdict(timed(Timed(8).slower(5, "backward", 1.3), settings=SPLIT)).ranks == (5,)


def _comes_last(phases: Callable[[Timed], Timed], shown: set[str], whole: Callable[[int], float] | None) -> Judged:
    """Eight ranks that print these phases, and how long the whole step took them: the sum, times what `whole` says."""
    job = phases(Timed(8))
    sums: dict[tuple[int, int], float] = {}
    for row in job.rows():
        at = (row["rank"], row["step"])
        sums[at] = sums.get(at, 0.0) + row["value_ms"]
    rows = [row | {"file": f"{row['rank']}.csv"} for row in job.rows() if row["phase"] in shown]
    if whole is not None:
        rows += [
            {"rank": r, "step": s, "phase": "step", "value_ms": ms * whole(r), "level": 0, "file": f"{r}.csv"}
            for (r, s), ms in sums.items()
        ]
    return verdict(case(timings=rows))


def _between(job: Timed) -> Timed:
    job.phases = {"forward": 100.0, "backward": 200.0, "between": 4.0}
    return job.slower(5, "between", 20)


@pytest.mark.parametrize(
    ("phases", "shown", "cause"),
    [
        (_between, {"forward", "backward", "comm"}, "straggler_host"),
        (lambda job: job.slower(5, "backward", 1.4), {"comm"}, None),
    ],
    ids=["its work is not longer", "no figures of work"],
)
def test_who_comes_last_is_slow_if_it_is_seen_that_the_others_wait(
    phases: Callable[[Timed], Timed], shown: set[str], cause: str | None
) -> None:
    """Its whole steps are as long as theirs: what it waits less, it took longer to come. Without them it may as well have
    less to communicate; if it is done earlier, it has."""
    seen = _comes_last(phases, shown, lambda rank: 1.0)
    assert (seen.kind, seen.cause, seen.ranks) == ("slow", cause, (5,))
    untold = _comes_last(phases, shown, None)
    assert (untold.ranks, untold.suspects, untold.undecided) == ((), (5,), ("no_baseline",))


def test_nobody_waits_for_who_has_less_to_communicate() -> None:
    rows: list[dict[str, Any]] = []
    for rank in range(8):
        for step in range(40):
            comm = (20.0 if rank == 5 else 80.0) + (rank * 7 + step) % 3
            told = {"forward": 100.0, "comm": comm, "step": 110.0 + comm}
            rows += [
                {"rank": rank, "step": step, "phase": phase, "value_ms": ms, "level": 0, "file": f"{rank}.csv"}
                for phase, ms in told.items()
            ]
    assert [one for one in detect(case(timings=rows), ALL)[0] if one.ranks or one.suspect_ranks] == []


def test_equal_step_times_decide_nothing() -> None:
    """Everybody's step is as long as the slowest rank's."""
    job = Timed(8).slower(5, "backward", 1.4)
    whole: dict[tuple[int, int], float] = {}
    for row in job.rows():
        at = (row["rank"], row["step"])
        whole[at] = whole.get(at, 0.0) + row["value_ms"]
    rows = [{"rank": r, "step": s, "elapsed_ms": value, "file": f"rank{r}.log"} for (r, s), value in whole.items()]
    ends = [{"kind": "job_end", "rank": rank, "severity": "info"} for rank in range(8)]
    found = judged(case(ends, steps=rows), *ALL)
    assert found.kind == "healthy"
    assert [claim.direction for claim in found.claims if "slower than its peers" in claim.text] == ["unseen"]


def _alltoall(longer: Callable[[int], float], work: Callable[[int], float] = lambda rank: 1.0) -> Case:
    job = Timed(32, backward=200.0, exchange=30.0).by(
        lambda rank, step, phase: longer(rank) if phase == "exchange" else work(rank)
    )
    rows = [row | {"phase": "comm", "name": "AlltoAll", "level": 2} if row["phase"] == "exchange" else row
            for row in job.rows(waits=False)]  # fmt: skip
    return case(timings=rows, ranks=[{"rank": r, "host": f"node-{r // 8}"} for r in range(32)])


def test_a_host_whose_communication_alone_is_longer() -> None:
    found = verdict(_alltoall(lambda rank: 1.2 if rank // 8 == 3 else 1.0))
    assert (found.kind, found.cause, found.ranks, found.hosts) == ("slow", "straggler_network", (), ("node-3",))


def test_a_host_that_waits_because_it_is_early_is_not_slow() -> None:
    whole = _alltoall(lambda rank: 1.6 if rank // 8 == 3 else 1.0, lambda rank: 0.9 if rank // 8 == 3 else 1.0)
    assert [one for one in detect(whole, ALL)[0] if one.is_named] == []


def test_one_rank_that_waits_long_is_not_named() -> None:
    whole = _alltoall(lambda rank: 1.5 if rank == 13 else 1.0)
    assert [one for one in detect(whole, ALL)[0] if one.is_named] == []


def test_a_job_that_ended_badly_is_not_called_slow() -> None:
    died = [{"kind": "exception", "code": "KeyError", "rank": 2}, {"kind": "exit", "code": "1", "rank": 2}]
    whole = case(died, timings=Timed(8).slower(5, "backward", 1.4).rows())
    chosen = choose(whole, detect(whole, DETECTORS)[0], about(DETECTORS)).chosen
    assert [(one.kind, one.finding.ranks) for one in chosen] == [("crash", (2,)), ("slow", (5,))]


def _again(rank: int) -> dict[str, Any]:
    return {"kind": "recompute", "rank": rank, "severity": "info", "text": "activation recomputation is on"}


@pytest.mark.parametrize(
    ("longer", "said", "cause", "ranks"),
    [
        (1.45, [6], "imbalance", ()),
        (1.45, [], "straggler_compute", (6,)),
        (1.45, [3], "straggler_compute", (6,)),
        (1.45, range(8), "straggler_compute", (6,)),
        (2.5, [6], "straggler_compute", (6,)),
    ],
    ids=["by design", "nobody says so", "another says so", "all do it", "longer than a forward pass"],
)
def test_a_second_forward_pass_is_by_design(longer: float, said: Any, cause: str, ranks: tuple[int, ...]) -> None:
    job = Timed(8).slower(6, "backward", longer)
    found = verdict(timed(job, settings=KNOWN, events=[_again(rank) for rank in said]))
    assert (found.cause, found.ranks, found.suspects) == (cause, ranks, ())


@pytest.mark.parametrize("factor", [3, 30])
def test_no_rank_costs_more_than_the_whole_time(factor: float) -> None:
    """A step is no shorter than the work of its slowest rank, whatever the others' steps say."""
    slow = timed(Timed(8).slower(5, "backward", factor), False, settings=KNOWN).slow_phases.slower
    assert [one.rank for one in slow] == [5]
    assert slow[0].share is not None and 0.3 < slow[0].share < 1


@pytest.mark.parametrize(
    ("backward", "optimizer", "waits", "stages", "hosts"),
    [
        (1.6, 1.0, True, "", ("node-3",)),
        (1.6, 1.6, True, "", ()),
        (1.0, 1.0, True, "", ()),
        (1.6, 1.0, False, "", ()),
        (1.6, 1.0, True, "4", ()),
    ],
    ids=[
        "as many parameters as the others",
        "it updates more",
        "its forward pass alone",
        "nobody is seen to wait",
        "it is a stage of its own",
    ],
)
def test_one_host_that_all_wait_for_and_that_has_no_more_layers(
    backward: float, optimizer: float, waits: bool, stages: str, hosts: tuple[str, ...]
) -> None:
    """The last host of four, slow from the start: a stage of its own has other layers, and updates other parameters."""
    factors = {"forward": 1.6, "backward": backward, "optimizer": optimizer}
    job = Timed(32).by(lambda rank, step, phase: factors.get(phase, 1) if rank >= 24 else 1)
    settings = [{"name": "pipeline_model_parallel_size", "value": "4"}] if stages == "4" else []
    found, _ = detect(timed(job, waits, settings=settings), ALL)
    named = next((one for one in found if one.detector == "straggler"), None)
    assert (() if named is None else named.hosts) == hosts
    assert named is None or named.ranks == ()
