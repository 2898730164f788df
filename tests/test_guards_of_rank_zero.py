"""A guard that ends rank 0 over what all have summed makes it no lone suspect; what a rank says of its own value still does."""

from pathlib import Path

import pytest

from forensics import analyze
from forensics.report import Report

OF_ALL = {
    "a norm": "FloatingPointError: gradient norm not finite for 6 updates in a row (upd 1846)",
    "a norm that is NaN": "RuntimeError: grad_norm is nan at step 1846, stopping",
    "a norm, by its value": "ValueError: Non-finite grad norm: nan (step 1846)",
    "a loss": "FloatingPointError: loss is NaN at step 1846",
    "a mean": "FloatingPointError: mean loss not finite for 2 steps, last step 1846",
    "a total norm": "RuntimeError: The total norm of order 2.0 for gradients from `parameters` is non-finite, so it cannot be clipped.",
    "an assertion": "AssertionError: loss is not finite: nan",
    "in capitals": "FloatingPointError: LOSS IS NAN AT STEP 1846",
    "two words": "RuntimeError: Loss became NaN at iteration 1846, giving up",
    "an average": "ValueError: averaged gradient norm is inf (step 1846)",
}
ENDS = ("caught signal 15, leaving", "", "Terminated", "[rank{r}] step 1845 done")


def _raised(words: str, at: str = "guard.check(step, norm)") -> str:
    return f'Traceback (most recent call last):\n  File "/opt/job/train.py", line 151, in main\n    {at}\n  File "/opt/job/guard.py", line 22, in check\n    raise error\n{words}\n'


def _report(folder: Path, words: dict[int, str], ranks: int = 4, end: str = "") -> Report:
    for rank in range(ranks):
        begin = f"starting, pid {900 + rank}\n"
        last = _raised(words[rank]) if rank in words else end.replace("{r}", str(rank)) + "\n" * bool(end)
        (folder / f"rank_{rank}.log").write_text(begin + last)
    return analyze(folder)


def _who(report: Report) -> list[int]:
    return [*report.verdict.ranks, *report.verdict.suspects.ranks]


@pytest.mark.parametrize("words", OF_ALL)
def test_rank_zero_is_no_lone_suspect(words: str, tmp_path: Path) -> None:
    report = _report(tmp_path, {0: OF_ALL[words]}, end="caught signal 15, leaving")
    assert report.verdict.suspects.ranks != [0]


@pytest.mark.parametrize("end", ENDS)
def test_however_the_others_ended(end: str, tmp_path: Path) -> None:
    report = _report(tmp_path, {0: OF_ALL["a norm"]}, end=end)
    assert report.verdict.kind == "numerics"
    assert report.verdict.suspects.ranks != [0]


@pytest.mark.parametrize("rank", [1, 3])
def test_another_rank_that_looked_alone_is_one(rank: int, tmp_path: Path) -> None:
    assert _who(_report(tmp_path, {rank: OF_ALL["a loss"]})) == [rank]


def test_several_that_looked_are(tmp_path: Path) -> None:
    found = _who(_report(tmp_path, {0: OF_ALL["a loss"], 2: OF_ALL["a loss"]}))
    assert found in ([], [0, 2])
