"""Counters from inside a collective that everybody entered: the edge of the ring that does not deliver."""

from collections.abc import Sequence

import pytest

from forensics.model.incident import Verdict
from tests.hang_tables import START_NS, Rows, call, waiting

SIZE = 64


def entered(world: int = SIZE) -> Rows:
    return waiting(Rows(world, dp=tuple(range(world))), range(world), "dp", 57)


def received(job: Rows, counts: Sequence[int], channel: int = 0, stride: int = 1, **changes: object) -> Rows:
    """What each rank received in a ring whose predecessor is `stride` below."""
    for rank, count in enumerate(counts):
        row = {"rank": rank, "group": "dp", "seq": 57, "channel": channel, "peer": (rank - stride) % len(counts),
               "direction": "recv", "total": 126, "done": count, **changes}  # fmt: skip
        job.add("transfers", **row)
    return job


def sent(job: Rows, counts: Sequence[int], channel: int = 0, **changes: object) -> Rows:
    """What each rank handed to the network."""
    for rank, count in enumerate(counts):
        row = {"rank": rank, "group": "dp", "seq": 57, "channel": channel, "peer": (rank + 1) % len(counts),
               "direction": "send", "total": 126, "transmitted": count, "done": count, **changes}  # fmt: skip
        job.add("transfers", **row)
    return job


def least_at(rank: int, world: int = SIZE) -> list[int]:
    return [40 if other == rank else 41 for other in range(world)]


def is_silent(verdict: Verdict) -> bool:
    return (verdict.ranks, verdict.links, verdict.cause) == ([], [], None) and verdict.undecided == [
        "all_entered_no_counters"
    ]


@pytest.mark.parametrize("rank", [0, 17, 63])
def test_t9_the_edge_into_the_rank_that_received_least(rank: int) -> None:
    verdict = received(entered(), least_at(rank)).verdict()
    before = (rank - 1) % SIZE
    assert (verdict.kind, verdict.cause, verdict.status) == ("hang", "network_fault", "hypothesis")
    assert (verdict.ranks, verdict.hosts, verdict.links) == ([], [], [[before, rank]])
    assert verdict.suspects.ranks == sorted((before, rank))
    assert verdict.undecided == ["tied_explanations"]


def test_t9_what_was_handed_to_the_network_and_did_not_arrive_decides() -> None:
    verdict = sent(received(entered(), least_at(17)), [41] * SIZE).verdict()
    assert (verdict.links, verdict.status) == ([[16, 17]], "established")


def test_t9_what_the_sender_kept_is_no_proof_against_the_network() -> None:
    verdict = sent(received(entered(), least_at(17)), [40 if rank == 16 else 41 for rank in range(SIZE)]).verdict()
    assert (verdict.links, verdict.status) == ([[16, 17]], "hypothesis")


def test_t9_equal_counters_say_nothing() -> None:
    assert is_silent(received(entered(), [41] * SIZE).verdict())


def test_t9_without_counters() -> None:
    assert is_silent(entered().verdict())


def test_senders_alone_tell_as_much() -> None:
    verdict = sent(entered(8), [40 if rank == 4 else 41 for rank in range(8)]).verdict()
    assert verdict.links == [[4, 5]]


@pytest.mark.parametrize("way", ["ring_next", "ring_previous"])
def test_the_order_of_the_ring_from_the_log(way: str) -> None:
    job = received(entered(8), least_at(5, 8), peer=None, direction=None)
    for rank in range(8):
        peer = (rank + 3) % 8 if way == "ring_next" else (rank - 3) % 8
        job.add("links", channel=0, group_rank=rank, peer_group_rank=peer, direction=way)
    assert job.verdict().links == [[2, 5]]


def test_the_ring_of_another_communicator_does_not_count() -> None:
    job = received(entered(8), least_at(5, 8), peer=None, direction=None)
    for size, step in ((8, 3), (4, 1)):
        for rank in range(size):
            peer = (rank + step) % size
            job.add(
                "links", comm=f"a:1:{size}", channel=0, group_rank=rank, peer_group_rank=peer, direction="ring_next"
            )
    assert job.verdict().links == [[2, 5]]


def test_no_order_no_edge() -> None:
    assert is_silent(received(entered(8), least_at(5, 8), peer=None, direction=None).verdict())


def test_rings_that_disagree_are_no_order() -> None:
    job = received(entered(8), least_at(5, 8), peer=None, direction=None)
    for rank in range(8):
        for step in (1, 3):
            job.add("links", channel=0, group_rank=rank, peer_group_rank=(rank + step) % 8, direction="ring_next")
    assert is_silent(job.verdict())


def test_channels_vote_and_each_has_its_own_order() -> None:
    job = received(received(entered(8), least_at(5, 8)), least_at(5, 8), channel=1)
    received(job, least_at(2, 8), channel=2, stride=3)
    verdict = job.verdict()
    assert (verdict.links, verdict.status) == ([[4, 5]], "hypothesis")


def test_a_tie_of_channels_names_no_edge() -> None:
    job = received(received(entered(8), least_at(5, 8)), least_at(2, 8), channel=1)
    assert is_silent(job.verdict())


def test_those_behind_it_in_the_ring_wait_for_the_first_of_them() -> None:
    job = sent(received(entered(8), [41, 41, 41, 40, 40, 40, 41, 41]), [41] * 8)
    assert (job.verdict().links, job.verdict().status) == ([[2, 3]], "hypothesis")


def test_two_gaps_in_one_ring_name_no_edge() -> None:
    assert is_silent(received(entered(8), [41, 40, 41, 41, 40, 41, 41, 41]).verdict())


def test_a_tree_is_no_ring() -> None:
    job = received(entered(8), least_at(5, 8))
    job.add("transfers", rank=5, group="dp", seq=57, channel=0, peer=1, direction="recv", total=126, done=40)
    for other in range(8):
        job.add("links", channel=0, group_rank=other, peer_group_rank=(other + 1) % 8, direction="ring_next")
    assert is_silent(job.verdict())


def test_members_without_counters_may_be_further_behind() -> None:
    job = entered(8)
    received(job, least_at(5, 8))
    job.rows["transfers"] = [row for row in job.rows["transfers"] if row["rank"] != 1]
    verdict = sent(job, [41] * 8).verdict()
    assert (verdict.links, verdict.status) == ([[4, 5]], "hypothesis")


def test_the_newest_count_of_a_rank_counts() -> None:
    job = received(entered(8), least_at(5, 8), time_ns=START_NS)
    received(job, least_at(3, 8), time_ns=START_NS + 1)
    assert job.verdict().links == [[2, 3]]


@pytest.mark.parametrize("changes", [{"seq": 56}, {"group": "tp"}, {"total": None, "done": None}])
def test_counters_of_something_else(changes: dict[str, object]) -> None:
    assert is_silent(received(entered(8), least_at(5, 8), **changes).verdict())


def test_counters_do_not_outrank_a_member_that_never_came() -> None:
    job = waiting(Rows(8, dp=tuple(range(8))), range(7), "dp", 57)
    job.dump(7, call("dp", 56, done=True))
    verdict = received(job, least_at(5, 8)).verdict()
    assert (verdict.cause, verdict.ranks, verdict.links) == ("rank_absent", [7], [])
