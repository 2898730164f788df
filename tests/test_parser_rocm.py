"""What ROCm's runtime prints before it aborts a process."""

from typing import Any

import pytest

from parsers.kernel.rocm import PARSER
from tests.lines import lines


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HW Exception by GPU node-4 (Agent handle: 0x55d01f2a0) reason :GPU Hang", [("hsa:hw_exception", "fatal")]),
        ("Memory access fault by GPU node-2 (Agent handle: 0x55) on address 0x7f95000. Reason: Page not present or supervisor privilege.",
         [("hsa:memory_access_fault", "error")]),
        ("Memory access fault by GPU node-2 on address (nil). Reason: Unknown.", [("hsa:memory_access_fault", "error")]),
        (":0:rocdevice.cpp            :2726: 4711 us: Callback: Queue 0x7f95000 aborting with error : HSA_STATUS_ERROR_EXCEPTION: An "
         "HSAIL operation resulted in a hardware exception. code: 0x1016", [("hsa:queue_aborted", "error")]),
        ("the docs tell of a memory access fault by some GPU", []),
        ("", []),
    ],
)  # fmt: skip
def test_lines(text: str, expected: list[tuple[Any, ...]]) -> None:
    events = PARSER.parse(lines(text, rank=3))["events"]
    assert events.select("code", "severity").rows() == expected
    assert set(events["kind"]) <= {"gpu_error"} and set(events["rank"]) <= {3}


def test_two_ranks_in_one_line() -> None:
    text = "HW Exception by GPU node-4 (Agent handle: 0x1) reason :GPU HangMemory access fault by GPU node-5 on address 0x1. Reason: x"
    assert PARSER.parse(lines(text))["events"].height >= 1
