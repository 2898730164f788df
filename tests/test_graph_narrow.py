"""The list of suspects where the culprit left no record: what observed ranks' positions and lost ranks' logs allow."""

from collections.abc import Iterable

import pytest

from forensics.facts.waits.states import reconcile
from forensics.graph.hang.programs import Programs
from samples.simulator import Fault, Job, Noise, simulate
from tests.hang_tables import Rows, call
from tests.test_hang_graph import conclude

GRID = {
    **{f"tp/{row}": tuple(range(3 * row, 3 * row + 3)) for row in range(3)},
    **{f"dp/{column}": tuple(range(column, 9, 3)) for column in range(3)},
}


def at(rank: int, *tail: tuple[str, int]) -> list[dict[str, object]]:
    """A rank of the grid: a call of all, ten tensor-parallel ones, then these (role, number); all but the last are done."""
    names = {"world": "world", "tp": f"tp/{rank // 3}", "dp": f"dp/{rank % 3}"}
    calls = [("world", 1), *(("tp", number) for number in range(1, 11)), *tail]
    return [call(names[role], number, done=place < len(calls) - 1) for place, (role, number) in enumerate(calls)]


def grid(places: dict[Iterable[int], list[tuple[str, int]]], **changes: int) -> Rows:
    """Nine ranks, three tensor-parallel groups of three replicas; ranks that are left out are lost."""
    job = Rows(9, **GRID, **changes)
    for ranks, tail in places.items():
        for rank in ranks:
            job.dump(rank, *at(rank, *tail))
    return job


FIRST, THEN, LAST = [("tp", 11)], [("tp", 11), ("dp", 5)], [("tp", 11), ("dp", 5), ("tp", 12)]


def test_a_lost_rank_that_must_have_come_is_no_suspect() -> None:
    """Rank 8 was in the call that its mates have ended; only rank 2 keeps its own from it."""
    verdict = grid({(0, 1): FIRST, (3, 4, 5, 6, 7): THEN}).verdict(expected=9)
    assert (verdict.ranks, verdict.suspects.ranks) == ([], [2])
    assert verdict.undecided == ["culprit_among_missing"]


def test_a_lost_rank_may_wait_for_another_in_a_call_that_nobody_observed_is_in() -> None:
    """All of dp/2 are lost: whichever of them did not come holds the two others and their mates."""
    verdict = grid({(0, 1, 3, 4, 6, 7): LAST}).verdict(expected=9)
    assert (verdict.ranks, verdict.suspects.ranks) == ([], [2, 5, 8])


def test_a_call_that_an_observed_member_ended_holds_nobody() -> None:
    """Rank 5 has ended it, so all of dp/2 had come."""
    verdict = grid({(0, 1): LAST, (3, 4, 5): [*LAST, ("dp", 6)], (6, 7): [*LAST, ("dp", 6)]}).verdict(expected=9)
    assert verdict.suspects.ranks == [2]


@pytest.mark.parametrize(
    ("others", "suspects"),
    [
        ({(3, 6): THEN, (4, 5, 7, 8): LAST}, [0]),
        ({(3, 4, 5, 6, 7, 8): THEN}, [1, 2]),
        ({(3, 6): THEN}, [0, 1, 2]),
    ],
    ids=["its mates went on", "its mates did not", "nobody tells"],
)
def test_a_rank_alone_in_a_call_may_have_stopped_itself(
    others: dict[Iterable[int], list[tuple[str, int]]], suspects: list[int]
) -> None:
    """Rank 0 is in a call whose two other members are lost. Had they ended it, dp/1 and dp/2 would go on."""
    verdict = grid({(0,): FIRST, **others}).verdict(expected=9)
    assert verdict.ranks == []
    assert set(suspects) <= set(verdict.suspects.ranks) <= {*suspects, 4, 5, 7, 8}


