"""Which step was in progress: the last one counts as over where it told all that every step before it did."""

from pathlib import Path
from typing import Any

import pytest

from forensics import analyze
from forensics.facts.durations.progress import step_in_progress
from parsers.schema.tables import table

Row = dict[str, Any]


def rows(count: int, *parts: Row, rank: int = 0) -> list[Row]:
    return [{"rank": rank, "phase": "train", "step": step} | part for step in range(count) for part in parts]


LOSS, NORM, TIME = {"loss": 2.5}, {"grad_norm": 0.4}, {"elapsed_ms": 90.0}


@pytest.mark.parametrize(
    ("told", "step"),
    [
        ([*rows(8, LOSS, NORM), {"rank": 0, "step": 8} | LOSS], 8),
        ([*rows(8, LOSS, TIME), {"rank": 0, "step": 8} | LOSS], 8),
        ([*rows(8, LOSS | NORM, {"checksum": "w=1"}), {"rank": 0, "step": 8} | LOSS | NORM], 8),
        (rows(9, LOSS, NORM), 9),
        (rows(9, LOSS), 9),
        ([*rows(2, LOSS, NORM), {"rank": 0, "step": 2} | LOSS], 3),  # too few to know
        ([*rows(3, LOSS, NORM), *rows(9, LOSS)[3:]], 9),  # not every step told it
        ([*rows(9, LOSS, NORM), *rows(8, LOSS, NORM, rank=1), {"rank": 1, "step": 8} | LOSS], 9),  # of two as many
    ],
)
def test_the_last_is_over_where_it_told_all(told: list[Row], step: int) -> None:
    assert step_in_progress(table("steps", told)) == step


def test_it_is_each_ranks_own() -> None:
    told = table("steps", [*rows(9, LOSS, NORM), *rows(8, LOSS, NORM, rank=1), {"rank": 1, "step": 8} | LOSS])
    assert [step_in_progress(told, rank) for rank in (0, 1)] == [9, 8]


LINES = {
    "loss, then norm": ("it {step} loss 2.{step}1", "it {step} grad_norm 0.4"),
    "loss, then time": ("step={step} loss=2.{step}1", "step={step} loss=2.{step}1 sec=0.21"),
    "records": ('{{"step": {step}, "loss": 2.{step}1}}', '{{"step": {step}, "grad_norm": 0.4}}'),
}


@pytest.mark.parametrize("form", LINES)
def test_what_ended_between_the_lines_of_a_step_belongs_to_it(tmp_path: Path, form: str) -> None:
    for rank in range(4):
        told = [line.format(step=step) for step in range(9) for line in LINES[form]]
        (tmp_path / f"rank{rank}.log").write_text("\n".join(told[:-1]) + "\n")
    with (tmp_path / "rank2.log").open("a") as log:
        log.write(
            "Traceback (most recent call last):\n"
            '  File "fit.py", line 31, in <module>\n    loss.backward()\n'
            "RuntimeError: Function 'LogBackward0' returned nan values in its 0th output.\n"
        )
    told = analyze(tmp_path).verdict
    assert (told.cause, told.first_anomaly.step) == ("nan_birth", 8)


RAISED = (
    "{who}/opt/torch/autograd/graph.py:824: UserWarning: Error detected in SqrtBackward0. Traceback of forward call that caused the error:\n"
    '{who}  File "/app/pairs.py", line 16, in distance\n{who}    return d.sqrt()\n'
)
BOTH = "{who}iter {s} loss 0.0{s}2\n{who}iter {s} grad_norm 0.17{s}\n"


@pytest.mark.parametrize(
    ("each", "last", "step"),
    [
        (BOTH, "{who}iter {s} loss 0.0{s}2\n", 12),  # its norm was still to come
        (BOTH, BOTH, 13),
        ("{who}iter {s} loss 0.0{s}2\n", "{who}iter {s} loss 0.0{s}2\n", 13),
    ],
    ids=["half of it", "all of it", "one line each"],
)
def test_a_step_that_is_told_by_half_is_in_progress(tmp_path: Path, each: str, last: str, step: int) -> None:
    for rank in range(2):
        who = f"[rank {rank}] "
        text = "".join(each.format(who=who, s=at) for at in range(2, 12)) + last.format(who=who, s=12)
        (tmp_path / f"rank_{rank}.log").write_text(text + (RAISED.format(who=who) if rank else ""))
    assert analyze(tmp_path).verdict.first_anomaly.step == step


def _in_words(told: str, rest: str) -> tuple[str, str]:
    return f"{{who}}{told}\n{{who}}{rest}\n", f"{{who}}{told}\n"


FORMS = {
    "done": _in_words("it {s} fwd done, loss here 0.0{s}2", "it {s} update done"),
    "of one line": _in_words("step {s} loss 0.0{s}2", "step {s} weights updated"),
    "brackets": _in_words("[step {s}] loss 0.0{s}2", "[step {s}] stepped the optimizer"),
    "pairs": _in_words("level=info step={s} loss=0.0{s}2", "level=info step={s} phase=update"),
    "colons": _in_words("iter {s}: loss 0.0{s}2", "iter {s}: gradients synced, optimizer stepped"),
    "told behind": _in_words("step {s} loss 0.0{s}2", "end of step {s}"),
    "records": _in_words('{{{{"step": {s}, "loss": 0.0{s}2}}}}', '{{{{"step": {s}, "event": "optimizer_step"}}}}'),
    "bars": _in_words("update {s} | loss 0.0{s}2", "update {s} | all-reduce over"),
    "of many": _in_words("step {s}/40 loss 0.0{s}2", "step {s}/40 committed"),
    "three lines": ("{who}step {s} begins\n{who}step {s} loss 0.0{s}2\n{who}step {s} stepped\n", "{who}step {s} begins\n{who}step {s} loss 0.0{s}2\n"),
    "two behind": ("{who}step {s} loss 0.0{s}2\n{who}step {s} backward\n{who}step {s} stepped\n", "{who}step {s} loss 0.0{s}2\n{who}step {s} backward\n"),
    "no number": _in_words("batch {s} loss=0.0{s}2 lr=0.01", "batch {s} zero_grad, step, sync"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("form", "is_half"),
    [*((one, True) for one in FORMS), *((one, False) for one in ("done", "records", "three lines"))],
)
def test_words_of_a_step_tell_that_it_is_over(tmp_path: Path, form: str, *, is_half: bool) -> None:
    each, half = (one.replace("{{{{", "{{").replace("}}}}", "}}") for one in FORMS[form])
    for rank in range(2):
        who = f"[rank {rank}] "
        told = "".join(each.format(who=who, s=at) for at in range(2, 12))
        told += (half if is_half else each).format(who=who, s=12)
        (tmp_path / f"rank_{rank}.log").write_text(told + (RAISED.format(who=who) if rank else ""))
    assert analyze(tmp_path).verdict.first_anomaly.step == (12 if is_half else 13)
