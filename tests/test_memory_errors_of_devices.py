"""A device's memory error that no program can bring about, in the words of any runtime; and what only looks like one."""

from pathlib import Path

import pytest

from forensics import analyze
from parsers.knowledge import meaning
from tests.sources import written

FORMS = [
    "torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered",
    "OSError: (External) MACA error(214), uncorrectable memory error encountered on device 5.",
    "RuntimeError: [Hint: 'mcErrorECCUncorrectable'. This indicates that an error was detected.]",
    "RuntimeError: MUSA error: uncorrectable ECC error encountered",
    "runtime error musaErrorECCUncorrectable (214)",
    "RuntimeError: uncorrectable HBM ECC error detected on npu 3",
    "XpuError: Uncorrectable device memory error occurred, context lost",
    "RuntimeError: hipErrorECCNotCorrectable",
    "DriverError: an uncorrectable double-bit error was detected",
    "CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error encountered",
    "cnrt: CN_ERROR_ECC_NOT_CORRECTABLE",
    "RuntimeError: UNCORRECTABLE MEMORY ERROR ENCOUNTERED (code 214)",
]


@pytest.mark.parametrize("text", FORMS)
def test_a_memory_error_of_a_device_is_its_processes_own(text: str) -> None:
    said = meaning(text)
    assert said is not None and (said.claim, said.own) == ("device_fault", True)


@pytest.mark.parametrize(
    "text",
    [
        "RuntimeError: correctable ECC error encountered",
        "CUDA error: uncorrectable NVLink error detected during the execution",
        "health: no uncorrectable memory errors detected",
        "0 uncorrectable ECC errors found",
        "Uncorrectable ECC errors : 0",
        "ran without uncorrectable memory errors found",
        "mcErrorECCUncorrectableCount = 0",
        "RuntimeError: uncorrectable input: memory error",
    ],
)
def test_what_looks_like_one_is_none(text: str) -> None:
    said = meaning(text)
    assert said is None or said.claim != "device_fault"


STACK = ["Traceback (most recent call last):", '  File "train.py", line 40, in main', "    loss.backward()", '  File "/opt/lib/python3.10/site-packages/fw/tensor.py", line 354, in backward', "    core.run_backward(self)"]  # fmt: skip


@pytest.mark.parametrize(
    ("own", "ranks"), [(FORMS[1], [2]), ("OSError: (External) MACA error(700), unknown failure on device 5.", [])]
)
def test_whose_device_it_is_is_named_out_of_any_call(tmp_path: Path, own: str, ranks: list[int]) -> None:
    lost = "OSError: (External) MCCL error(6), remote error."
    files = {
        f"rank{rank}.log": [
            f"rank {rank} of 4, pid {700 + rank} on n1",
            "step 1 loss 2.0",
            *STACK,
            own if rank == 2 else lost,
        ]
        for rank in range(4)
    }
    assert list(analyze(str(written(tmp_path, files))).verdict.ranks) == ranks
