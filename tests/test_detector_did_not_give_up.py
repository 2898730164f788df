"""Most ranks gave up in operations of a group without a name: the others are suspects, never named."""

from typing import Any

import pytest

from forensics.detectors import DETECTORS
from forensics.detectors.ranks.did_not_give_up import DETECTOR
from tests.log_cases import case, judged

WORLD = [{"rank": rank, "world_size": 4, "how": "start line"} for rank in range(4)]


def gave_up(*ranks: int, **more: Any) -> list[dict[str, Any]]:
    return [{"kind": "collective_timeout", "rank": rank, **more} for rank in ranks]


CLOSED = {"kind": "peer_closed", "rank": 0}
STOPPED = {"kind": "closing_signal", "rank": 2, "code": "SIGTERM", "severity": "info"}
RAISED = {"kind": "exception", "rank": 2, "code": "KeyError", "text": "KeyError: 'eos'"}


@pytest.mark.parametrize(("events", "suspects"), [
    ([*gave_up(1, 3), CLOSED], [2]),
    ([*gave_up(1, 3), CLOSED, STOPPED], [2]),
    ([*gave_up(1, 3)], []),
    ([*gave_up(0, 1, 2, 3)], []),
    ([*gave_up(0, 1, 3), RAISED], []),
    ([*gave_up(0, 1, 3, group="default_pg")], []),
    ([CLOSED], []),
], ids=["silent", "alive until it was stopped", "half of them", "all", "another one raised", "the group is named", "no time-out"])  # fmt: skip
def test_who_did_not_give_up(events: list[dict[str, Any]], suspects: list[int]) -> None:
    found = DETECTOR.detect(case(events, ranks=WORLD))
    assert [rank for one in found for rank in one.suspect_ranks] == suspects
    assert not any(one.is_named for one in found)


def test_without_the_size_of_the_world_nobody_is_a_suspect() -> None:
    assert DETECTOR.detect(case([*gave_up(1, 3), CLOSED])) == ()


def test_of_a_job_whose_size_is_not_told_only_who_left_a_line_is_a_suspect() -> None:
    """The failure table tells that there was a rank 9: the least size, of which most left nothing here."""
    table = [{"rank": 9, "how": "elastic failure table"}]
    alive = {"kind": "job_start", "rank": 2, "severity": "info"}
    assert DETECTOR.detect(case([*gave_up(0, 1, 3, 4, 5, 6)], ranks=table)) == ()
    (found,) = DETECTOR.detect(case([*gave_up(0, 1, 3, 4, 5, 6), alive], ranks=table))
    assert found.suspect_ranks == (2,)


def test_a_rank_whose_log_is_lost_is_said_to_be_that() -> None:
    """Rank 3 may have made another call than all others, and gave up; rank 2's log is lost. Only rank 2 is left over, and
    both doubts are said."""
    found = judged(case([*gave_up(0, 1, 3)], ranks=[{"rank": 0, "world_size": 4, "how": "start line"}]), DETECTOR)
    assert (found.suspects, found.ranks, found.status) == ((2,), (), "hypothesis")
    assert found.undecided == ("culprit_among_missing", "tied_explanations")
    assert (
        "rank 2 reported neither (the bundle has no record of rank 2). Either rank 2 stopped, or one of the ranks"
        in found.finding.summary
    )


def test_two_detectors_that_doubt_for_different_reasons_leave_a_doubt() -> None:
    """One list of suspects found twice is pooled; no agreement settles why nobody is named."""
    found = judged(case([*gave_up(0, 1, 3)], ranks=WORLD), *DETECTORS)
    assert (found.suspects, found.undecided) == ((2,), ("culprit_among_missing", "tied_explanations"))


def stack(rank: int, line: int) -> dict[str, Any]:
    """The traceback of a wait that was called at a line of the program."""
    frames = [{"function": "all_reduce", "file": "/x/site-packages/torch/distributed/distributed_c10d.py", "line": 9},
              {"function": "loop", "file": "/job/train.py", "line": line}]  # fmt: skip
    return {"rank": rank, "is_main": True, "source": "traceback", "frames": frames}


@pytest.mark.parametrize(
    ("lines", "suspects"),
    [({0: 40, 1: 40, 3: 12}, (2, 3)), ({0: 40, 1: 40, 3: 40}, (2,)), ({0: 40, 1: 12}, (2,)), ({3: 12}, (2,))],
    ids=["one gave up elsewhere", "all at one line", "no line of most", "only one tells"],
)
def test_who_gave_up_at_another_line_than_most_may_have_made_another_call(
    lines: dict[int, int], suspects: tuple[int, ...]
) -> None:
    stacks = [stack(rank, line) for rank, line in lines.items()]
    (found,) = DETECTOR.detect(case([*gave_up(0, 1, 3)], ranks=WORLD, stacks=stacks))
    assert (found.suspect_ranks, found.is_named) == (suspects, False)
