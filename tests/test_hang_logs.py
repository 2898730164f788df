"""Hangs as logs, kernels and attempts tell them: blame, overlap, novel lines, repeat offenders, contradictions."""

import pytest

from forensics.graph.hang.overlap import smallest_covers
from tests.hang_tables import Rows, call, idle, waiting


def reported(hosts: int, kind: str, pairs: list[tuple[int, int]], **row: object) -> Rows:
    """One rank per host; each pair is a host that reports a broken transfer, and the host that it names."""
    job = Rows(hosts, per_host=1).placed()
    for rank in range(hosts):
        job.event("job_start", rank=rank, host=f"node{rank}", severity="info")
    for reporter, named in pairs:
        job.event(kind, rank=reporter, host=f"node{reporter}", names_hosts=[f"node{named}"], **row)
    return job


CHAIN = [(16, 17), (18, 17), (15, 16), (14, 15), (19, 18), (20, 19)]


def test_t5a_a_chain_of_broken_transfers_ends_at_the_dead_host() -> None:
    """In a ring of 64, 16 and 18 name 17; whoever names them is a victim of victims."""
    verdict = reported(64, "completion_error", CHAIN, code="12").verdict()
    assert (verdict.cause, verdict.hosts, verdict.ranks) == ("network_fault", ["node17"], [])


def test_t5a_closed_connections_are_an_echo_and_name_nobody() -> None:
    verdict = reported(64, "peer_closed", CHAIN).verdict()
    assert (verdict.hosts, verdict.ranks, verdict.suspects.hosts) == ([], [], ["node17"])
    assert verdict.undecided == ["tied_explanations"]


def test_t5b_all_pairs_of_one_rail_blame_what_they_share() -> None:
    incident = reported(8, "completion_error", [(0, 1), (2, 3), (4, 5), (6, 7)], code="12", device_index=3).incident()
    assert (incident.verdict.hosts, incident.verdict.ranks) == ([], [])
    assert "rail 3" in incident.verdict.summary
    assert [action.kind for action in incident.actions if action.target == "fabric"] == ["inspect_network"]


def test_t5c_one_pair_leaves_both_ends() -> None:
    verdict = reported(8, "completion_error", [(0, 1), (1, 0)], code="12").verdict()
    assert (verdict.hosts, verdict.links, verdict.suspects.hosts) == ([], [["node0", "node1"]], ["node0", "node1"])


def grid(cells: list[tuple[int, int]], tp: int = 2, pp: int = 3, dp: int = 4) -> Rows:
    """A host per (replica, stage). Of each cell the data-parallel groups of its stage and the model-parallel groups of its
    replica are entered by all and finished by none."""

    def rank(tensor: int, replica: int, stage: int) -> int:
        return tensor + tp * (replica + dp * stage)

    rows = {f"dp{t}{s}": tuple(rank(t, d, s) for d in range(dp)) for t in range(tp) for s in range(pp)}
    columns = {f"mp{t}{d}": tuple(rank(t, d, s) for s in range(pp)) for t in range(tp) for d in range(dp)}
    job = Rows(tp * pp * dp, per_host=tp, **rows, **columns).placed()
    stages, replicas = {stage for _, stage in cells}, {replica for replica, _ in cells}
    for stage in range(pp):
        for replica in range(dp):
            down = call(f"dp0{stage}", 9) if stage in stages else call("world", 1, "broadcast", done=True)
            across = call(f"mp1{replica}", 9) if replica in replicas else call("world", 1, "broadcast", done=True)
            job.dump(rank(0, replica, stage), down).dump(rank(1, replica, stage), across)
    return job


def test_t8_a_row_and_a_column_meet_in_one_host() -> None:
    verdict = grid([(1, 2)]).verdict()
    assert (verdict.kind, verdict.cause, verdict.ranks, verdict.hosts) == ("hang", None, [], ["node9"])
    assert (verdict.suspects.ranks, verdict.status) == ([18, 19], "hypothesis")
    assert verdict.undecided == ["all_entered_no_counters"]


def test_t8_two_rows_and_two_columns_have_two_explanations() -> None:
    """(1, 2) with (3, 0), or (3, 2) with (1, 0)."""
    verdict = grid([(1, 2), (3, 0)]).verdict()
    assert (verdict.ranks, verdict.hosts) == ([], [])
    assert verdict.suspects.hosts == ["node1", "node11", "node3", "node9"]
    assert "tied_explanations" in verdict.undecided


