"""Most ranks gave up in operations of a group without a name: the others are suspects, never named."""

from typing import Any

import pytest

from forensics.detectors.ranks.did_not_give_up import DETECTOR
from tests.log_cases import case

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
