"""The number of the process that prints, as Ray puts it before each line, joins its lines to a rank."""

import pytest

from parsers.schema.lines import event
from tests.lines import lines


@pytest.mark.parametrize(("kind", "pid"), [("exception", 4711), ("exit", None)], ids=["of itself", "of another one"])
def test_whose_number_it_is(kind: str, pid: int | None) -> None:
    row = lines("RuntimeError: x", process=4711).row(0, named=True)
    assert event(row, kind).get("pid") == pid


def test_what_a_kernel_says_is_of_no_process() -> None:
    row = lines("oom", process=4711, time_basis="boot").row(0, named=True)
    assert event(row, "gpu_error").get("pid") is None