def test_t8_groups_over_the_same_hosts_narrow_nothing_down() -> None:
    job = Rows(8, per_host=2, even=(0, 2, 4, 6), odd=(1, 3, 5, 7)).placed()
    verdict = waiting(waiting(job, (0, 2, 4, 6), "even", 9), (1, 3, 5, 7), "odd", 9).verdict()
    assert (verdict.hosts, verdict.suspects.hosts, verdict.suspects.ranks) == ([], [], list(range(8)))


def test_t8_a_member_without_a_record_leaves_the_hosts_alone() -> None:
    """Three calls seem entered by all if the host of rank 2 counts; but its device may have stopped before."""
    job = Rows(4, per_host=2, a=(0, 2), b=(1, 2), c=(2, 3)).placed()
    for rank, group in ((0, "a"), (1, "b"), (3, "c")):
        job.dump(rank, call(group, 8, done=True), call(group, 9))
    verdict = job.stack(2, "communication").verdict(expected=4)
    assert (verdict.ranks, verdict.hosts) == ([], [])
    assert verdict.suspects.ranks == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("touched", "covers"),
    [
        ([], ()),
        (["ab", "bc"], (("b",),)),
        (["ab", "ab"], (("a",), ("b",))),
        (["ab", "cd"], (("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"))),
        (["ab", "cd", "ef"], ()),
    ],
    ids=["none", "one", "two alike", "pairs", "three apart"],
)
def test_t8_smallest_covers(touched: list[str], covers: tuple[tuple[str, ...], ...]) -> None:
    assert smallest_covers([frozenset(hosts) for hosts in touched]) == covers


@pytest.mark.parametrize("lost", [False, True], ids=["recorded", "lost"])
def test_t8_groups_short_of_the_same_host_name_it(lost: bool) -> None:
    """Eight ranks of host 5 never come to their eight data-parallel groups of 16; without records they are suspects."""
    groups = {f"dp{local}": tuple(local + 8 * host for host in range(16)) for local in range(8)}
    job = Rows(128, **groups).placed()
    for rank in range(128):
        if rank // 8 != 5:
            job.dump(rank, call(f"dp{rank % 8}", 8, done=True), call(f"dp{rank % 8}", 9))
        elif not lost:
            job.dump(rank, call(f"dp{rank % 8}", 8, done=True))
    verdict = job.verdict()
    there = list(range(40, 48))
    if lost:
        assert (verdict.ranks, verdict.hosts) == ([], [])
        assert (verdict.suspects.ranks, verdict.suspects.hosts) == (there, ["node5"])
        assert verdict.undecided == ["culprit_among_missing"]
    else:
        assert (verdict.ranks, verdict.hosts) == (there, ["node5"])


def printing(
    lines: dict[int, list[str]], hosts: int = 128, attempt: int | None = None, job: Rows | None = None
) -> Rows:
    """A log per host with the line that all print, and the given ones."""
    job = job or Rows(hosts, per_host=1).placed()
    for rank in range(hosts):
        templates = ["20 × tokenizer padded vocab to #", *lines.get(rank, [])]
        job.add("files", file=f"attempt_{attempt}/{rank}.log", rank=rank, bytes=1, attempt=attempt, templates=templates)
    return job


ODD = ["1 × nvme#: I/O timeout, aborting"]


def test_t6a_a_line_of_one_host_among_128() -> None:
    """It is a hint, and without an earlier attempt the reason says so (T6c)."""
    verdict = printing({77: ODD}).verdict()
    assert (verdict.kind, verdict.ranks, verdict.hosts, verdict.suspects.hosts) == ("unknown", [], [], ["node77"])
    assert verdict.undecided == ["no_baseline", "nothing_found"]
    assert "nvme" in verdict.summary


def test_a_line_of_one_host_among_few_is_a_hint_alone() -> None:
    verdict = printing({7: ODD}, hosts=31).verdict()
    assert (verdict.suspects.hosts, verdict.undecided) == ([], ["no_baseline", "nothing_found"])
    assert "nvme" in verdict.summary


