"""Autograd's check of each backward function: who alone failed it made the bad value, unless the function speaks with others."""

from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

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


WARNED = """\
{p}/opt/lib/python3.10/site-packages/torch/autograd/graph.py:1072: UserWarning: Error detected in {op}. Traceback of forward call that caused the error:
{p}  File "/job/train.py", line 44, in main
{p}    out = net(batch)
{p} (Triggered internally at ../torch/csrc/autograd/python_anomaly_mode.cpp:130.)
{p}  return Variable._execution_engine.run_backward(  # Calls into the C++ engine to run the backward pass
"""
LOST = """\
{p}Traceback (most recent call last):
{p}  File "/job/train.py", line 46, in main
{p}    loss.backward()
{p}  File "/opt/lib/python3.10/site-packages/torch/autograd/graph.py", line 1072, in _engine_run_backward
{p}    return Variable._execution_engine.run_backward(  # Calls into the C++ engine to run the backward pass
{frames}{p}  File "/opt/lib/python3.10/site-packages/torch/distributed/distributed_c10d.py", line 5170, in all_gather_single
{p}    work.wait()
{p}{error}
"""
NAN = "RuntimeError: Function 'PowBackward0' returned nan values in its 0th output."
ERRORS = (
    "RuntimeError: [../gloo/transport/tcp/pair.cc:561] Connection closed by peer [127.0.0.1]:25322.",
    "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1970, remote process exited or there was a network error",
)
PREFIXES = ("[default{r}]:[rank{r}]: ", "[rank{r}]: ", "{r}: ", "[1,{r}]<stderr>:", "rank {r} | ", "")


def _console(prefix: str, error: str, deep: int, *, cut: int | None = None) -> dict[str, list[str]]:
    """What four ranks print, of which rank 3 found a NaN; the warning may stand at another depth of prefixes than the error."""
    warns = "[default{r}]:" if prefix.startswith("[default") else prefix
    own: dict[int, list[str]] = {}
    for rank in (3, 2, 0, 1):
        p = prefix.format(r=rank)
        frame = f'{p}  File "/opt/lib/fsdp/wrap.py", line 30, in wrapper\n{p}    return func(*args, **kwargs)\n'
        op, said = ("PowBackward0", NAN) if rank == 3 else ("AddmmBackward0", error)
        warned = WARNED.format(p=warns.format(r=rank), op=op).splitlines()
        ended = LOST.format(p=p, error=said, frames="" if rank == 3 else frame * deep).splitlines()
        own[rank] = [f"{p}rank {rank} of 4", *(f"{p}step {n} loss {2.1 - n / 9:.4f}" for n in range(14)), *warned]
        own[rank] += [] if rank == cut else ended
    if not prefix:
        return {f"log/rank{rank}.err": lines for rank, lines in own.items()}
    return {"console.txt": [line for lines in own.values() for line in lines]}


@pytest.mark.parametrize("deep", [0, 50])
@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("prefix", PREFIXES)
def test_a_warning_of_another_error_is_no_nan(tmp_path: Path, prefix: str, error: str, deep: int) -> None:
    report = analyze(written(tmp_path, _console(prefix, error, deep)))
    assert (report.verdict.kind, report.verdict.cause, report.verdict.ranks) == ("numerics", "nan_birth", [3])


@pytest.mark.parametrize("prefix", PREFIXES)
def test_a_warning_whose_error_is_cut_off_leaves_it_open(tmp_path: Path, prefix: str) -> None:
    assert analyze(written(tmp_path, _console(prefix, ERRORS[0], 0, cut=2))).verdict.ranks == []
