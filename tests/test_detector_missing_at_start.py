"""Runs that never came together."""

import json
from typing import Any

import pytest

from forensics.detectors.launch.missing_at_start import DETECTOR
from tests.log_cases import case, judged

REFUSED = {"kind": "connect_failed", "host": "n1", "names_hosts": ["10.0.0.9"]}


def test_one_address_refused() -> None:
    found = judged(case([REFUSED]), DETECTOR)
    assert (found.kind, found.cause, found.hosts, found.ranks) == ("launch", "network_fault", ("10.0.0.9",), ())


def test_the_name_of_the_address_is_known() -> None:
    (found,) = DETECTOR.detect(case([REFUSED], ranks=[{"host": "n9.site.org", "address": "10.0.0.9"}]))
    assert found.hosts == ("n9",)


@pytest.mark.parametrize("address", ["127.0.1.1", "172.17.0.2", "169.254.3.4"])
def test_an_address_no_other_host_can_reach(address: str) -> None:
    (found,) = DETECTOR.detect(case([REFUSED | {"names_hosts": [address]}]))
    assert found.cause == "wrong_interface"


def test_several_addresses_name_nobody() -> None:
    found = judged(case([REFUSED, REFUSED | {"names_hosts": ["10.0.0.8"]}]), DETECTOR)
    assert (found.hosts, found.suspect_hosts, found.is_proven) == ((), ("10.0.0.8", "10.0.0.9"), False)


@pytest.mark.parametrize(
    "rows",
    [
        [REFUSED | {"severity": "info"}],
        [REFUSED, {"kind": "checkpoint_save", "step": 3}],
        [REFUSED, {"kind": "exception", "code": "ImportError", "rank": 2}],
    ],
    ids=["a retry", "in the middle of a run", "a rank died"],
)
def test_what_is_no_failed_start(rows: list[dict[str, Any]]) -> None:
    assert DETECTOR.detect(case(rows)) == ()


def test_too_few_members() -> None:
    row = {"kind": "missing_members", "rank": 0, "detail": '{"joined": "3", "expected": "4"}'}
    others = [{"kind": "job_start", "rank": rank} for rank in (1, 3)]
    found = judged(case([row, *others], expected=4), DETECTOR)
    assert (found.kind, found.cause, found.ranks, found.suspects) == ("launch", "missing_ranks", (), (2,))
    found = judged(case([row]), DETECTOR)
    assert (found.suspects, found.undecided) == ((), ("membership_unknown",))


def test_the_highest_rank_seen_is_not_the_size_of_the_job() -> None:
    """Of a failure table that lists rank 3 nobody knows that there are four."""
    row = {"kind": "missing_members", "rank": 0, "detail": '{"joined": "3", "expected": "4"}'}
    others = [{"kind": "job_start", "rank": rank} for rank in (1, 3)]
    table = [{"rank": 3, "how": "elastic failure table"}]
    found = judged(case([row, *others], ranks=table), DETECTOR)
    assert (found.suspects, found.undecided) == ((), ("membership_unknown",))


def test_a_store_that_does_not_answer() -> None:
    found = judged(case([{"kind": "store_timeout", "rank": 1}], expected=2), DETECTOR)
    assert (found.kind, found.cause, found.ranks, found.suspects) == ("launch", "store_timeout", (), (0,))


def barrier(rank: int, joined: int, expected: int = 4, key: str = "store_based_barrier_key:1") -> dict[str, Any]:
    said = f'{{"joined": "{joined}", "expected": "{expected}", "rank": {rank}, "key": "{key}"}}'
    return {"kind": "missing_members", "code": "store_barrier", "rank": rank, "detail": said}


@pytest.mark.parametrize(
    ("rows", "suspects", "reason"),
    [
        ([barrier(0, 3), barrier(1, 3), barrier(3, 3)], (2,), "culprit_among_missing"),
        ([barrier(0, 2), barrier(1, 3), barrier(3, 3)], (2,), "culprit_among_missing"),
        ([barrier(0, 3), barrier(1, 3)], (), "membership_unknown"),
        ([barrier(0, 3), barrier(1, 3), barrier(3, 4)], (), "membership_unknown"),
        ([barrier(0, 3), barrier(1, 3), barrier(3, 3, key="other")], (), "membership_unknown"),
    ],
    ids=["all others came", "the last count", "two may be missing", "it came late", "two barriers"],
)
def test_who_is_left_of_a_barrier_of_the_store(rows: list[dict[str, Any]], suspects: Any, reason: str) -> None:
    (found,) = DETECTOR.detect(case(rows))
    assert (found.ranks, found.suspect_ranks, found.undecided) == ((), suspects, (reason,))


