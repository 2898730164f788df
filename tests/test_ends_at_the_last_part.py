"""A training that says it is finished with the last of its parts has ended, where all ranks say so as their last words; what comes before the last is no end."""

from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from tests.sources import written

EPOCHS, EACH = 4, 3
ENDS = (
    "Training finished: epoch 4/4",
    "training complete (epoch 4 of 4)",
    "finished training epoch 4/4",
    "Training done, epoch: 4/4",
    "completed training (epoch 4/4)",
    "training completed - epoch 4 of 4",
    "training finished after epoch 4/4",
    "Training is done for the last epoch 4/4",
    "training finished on epoch #4/4",
    "INFO trainer: training finished [epoch 4/4]",
    "Training finished: epochs 4/4.",
)


def verdict(
    folder: Path, end: str, *, of: tuple[int, ...] = (0, 1, 2, 3), behind: str = "", before: str = ""
) -> Verdict:
    files = {}
    for rank in range(4):
        lines = [f"global rank {rank} world 4"]
        for epoch in range(1, EPOCHS + 1):
            lines += [
                f"Epoch [{epoch}][{at}/{EACH}] lr: 0.2 loss: {2 - epoch / 9 - at / 30 + rank / 90:.4f}"
                for at in range(1, EACH + 1)
            ]
            lines += [f"Epoch(val) [{epoch}] val_loss: {1.5 / epoch:.4f} IoU.pole: nan"]
            lines += [before.format(e=epoch)] if before else []
        lines += [f"2026-11-30 11:13:07,582 - seg - INFO - {end}"] if rank in of else []
        files[f"rank{rank}.log"] = [*lines, behind] if behind and rank == 2 else lines
    return analyze(str(written(folder, files))).verdict


@pytest.mark.parametrize("end", ENDS)
def test_all_say_that_the_last_part_is_finished(tmp_path: Path, end: str) -> None:
    assert verdict(tmp_path, end).kind == "healthy"


@pytest.mark.parametrize(
    "end",
    [
        "Training finished: epoch 3/4",
        "finished training epoch 2 of 4",
        "waiting until training is finished: epoch 4/4",
        "checkpoint is kept once training is done: epoch 4/4",
        "training not finished: epoch 4/4",
        "training finished 3/4",
    ],
)
def test_what_is_no_end(tmp_path: Path, end: str) -> None:
    assert verdict(tmp_path, end).kind != "healthy"


@pytest.mark.parametrize("end", ENDS[:2])
def test_where_not_all_come_to_it_nobody_has_ended(tmp_path: Path, end: str) -> None:
    assert verdict(tmp_path / "few", end, of=(0, 1, 3)).kind != "healthy"
    more = "2026-11-30 11:13:08,100 - seg - INFO - evaluating on the test split"
    assert verdict(tmp_path / "more", end, behind=more).kind != "healthy"
    assert verdict(tmp_path / "each", "bye", before="finished training epoch {e}/{e}").kind != "healthy"
