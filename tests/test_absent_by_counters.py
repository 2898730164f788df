"""Watchdog lines alone: whoever times out is a victim; only a rank's own smaller counter accuses it."""

from typing import Any

import pytest

from forensics.detectors.ranks import absent, silent_member
from forensics.model.finding import Finding
from tests.log_cases import Case, case, judged

DETECTORS = (absent.DETECTOR, silent_member.DETECTOR)


def found_in(whole: Case) -> tuple[Finding, ...]:
    return tuple(found for detector in DETECTORS for found in detector.detect(whole))


def waits(rank: int, seq: int = 7, group: str | None = "0") -> dict[str, Any]:
    return {"kind": "collective_timeout", "rank": rank, "seq": seq, "op": "all_reduce", "group": group}


def counter(rank: int, enqueued: int, group: str = "0", desc: str = "default_pg") -> dict[str, Any]:
    counts = {"last_enqueued": enqueued, "last_completed": 6, "scope": "all"}
    return {"rank": rank, "group": group, "desc": desc, "file": "a.log", **counts}


def test_a_rank_that_printed_a_smaller_counter_is_named() -> None:
    counters = [counter(0, 7), counter(1, 7), counter(2, 6), counter(3, 7)]
    found = judged(case([waits(0), waits(1), waits(3)], progress=counters, expected=4), *DETECTORS)
    assert (found.cause, found.ranks, found.is_proven) == ("rank_absent", (2,), True)


def test_a_smaller_counter_of_a_rank_that_waited_elsewhere_accuses_nobody() -> None:
    counters = [counter(0, 7), counter(1, 7), counter(2, 6)]
    rows = [waits(0), waits(1), waits(2, seq=3, group="5")]
    (found,) = found_in(case(rows, progress=counters, expected=4))
    assert found.ranks == ()


def test_one_waits_for_one() -> None:
    (found,) = found_in(case([waits(0)], progress=[counter(0, 7), counter(1, 6)], expected=2))
    assert (found.ranks, found.suspect_ranks, found.undecided) == ((), (0, 1), ("two_member_mismatch",))


@pytest.mark.parametrize(
    ("ranks", "suspects", "reason"),
    [
        ([0, 1, 2, 3], (0, 1, 2, 3), "all_entered_no_counters"),
        ([0, 1, 3], (2,), "culprit_among_missing"),
        ([0], (), "culprit_among_missing"),
    ],
    ids=["all wait", "one silent", "most silent"],
)
def test_victims_name_nobody(ranks: list[int], suspects: tuple[int, ...], reason: str) -> None:
    counters = [counter(rank, 9) for rank in ranks]
    (found,) = found_in(case([waits(rank) for rank in ranks], progress=counters, expected=4))
    assert (found.cause, found.ranks, found.suspect_ranks, found.undecided) == (None, (), suspects, (reason,))


def test_members_that_wait_elsewhere_have_not_entered() -> None:
    rows = [waits(0), waits(1), waits(2, group="5"), waits(3, group="5")]
    (found,) = found_in(case(rows, progress=[counter(rank, 9) for rank in range(4)], expected=4))
    assert (found.ranks, found.undecided) == ((), ("tied_explanations",))


def test_membership_unknown() -> None:
    (found,) = found_in(case([waits(4, group=None), waits(6, group=None)]))
    assert (found.ranks, found.suspect_ranks, found.undecided) == ((), (), ("membership_unknown",))


def test_ras_without_complaint_speaks_for_all_entered() -> None:
    status = {"kind": "ras_status", "code": "OK", "severity": "info"}
    found = judged(case([waits(0), status], progress=[counter(0, 9)]), *DETECTORS)
    assert found.undecided == ("all_entered_no_counters",)
    assert set(found.observers) >= {"a tool"}


def test_silent_without_time_outs() -> None:
    assert found_in(case([{"kind": "exception", "code": "ValueError", "rank": 0}])) == ()


