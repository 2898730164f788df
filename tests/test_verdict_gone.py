"""Whose processes are known to have ended: then nobody is sent to look at their stacks."""

from typing import Any

import pytest

from forensics.verdict.told.gone import gone
from tests.log_cases import case

LIVES = [{"rank": rank, "host": f"n{rank // 2}", "pid": 100 + rank, "how": "NCCL init"} for rank in range(4)]


def exit_of(rank: int | None = None, host: str | None = None, **more: Any) -> dict[str, Any]:
    return {"kind": "exit", "code": "1", "rank": rank, "host": host} | more


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param([], [], id="nothing ended"),
        pytest.param([exit_of(0, "n0")], [0, 1], id="a launcher takes down the processes of its host"),
        pytest.param([exit_of(None, "n1")], [2, 3], id="of a process without a rank"),
        pytest.param([exit_of(2)], [2, 3], id="the rank tells the host"),
        pytest.param([exit_of()], [0, 1, 2, 3], id="it may be of any"),
        pytest.param(
            [exit_of(0, "n0"), {"kind": "closing_signal", "code": "SIGTERM"}],
            [0, 1],
            id="another line of the file tells",
        ),
        pytest.param([exit_of(0, "n0", severity="info", code="0")], [0], id="it ended well, the others run on"),
        pytest.param([{"kind": "scheduler", "code": "time_limit"}], [0, 1, 2, 3], id="the scheduler ends the job"),
        pytest.param([{"kind": "collective_timeout", "rank": 0, "seq": 3}], [], id="who gave up may still be there"),
    ],
)
def test_whose_process_is_known_to_have_ended(events: list[dict[str, Any]], expected: list[int]) -> None:
    assert sorted(gone(case(events, 4, ranks=LIVES))) == expected
