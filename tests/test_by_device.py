"""Memory of a device that ran out in a line without a rank: host and device tell whose, where they do so uniquely."""

from typing import Any

import pytest

from tests.log_cases import case

OOM = {"kind": "gpu_oom", "host": "n1", "device_index": 1, "line": 7}
RAISED = {"kind": "exception", "code": "torch.OutOfMemoryError", "host": "n1", "line": 7}


def placed(rank: int, device: int | None, how: str = "NCCL init", host: str = "n1") -> dict[str, Any]:
    return {"rank": rank, "host": host, "device_index": device, "how": how}


TWO = [placed(8, 0), placed(9, 1)]


@pytest.mark.parametrize(
    ("events", "ranks", "whose"),
    [
        pytest.param([OOM, RAISED], TWO, 9, id="one rank has the device"),
        pytest.param([OOM | {"host": "n1.example.org"}, RAISED], TWO, 9, id="a host is its first label"),
        pytest.param([OOM | {"device_index": 0}, RAISED], [placed(8, 0), placed(9, 0)], None, id="each sees device 0"),
        pytest.param([OOM, RAISED], [*TWO, placed(10, None, "path")], None, id="a rank there whose device nobody says"),
        pytest.param([OOM, RAISED], [placed(8, 0, "ras"), placed(9, 1, "ras")], None, id="another numbering"),
        pytest.param([OOM, RAISED], [placed(1, 1, host="n2")], None, id="another host"),
        pytest.param([OOM | {"host": None}, RAISED], TWO, None, id="no host"),
        pytest.param([OOM, RAISED, {"kind": "collective_timeout", "rank": 9}], TWO, None, id="it waited for others"),
    ],
)
def test_whose_memory_ran_out(events: list[dict[str, Any]], ranks: list[dict[str, Any]], whose: int | None) -> None:
    found = case(events, ranks=ranks).tables["events"].filter(line=7)
    assert found["rank"].to_list() == [whose, whose]


def test_no_other_line_gets_the_rank() -> None:
    found = case([OOM, {"kind": "exception", "code": "ValueError", "host": "n1", "line": 8}], ranks=TWO)
    assert found.tables["events"]["rank"].to_list() == [9, None]
