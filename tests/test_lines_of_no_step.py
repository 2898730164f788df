"""One rank alone prints the steps of all; each tells of what it read in lines of no step: whose was bad there alone, before a check of its own ended it, is named."""

from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from tests.sources import written

RANKS, ODD, EACH = 4, 2, 8
FORMS = (
    "INFO reader feat n=8192 file=part-00{k}.tfrecord qty[min=1.0 max=557.0 nan=0] price_z[min=-3.94 max=5.68 nan={b}]",
    "reader: features min -3.{k} max 5.68 nan {b}",
    "batch of part-{k}: absmax 4.{k}, non-finite {b}",
    "loader features mean=0.0{k} std=1.02 nans={b}",
    "batch input absmax 3.{k} nan_count {b}",
    "dataset shard {k} x: max 3.{k} min -2.0 bad {b}",
    "data check: largest 4.{k} nonfinite={b} of 8192",
    "samples: min -3.{k}, max 5.1, nan={b}",
    "[reader] price mean 0.1{k} max 5.5 nans: {b}",
    "input batch: mean=0.0{k} max=3.5 infs={b}",
)
CHECK = (
    "Traceback (most recent call last):",
    '  File "/app/fit.py", line 141, in main',
    '    raise FloatingPointError(f"loss is {loss}")',
    "FloatingPointError: loss is nan",
)
ABORTED = (
    "Traceback (most recent call last):",
    '  File "/app/fit.py", line 139, in main',
    "    dist.all_reduce(grad)",
    "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:525] Connection closed by peer [10.0.0.3]:4321",
)


def verdict(
    folder: Path, form: str, *, bad: tuple[int, ...] = (ODD,), checked: tuple[int, ...] = (ODD,), lost: int | None = None, steps: tuple[int, ...] = (0,)
) -> Verdict:  # fmt: skip
    files = {}
    for rank in range(RANKS):
        lines = [f"rank {rank} of {RANKS} pid {4000 + rank}"]
        for at in range(EACH):
            is_bad = rank in bad and at == EACH - 1
            lines.append(form.format(k=10 + at + rank, b=212 if is_bad else 0))
            lines += [f"step {250 * at}/30000 - loss: {0.4 - at / 90:.4f} - mae: 0.15"] if rank in steps else []
        files[f"rank_{rank}.log"] = [*lines, *(CHECK if rank in checked else ABORTED)]
    return analyze(
        str(written(folder, {name: own for name, own in files.items() if name != f"rank_{lost}.log"}))
    ).verdict


@pytest.mark.parametrize("form", FORMS)
def test_whose_was_bad_alone(tmp_path: Path, form: str) -> None:
    found = verdict(tmp_path, form)
    assert (found.kind, list(found.ranks)) == ("numerics", [ODD])


@pytest.mark.parametrize("form", FORMS[:3])
def test_who_may_not_be_named(tmp_path: Path, form: str) -> None:
    """Two read such; a check of another one ended the job, or of all; the record of one is lost."""
    assert not verdict(tmp_path / "two", form, bad=(1, ODD)).ranks
    assert ODD not in verdict(tmp_path / "other", form, checked=(1,)).ranks
    assert not verdict(tmp_path / "all", form, bad=(0, 1, 2, 3), checked=(0, 1, 2, 3)).ranks
    assert not verdict(tmp_path / "lost", form, lost=1, bad=(3,), checked=(ODD,)).ranks


@pytest.mark.parametrize("form", ["input absmax 3.{k} nan_count {b}", "dense part | min -3.{k} | max 5.1 | nan {b}"])
def test_what_another_rank_may_have_sent_makes_a_suspect(tmp_path: Path, form: str) -> None:
    found = verdict(tmp_path, form)
    assert (found.kind, found.ranks, found.suspects.ranks) == ("numerics", [], [ODD])
