"""What a rank loaded bad is told with the step that it began with, however its steps are told and wherever they count from."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

Files = Mapping[str, Sequence[str]]
WORLD, ODD = 4, 1
PARTS = ("enc.0.weight", "enc.0.bias", "enc.2.weight", "head.weight", "head.bias")


def loss(step: int, rank: int, first: int) -> str:
    is_lost = step > first or rank == ODD
    return "nan" if is_lost else f"{2.3 - 0.01 * (step - first) + 0.013 * rank:.4f}"


def listed(rank: int, prefix: str = "") -> list[str]:
    lines = [f"{prefix}parameters as loaded:"]
    for at, part in enumerate(PARTS):
        is_bad = rank == ODD and part == "enc.2.weight"
        mean, top = ("nan", "nan") if is_bad else (f"{0.01 * (at + 1):.5f}", f"{0.4 + 0.1 * at:.4f}")
        lines.append(f"{prefix}  {part}: mean {mean} absmax {top}")
    return lines


def lines(form: str, *, first: int = 0, prefix: str = "", path: str = "rank{}.log") -> Files:
    def made(rank: int) -> list[str]:
        own = [
            form.format(step=step, loss=loss(step, rank, first), rank=rank, prefix=prefix)
            for step in range(first, first + 12)
        ]
        return [f"{prefix}rank {rank} of {WORLD}", *listed(rank, prefix), *own]

    return {path.format(rank): made(rank) for rank in range(WORLD)}


STAMP = "2026-11-30 05:42:55,649 | INFO    | "
FORMS: Mapping[str, tuple[Callable[[], Files], int]] = {
    "global step": (lambda: lines("{prefix}epoch 0 | global step {step} | train/loss (this rank) {loss}", prefix=STAMP), 0),
    "prose": (lambda: lines("step {step}: loss {loss}"), 0),
    "from one": (lambda: lines("step {step}: loss {loss}", first=1), 1),
    "resumed": (lambda: lines("iteration {step} loss {loss}", first=250), 250),
    "logfmt": (lambda: lines("step={step} loss={loss} lr=0.001"), 0),
    "bars": (lambda: lines("it {step} | loss {loss} | 0.41 s"), 0),
    "bars from one": (lambda: lines("it {step} | loss {loss} | 0.41 s", first=1), 1),
    "objects in a log": (lambda: lines('{{"step": {step}, "loss": {loss}}}'.replace("{loss}", '"{loss}"')), 0),
    "stamps": (lambda: lines("{prefix}update {step} train_loss={loss}", prefix="[2026-11-30 07:00:01] "), 0),
    "counted": (lambda: lines("[{step}/40] loss: {loss}", first=1), 1),
    "own loss": (lambda: lines("rank {rank} step {step} local_loss {loss}"), 0),
    "dictionaries": (lambda: lines("{{'step': {step}, 'loss': {loss}, 'lr': 0.001}}"), 0),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_the_step_is_the_first_that_the_rank_tells(tmp_path: Path, form: str) -> None:
    made, first = FORMS[form]
    said = analyze(str(written(tmp_path, made()))).verdict
    assert (said.kind, said.cause, said.ranks) == ("numerics", "bad_state", [ODD])
    assert said.first_anomaly is not None and said.first_anomaly.step == first
