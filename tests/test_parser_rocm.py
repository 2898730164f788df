"""What ROCm's runtime prints before it aborts a process."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
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


LOST = 'Traceback (most recent call last):\n  File "fit.py", line 9, in fit\n    dist.all_reduce(x)\nRuntimeError: NCCL error: remote process exited or there was a network error\n'
FAULT = "Memory access fault by GPU node-{} (Agent handle: 0x55) on address 0x7f95000. Reason: Page not present or supervisor privilege.\n"
ABORTED = "Fatal Python error: Aborted\n"


def verdict(folder: Path, ends: Mapping[int, str]) -> Verdict:
    for rank in range(4):
        steps = "".join(f"step {step} loss 2.{9 - step}\n" for step in range(4))
        (folder / f"rank{rank}.log").write_text(f"rank {rank} of 4 pid {700 + rank}\n{steps}{ends.get(rank, LOST)}")
    return analyze(folder).verdict


def test_whom_its_runtime_aborted_failed_by_itself(tmp_path: Path) -> None:
    said = verdict(tmp_path, {2: FAULT.format(4) + ABORTED})
    assert (said.kind, said.ranks) == ("crash", [2]) and said.cause in ("exception", "gpu_fault")


@pytest.mark.parametrize(
    "ends",
    [{2: FAULT.format(4) + ABORTED + "restarted\nstep 4 loss 2.5\nstep 5 loss 2.4\n" + LOST}, {rank: FAULT.format(rank) + ABORTED for rank in range(4)}],
    ids=["it went on", "all of them"],
)  # fmt: skip
def test_what_it_outlived_or_all_have_is_nobodys(tmp_path: Path, ends: Mapping[int, str]) -> None:
    assert verdict(tmp_path, ends).ranks == []
