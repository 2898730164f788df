"""Processes that ended with an error, where the launcher alone speaks."""

from typing import Any

import pytest

from forensics.detectors.ranks.ended_unexplained import ended_unexplained
from forensics.detectors.ranks.process_ended import DETECTOR
from tests.log_cases import case, judged


def ended(code: str, *ranks: int) -> list[dict[str, Any]]:
    return [{"kind": "exit", "code": code, "rank": rank} for rank in ranks]


@pytest.mark.parametrize(
    ("rows", "suspects"),
    [
        ([*ended("1", 5), *ended("-15", 0, 1, 2, 3, 4, 6, 7)], (5,)),
        (ended("1", *range(8)), ()),
        ([*ended("-6", 0, 1, 2, 3, 5, 6, 7), *ended("-15", 4)], (4,)),
        ([*ended("1", 0, 1, 2, 3, 5, 6, 7), *ended("-15", 4)], ()),
        ([*ended("-6", 0, 1), *ended("-15", 2, 3)], ()),
    ],
    ids=["one failed", "all failed", "one did not abort", "one did not fail", "half and half"],
)
def test_who_has_to_be_looked_at(rows: list[dict[str, Any]], suspects: tuple[int, ...]) -> None:
    found = judged(case(rows), DETECTOR)
    assert (found.kind, found.cause, found.ranks, found.is_proven) == ("crash", None, (), False)
    assert (found.suspects, found.undecided) == (suspects, ("tied_explanations",))


@pytest.mark.parametrize(
    "rows",
    [
        ended("-15", 0, 1),
        ended("0", 0, 1),
        [*ended("1", 5), *ended("0", 0)],
        [*ended("1", 3, 5), {"kind": "gpu_oom", "rank": 3}],
        [*ended("1", 5), {"kind": "collective_timeout", "rank": 3, "seq": 4}],
        [*ended("1", 5), {"kind": "peer_closed", "rank": 3}],
    ],
    ids=["stopped", "ended", "others ended well", "somebody died", "somebody timed out", "somebody lost a peer"],
)
def test_where_more_is_told(rows: list[dict[str, Any]]) -> None:
    assert ended_unexplained(case(rows)) == ()


@pytest.mark.parametrize(
    ("rows", "cause", "undecided"),
    [
        ([{"code": "SIGKILL", "local_rank": 3, "pid": 9}], "killed", ("membership_unknown",)),
        ([{"code": "SIGSEGV", "local_rank": 3}], "segfault", ("membership_unknown",)),
        ([{"code": "1", "local_rank": 3}], None, ("membership_unknown", "tied_explanations")),
        ([{"code": "SIGABRT"}, {"code": "SIGKILL"}], None, ("membership_unknown", "tied_explanations")),
    ],
    ids=["killed", "crashed", "exit code", "two signals"],
)
def test_a_local_rank_names_nobody(rows: list[dict[str, Any]], cause: str | None, undecided: tuple[str, ...]) -> None:
    found = judged(case([{"kind": "exit", **row} for row in rows]), DETECTOR)
    assert (found.kind, found.cause, found.undecided) == ("crash", cause, undecided)
    assert (found.ranks, found.hosts, found.suspects) == ((), (), ())


@pytest.mark.parametrize(
    ("row", "hosts"),
    [
        ({"host": "n7", "text": "task on n7 exited with code -9"}, ("n7",)),
        ({"host": "n7.site.org", "text": "(n7): killed by signal 9"}, ("n7",)),
        ({"host": "ft-worker-2", "text": "container of pod ft-worker-2: exit code 137", "names_hosts": ["g14"]}, ("ft-worker-2",)),
        ({"host": "login1", "text": "launcher[11]: process 3 exited with code -9"}, ()),
        ({"host": "n7", "text": "launcher of n71: a process exited with code -9"}, ()),
    ],
    ids=["told", "in brackets", "a pod", "only the launcher is there", "another name"],
)  # fmt: skip
def test_a_host_is_named_only_where_the_line_says_that_the_process_ran_there(
    row: dict[str, Any], hosts: tuple[str, ...]
) -> None:
    found = judged(case([{"kind": "exit", "code": "SIGKILL", **row}]), DETECTOR)
    assert (found.kind, found.cause, found.hosts) == ("crash", "killed", hosts)


def test_what_the_launcher_stopped_itself_is_no_failure() -> None:
    rows = [{"kind": "closing_signal", "code": "SIGTERM", "pid": 9}, {"kind": "exit", "code": "SIGKILL", "pid": 9}]
    assert ended_unexplained(case(rows)) == ()


def test_ctrl_c_is_no_failure() -> None:
    assert ended_unexplained(case(ended("SIGINT", 0, 1))) == ()


WORLD = [{"rank": rank, "world_size": 4, "how": "start line"} for rank in range(4)]
LOST = [{"kind": "peer_closed", "rank": rank} for rank in (1, 3)]


def test_a_signal_of_an_unknown_rank_is_of_one_that_lost_nobody() -> None:
    """DeepSpeed's launcher tells the first return code and no rank, and then ends all that still run."""
    found = judged(case([*LOST, {"kind": "exit", "code": "SIGKILL"}], ranks=WORLD), DETECTOR)
    assert (found.kind, found.cause, found.ranks, found.suspects) == ("crash", "killed", (), (0, 2))


@pytest.mark.parametrize(
    "rows",
    [
        [*LOST, {"kind": "exit", "code": "SIGABRT"}],
        [*LOST, {"kind": "exit", "code": "1"}],
        [*LOST, {"kind": "exit", "code": "SIGKILL"}, {"kind": "collective_timeout", "rank": 0, "seq": 4}],
        [*LOST, {"kind": "exit", "code": "SIGKILL"}, {"kind": "exit", "code": "0", "rank": 0}],
    ],
    ids=["an abort", "an exit code", "somebody timed out before", "one ended well"],
)
def test_an_end_that_may_be_any_victims(rows: list[dict[str, Any]]) -> None:
    assert ended_unexplained(case(rows, ranks=WORLD)) == ()


def _told(*ranks: int) -> list[dict[str, Any]]:
    """What the launcher of the second host tells of its processes; the first one's log is lost."""
    return [{"rank": rank, "local_rank": rank - 8, "host": "n1", "how": "elastic failure table"} for rank in ranks]


@pytest.mark.parametrize(
    ("aborted", "suspects"), [((8, 9, 11, 12, 13), (10,)), ((8, 9, 10, 11, 12), ()), ((8, 9), ())],
    ids=["one between did not abort", "all that are told of", "too few to tell"],
)  # fmt: skip
def test_whom_a_launcher_does_not_mention(aborted: tuple[int, ...], suspects: tuple[int, ...]) -> None:
    found = judged(case(ended("-6", *aborted), ranks=_told(*aborted)), DETECTOR)
    assert (found.suspects, found.ranks) == (suspects, ())
