"""What pages draw: in an order that nothing but the evidence decides."""

from typing import Any

import pytest

from forensics.model.finding import Finding
from forensics.model.texts import ranges
from forensics.views.grid import place_lost, state_of
from tests.hang_tables import SECOND_NS, START_NS, Rows, call, idle, waiting
from tests.log_cases import case


def test_classes_of_ranks_stand_in_one_order_whoever_counts_them() -> None:
    """Ranks 0-2 are in operation 9, ranks 3-5 completed it, ranks 6 and 7 completed another one last: equally far called."""
    job = Rows(world=8)
    waiting(job, range(3), "world", 9)
    idle(job, range(3, 6), "world", 9)
    for rank in (6, 7):
        job.dump(rank, call("world", 8 - rank % 2, done=True), call("world", 9))
    orders = {tuple((row.ranks, row.last_completed) for row in job.incident().views.collectives) for _ in range(8)}
    assert orders == {(("7", 7), ("0-2,6", 8), ("3-5", 9))}


def test_a_mesh_is_what_groups_split_the_job_into() -> None:
    """Tensor pairs, data groups of two, two stages; the group of all model ranks splits no further."""
    groups = {f"tp/{at}": (at * 2, at * 2 + 1) for at in range(4)}
    groups |= {f"dp/{at}": (at // 2 * 4 + at % 2, at // 2 * 4 + at % 2 + 2) for at in range(4)}
    groups |= {f"pp/{at}": (at, at + 4) for at in range(4)}
    job = Rows(8, 8, **groups)
    waiting(job, range(7), "world", 9)
    job.dump(7, call("world", 8, done=True))
    assert [(axis.name, axis.size, axis.stride) for axis in job.incident().views.mesh] == [
        ("tp", 2, 1),
        ("dp", 2, 2),
        ("pp", 2, 4),
    ]


def test_groups_that_hold_not_every_rank_tell_no_mesh() -> None:
    job = Rows(8, 8, **{"tp/0": (0, 1), "tp/1": (2, 3)})
    waiting(job, range(7), "world", 9)
    assert job.incident().views.mesh == []


def test_tracks_hold_the_last_operations_and_when_the_named_rank_stopped() -> None:
    job = Rows(4)
    for rank in range(3):
        job.dump(rank, call("world", 7, done=True, time_completed_ns=START_NS + 7 * SECOND_NS + 5), call("world", 8))
    job.dump(3, call("world", 7, done=True, time_completed_ns=START_NS + 7 * SECOND_NS + 5)).stack(3, "data_loading")
    named, others = job.incident().views.tracks
    assert (named.state, named.ranks, [span.label for span in named.spans]) == (
        "culprit",
        "3",
        ["all_reduce #7 of default_pg"],
    )
    assert named.stopped_utc == named.spans[0].end_utc
    assert (others.ranks, others.held, [span.is_open for span in others.spans]) == (
        "0-2",
        "all_reduce of default_pg",
        [False, True],
    )


@pytest.mark.parametrize(
    ("hosts", "placed"),
    [
        ({0: "a", 1: "a", 2: "b"}, {"a": "0-1", "b": "2-3"}),
        ({0: "a", 1: "b", 2: "a"}, {"a": "0,2", "b": "1"}),  # numbered across the hosts: nothing tells
        ({0: "a", 1: "a", 4: "b", 5: "b"}, {"a": "0-1", "b": "4-5"}),  # no host is known of ranks 2 and 3
    ],
)
def test_a_rank_without_a_record_stands_in_the_row_of_its_host(hosts: dict[int, str], placed: dict[str, str]) -> None:
    by_host: dict[str, list[int]] = {}
    for rank, host in hosts.items():
        by_host.setdefault(host, []).append(rank)
    place_lost(by_host, range(max(hosts) + 2 if 4 not in hosts else 6))
    assert {host: ranges(ranks) for host, ranks in by_host.items()} == placed


@pytest.mark.parametrize(
    ("event", "state"),
    [
        ({"kind": "exit", "code": "SIGTERM"}, "ended"),
        ({"kind": "exit", "code": "-15"}, "ended"),
        ({"kind": "exit", "code": "1"}, "ended"),
        ({"kind": "collective_timeout", "seq": 7}, "waiting"),
        ({"kind": "exit", "code": "0", "severity": "info"}, "ok"),
        ({"kind": "job_end", "severity": "info"}, "ok"),
    ],
    ids=["stopped", "a number", "by itself", "gave up", "status 0", "says that it ended"],
)
def test_a_rank_that_was_ended_is_not_ok(event: dict[str, Any], state: str) -> None:
    raised = {
        "kind": "exception",
        "code": "KeyError",
        "rank": 0,
        "text": "KeyError: 'x'",
        "detail": '{"frames": [["read", "/srv/app/data.py", 41]]}',
    }
    began = [{"kind": "job_start", "rank": rank, "severity": "info"} for rank in (1, 2)]
    whole = case([raised, *began, event | {"rank": 1}], expected=3)
    found = Finding(detector="test", ranks=(0,), summary="")
    assert [state_of(whole, found, rank) for rank in range(3)] == ["dead", state, "ok"]