def test_a_store_that_went_away_is_no_time_out() -> None:
    (found,) = DETECTOR.detect(case([{"kind": "store_timeout", "code": "store_lost", "rank": 1}], expected=2))
    assert "lost the connection" in found.summary and "until a timeout" not in found.summary


def tried(rank: int | None, address: str, **columns: Any) -> dict[str, Any]:
    """A process that never reached its store."""
    names = [address.partition(",")[0]]
    told = {"code": "store", "names_hosts": names, "detail": f'{{"host": "{address}"}}'}
    return {"kind": "connect_failed", "rank": rank, **told, **columns}


def came(rank: int | None, address: str = "[::ffff:127.0.0.1]:29761", **columns: Any) -> dict[str, Any]:
    """A process that reached its store, and waited there."""
    names = [address.rpartition(":")[0]]
    told = {"names_hosts": names, "detail": f'{{"host": "{address}"}}'}
    return {"kind": "store_timeout", "rank": rank, **told, **columns}


COUNTED = {"kind": "missing_members", "code": "store_clients", "rank": 0, "detail": '{"joined": "3", "expected": "4"}'}


@pytest.mark.parametrize(
    ("address", "store", "cause"),
    [
        ("127.0.0.1, 29764", "[::ffff:127.0.0.1]:29761", "config_drift"),
        ("10.0.0.8, 29500", "[::ffff:10.0.0.9]:29500", "config_drift"),
        ("10.0.0.9, 29500", "[::ffff:10.0.0.9]:29500", "network_fault"),
        ("head-old, 29500", "[::ffff:10.0.0.9]:29500", "store_timeout"),
    ],
    ids=["another port", "another address", "the same", "a name, an address"],
)
@pytest.mark.parametrize("counted", [True, False])
def test_the_odd_client_is_named_and_never_what_the_others_reach(
    address: str, store: str, cause: str, counted: bool
) -> None:
    rows = [tried(3, address), came(1, store), came(2, store), *([COUNTED] if counted else [])]
    places = [{"rank": rank, "host": f"n{rank}"} for rank in range(4)]
    found = judged(case(rows, ranks=places), DETECTOR)
    assert (found.kind, found.cause, found.ranks, found.hosts) == ("launch", cause, (3,), ())
    assert found.is_proven
    assert all("127.0.0.1" not in action.target for action in found.finding.actions)


def test_the_store_counts_who_came() -> None:
    found = judged(case([tried(3, "127.0.0.1, 29764"), COUNTED]), DETECTOR)
    assert (found.ranks, found.hosts) == ((3,), ())


def test_an_odd_client_of_which_the_host_or_the_file_alone_is_known() -> None:
    others = [came(None, file="b.log"), came(None, file="c.log")]
    (found,) = DETECTOR.detect(case([tried(None, "127.0.0.1, 29764", host="n7.site"), *others]))
    assert (found.ranks, found.hosts) == ((), ("n7",))
    (found,) = DETECTOR.detect(case([tried(None, "127.0.0.1, 29764", file="w3.log"), *others]))
    assert (found.ranks, found.hosts) == ((), ()) and "w3.log could not connect" in found.summary


@pytest.mark.parametrize(
    "rows",
    [
        [tried(rank, "head, 29500") for rank in (1, 2, 3)],
        [tried(1, "10.0.0.9, 29500")],
        [tried(1, "127.0.0.1, 29500"), came(2)],
        [tried(2, "127.0.0.1, 29764"), tried(3, "127.0.0.1, 29764"), came(0), came(1)],
        [tried(3, "127.0.0.1, 29764"), came(3), came(1), came(2)],
    ],
    ids=["nobody reached it", "one client", "one other", "as many others", "it came later"],
)
def test_a_store_that_nobody_or_too_few_reached_names_no_host(rows: list[dict[str, Any]]) -> None:
    (found,) = DETECTOR.detect(case(rows, ranks=[{"host": "head", "address": "10.0.0.9"}]))
    assert (found.ranks, found.hosts, found.suspect_hosts) == ((), (), ())
    assert [action.kind for action in found.actions] == ["check_config"]


def test_an_address_within_a_host_is_no_host_to_ask() -> None:
    (found,) = DETECTOR.detect(case([REFUSED | {"names_hosts": ["127.0.0.1"]}]))
    assert found.collect == () and [action.target for action in found.actions] == ["NCCL_SOCKET_IFNAME on n1"]


