"""A run that ended well and lost something on its way: what was lost is said first, and something is to be done."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from forensics import analyze
from forensics.facts.durations.checkpoints import checkpoints
from forensics.facts.figures.lost_parts import left_behind, lost_parts
from parsers.schema.tables import table
from reports import terminal
from reports.answer import answer

STEP = "2026-03-01 10:00:{second:02}.000 [rank{rank}] INFO train: step {step} loss 1.98 grad_norm 0.83"
END = "2026-03-01 10:01:23.000 [rank{rank}] INFO train: finished training"
THREAD = """\
Exception in thread saver:
Traceback (most recent call last):
  File "/opt/saver.py", line 210, in persist
    f.write(buf)
OSError: [Errno 122] Disk quota exceeded"""


def write(folder: Path, extra: Mapping[int, str] = {}, stopped: Mapping[int, int] = {}, ranks: int = 4) -> Path:
    """Logs of ranks that train for ten steps and end well. `extra`: rank → lines after step 5; `stopped`: rank → its last step."""
    for rank in range(ranks):
        last = stopped.get(rank, 10)
        lines = [STEP.format(second=2 * step, rank=rank, step=step) for step in range(1, last + 1)]
        lines[5:5] = [
            f"2026-03-01 10:00:11.000 [rank{rank}] INFO Persist state_dict of step 5 to /ckpt",
            *([extra[rank]] if rank in extra else []),
        ]
        (folder / f"rank_{rank}.log").write_text(
            "\n".join([*lines, *([END.format(rank=rank)] if last == 10 else [])]) + "\n"
        )
    return folder


@pytest.mark.parametrize(
    "line",
    [THREAD, "2026-03-01 10:00:11.500 [rank2] ERROR Fail to save the checkpoint shard 2 of rank 2: quota"],
    ids=["thread", "own line"],
)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_part_that_was_never_stored_is_said_first(tmp_path: Path, line: str, language: Any) -> None:
    report = analyze(write(tmp_path, {2: line}))
    assert report.verdict.kind == "healthy" and report.verdict.ranks == []
    said = answer(report.incident)
    assert said.sentence.startswith("A part of the checkpoint of step 5 was never stored (rank 2: “")
    assert said.do.startswith("Check the checkpoint of step 5")
    assert report.incident.evidence[0].refs[0].file == "rank_2.log"
    text = terminal.render(report, color=False, width=None, language=language)
    assert {"en": "never stored", "zh": "未落盘"}[language] in text.splitlines()[0]


def test_a_run_that_lost_nothing_has_nothing_to_do(tmp_path: Path) -> None:
    assert answer(analyze(write(tmp_path)).incident).do == "Nothing."


def test_an_error_after_which_the_part_was_stored_is_no_loss(tmp_path: Path) -> None:
    again = f"{THREAD}\n2026-03-01 10:00:12.000 [rank2] INFO Persist state_dict of step 5 to /ckpt successfully"
    assert answer(analyze(write(tmp_path, {2: again})).incident).do == "Nothing."


def test_ranks_that_the_run_went_on_without_are_said_first(tmp_path: Path) -> None:
    report = analyze(write(tmp_path, stopped={6: 7, 7: 7}, ranks=8))
    said = answer(report.incident)
    assert report.verdict.kind == "healthy" and report.verdict.ranks == []
    assert said.sentence.startswith("Nothing of ranks 6-7 is recorded after step 7, and the others went on to step 10")
    assert "the log of ranks 6-7" in said.do


@pytest.mark.parametrize(
    ("steps", "ended", "lost"),
    [
        ({0: range(9), 1: range(9), 2: range(9), 3: range(4)}, [0, 1, 2], {3: 3}),
        ({0: range(9), 1: range(9), 2: range(8)}, [0, 1], {}),  # one step: its last line may be unwritten
        ({0: range(9), 1: range(0, 9, 4), 2: range(9)}, [0, 2], {}),
        ({0: range(9), 1: range(0, 5, 4), 2: range(9)}, [0, 2], {}),  # it prints some steps only
        ({0: range(9), 1: range(4), 2: range(4), 3: range(4)}, [0], {}),  # most of them: no part that was lost
        ({0: range(4)}, [], {}),
    ],
)
def test_who_was_left_behind(steps: Mapping[int, range], ended: list[int], lost: Mapping[int, int]) -> None:
    rows = [{"rank": rank, "step": step, "phase": "train"} for rank, found in steps.items() for step in found]
    assert left_behind(table("steps", rows), ended) == lost


SAVE = {"kind": "checkpoint_persist", "step": 5, "line": 10, "detail": '{"phase": "begin"}'}


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([SAVE, {"kind": "disk_full", "line": 11}], [(5, 3)]),
        ([SAVE, {"kind": "exception", "code": "OSError", "line": 11}], [(5, 3)]),
        ([SAVE, {"kind": "exception", "code": "ValueError", "line": 11, "detail": '{"thread": "saver"}'}], [(5, 3)]),
        ([SAVE, {"kind": "exception", "code": "ValueError", "line": 11}], []),  # of the program
        ([SAVE, {"kind": "exception", "code": "ConnectionResetError", "line": 11}], []),
        ([SAVE, {"kind": "disk_full", "line": 9}], []),
        ([SAVE, {"kind": "disk_full", "line": 11, "rank": 4}], []),
        ([SAVE, {"kind": "disk_full", "line": 11}, SAVE | {"line": 12, "detail": '{"phase": "end"}'}], []),
        ([{"kind": "storage_error", "code": "checkpoint", "line": 11}], [(None, 3)]),
        ([{"kind": "storage_error", "code": "eio", "line": 11}], []),  # no line tells of a checkpoint
    ],
)
def test_parts_by_their_writers_own_word(rows: list[dict[str, Any]], found: list[tuple[int | None, int]]) -> None:
    events = table("events", [{"file": "r3.log", "rank": 3, "text": "x", **row} for row in rows])
    assert [(part.step, part.rank) for part in lost_parts(events, checkpoints(events))] == found


@pytest.mark.parametrize(
    ("last", "kind"),
    [
        (["finished 10 steps"] * 4, "healthy"),
        (["finished 10 steps", "finished 10 steps", "finished 10 steps", ""], "unknown"),  # one does not say so
        (["finished 40 steps"] * 4, "unknown"),  # of another count
        (["finished 10 steps\nwaiting for the others"] * 4, "unknown"),  # something comes after it
        (["finished 10 steps\nRuntimeError: boom"] * 4, "crash"),
    ],
    ids=["all alike", "not all", "another count", "not the last", "a failure"],
)
def test_words_that_close_on_all_ranks_alike_are_an_end(tmp_path: Path, last: list[str], kind: str) -> None:
    for rank, line in enumerate(last):
        lines = [STEP.format(second=2 * step, rank=rank, step=step) for step in range(1, 11)]
        (tmp_path / f"rank_{rank}.log").write_text("\n".join([*lines, *([line] if line else [])]) + "\n")
    assert analyze(tmp_path).verdict.kind == kind


MEGATRON = (
    "iteration {step:8}/      40 | consumed samples: 640 | elapsed time per iteration (ms): 7613.1 | lm loss: 7.3E-01 |"
)


@pytest.mark.parametrize(("last", "kind"), [(40, "healthy"), (20, "unknown")])
def test_the_last_of_the_steps_that_were_announced_is_an_end(tmp_path: Path, last: int, kind: str) -> None:
    (tmp_path / "a.log").write_text("".join(f"{MEGATRON.format(step=step)}\n" for step in range(1, last + 1)))
    assert analyze(tmp_path).verdict.kind == kind