@pytest.mark.parametrize("logged", [False, True], ids=["no log", "it waits by its log"])
def test_beside_a_named_culprit_lost_ranks_may_be_others_unless_their_logs_show_them_waiting(logged: bool) -> None:
    """Rank 2 ends its record before dp/2. Ranks 6 and 7 wait for rank 8 alone, which may be held up by rank 2."""
    job = grid({(0, 1, 3, 4, 6, 7): LAST, (5,): THEN})
    job.dump(2, *at(2, ("tp", 11), ("dp", 5))[:-1])
    for rank in (3, 4, 5, 8) if logged else ():
        group, number = ("dp/2", 5) if rank in (5, 8) else ("tp/1", 12)
        job.timeout(rank, group, number, text="WorkNCCL(OpType=ALLREDUCE, NumelIn=64, NumelOut=64, Timeout(ms)=600000)")
    verdict = job.verdict(expected=9)
    assert (verdict.cause, verdict.ranks) == ("rank_absent", [2])
    assert verdict.suspects.ranks == ([] if logged else [8])


@pytest.mark.parametrize("placed", [False, True], ids=["hosts not known", "one host"])
def test_a_host_that_is_lost_as_a_whole_stays_together(placed: bool) -> None:
    """By the order of calls rank 6 holds all up; but ranks 6-8 are all that ran on their host."""
    job = grid({(0, 3): THEN, (1, 2, 4, 5): LAST}, per_host=3)
    verdict = (job.placed() if placed else job).verdict(expected=9)
    assert verdict.suspects.ranks == ([6, 7, 8] if placed else [6])
    assert verdict.suspects.hosts == (["node2"] if placed else [])


def test_the_program_of_a_lost_rank_is_its_twins_in_its_own_groups() -> None:
    tables = grid({(0, 1): FIRST, (3, 4, 5, 6, 7): THEN}).evidence().tables
    programs = Programs(reconcile(tables, frozenset(range(9))), frozenset({2, 8}))
    program = programs.of(8)
    assert program is not None
    names = [(sorted(programs.members[one.gid])) for one in program.calls if one.gid is not None]
    assert names == [list(range(9))] + [[6, 7, 8]] * 11 + [[2, 5, 8]]
    assert [one.seq for one in program.calls] == [1, *range(1, 12), 5]
    assert not any(one.done for one in program.calls)


def test_ranks_that_run_different_programs_are_no_twins() -> None:
    """Then nothing is known of the lost ones, and all stay on the list."""
    job = Rows(9, **GRID)
    for rank in (0, 1, 3, 4, 5, 6, 7):
        calls = at(rank, *(FIRST if rank < 3 else THEN))
        calls.insert(rank + 1, call("world", 2, done=True))
        job.dump(rank, *calls)
    assert set(job.verdict(expected=9).suspects.ranks) >= {2, 8}


# --- pipelines ---------------------------------------------------------------------------------------------------------

PIPES = {
    **{f"pp/{one}": (one, 2 + one, 4 + one) for one in (0, 1)},
    **{f"dp/{s}": (2 * s, 2 * s + 1) for s in range(3)},
}


def stage(rank: int, *transfers: tuple[str, int, bool], dp: bool | None = None) -> list[dict[str, object]]:
    """Ten replica calls and a world call, then (send or recv, stage of the other end, done), then perhaps a replica call."""
    own, pipe = f"dp/{rank // 2}", f"pp/{rank % 2}"
    calls = [call(own, number, done=True) for number in range(1, 11)] + [call("world", 1, done=True)]
    calls += [call(pipe, 7 + n, way, peer=to, done=done) for n, (way, to, done) in enumerate(transfers)]
    return calls if dp is None else [*calls, call(own, 11, done=dp)]


@pytest.mark.parametrize(("first_kept", "suspects"), [(True, [3]), (False, [1, 3])], ids=["fed", "feeder lost"])
def test_a_stage_between_observed_neighbours(first_kept: bool, suspects: list[int]) -> None:
    """Rank 3 owes rank 5 a message. It may itself wait for rank 1, unless that one's record shows that it has sent."""
    job = Rows(6, **PIPES)
    job.dump(0, *stage(0, ("send", 1, True), ("recv", 1, True), dp=False))
    job.dump(2, *stage(2, ("recv", 0, True), ("send", 2, True), ("recv", 2, True), ("send", 0, True), dp=False))
    job.dump(4, *stage(4, ("recv", 1, True), ("send", 1, True), dp=False))
    job.dump(5, *stage(5, ("recv", 1, False)))
    if first_kept:
        job.dump(1, *stage(1, ("send", 1, True), ("recv", 1, False)))
    verdict = job.verdict(expected=6)
    assert (verdict.ranks, verdict.suspects.ranks) == ([], suspects)