def test_a_stuck_watchdog_is_suspect_where_members_are_unknown() -> None:
    stuck = {"kind": "heartbeat_lost", "rank": 3}
    (found,) = found_in(case([waits(0), waits(1), waits(2), stuck]))
    assert (found.ranks, found.suspect_ranks, found.undecided) == ((), (3,), ("membership_unknown",))
    (found,) = found_in(case([waits(0), stuck | {"rank": 0}]))
    assert found.suspect_ranks == ()


def test_ras_without_counts_says_nothing_of_who_entered() -> None:
    status = {"kind": "ras_status", "code": "UNKNOWN", "severity": "info"}
    (found,) = found_in(case([waits(0), status], progress=[counter(0, 9)]))
    assert found.undecided != ("all_entered_no_counters",)


DP = [{"rank": rank, "group": "4", "desc": "dp", "size": 4} for rank in (9, 11, 13, 15)]  # as each says at its start
SIGNAL = {"kind": "dump_signal", "rank": 13, "severity": "info"}


@pytest.mark.parametrize(
    ("lines", "groups", "ranks", "suspects"),
    [
        ([SIGNAL], DP, (13,), ()),
        ([], DP, (), (13,)),
        ([SIGNAL, waits(13, group="7")], DP, (), ()),
        ([SIGNAL | {"rank": 12}], DP, (), (13,)),
        ([SIGNAL], DP[:3], (), (13,)),
    ],
    ids=[
        "it saw the signal",
        "nothing shows it alive",
        "it waited elsewhere",
        "another saw it",
        "a member is not known",
    ],
)
def test_the_only_member_that_did_not_give_up_is_named_where_it_was_alive(
    lines: list[dict[str, Any]], groups: list[dict[str, Any]], ranks: tuple[int, ...], suspects: tuple[int, ...]
) -> None:
    whole = case([*(waits(rank, group="4") for rank in (9, 11, 15)), *lines], groups=groups)
    (found,) = silent_member.DETECTOR.detect(whole)
    assert (found.ranks, found.suspect_ranks) == (ranks, suspects)


def test_two_calls_in_one_group_name_nobody() -> None:
    """Who stands further on may be the one that the others wait for."""
    rows = [waits(9, group="4"), waits(11, group="4"), waits(15, seq=8, group="4"), SIGNAL]
    (found,) = silent_member.DETECTOR.detect(case(rows, groups=DP))
    assert found.ranks == ()


def test_the_few_of_the_whole_job_that_did_not_give_up_are_suspects() -> None:
    rows = [waits(rank, group=None) for rank in range(8) if rank != 5]
    (found,) = silent_member.DETECTOR.detect(case(rows, expected=8))
    assert (found.ranks, found.suspect_ranks, found.undecided) == ((), (5,), ("membership_unknown",))


def test_elements_that_go_in_and_come_out_tell_the_size_of_the_group() -> None:
    gathers = {"op": "all_gather", "detail": '{"numel_in": 16, "numel_out": 128, "op_type": "_ALLGATHER_BASE"}'}
    rows = [waits(rank, group="9") | gathers for rank in range(8) if rank != 5]
    (found,) = silent_member.DETECTOR.detect(case([*rows, SIGNAL | {"rank": 5}], expected=8))
    assert found.ranks == (5,)


def left(rank: int, **row: Any) -> dict[str, Any]:
    """Its launcher's word that it ended with code 0."""
    return {"kind": "exit", "rank": rank, "code": "0", "severity": "info", "file": "launcher.log", **row}


AT = 1_763_000_000_000_000_000
MINUTE = 60_000_000_000


