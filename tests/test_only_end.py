"""An uncaught error that nobody labels is of the only rank that is told to have ended as one (forensics/assemble/ends/only_end.py)."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from forensics.analyze import analyze

STEPS = "".join(f"01:30:{step:02} [trainer] step={step} loss={3 - step / 20:.3f}\n" for step in range(20))
RAISED = """Traceback (most recent call last):
  File "/p/llm/main.py", line 77, in <module>
    run()
  File "/p/llm/plan.py", line 40, in load
    self.stage = STAGES[name]
KeyError: 'stage-3b'
"""


def task_exit(rank: int, code: int) -> str:
    told = {"localid": 1, "rank": rank, "state": "Exited", "pid": 60500 + rank, "exitcode": code}
    return json.dumps({"timestamp": 1741572083.4, "name": "shell.task-exit", "context": told}) + "\n"


def ranks(folder: Path, files: Mapping[str, str]) -> list[int]:
    for name, text in files.items():
        (folder / name).write_text(text)
    return [*analyze(folder).verdict.ranks]


@pytest.mark.parametrize("rank", [2, 9])
def test_the_only_task_that_ended_raised_it(tmp_path: Path, rank: int) -> None:
    assert ranks(tmp_path, {"out.log": STEPS + RAISED, "events.log": task_exit(rank, 1)}) == [rank]


@pytest.mark.parametrize(
    "events",
    [
        task_exit(9, 1) + task_exit(4, 1),
        task_exit(9, 1) + task_exit(4, 3),
        task_exit(9, 0),
    ],
)
def test_of_two_or_of_none_nobody_raised_it(tmp_path: Path, events: str) -> None:
    assert ranks(tmp_path, {"out.log": STEPS + RAISED, "events.log": events}) == []


WORKER = (
    RAISED
    + """
The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/p/llm/main.py", line 77, in <module>
    run()
RuntimeError: worker exited unexpectedly
"""
)


def test_errors_of_one_print_are_one(tmp_path: Path) -> None:
    assert ranks(tmp_path, {"out.log": STEPS + WORKER, "events.log": task_exit(9, 1)}) == [9]


def test_two_prints_are_two(tmp_path: Path) -> None:
    assert ranks(tmp_path, {"out.log": STEPS + RAISED + WORKER, "events.log": task_exit(9, 1)}) == []
