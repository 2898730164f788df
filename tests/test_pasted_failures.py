"""How a process failed, as a few lines tell that somebody pastes: what other versions print is heard alike, also where it begins in the
middle or is cut, and what only looks like it is no failure and accuses nobody."""

from pathlib import Path

import pytest

from forensics.analyze import analyze
from forensics.model.incident import Verdict

NOBODY: list[int] = []


def verdict_of(folder: Path, text: str, name: str = "train.log") -> Verdict:
    (folder / name).write_text(text)
    return analyze(folder).verdict


TENSOR = "OOM when allocating tensor with shape[64,12]"
ON_GPU = f"{TENSOR} and type float on /job:w/replica:0/task:0/device:GPU:3 by allocator GPU_3_bfc"


@pytest.mark.parametrize(
    "text",
    [
        f"  (0) Resource exhausted:  {ON_GPU}\n\t [[node a/b]]\n0 derived errors ignored.\n",
        f"2026-01-31 10:11:12.0: W tensorflow/core/framework/op_kernel.cc:14] OP_REQUIRES failed at c.cc:6 : RESOURCE_EXHAUSTED: {ON_GPU}\n",
        f"ResourceExhaustedError (see above for traceback): {TENSOR}\n\t [[Node: a/b = Sub[_device=\"/job:w/task:0/gpu:0\"](c)]]\n",
        f"framework.errors_impl.ResourceExhaustedError: 2 root error(s) found.\n  (0) RESOURCE_EXHAUSTED:  {ON_GPU}\n",
        "  (1) Internal: Failed to allocate request for 4.30GiB (4617089843B) on device ordinal 2\n",
        "RuntimeError: cuda runtime error (2) : out of memory at /w/aten/src/THC/THCStorage.cu:5\n",
        "base.MXNetError: [10:11:12] src/pooled.h:7: cudaMalloc failed: out of memory\n",
        "MemoryError: Error allocating 4096 bytes of device memory (initialization error).\n",
    ],
)  # fmt: skip
def test_memory_of_a_device_runs_out_in_many_words(tmp_path: Path, text: str) -> None:
    verdict = verdict_of(tmp_path, text)
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "gpu_oom", NOBODY)


@pytest.mark.parametrize(
    "text",
    [
        f"Resource exhausted: {TENSOR} and type float on /job:w/replica:0/task:0/device:CPU:0 by allocator cpu\n",
        "Resource exhausted: received trailing metadata size exceeds limit\n",
        "2026-01-31 10:11:12.0: W tensorflow/core/bfc.cc:27] Ran out of memory trying to allocate 2.2GiB. This is not a failure.\n",
    ],
)
def test_what_another_resource_lacks_is_no_memory_of_a_device(tmp_path: Path, text: str) -> None:
    assert verdict_of(tmp_path, text).cause != "gpu_oom"
