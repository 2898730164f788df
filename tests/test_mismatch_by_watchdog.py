"""Watchdog lines that name different calls: a minority among all members, or one device behind all others."""

import json
from typing import Any

import pytest

from forensics.detectors.hardware import stopped_call
from forensics.detectors.ranks import mismatch
from forensics.model.finding import Finding
from tests.log_cases import Case, case, judged

DETECTORS = (mismatch.DETECTOR, stopped_call.DETECTOR)


def found_in(whole: Case) -> tuple[Finding, ...]:
    return tuple(found for detector in DETECTORS for found in detector.detect(whole))


def waits(rank: int, seq: int = 7, op: str = "ALLREDUCE", size: int = 64, at_s: int = 0, **more: Any) -> dict[str, Any]:
    kinds = {"ALLREDUCE": "all_reduce", "BROADCAST": "broadcast", "ALLGATHER": "all_gather", "COALESCED": "coalesced"}
    said = json.dumps({"numel_in": size, "op_type": op})
    time = {"time_ns": (1_769_854_000 + at_s) * 1_000_000_000, "time_basis": "local"}
    row = {"kind": "collective_timeout", "rank": rank, "seq": seq, "op": kinds[op], "group": "0", "value": 600_000.0}
    return row | time | {"detail": said} | more


def counters(done: list[int], group: str = "0", desc: str = "default_pg") -> list[dict[str, Any]]:
    same = {"group": group, "desc": desc, "file": "a.log", "scope": "all", "how": "watchdog line", "last_enqueued": 9}
    return [{"rank": rank, "last_completed": last, **same} for rank, last in enumerate(done)]


@pytest.mark.parametrize(
    ("odd", "expected", "ranks", "suspects", "reasons"),
    [
        ({"op": "BROADCAST"}, 4, (3,), (), ()),
        ({"size": 65}, 4, (3,), (), ()),
        ({"op": "BROADCAST"}, 6, (), (0, 1, 2, 3), ("tied_explanations",)),
        ({"op": "BROADCAST"}, None, (), (0, 1, 2, 3), ("membership_unknown",)),
    ],
    ids=["operation", "size", "no majority of all", "members unknown"],
)
def test_a_minority_that_calls_something_else(
    odd: dict[str, Any],
    expected: int | None,
    ranks: tuple[int, ...],
    suspects: tuple[int, ...],
    reasons: tuple[str, ...],
) -> None:
    lines = [waits(0), waits(1), waits(2), waits(3, **odd)]
    found = judged(case(lines, progress=counters([6] * 4), expected=expected), *DETECTORS)
    assert (found.cause, found.is_proven) == ("collective_mismatch", bool(ranks))
    assert (found.ranks, found.suspects, found.undecided) == (ranks, suspects, reasons)


def test_in_a_pair_nobody_is_named() -> None:
    lines = [waits(0), waits(1, size=65)]
    (found,) = found_in(case(lines, progress=counters([6, 6]), expected=2))
    assert (found.ranks, found.suspect_ranks, found.undecided) == ((), (0, 1), ("two_member_mismatch",))


@pytest.mark.parametrize(
    "last",
    [
        waits(3),
        waits(3, op="COALESCED"),
        waits(3, group="5", size=65),
        waits(3, seq=8, size=65),
    ],
    ids=["same", "batched", "another group", "another number"],
)
def test_calls_that_do_not_contradict(last: dict[str, Any]) -> None:
    lines = [waits(0), waits(1), waits(2), last]
    assert found_in(case(lines, progress=counters([6] * 4), expected=4)) == ()


def test_gathers_of_lists_may_be_uneven() -> None:
    lines = [waits(rank, op="ALLGATHER", size=64 + rank) for rank in range(4)]
    assert found_in(case(lines, progress=counters([6] * 4), expected=4)) == ()


def test_groups_with_one_description_are_not_mixed() -> None:
    lines = [waits(rank, group=None, size=64 + (rank > 2)) for rank in range(4)]
    assert found_in(case(lines, progress=counters([6] * 4, None, "tp"), expected=8)) == ()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("done", "own", "expected", "cause", "ranks", "suspects"),
    [
        ([7, 7, 7, 6], {}, 4, "kernel_stuck", (3,), ()),
        ([7, 7, 6, 6], {}, 4, None, (), (3,)),
        ([7, 7, 7, 6], {"time_ns": None}, 4, None, (), (3,)),
        ([7, 7, 7, 6], {}, 5, None, (), (3, 4)),
        ([7, 7, 7, 6], {}, None, None, (), (3,)),
    ],
    ids=["all others passed", "one did not say so", "no stamp", "a silent member", "members unknown"],
)
def test_one_behind_all_others(
    done: list[int], own: dict[str, Any], expected: int | None, cause: str | None, ranks: tuple[int, ...], suspects: Any
) -> None:
    lines = [waits(0, 8), waits(1, 8), waits(2, 8), waits(3, 7, **own)]
    found = judged(case(lines, progress=counters(done), expected=expected), *DETECTORS)
    assert (found.cause, found.ranks, found.suspects) == (cause, ranks, suspects)
    assert found.is_proven == bool(ranks)


def test_an_error_of_the_device_explains_the_stop() -> None:
    lines = [waits(0, 8), waits(1, 8), waits(2, 8), waits(3, 7)]
    lines.append({"kind": "gpu_error", "code": "xid:94", "severity": "error", "host": "n0", "pci": "0000:1b:00"})
    place = [{"rank": 3, "host": "n0", "pci": "0000:1b:00.0", "how": "log"}]
    (found,) = found_in(case(lines, progress=counters([7, 7, 7, 6]), ranks=place, expected=4))
    assert (found.cause, found.ranks, found.domain) == ("gpu_fault", (3,), "infrastructure")


def test_whoever_gave_up_long_before_the_others_is_a_victim() -> None:
    lines = [waits(0, 8, at_s=720), waits(1, 8, at_s=720), waits(2, 8, at_s=720), waits(3, 7)]
    assert found_in(case(lines, progress=counters([7, 7, 7, 6]), expected=4)) == ()


def test_two_behind_name_nobody() -> None:
    lines = [waits(0, 8), waits(1, 8), waits(2, 7), waits(3, 7)]
    assert found_in(case(lines, progress=counters([7, 7, 6, 6]), expected=4)) == ()


def test_silent_without_time_outs() -> None:
    assert found_in(case([{"kind": "exception", "code": "ValueError", "rank": 0}])) == ()


def test_a_call_of_another_size_names_by_the_time_outs_alone() -> None:
    """What a member brought stands in its own line; that it waited for others does not clear it."""
    found = judged(case([waits(0), waits(1), waits(2), waits(3, size=65)], expected=4), *DETECTORS)
    assert (found.cause, found.ranks, found.basis) == ("collective_mismatch", (3,), "own_record")


def test_members_that_wait_in_later_calls_have_completed_the_earlier_one() -> None:
    """A watchdog gives up the oldest open call first."""
    found = judged(case([waits(0, 8), waits(1, 8), waits(2, 9), waits(3, 7)], expected=4), *DETECTORS)
    assert (found.cause, found.ranks, found.is_proven) == ("kernel_stuck", (3,), True)
