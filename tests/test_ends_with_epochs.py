"""The end of a job in lines that tell its epochs beside its steps, each behind the last step of who prints it; a table of the same steps beside the logs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

PER, EPOCHS = 4, 3
STEPS = PER * EPOCHS
END = {
    "epochs and steps": "{head}finished {e} epochs ({n} steps)",
    "steps in epochs": "{head}finished {n} steps in {e} epochs",
    "of the training": "{head}Training complete: {n} updates over {e} epochs",
    "after epochs": "{head}train done after {e} epochs, {n} iterations",
    "of the run": "{head}run finished: epochs {e}, steps {n}, 12.5 s",
    "trained": "{head}trained {e} epochs / {n} optimizer steps",
    "bars": "{head}completed {e} epochs | {n} global steps",
    "how long": "{head}done ({e} epochs, {n} steps, 3m 12s)",
    "all done": "{head}all done: {n} steps total ({e} epochs)",
    "end of": "{head}end of training after {n} steps ({e} epochs)",
    "normally": "{head}job ended normally after {e} epochs and {n} steps in 12.3s",
    "a record": '{{"event": "finished", "epochs": {e}, "steps": {n}}}',
    "of the fit": "{head}fit finished - {e} epochs - {n} steps - took 00:12:33",
}
HEADS = ("08:25:{:02} r{}: ", "2026-01-01 10:00:{:02},123 - rank{} - ", "[INFO] 10:00:{:02} worker {} | ")


def bundle(
    end: str, head: str = HEADS[0], base: int = 1, ranks: int = 4, *, table: bool = True, last: int = STEPS
) -> dict[str, list[str]]:
    files = {}
    for rank in range(ranks):
        lines = []
        for step in range(last):
            lines.append(
                f"{head.format(step, rank)}epoch {step // PER + base} step {step + base} loss {0.7 - step / 100 + rank / 1000:.4f} grad_norm 0.28"
            )
            if (step + 1) % PER == 0:
                lines.append(
                    f"{head.format(step, rank)}epoch {step // PER + base} validation: loss 0.57 auc 0.84 auc[trial] nan"
                )
        files[f"rank{rank}.out"] = [*lines, END.get(end, end).format(head=head.format(40, rank), e=EPOCHS, n=STEPS)]
    rows = [f"{step // PER + base},{step + base},{0.7 - step / 100:.4f},," for step in range(last)]
    return {**files, "metrics.csv": ["epoch,step,train_loss,val_loss,val_auc_trial", *rows, f"{EPOCHS - 1 + base},{last - 1 + base},,0.5737,"]} if table else files  # fmt: skip


@pytest.mark.parametrize("end", END)
def test_it_ended_well(tmp_path: Path, end: str) -> None:
    at = [*END].index(end)
    files = bundle(end, HEADS[at % 3], base=at % 2, ranks=2 + at % 3, table=at % 4 != 3)
    assert analyze(str(written(tmp_path, files))).verdict.kind == "healthy"


def without_one(files: dict[str, list[str]]) -> dict[str, list[str]]:
    return {**files, "rank1.out": files["rank1.out"][:-1]}


def said_before(files: dict[str, list[str]], words: str, last: int = 0) -> dict[str, list[str]]:
    """Behind each epoch the same words; of the log the last lines, or all."""
    made = {}
    for path, own in files.items():
        lines: list[str] = []
        for line in own:
            done = (sum(" validation" in one for one in lines) + 1) * PER
            lines += [line, line[:9] + words.format(e=done // PER, n=done)] if " validation" in line else [line]
        made[path] = lines[-last:]
    return made


NO_END: dict[str, Callable[[], dict[str, list[str]]]] = {
    "one says nothing": lambda: without_one(bundle("epochs and steps")),
    "more steps than were done": lambda: bundle("epochs and steps", last=STEPS - 3),
    "epochs alone": lambda: bundle("{head}finished 3 epochs"),
    "of one epoch": lambda: bundle("{head}finished epoch 3 (12 steps)"),
    "of an epoch without a number": lambda: bundle("{head}finished epoch in {n} steps"),
    "of the first epoch": lambda: bundle("{head}finished 1 epochs ({n} steps)"),
    "of two epochs": lambda: bundle("{head}finished 2 epochs ({n} steps)"),
    "of what, it does not say": lambda: bundle("{head}done in {n} steps"),
    "said behind each epoch": lambda: said_before(
        {path: own[:-1] for path, own in bundle("", table=False).items()}, "completed {e} epochs ({n} steps)"
    ),
    "said, it may be, behind each epoch": lambda: said_before(
        {path: own[:-1] for path, own in bundle("", table=False).items()}, "completed {e} epochs ({n} steps)", 5
    ),
    "of something else": lambda: bundle("{head}finished writing 3 epochs (12 steps) of shards"),
    "of the evaluation": lambda: bundle("{head}validation finished after 12 steps, 3 epochs"),
    "it is denied": lambda: bundle("{head}not finished: 12 steps, 3 epochs"),
    "a wish": lambda: bundle("{head}will be finished after 3 epochs (12 steps)"),
    "a table that goes on": lambda: {
        **bundle("epochs and steps"),
        "metrics.csv": ["epoch,step,train_loss", *(f"{at // PER},{at},0.5" for at in range(STEPS + 5))],
    },
}


@pytest.mark.parametrize("case", NO_END)
def test_else_nothing_says_that_it_ended_well(tmp_path: Path, case: str) -> None:
    assert analyze(str(written(tmp_path, NO_END[case]()))).verdict.kind != "healthy"