@pytest.mark.parametrize(
    "lines", [{0: ODD}, {127: ODD}, {76: ODD, 77: ODD}, {76: ["1 × a"], 77: ["1 × b"]}, {}],
    ids=["t6b the first rank logs for all", "the last rank", "on two hosts", "each its own", "none"],
)  # fmt: skip
def test_t6b_lines_that_say_nothing(lines: dict[int, list[str]]) -> None:
    verdict = printing(lines).verdict()
    assert (verdict.suspects.hosts, verdict.undecided) == ([], ["nothing_found"])


def test_t6c_lines_of_an_earlier_attempt_are_not_new() -> None:
    """The same host printed it when all was well, another one prints something new."""
    job = printing({77: ODD}, hosts=16 * 8, attempt=0)
    printing({77: ODD, 31: ["1 × link retrain on port #"]}, hosts=16 * 8, attempt=1, job=job)
    verdict = job.verdict()
    assert (verdict.suspects.hosts, verdict.undecided) == (["node31"], ["nothing_found"])


def test_t6_a_hint_does_not_outrank_the_graph() -> None:
    job = printing({40: ODD}, hosts=64)
    verdict = idle(waiting(job, range(63), "world", 9), (63,), "world", 8).verdict()
    assert (verdict.cause, verdict.ranks, verdict.suspects.hosts) == ("rank_absent", [63], [])


def relaunched(culprits: tuple[int, int], shift: int) -> Rows:
    """Two attempts of 16 ranks on two hosts; the second deals out the ranks from `shift` on. In each one rank is absent."""
    job = Rows(16)
    for attempt, culprit in enumerate(culprits):
        for rank in range(16):
            slot = (rank + attempt * shift) % 16
            file = f"attempt_{attempt}/fr/rank_{rank}"
            job.add("files", file=file, rank=rank, bytes=1, attempt=attempt)
            job.add(
                "ranks", rank=rank, host=f"node{slot // 8}", uuid=f"GPU-{slot}", world_size=16, how="log", file=file
            )
            done = (call("world", 8, done=True),)
            job.dump(rank, *done, *(() if rank == culprit else (call("world", 9),)), file=file)
    return job


def test_t12_a_host_that_is_accused_twice_is_joined_by_host_and_device() -> None:
    """Rank 5, then rank 13: the same slot of the same host."""
    report = relaunched((5, 13), shift=8).report()
    assert [incident.verdict.ranks for incident in report.incidents] == [[5], [13]]
    newest = report.incidents[report.primary]
    claims = [evidence.claim for evidence in newest.evidence]
    assert any(claim.startswith("device GPU-5 was at fault in attempt 0 as well") for claim in claims)
    assert [action.target for action in newest.actions if action.kind == "drain_node"] == ["node0"]


def test_t12_the_same_rank_on_another_host_is_no_repeat() -> None:
    newest = relaunched((5, 5), shift=8).incident()
    assert newest.verdict.ranks == [5]
    assert not any("as well, whichever" in evidence.claim for evidence in newest.evidence)
    assert not any(action.kind == "drain_node" for action in newest.actions)


def contradicted(**event: object) -> Rows:
    """Records lead to rank 7; somebody else says something of another rank."""
    job = idle(waiting(Rows(8), range(7), "world", 9), (7,), "world", 8)
    return job.event(**{"kind": "missing_members", "code": "INCOMPLETE", "names_rank_space": "global"} | event)  # type: ignore[arg-type]


def test_witnesses_that_contradict_each_other_are_both_printed() -> None:
    """The graph says 7, RAS says that 2 is gone, whose own record shows it waiting: both are printed, 7 stays."""
    incident = contradicted(names_ranks=[2], detail='{"dead": [2]}').incident()
    verdict = incident.verdict
    assert (verdict.ranks, verdict.suspects.ranks, verdict.status) == ([7], [], "hypothesis")
    assert verdict.undecided == ["conflicting_evidence"]
    assert [2] in [alternative.ranks for alternative in incident.alternatives]


def test_who_stands_in_a_stack_is_not_gone() -> None:
    job = contradicted(names_ranks=[2], detail='{"dead": [2]}')
    for rank in range(8):
        job.stack(rank, "data_loading" if rank == 7 else "communication")
    verdict = job.verdict()
    assert (verdict.ranks, verdict.status) == ([7], "established")
    assert "conflicting_evidence" not in verdict.undecided


def test_witnesses_that_agree_contradict_nothing() -> None:
    verdict = contradicted(names_ranks=[7]).verdict()
    assert verdict.ranks == [7]
    assert "conflicting_evidence" not in verdict.undecided