def called(*ranks: int, reached: int, expected: int = 4) -> dict[str, Any]:
    """A service counts who came to its barrier, and calls the others by their numbers."""
    detail = json.dumps({"reached": str(reached), "expected": str(expected)})
    return {"kind": "missing_members", "code": "barrier", "names_ranks": list(ranks), "detail": detail}


HEARD = [{"kind": "job_start", "rank": rank, "file": f"r{rank}.log"} for rank in (0, 1, 3)]


@pytest.mark.parametrize(
    ("rows", "ranks", "suspects"),
    [
        pytest.param([called(2, reached=3), *HEARD], (2,), (), id="one, of which nothing is heard"),
        pytest.param([called(2, 3, reached=2), *HEARD[:2]], (2, 3), (), id="two"),
        pytest.param([called(2, reached=3)], (2,), (), id="nobody is heard of"),
        pytest.param([called(1, reached=3), *HEARD], (), (2,), id="it left a record, so it ran"),
        pytest.param([called(2, reached=2), *HEARD], (), (2,), id="the count is of two"),
        pytest.param([called(2, reached=3, expected=4) | {"detail": "{}"}, *HEARD], (), (2,), id="no count"),
    ],
)
def test_whom_the_service_calls_that_counted_all_others(
    rows: list[dict[str, Any]], ranks: tuple[int, ...], suspects: tuple[int, ...]
) -> None:
    found = judged(case(rows, expected=4), DETECTOR)
    assert (found.kind, found.ranks, found.suspects) == ("launch", ranks, suspects)


def waits(gone: dict[int, int], waited: int = 600, size: int = 4, silent: tuple[int, ...] = ()) -> list[dict[str, Any]]:
    """All but those that `gone` tells of wait for the store, and end at last; who ended at which second. `silent`: of whom no wait is told."""
    utc = {"time_basis": "utc", "severity": "error"}
    rows: list[dict[str, Any]] = []
    for rank in range(size):
        second = gone.get(rank, waited + 2)
        rows.append(
            {"kind": "exit", "code": "1", "rank": rank, "host": f"n{rank}", "time_ns": (1000 + second) * 10**9} | utc
        )
        if rank not in gone and rank not in silent:
            about = {"rank": None, "host": f"n{rank}", "pid": 4000 + rank, "file": f"n{rank}.log"}
            rows.append({"kind": "store_timeout", "time_ns": (1000 + waited) * 10**9} | about | utc)
    return rows


def test_who_ended_on_the_way_to_the_store_is_whom_all_others_waited_for() -> None:
    found = judged(case(waits({2: 3})), DETECTOR)
    assert (found.kind, found.cause, found.ranks) == ("launch", "missing_ranks", (2,))
    assert judged(case(waits({1: 3, 2: 4})), DETECTOR).ranks == (1, 2)


@pytest.mark.parametrize(
    "rows",
    [
        waits({2: 595}),
        waits({2: 603}),
        waits({0: 3, 1: 3, 2: 3}),
        waits({2: 3}, silent=(1,)),
        [*waits({2: 3}), {"kind": "store_timeout", "rank": 2, "time_ns": 1_600 * 10**9, "time_basis": "utc", "severity": "error"}],
        [row for row in waits({2: 3}) if row["kind"] != "exit" or row["rank"] != 1],
        [*waits({2: 3}), {"kind": "exit", "code": "1", "rank": 2, "time_ns": 1_700 * 10**9, "time_basis": "utc", "severity": "error"}],
    ],
    ids=["clocks differ by as much", "after all", "most of them", "one waited for nothing", "it waited, too", "one's end is not told", "it began again"],
)  # fmt: skip
def test_who_may_have_waited_as_the_others_did_is_not_named(rows: list[dict[str, Any]]) -> None:
    assert [found.ranks for found in DETECTOR.detect(case(rows))] in ([], [()])


def test_the_ranks_of_a_host_that_was_not_reached_are_those_that_miss() -> None:
    row = {"kind": "missing_members", "rank": 0, "detail": '{"joined": "3", "expected": "4"}'}
    lost = {"kind": "missing_members", "code": "unreachable", "names_hosts": ["n3"]}
    places = [{"rank": rank, "host": f"n{rank}", "how": "document"} for rank in range(4)]
    (found,) = DETECTOR.detect(case([row, lost], ranks=places, expected=4))
    assert (found.hosts, found.ranks) == (("n3",), (3,))
    assert [found.ranks for found in DETECTOR.detect(case([row, lost], expected=4))] == [()]
