"""Runs of a tracker, one a process, in folders that it names itself: who introduces himself in any file of one speaks in all of them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import Report, analyze

RANKS, STEPS, ODD, AT = 3, 24, 2, 14
NAMES = {
    "dates and letters": ("offline-run-20270105_101500-4kq9zzab", "offline-run-20270105_101500-qwpxytre", "offline-run-20270105_101501-7ab01ccd"),
    "letters behind a number": ("run_7_olive", "run_9_amber", "run_12_teal"),
    "hashes": ("1a/9f8e7d6c5b4a", "1a/0c1d2e3f4a5b", "1a/77aa88bb99cc"),
}  # fmt: skip
Told = Callable[[int], dict[str, str]]


def _steps(rank: int) -> str:
    lines = []
    for step in range(STEPS):
        value = 2 - step / 30 + (step * 3 + rank * 5) % 7 / 40
        loss = "nan" if step > AT or (step == AT and rank == ODD) else f"{value:.4f}"
        lines.append(f"step {step:3d}  loss {loss}")
    return "\n".join(lines) + "\n"


def _in_both(rank: int) -> dict[str, str]:
    return {
        "files/output.log": f"rank {rank} of {RANKS}, batch 16\n" + _steps(rank),
        "logs/debug.log": f"2027-01-05 10:15:00,127 INFO    MainThread:{900 + rank} [init.py:init():740] called\nconfig: {{'rank': {rank}, 'world_size': {RANKS}, 'lr': 0.1}}\n",
    }


def _in_one(rank: int) -> dict[str, str]:
    return {**_in_both(rank), "files/output.log": _steps(rank)}


def _beside(rank: int) -> dict[str, str]:
    return {"stdout.txt": _steps(rank), "worker.txt": f"process {rank} of {RANKS} starting, pid {4000 + rank * 7}\n"}


def _logged(folder: Path, names: str, told: Told) -> Report:
    for rank, name in enumerate(NAMES[names]):
        for path, text in told(rank).items():
            file = folder / "runs" / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    return analyze(folder)


@pytest.mark.parametrize("told", [_in_both, _in_one, _beside])
@pytest.mark.parametrize("names", NAMES)
def test_who_introduces_himself_in_a_run_speaks_in_all_of_it(tmp_path: Path, names: str, told: Told) -> None:
    verdict = _logged(tmp_path, names, told).verdict
    assert (verdict.kind, list(verdict.ranks), verdict.first_anomaly.step) == ("numerics", [ODD], AT)


def _of_two(rank: int) -> dict[str, str]:
    return {**_in_one(rank), "logs/other.log": f"rank {(rank + 1) % RANKS} of {RANKS}, as it was told\n"}


def _of_few(rank: int) -> dict[str, str]:
    return _in_one(rank) if rank else {"files/output.log": _steps(rank)}


@pytest.mark.parametrize("told", [_of_two, _of_few])
@pytest.mark.parametrize("names", NAMES)
def test_where_two_speak_in_a_run_or_one_is_unknown_nobody_is_named(tmp_path: Path, names: str, told: Told) -> None:
    assert not _logged(tmp_path, names, told).verdict.ranks
