"""Replicas of the weights that differ by the job's own check: few are wrong; of half or more nobody is named."""

from pathlib import Path

import pytest

from forensics import analyze
from forensics.detectors.numerics import hash_mismatch
from tests.log_cases import case, judged


def _said(rank: int) -> dict[str, object]:
    detail = '{"parameter": "module.a.weight"}'
    return {"kind": "replica_mismatch", "code": "differs", "rank": rank, "names_ranks": [rank],
            "names_rank_space": "global", "detail": detail, "file": f"{rank}.log"}  # fmt: skip


def _raised(rank: int) -> list[dict[str, object]]:
    """The error that every rank of the job raises afterwards, as its traceback and as the check's own word."""
    same = {"rank": rank, "file": f"{rank}.log", "line": 9, "text": "AssertionError: Parameter hashes not matching"}
    return [
        same | {"kind": "exception", "code": "AssertionError"},
        same | {"kind": "replica_mismatch", "code": "raised"},
    ]


@pytest.mark.parametrize(
    ("differ", "ranks", "suspects"),
    [((5,), (5,), ()), ((1, 2, 3), (1, 2, 3), ()), (tuple(range(1, 8)), (), (0,)), ((4, 5, 6, 7), (), (0, 1, 2, 3))],
)
def test_who_differs(differ: tuple[int, ...], ranks: tuple[int, ...], suspects: tuple[int, ...]) -> None:
    rows = [row for rank in range(8) for row in _raised(rank)]
    found = judged(case([*map(_said, differ), *rows], expected=8), hash_mismatch.DETECTOR)
    assert (found.kind, found.ranks, found.finding.suspect_ranks) == ("numerics", ranks, suspects)
    assert found.finding.first_anomaly.module == "module.a.weight"


def test_a_raised_check_alone_tells_that_replicas_differ_and_nothing_of_anybody() -> None:
    [found] = hash_mismatch.DETECTOR.detect(case(_raised(0), expected=8))
    assert (found.cause, found.ranks, found.suspect_ranks, found.undecided) == (
        "replica_divergence",
        (),
        (),
        ("replica_tie",),
    )


FAIRSEQ = """\
Traceback (most recent call last):
  File "/opt/env/bin/fairseq-train", line 8, in <module>
    sys.exit(cli_main())
  File "/opt/env/lib/python3.10/site-packages/fairseq/trainer.py", line 1501, in _check_grad_norms
    raise FloatingPointError(
FloatingPointError: Fatal error: gradients are inconsistent between workers. Try --ddp-backend=legacy_ddp. Or are you mixing up different generation of GPUs in training?
--------------------------------------------------------------------------------
grad_norm across the workers:
rank   0 = 1.90412307
rank   1 = 2.21870661
"""


@pytest.mark.parametrize("ranks", [1, 4])
def test_gradients_that_differ_are_numbers(tmp_path: Path, ranks: int) -> None:
    """fairseq raises the class of bad numbers for it; no figure is NaN, and every worker raises it."""
    for rank in range(ranks):
        (tmp_path / f"rank{rank}.log").write_text(FAIRSEQ)
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("numerics", "replica_divergence", [])
