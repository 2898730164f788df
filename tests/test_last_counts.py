"""A run whose ranks all end with the last of the steps that were to be done, in whatever words, ended well; any other last line says nothing."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import analyze

RANKS, STEPS = 4, 40
LAST = {
    "reached": "Reached step {n} of {n}, exiting.",
    "left": "{n}/{n} updates applied, leaving the loop",
    "limit": "stop: iteration limit {n} hit at {n}",
    "maximum": "max_steps={n} reached (now {n})",
    "brackets": "[{n}/{n}] bye",
    "out of": "ran {n} out of {n} iterations",
    "objects": '{{"event": "bye", "step": {n}, "max_steps": {n}}}',
    "pairs": 'level=info msg="loop left" step={n} total={n}',
    "percent": "progress 100% ({n}/{n})",
    "spaces": "loop over: {n} / {n} its",
    "a total": "exit after {n} (total {n})",
    "another tongue": "Schritt {n} / {n} fertig, Ende",
}
Loss = Callable[[int, int], str]


def _sound(rank: int, step: int) -> str:
    return f"{2 - step / 50 + rank / 90:.4f}"


def _write(folder: Path, last: Callable[[int], str | None], loss: Loss = _sound, *, is_merged: bool = False) -> None:
    text: dict[int, list[str]] = {}
    for rank in range(RANKS):
        text[rank] = [f"rank {rank} of {RANKS} pid {500 + rank}"]
        text[rank] += [f"step {step}: loss={loss(rank, step)}" for step in range(1, STEPS + 1)]
        text[rank] += [said] if (said := last(rank)) else []
    if is_merged:
        most = max(map(len, text.values()))
        lines = [f"[rank{rank}]: {own[at]}" for at in range(most) for rank, own in text.items() if at < len(own)]
        (folder / "run.log").write_text("\n".join(lines) + "\n")
    else:
        for rank, own in text.items():
            (folder / f"rank_{rank}.log").write_text("\n".join(own) + "\n")


@pytest.mark.parametrize("form", LAST)
def test_the_last_of_all_steps_is_the_end(tmp_path: Path, form: str) -> None:
    _write(tmp_path, lambda rank: LAST[form].format(n=STEPS))
    assert analyze(tmp_path).verdict.kind == "healthy"


def test_in_one_log(tmp_path: Path) -> None:
    _write(tmp_path, lambda rank: LAST["reached"].format(n=STEPS), is_merged=True)
    assert analyze(tmp_path).verdict.kind == "healthy"


def test_a_record_of_figures_beside_the_logs_has_no_words(tmp_path: Path) -> None:
    _write(tmp_path, lambda rank: LAST["reached"].format(n=STEPS))
    for rank in range(RANKS):
        rows = "".join(f"{step},{_sound(rank, step)}\n" for step in range(1, STEPS + 1))
        (tmp_path / f"rank_{rank}.csv").write_text("step,train_loss\n" + rows)
    assert analyze(tmp_path).verdict.kind == "healthy"


@pytest.mark.parametrize(
    "last",
    [
        lambda rank: LAST["reached"].format(n=STEPS) if rank else None,  # not all say so
        lambda rank: "Reached step 40 of 90, exiting.",
        lambda rank: LAST["reached"].format(n=8),  # of something else
        lambda rank: f"epoch 1 ended at {STEPS}/{STEPS}",
        lambda rank: f"eval batch {STEPS}/{STEPS}",
        lambda rank: f"wrote shard {STEPS}/{STEPS}",
        lambda rank: "waiting for peers",
    ],
)
def test_another_last_line_is_no_end(tmp_path: Path, last: Callable[[int], str | None]) -> None:
    _write(tmp_path, last)
    assert analyze(tmp_path).verdict.kind != "healthy"


def test_an_end_of_bad_numbers_is_none_of_a_sound_run(tmp_path: Path) -> None:
    bad: Loss = lambda rank, step: "nan" if step > 20 else _sound(rank, step)  # noqa: E731
    _write(tmp_path, lambda rank: LAST["reached"].format(n=STEPS), bad)
    assert analyze(tmp_path).verdict.kind == "numerics"


def test_what_failed_did_not_end_well(tmp_path: Path) -> None:
    _write(tmp_path, lambda rank: LAST["reached"].format(n=STEPS))
    with (tmp_path / "rank_2.log").open("a") as log:
        log.write(
            'Traceback (most recent call last):\n  File "/a/t.py", line 3, in <module>\n    main()\nKeyError: 7\n'
        )
    assert analyze(tmp_path).verdict.kind == "crash"