@pytest.mark.parametrize(
    ("gone", "ends", "ranks", "suspects"),
    [
        ((5,), [left(5, time_ns=AT - 9 * MINUTE)], (5,), ()),
        ((2, 5), [left(5, time_ns=AT - 9 * MINUTE), left(2, time_ns=AT - 8 * MINUTE)], (2, 5), ()),
        ((5,), [left(5, time_ns=AT - 9 * MINUTE) | {"kind": "job_end", "code": None, "file": "5.log"}], (5,), ()),
        ((5,), [left(5, file="a.log", line=1)], (5,), ()),
        ((5,), [left(5, time_ns=AT + MINUTE)], (), (5,)),
        ((5,), [left(5, file="a.log", line=99)], (), (5,)),
        ((5,), [left(5)], (), (5,)),
        ((2, 5), [left(5, time_ns=AT - 9 * MINUTE)], (), (2, 5)),
        ((5,), [], (), (5,)),
    ],
    ids=["exit 0 long before", "two ran out of data", "by its own word", "by the lines of one file", "only afterwards", "below the time-outs",
         "no order is told", "of the other nothing is told", "nothing is told"],
)  # fmt: skip
def test_who_had_ended_well_before_is_whom_the_others_waited_for(
    gone: tuple[int, ...], ends: list[dict[str, Any]], ranks: tuple[int, ...], suspects: tuple[int, ...]
) -> None:
    stamps = {"time_ns": AT, "time_basis": "utc"}
    rows = [waits(rank) | stamps | {"line": 10 + rank} for rank in range(8) if rank not in gone]
    ends = [{"time_basis": "utc", **row} for row in ends]
    counters = [counter(rank, 9) for rank in range(8)]
    groups = [{"rank": rank, "group": "0", "desc": "default_pg", "size": 8} for rank in range(8)]
    (found,) = silent_member.DETECTOR.detect(case([*rows, *ends], expected=8, groups=groups, progress=counters[:0]))
    assert (found.ranks, found.suspect_ranks, found.cause) == (ranks, suspects, "rank_died" if ranks else None)


def test_a_line_without_a_number_is_of_the_call_that_its_rank_tells_elsewhere() -> None:
    rows = [waits(rank, group="4") for rank in (9, 11, 15)] + [{"kind": "collective_timeout", "rank": 9, "group": "4"}]
    (found,) = silent_member.DETECTOR.detect(case([*rows, SIGNAL], groups=DP))
    assert found.ranks == (13,)


BLOCKED = {
    "kind": "hung_task",
    "host": "n1",
    "pid": 4105,
    "severity": "error",
    "file": "n1/dmesg",
    "time_ns": AT - 5 * MINUTE,
    "time_basis": "utc",
}
STOPPED = {
    "kind": "closing_signal",
    "host": "n1",
    "pid": 4105,
    "code": "SIGTERM",
    "severity": "info",
    "file": "n1/run.log",
}


@pytest.mark.parametrize(
    ("told", "pids", "ranks"),
    [
        ([BLOCKED, STOPPED], range(5), (5,)),
        ([BLOCKED], range(6), (5,)),
        ([BLOCKED], range(5), ()),
        ([BLOCKED, STOPPED], range(1, 5), ()),
        ([BLOCKED | {"host": "n2"}, STOPPED], range(5), ()),
        ([BLOCKED | {"pid": 4104}, STOPPED | {"pid": 4104}], range(5), ()),
        ([BLOCKED | {"pid": 77}, STOPPED], range(5), ()),
        ([BLOCKED | {"time_ns": AT + 9 * MINUTE}, STOPPED], range(5), ()),
    ],
    ids=["the launcher's one process that is nobody else's", "its own pid", "of another program", "another's pid is not told either",
         "on another host", "of one that gave up", "not of the launcher", "after the others had given up"],
)  # fmt: skip
def test_whom_its_kernel_calls_blocked(told: list[dict[str, Any]], pids: range, ranks: tuple[int, ...]) -> None:
    stamps = {"time_ns": AT, "time_basis": "utc"}
    rows = [waits(rank) | stamps | {"file": f"{rank}.log"} for rank in range(5)]
    claims = [{"rank": rank, "pid": 4100 + rank, "host": "n1", "how": "pid", "file": f"{rank}.log"} for rank in pids]
    groups = [{"rank": rank, "group": "0", "desc": "default_pg", "size": 6} for rank in range(6)]
    (found,) = silent_member.DETECTOR.detect(case([*rows, *told], expected=6, groups=groups, ranks=claims))
    assert (found.ranks, found.hosts) == (ranks, ("n1",) if ranks else ())