# --- logs --------------------------------------------------------------------------------------------------------------


def timed_out(sizes: dict[int, int], number: int = 9) -> Rows:
    """Ranks 0-3 stand in a call of all six; 4 and 5 left no record. These ranks' watchdogs name it, with a size."""
    job = Rows(6)
    for rank in range(4):
        job.dump(rank, call("world", 8, done=True), call("world", 9))
    for rank, numel in sizes.items():
        work = f"WorkNCCL(SeqNum={number}, OpType=ALLREDUCE, NumelIn={numel}, NumelOut={numel}, Timeout(ms)=600000)"
        job.timeout(rank, "world", number, text=f"Watchdog caught collective operation timeout: {work} ran for 600090")
    return job


@pytest.mark.parametrize(
    ("job", "suspects"),
    [
        (timed_out({0: 64, 1: 64, 2: 64, 3: 64, 4: 64}), [5]),
        (timed_out({0: 64, 1: 64, 4: 64, 5: 64}), [0, 1, 2, 3, 4, 5]),
        (timed_out({0: 64, 1: 64, 2: 64, 3: 64, 4: 96}), [4, 5]),
        (timed_out({0: 64, 4: 64}), [4, 5]),
        (timed_out({0: 64, 1: 64, 2: 64, 3: 64, 4: 64}, number=8), [4, 5]),
        (timed_out({}), [4, 5]),
    ],
    ids=["it waits", "all wait", "other sizes", "one recorded line", "numbers differ", "no lines"],
)
def test_a_lost_rank_whose_watchdog_names_the_call_waits_in_it(job: Rows, suspects: list[int]) -> None:
    """Where all wait, all are suspects; where the lines cannot be trusted, all lost ranks stay."""
    verdict = job.verdict(expected=6)
    assert (verdict.ranks, verdict.suspects.ranks) == ([], suspects)


# --- stacks ------------------------------------------------------------------------------------------------------------


def test_a_stack_outside_communication_makes_a_suspect_of_a_rank_that_nobody_observed_waits_for() -> None:
    """Rank 0 waits for rank 1, whose host stands in communication, too: its device may wait for rank 3, in a group that
    left no other record. Without rank 3's stack all would seem to have entered."""
    job = Rows(4, **{"tp/0": (0, 1), "tp/1": (2, 3), "dp/0": (0, 2), "dp/1": (1, 3)})
    job.dump(0, call("world", 1, done=True), call("tp/0", 5, done=True), call("tp/0", 6))
    job.dump(2, call("world", 1, done=True), call("tp/1", 5, done=True), call("tp/1", 6, done=True), call("dp/0", 3))
    job.stack(1, "communication").stack(3, "data_loading")
    verdict = job.verdict(expected=4)
    assert verdict.undecided == ["culprit_among_missing"]
    assert {1, 3} <= set(verdict.suspects.ranks)


# --- simulated jobs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["rank_absent", "kernel_stuck", "collective_mismatch"])
@pytest.mark.parametrize(
    "job",
    [
        Job(tp=2, pp=2, dp=6, ep=2),
        Job(tp=2, pp=4, dp=4, batched=False),
        Job(tp=2, pp=2, dp=4, schedule="interleaved"),
        Job(tp=1, pp=1, dp=12, schedule="zero3"),
    ],
    ids=["experts", "single transfers", "interleaved", "zero3"],
)
def test_the_culprit_stays_on_the_list(job: Job, fault: str) -> None:
    for seed in range(2):
        noise = Noise(lost_recorders=0.25, lost_stacks=1.0, lost_logs=0.25, culprit_lost=True, unrelated_xid=False)
        incident = simulate(job, Fault(fault), seed, noise)  # type: ignore[arg-type]
        verdict = conclude(incident.evidence())
        listed = {*verdict.ranks, *verdict.suspects.ranks}
        assert set(incident.truth["suspects_must_include"]) <= listed
        assert set(verdict.ranks) <= set(incident.plan.culprits)
