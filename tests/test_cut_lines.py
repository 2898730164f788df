"""Lines that end in the middle, as a few thousand characters of somebody's log do, are heard as far as they go, and name nobody for it."""

from pathlib import Path

import pytest

from forensics.analyze import analyze
from forensics.model.incident import Verdict


def verdict_of(folder: Path, text: str, name: str = "train.log") -> Verdict:
    (folder / name).write_text(text)
    return analyze(folder).verdict


DIFFER = (
    "RuntimeError: Detected mismatch between collectives on ranks. Rank 1 is running collective: CollectiveFingerPrint(SequenceNumber=9, OpType=ALLREDUCE, "
    "TensorShape=[4, 2], TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cuda)), but Rank 3 is running collective: "
    "CollectiveFingerPrint(SequenceNumber=9, OpType=ALLREDUCE, TensorShape=[6, 2], TensorDtypes=Float).Collectives differ in the following aspects: \t Tensor shapes"
)


@pytest.mark.parametrize(
    "end",
    ["on ranks", "OpType=ALLR", "device=cuda", "but Rank 3 is run", "[6, ", "TensorDtypes=Float)", ".Coll", " differ"],
)
def test_calls_that_differ_are_heard_wherever_the_line_ends(tmp_path: Path, end: str) -> None:
    verdict = verdict_of(tmp_path, DIFFER[: DIFFER.rindex(end) + len(end)])
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("hang", "collective_mismatch", [])
