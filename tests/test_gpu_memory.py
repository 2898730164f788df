"""Whose memory a device was full of: what the line of a failed allocation says is not asked for again."""

from pathlib import Path

import pytest

from forensics import analyze
from forensics.facts.ends.gpu_memory import filled
from forensics.model.incident import Incident

NEW = "Tried to allocate {asked} GiB. GPU 2 has a total capacity of 40.00 GiB of which 0.90 GiB is free. {who} has {own} GiB memory in use."
RESERVE = " Of the allocated memory 20.00 GiB is allocated by PyTorch, and {spare} GiB is reserved by PyTorch but unallocated."
OLD = "Tried to allocate {asked} GiB (GPU 2; 40.00 GiB total capacity; 30.00 GiB already allocated; 0.90 GiB free; {own} GiB reserved in total by PyTorch)"


@pytest.mark.parametrize(
    ("text", "pids", "is_own", "is_spare"),
    [
        (NEW.format(asked=2, who="Including non-PyTorch memory, this process", own=39), [], True, False),
        (NEW.format(asked=2, who="Process 417", own=39), [417], True, False),
        (NEW.format(asked=2, who="Process 417", own=39), [418], False, False),
        (NEW.format(asked=2, who="Process 417", own=39), [], False, False),
        (NEW.format(asked=2, who="this process", own=12) + " Process 9 has 27.00 GiB memory in use.", [8], False, False),
        (NEW.format(asked=2, who="this process", own=39) + RESERVE.format(spare=6), [], True, True),
        (NEW.format(asked=2, who="this process", own=39) + RESERVE.format(spare=1.5), [], True, False),
        (OLD.format(asked=2, own=38), [], True, True),
        (OLD.format(asked=9, own=38), [], True, False),
        (OLD.format(asked=9, own=30), [], False, False),
    ],
)  # fmt: skip
def test_who_filled_it_and_what_lay_in_reserve(text: str, pids: list[int], is_own: bool, is_spare: bool) -> None:
    found = filled(text, pids)
    assert found is not None and (found.is_own, found.is_spare) == (is_own, is_spare)


@pytest.mark.parametrize("text", ["CUDA out of memory.", "Tried to allocate 2.00 GiB", "total capacity of 2.00 GiB"])
def test_what_the_line_does_not_tell_is_not_known(text: str) -> None:
    assert filled(text, [1]) is None


def _incident(folder: Path, text: str, before: str = "") -> Incident:
    steps = "".join(f"[rank{rank}] step {step} loss 2.{step}\n" for step in range(5) for rank in range(4))
    (folder / "train.log").write_text(f"{steps}{before}[rank2]: torch.OutOfMemoryError: CUDA out of memory. {text}\n")
    report = analyze(folder)
    return report.incidents[report.primary]


@pytest.mark.parametrize(
    ("own", "spare", "first", "asks_for_others"),
    [(39, 1, "its own process holds 39.00 of 40.00 GiB", False), (39, 6, "6.00 GiB lay in reserve", False), (12, 1, "it needs more", True)],
)  # fmt: skip
def test_others_are_looked_for_only_where_they_may_be(tmp_path: Path, own: int, spare: float, first: str, asks_for_others: bool) -> None:  # fmt: skip
    text = NEW.format(asked=2, who="this process", own=own) + RESERVE.format(spare=spare)
    incident = _incident(tmp_path, text)
    assert (incident.verdict.cause, incident.verdict.ranks) == ("gpu_oom", [2])
    assert incident.actions[0].reason.startswith(first)
    assert any("compute-apps" in (one.command or "") for one in incident.actions) == asks_for_others


@pytest.mark.parametrize(("most", "is_told"), [(91000, True), (31000, False)])
def test_the_tokens_of_an_expert_are_told_where_they_are_uneven(tmp_path: Path, most: int, is_told: bool) -> None:
    text = NEW.format(asked=2, who="this process", own=39)
    incident = _incident(tmp_path, text, f"[rank2] INFO moe: tokens per expert max {most} mean 30000\n")
    assert any(str(most) in item.claim for item in incident.evidence) is is_told
    assert ("capacity factor" in incident.actions[0].look) is is_told


@pytest.mark.parametrize(("before", "is_told"), [("", True), ("step 3 loss 2.3\nstep 4 loss 2.2\n", False)])
def test_before_any_step_no_batch_fills_a_device(tmp_path: Path, before: str, is_told: bool) -> None:
    lines = (
        "Traceback (most recent call last):\n",
        '  File "/srv/app/t.py", line 9, in <module>\n',
        "torch.distributed.DistBackendError: NCCL error in: /c10d/ProcessGroupNCCL.cpp:1691, unhandled cuda error, NCCL version 2.19.3\n",
        "ncclUnhandledCudaError: Call to CUDA function failed.\n",
        "Last error:\nCuda failure 2 'out of memory'\n",
    )
    (tmp_path / "train.log").write_text(before + "".join(lines))
    incident = analyze(tmp_path).incidents[0]
    assert incident.verdict.cause == "gpu_oom"
    assert ("before any step" in incident.actions[0].reason) is is_told
