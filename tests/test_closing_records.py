"""The last words of a run in records: an end where all who print steps say so last, of the whole of the work and of no part."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

Form = Callable[[int, int, str], str]


def structlog(rank: int, step: int, event: str) -> str:
    return f'{{"rank": {rank}, "step": {step}, "event": "{event}", "level": "info"}}'


def logfmt(rank: int, step: int, event: str) -> str:
    return f'level=info rank={rank} msg="{event}" step={step} best=0.31'


def bare(rank: int, _: int, event: str) -> str:
    return f'{{"rank": {rank}, "message": "{event}", "seconds_total": 81}}'


def job(tmp_path: Path, form: Form, words: str, *, quiet: int = 0, after: str = "", of: int = 12) -> str:
    """Three ranks that tell twelve steps; the last `quiet` of them say nothing at the end."""
    files = {}
    for rank in range(3):
        steps = [
            f'{{"rank": {rank}, "step": {step}, "loss": {2.5 - step / 9 + rank / 50:.4f}}}' for step in range(1, 13)
        ]
        last = [form(rank, of, words)] if rank < 3 - quiet else []
        files[f"rank{rank}.log"] = [*steps, *last, *([after] if after else [])]
    return str(written(tmp_path, files))


@pytest.mark.parametrize("form", [structlog, logfmt, bare])
@pytest.mark.parametrize(
    "words", ["training_complete", "done, all steps finished", "Run finished successfully.", "train_end"]
)
def test_all_say_that_it_is_over(tmp_path: Path, form: Form, words: str) -> None:
    assert analyze(job(tmp_path, form, words)).incident.verdict.kind == "healthy"


@pytest.mark.parametrize(
    "words",
    ["checkpoint_complete", "validation finished", "step_end", "epoch done", "not finished", "end", "backward done"],
)
def test_of_a_part_it_is_no_end(tmp_path: Path, words: str) -> None:
    assert analyze(job(tmp_path, structlog, words)).incident.verdict.kind == "unknown"


def test_only_where_all_say_it_last_and_of_the_last_step(tmp_path: Path) -> None:
    bundles = (
        job(tmp_path / "one", structlog, "training_complete", quiet=1),
        job(tmp_path / "more", structlog, "training_complete", after='{"event": "resumed", "level": "info"}'),
        job(tmp_path / "other", structlog, "training_complete", of=7),
    )
    assert [analyze(one).incident.verdict.kind for one in bundles] == ["unknown"] * 3
