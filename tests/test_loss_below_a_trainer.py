"""Whose loss a check found bad, where the frames below it are of a trainer that cuts no model into stages, and all others lost their peers."""

from pathlib import Path

import pytest

from tests.pasted import verdict_of

PACKAGES = "/opt/py/site-packages"
LOST = "torch.distributed.DistBackendError: NCCL communicator was aborted on rank {rank}."
CLOSED = "RuntimeError: [gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.9]:1234"


def ended(trainer: str, said: str, lost: str | None) -> str:
    """Four ranks, of which rank 2 raises that; `lost`: what the others raise."""
    steps = [f"[rank{rank}]: step {step} data_time 0.0{rank}" for step in range(40, 44) for rank in range(4)]
    frames = (("/w/train.py", "<module>"), (trainer, "run"), ("/w/model.py", "step"))
    raised = [text for file, name in frames for text in (f'  File "{file}", line 9, in {name}', "    go(x)")]
    lines = [*steps, *(f"[rank2]: {text}" for text in ("Traceback (most recent call last):", *raised, said))]
    for rank in (0, 1, 3) if lost else ():
        own = ("Traceback (most recent call last):", *raised[:2], (lost or "").format(rank=rank))
        lines += [f"[rank{rank}]: {text}" for text in own]
    return "world_size: 4\n" + "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize(
    ("trainer", "said", "lost"),
    [
        (f"{PACKAGES}/transformers/trainer.py", "RuntimeError: loss is nan at step 44", LOST),
        (f"{PACKAGES}/mmengine/runner/loops.py", "AssertionError: 第 44 步 loss 为 nan", CLOSED),
        (f"{PACKAGES}/lightning/pytorch/loops/fit_loop.py", "ValueError: train_loss became NaN (step 44)", CLOSED),
    ],
)
def test_who_raised_it_is_named(trainer: str, said: str, lost: str, tmp_path: Path) -> None:
    found = verdict_of(tmp_path, ended(trainer, said, lost))
    assert (found.kind, found.ranks) == ("numerics", [2])


@pytest.mark.parametrize(
    ("trainer", "lost"),
    [
        (f"{PACKAGES}/deepspeed/runtime/pipe/engine.py", LOST),
        ("/w/loop.py", LOST),
        (f"{PACKAGES}/transformers/trainer.py", None),
    ],
    ids=["stages", "nothing tells the layout", "the others may not have come so far"],
)
def test_who_may_have_been_given_it_is_a_suspect(trainer: str, lost: str | None, tmp_path: Path) -> None:
    found = verdict_of(tmp_path, ended(trainer, "RuntimeError: loss is nan at step 44", lost))
    assert (found.ranks, found.suspects.ranks) == ([], [2])
