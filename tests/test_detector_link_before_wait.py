"""A link that failed on one host just before everybody waits."""

from typing import Any

import pytest

from forensics.detectors.hardware.link_before_wait import DETECTOR
from forensics.views.page import views
from tests.hang_tables import SECOND_NS, START_NS, Rows, call
from tests.log_cases import case, judged

RANKS: list[dict[str, Any]] = [{"rank": rank, "host": f"n{rank // 2}", "how": "init"} for rank in range(6)]

RAISED = '{"frames": [["step", "/job/train.py", 40]], "from_line": 1}'


def at(second: float) -> dict[str, Any]:
    return {"time_ns": int((1_000_000 + second) * 1e9), "time_basis": "utc"}


def waits(*ranks: int) -> list[dict[str, Any]]:
    """Calls that began at second 0 and were given up after ten minutes."""
    return [{"kind": "collective_timeout", "rank": rank, "seq": 9, "value": 600_000.0, **at(600)} for rank in ranks]


def down(host: str = "n1", second: float = -2, **columns: Any) -> dict[str, Any]:
    return {"kind": "link_down", "severity": "warning", "host": host, **at(second), **columns}


ALL = waits(*range(6))


@pytest.mark.parametrize("kind", ["link_down", "port_error"])
def test_the_host_is_named_and_no_rank(kind: str) -> None:
    found = judged(case([down(kind=kind), *ALL], ranks=RANKS, expected=6), DETECTOR)
    assert (found.kind, found.cause, found.hosts, found.ranks) == ("hang", "network_fault", ("n1",), ())
    assert found.status == "supported"


def test_that_everybody_waits_must_be_known() -> None:
    found = judged(case([down(), *waits(0, 1, 2, 4, 5)], ranks=RANKS, expected=6), DETECTOR)
    assert (found.hosts, found.is_proven) == (("n1",), False)


def test_a_link_that_came_back_is_weaker() -> None:
    found = judged(case([down(), down(kind="link_up", second=5), *ALL], ranks=RANKS, expected=6), DETECTOR)
    assert (found.hosts, found.is_proven) == (("n1",), False)


@pytest.mark.parametrize(
    "rows",
    [
        [down(second=-8 * 86_400), *ALL],
        [down(second=400), *ALL],
        [down(time_ns=None), *ALL],
        [down(severity="info"), *ALL],
        [down(host="n9"), *ALL],
        [down(), down(host="n2"), *ALL],
        [down(), *waits(0, 1, 2, 3, 4)],
        [down(), *waits(0, 1, 2, 4, 5), {"kind": "exception", "code": "KeyError", "rank": 3, "detail": RAISED, **at(-1)}],
        [down()],
        [down(), *waits(2, 3)],
    ],
    ids=[
        "last week", "during the wait", "no time", "an empty cage", "foreign host", "two hosts", "silence on another host",
        "somebody died", "nobody waits", "the call stays in the host",
    ],
)  # fmt: skip
def test_what_names_nobody(rows: list[dict[str, Any]]) -> None:
    assert DETECTOR.detect(case(rows, ranks=RANKS, expected=6)) == ()


def aborted(*ranks: int, code: str = "-6") -> list[dict[str, Any]]:
    """The launchers' word at second 600: no log of the processes themselves is there."""
    return [{"kind": "exit", "rank": rank, "code": code, **at(600)} for rank in ranks]


def test_a_link_that_is_still_down_when_everybody_aborts() -> None:
    found = judged(case([down(), *aborted(*range(6))], ranks=RANKS, expected=6), DETECTOR)
    assert (found.kind, found.cause, found.hosts, found.ranks) == ("crash", "network_fault", ("n1",), ())
    assert (found.status, found.undecided) == ("hypothesis", ("tied_explanations",))


@pytest.mark.parametrize(
    "rows",
    [
        [down(), down(kind="link_up", second=5), *aborted(*range(6))],
        [down(), *aborted(0, 1, 2, 3, 4)],
        [down(), *aborted(0, 1, 2, 3, 4), *aborted(5, code="1")],
        [down(), down(host="n2"), *aborted(*range(6))],
        [down(second=-8 * 86_400), *aborted(*range(6))],
    ],
    ids=["it came back", "one is not told of", "one failed in another way", "two hosts", "last week"],
)
def test_aborts_that_a_link_does_not_explain(rows: list[dict[str, Any]]) -> None:
    assert DETECTOR.detect(case(rows, ranks=RANKS, expected=6)) == ()


def _all_entered(**groups: tuple[int, ...]) -> Rows:
    """Two hosts of two ranks; every group stands in its second call, made at second 9."""
    job = Rows(4, per_host=2, **groups).placed()
    for rank in range(4):
        job.dump(rank, *(call(name, 9) for name, members in groups.items() if rank in members))
    return job.event("link_down", host="node1", time_ns=START_NS + 8 * SECOND_NS, time_basis="utc", file="kern.log")


def test_records_in_which_all_entered() -> None:
    verdict = _all_entered(**{"dp/0": (0, 2), "dp/1": (1, 3)}).verdict()
    assert (verdict.kind, verdict.cause, verdict.hosts, verdict.ranks) == ("hang", "network_fault", ["node1"], [])
    assert verdict.status == "supported"


def test_records_of_calls_that_stay_in_a_host() -> None:
    verdict = _all_entered(**{"tp/0": (0, 1), "tp/1": (2, 3)}).verdict()
    assert (verdict.cause, verdict.hosts) == (None, [])


def test_records_that_name_an_absent_rank() -> None:
    job = Rows(4, per_host=2).placed()
    for rank in (0, 1, 2):
        job.dump(rank, call("world", 8, done=True), call("world", 9))
    job.dump(3, call("world", 8, done=True))
    job.event("link_down", host="node0", time_ns=START_NS + 8 * SECOND_NS, time_basis="utc", file="kern.log")
    verdict = job.verdict()
    assert (verdict.cause, verdict.ranks, verdict.hosts) == ("rank_absent", [3], ["node1"])


def test_the_page_says_that_the_record_is_of_the_named_host() -> None:
    made = case([down(), *ALL], ranks=RANKS, expected=6)
    (found,) = DETECTOR.detect(made)
    (row,) = views(made, found).hardware
    assert (row.host, row.relation) == ("n1", "on a named or suspected host")
