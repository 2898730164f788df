"""Autograd's check of each backward function: who alone failed it made the bad value, unless the function speaks with others."""

from pathlib import Path

import pytest

from forensics import analyze

RAISED = """\
[rank{rank}]: Traceback (most recent call last):
[rank{rank}]:   File "/job/train.py", line 166, in main
[rank{rank}]:     loss.backward()
[rank{rank}]:   File "/opt/lib/python3.10/site-packages/torch/autograd/__init__.py", line 267, in backward
[rank{rank}]:     _engine_run_backward(
[rank{rank}]: RuntimeError: Function '{op}' returned nan values in its 0th output.
"""
CLOSED = """\
[rank{rank}]: Traceback (most recent call last):
[rank{rank}]:   File "/job/train.py", line 170, in main
[rank{rank}]:     dist.all_reduce(flat_grads)
[rank{rank}]: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1970, remote process exited or there was a network error
"""
BAR = "Epoch 0:   1%|▏         | {step}/820 [00:02<5:09:51,  2.30s/it, {name}={loss:.4f}]"


def write(folder: Path, op: str, bad: tuple[int, ...], name: str = "Loss", ranks: int = 4) -> Path:
    head = "\n".join(BAR.format(step=step, name=name, loss=9 - step / 9) for step in range(1, 18))
    ends = "".join((RAISED if rank in bad else CLOSED).format(rank=rank, op=op) for rank in range(ranks))
    (folder / "run.log").write_text(f"world size: {ranks}\n{head}\n{ends}")
    return folder


@pytest.mark.parametrize(
    "op", ["SqrtBackward0", "DivBackward0", "LogSoftmaxBackward0", "PowBackward1", "NormBackward1"]
)
@pytest.mark.parametrize("bad", [0, 3])
def test_the_one_whose_own_function_gave_nan_is_named_with_its_step(tmp_path: Path, op: str, bad: int) -> None:
    report = analyze(write(tmp_path, op, (bad,)))
    assert (report.verdict.kind, report.verdict.cause, report.verdict.ranks) == ("numerics", "nan_birth", [bad])
    assert report.verdict.first_anomaly is not None and report.verdict.first_anomaly.step == 18


@pytest.mark.parametrize(
    "op", ["_ReduceFromModelParallelRegionBackward", "_AllGatherBackward", "AllToAllBackward", "FusedNormBackward"]
)
def test_a_function_of_a_program_may_hold_what_others_sent(tmp_path: Path, op: str) -> None:
    assert analyze(write(tmp_path, op, (2,))).verdict.ranks == []


def test_two_of_four_may_be_mates(tmp_path: Path) -> None:
    assert analyze(write(tmp_path, "SqrtBackward0", (1, 2))).verdict.ranks == []


@pytest.mark.parametrize("name", ["Loss", "loss", "train_loss", "Loss_lm"])
def test_a_bar_tells_the_step_whatever_its_loss_is_called(tmp_path: Path, name: str) -> None:
    found = analyze(write(tmp_path, "SqrtBackward0", (1,), name)).verdict.first_anomaly
    assert found is not None and found.step == 18
