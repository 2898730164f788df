"""A collector stamps and labels each line of a traceback, the indented ones and those of its message, too; what stands behind the word
that another task failed is quoted."""

from pathlib import Path
from typing import Any

import pytest

from forensics import analyze
from parsers.knowledge import meaning

WORLD = 4
OWN = (
    "tensorflow.python.framework.errors_impl.DataLossError: Graph execution error:",
    "DATA_LOSS: corrupted record at 88120344",
)
TOLD = (
    "tensorflow.python.framework.errors_impl.UnavailableError: Graph execution error:",
    "Collective ops is aborted by: Error reported from /job:worker/replica:0/task:{0}: DATA_LOSS: corrupted record at 88120344",
)  # fmt: skip
FRAMES = (
    "Traceback (most recent call last):",
    '  File "/app/train.py", line 92, in <module>',
    "    model.fit(ds, epochs=10)",
    '  File "/usr/local/lib/python3.11/dist-packages/keras/src/utils/traceback_utils.py", line 70, in error_handler',
)


def job(at: Path, bad: int, label: str) -> Any:
    lines = []
    for rank in range(WORLD):
        lines.append((0, rank, f"cluster of {WORLD} workers, task_id = {rank}, world_size = {WORLD}, rank = {rank}"))
        lines += [(step, rank, f" {step}/5000 [>....] - ETA: 1:40:23 - loss: 1.9{step} - accuracy: 0.45") for step in range(1, 9)]  # fmt: skip
    for rank, second in [(bad, 40), *((rank, 41) for rank in range(WORLD) if rank != bad)]:
        lines += [(second, rank, line.format(bad)) for line in (*FRAMES, *(OWN if rank == bad else TOLD))]
    lines.sort(key=lambda one: one[0])
    text = "".join(f"2026-02-25T15:11:{second:02}.{at:03}000Z {label.format(rank)}{line}\n" for at, (second, rank, line) in enumerate(lines))  # fmt: skip
    (at / "all.log").write_text(text)
    return analyze(at).incidents[0].verdict


@pytest.mark.parametrize("label", ["det-worker-{} ", "[det-worker-{}] ", "det-worker-{} | "])
@pytest.mark.parametrize("bad", [0, 3])
def test_whose_record_was_corrupted(label: str, bad: int, tmp_path: Path) -> None:
    found = job(tmp_path, bad, label)
    assert (found.kind, found.cause, found.ranks) == ("crash", "exception", [bad])


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("DATA_LOSS: corrupted record at 12", True),
        ("Error reported from /job:worker/replica:0/task:3: DATA_LOSS: corrupted record at 12", False),
        (
            "Collective ops is aborted by: Error reported from /job:worker/task:0: DATA_LOSS: truncated record at 12",
            False,
        ),
    ],
)
def test_what_is_quoted_is_nobodys_own(text: str, own: bool) -> None:
    found = meaning(text)
    assert found is not None
    assert found.own is own


@pytest.mark.parametrize("line", ["JAX process: {0} / 4", "jax.process_index()={0}, jax.process_count()=4", "jax.process_index={0}"])  # fmt: skip
def test_jax_says_which_process_it_is(line: str, tmp_path: Path) -> None:
    for rank in range(WORLD):
        log = [line.format(rank), *(f"completed step: {step}, seconds: 7.{rank}, loss: 6.1{step}" for step in range(5))]
        log += [*FRAMES[:2], "ValueError: page 771 is broken"] if rank == 2 else []
        (at := tmp_path / f"pod-{'abcd'[rank]}.log").write_text("\n".join(log) + "\n")
        assert at.exists()
    assert analyze(tmp_path).incidents[0].verdict.ranks == [2]
