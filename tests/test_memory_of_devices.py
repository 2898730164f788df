"""Memory of a device that ran out, in the words of several frameworks, and where these stand below the class that was raised."""

from pathlib import Path

import pytest

from forensics import analyze

WORLD = 4
RULE = "-" * 40
HEAD = """Traceback (most recent call last):
  File "/w/run.py", line 9, in <module>
    fit(model)
  File "/usr/lib/python3.10/site-packages/thatlib/core.py", line 71, in fit
    return _native.fit(model)
"""
FULL = {
    "a heading between rules": f"RuntimeError: \n{RULE}\n- Memory not enough:\n{RULE}\nDevice(id:2) memory isn't enough and alloc failed, size: 64B.",
    "a summary": f"SystemError: \n\n{RULE}\nError Message Summary:\n{RULE}\nResourceExhaustedError: \n\nOut of memory error on GPU 2. Cannot allocate 2GB.",
    "tensors": "thatlib.errors.ResourceExhaustedError: OOM when allocating tensor with shape[64,4] on /job:w/task:0/device:GPU:2 by allocator bfc",
    "XLA": "jaxlib.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 2147483648 bytes.",
    "a card": "thatlib.AllocError: \ndevice memory exhausted: wanted 2 GiB on card 2",
}
OTHER = {
    "a shape": f"RuntimeError: \n{RULE}\n- Shape not right:\n{RULE}\nDevice(id:2) got 3 dims, wanted 4",
    "of the host": "thatlib.AllocError: \nnot enough memory: pinned host memory for device 2",
    "of a processor": "thatlib.ResourceExhaustedError: OOM when allocating tensor with shape[64] on /job:w/task:0/device:CPU:0 by allocator cpu",
    "a message": "thatlib.ResourceExhaustedError: received message larger than 4194304 on device 2",
}


def verdict(folder: Path, text: str, own: int = 2):  # type: ignore[no-untyped-def]
    for rank in range(WORLD):
        begun = f"2026-01-22 09:00:00 rank {rank} of world_size={WORLD} pid {700 + rank} started\n"
        steps = "".join(f"2026-01-22 09:1{step}:00 INFO rank {rank} step {step} loss 2.{step}\n" for step in range(6))
        raised = HEAD + text + "\n" if rank == own else ""
        (folder / f"worker_{rank}.log").write_text(begun + steps + raised)
    return analyze(folder).verdict


@pytest.mark.parametrize("form", FULL)
def test_whoever_has_no_memory_left_is_named(tmp_path: Path, form: str) -> None:
    found = verdict(tmp_path, FULL[form])
    assert (found.kind, found.cause, found.ranks) == ("crash", "gpu_oom", [2])


@pytest.mark.parametrize("form", OTHER)
def test_what_is_no_memory_of_a_device(tmp_path: Path, form: str) -> None:
    assert verdict(tmp_path, OTHER[form]).cause != "gpu_oom"
