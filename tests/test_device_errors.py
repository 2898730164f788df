"""Which error texts prove a fault of the device: whole messages of runtimes and drivers, never a word in another text."""

import pytest

from forensics.facts.rows.error_words import is_device_error


@pytest.mark.parametrize(
    "text",
    [
        "RuntimeError: CUDA error: uncorrectable ECC error encountered",
        "torch.AcceleratorError: HIP error: uncorrectable ECC error encountered",
        "INTERNAL: CUDA_ERROR_NVLINK_UNCORRECTABLE: uncorrectable NVLink error detected during the execution",
        "Unable to determine the device handle for GPU0000:5D:00.0: GPU is lost.  Reboot the system",
        "NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.",
        "MUSA error: musaErrorECCUncorrectable",
        "RuntimeError: HBM MULTI BIT ECC ERROR.",
    ],
)
def test_a_message_of_a_runtime_or_driver(text: str) -> None:
    assert is_device_error(text)


@pytest.mark.parametrize(
    "text",
    [
        "RuntimeError: oneCCL: broadcast: wrong communicator",
        "seccomp: operation not permitted",
        "ValueError: hardware decoding is not supported",
        "RuntimeError: NVLink is required for this option",
        "CUDA error: an illegal memory access was encountered",
        "CUDA error: an illegal instruction was encountered",
        "CUDA error: unspecified launch failure",
        "CUDA error: hardware stack error",
        "KeyError: 'uncorrectable'",
        "rescue error: the boat was lost",
    ],
)
def test_a_word_proves_nothing(text: str) -> None:
    assert not is_device_error(text)
