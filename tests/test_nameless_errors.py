"""A fault that a runtime prints without a name, and the process that it aborted."""

from typing import Any

import pytest

from tests.log_cases import case

FAULT = {"kind": "gpu_error", "code": "hsa:memory_access_fault", "line": 5}


def aborted(rank: int, **columns: Any) -> dict[str, Any]:
    row = {"kind": "exit", "code": "SIGABRT", "rank": rank, "local_rank": rank, "pid": 100 + rank, "line": 9}
    return row | columns


@pytest.mark.parametrize(
    ("events", "rank"),
    [
        pytest.param([FAULT, aborted(5)], 5, id="one aborted"),
        pytest.param([FAULT, aborted(5), aborted(5) | {"rank": None}], 5, id="told twice, once without its rank"),
        pytest.param([FAULT, aborted(5, pid=None)], 5, id="told by its rank alone"),
        pytest.param([FAULT, aborted(5), aborted(6)], None, id="two aborted"),
        pytest.param([FAULT, aborted(5, pid=None), aborted(6, pid=None)], None, id="two aborted, told by their ranks"),
        pytest.param(
            [FAULT, aborted(5, pid=None), aborted(6) | {"rank": None}], None, id="one told by its rank, one by its pid"
        ),
        pytest.param([FAULT, aborted(5, code="SIGKILL")], None, id="another signal"),
        pytest.param([FAULT, aborted(5, line=3)], None, id="it had aborted before"),
        pytest.param([FAULT, aborted(5, file="other.log")], None, id="in another log"),
        pytest.param([FAULT | {"code": "xid:31"}, aborted(5)], None, id="a kernel's word aborts nobody"),
    ],
)
def test_whose_fault_it_was(events: list[dict[str, Any]], rank: int | None) -> None:
    faults = case(events).events.filter(kind="gpu_error")
    assert faults["rank"].to_list() == [rank]
