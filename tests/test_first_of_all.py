"""One rank's check or record found something a step before all others: it is named in every form; what does not show that names nobody."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from forensics import Report, analyze

FIRST: Mapping[int, int] = {0: 32, 1: 32, 2: 31, 3: 32}
TOGETHER = {0: 32, 1: 32, 2: 32, 3: 32}
TWO = {0: 31, 1: 32, 2: 31, 3: 32}
SCATTERED = {0: 33, 1: 34, 2: 31, 3: 32}
FEWER = {0: 32, 2: 31, 3: 32}


def _said(report: Report) -> tuple[str, list[int], int | None]:
    first = report.verdict.first_anomaly
    return report.verdict.kind, list(report.verdict.ranks), first.step if first else None


# --- a record of what was first on each rank -------------------------------------------------------------------------


def _yaml(first: Mapping[int, int]) -> tuple[str, str]:
    items = "".join(
        f"  - rank: {rank}\n    host: n{rank // 2}\n    first_nonfinite:\n      step: {step}\n      tensor: head.weight.grad\n"
        for rank, step in first.items()
    )
    return "tracker.yaml", f"job: seg\nworld_size: 4\nranks:\n{items}"


def _commas(first: Mapping[int, int]) -> tuple[str, str]:
    rows = "".join(f"{rank},n{rank // 2},{step},head.weight\n" for rank, step in first.items())
    return "tracker.csv", f"rank,host,first_nan_step,tensor\n{rows}"


def _json(first: Mapping[int, int]) -> tuple[str, str]:
    items = ", ".join(
        f'{{"rank": {rank}, "first_bad": {{"iter": {step}, "where": "head"}}}}' for rank, step in first.items()
    )
    return "tracker.json", f'{{"world_size": 4, "found": [{items}]}}'


def _drawn(first: Mapping[int, int]) -> tuple[str, str]:
    rows = "".join(f"| {rank} | {step} | head |\n" for rank, step in first.items())
    return "tracker.md", f"| rank | first NaN at step | where |\n|---|---|---|\n{rows}"


RECORDS = {"yaml": _yaml, "commas": _commas, "json": _json, "drawn": _drawn}


def _recorded(folder: Path, form: str, first: Mapping[int, int]) -> Report:
    name, text = RECORDS[form](first)
    (folder / name).write_text(text)
    rows = (f"step {step} loss {'nan' if step > 30 else 3 - step / 50:.4}" for step in range(20, 36))
    (folder / "train.log").write_text("world size 4\n" + "\n".join(rows) + "\n")
    return analyze(folder)


@pytest.mark.parametrize("form", RECORDS)
def test_a_record_of_the_first_bad_step_of_each_rank(tmp_path: Path, form: str) -> None:
    assert _said(_recorded(tmp_path, form, FIRST)) == ("numerics", [2], 31)


@pytest.mark.parametrize("form", RECORDS)
@pytest.mark.parametrize("first", [TOGETHER, TWO, SCATTERED, FEWER], ids=["together", "two", "scattered", "one untold"])
def test_where_the_record_does_not_show_one_alone(tmp_path: Path, form: str, first: Mapping[int, int]) -> None:
    assert not _recorded(tmp_path, form, first).verdict.ranks


@pytest.mark.parametrize("name", ["last_clean_step", "num_nan_steps", "first_eval_nan_step"])
def test_other_steps_of_a_rank_tell_of_no_first(tmp_path: Path, name: str) -> None:
    rows = "".join(f"{rank},{step}\n" for rank, step in FIRST.items())
    (tmp_path / "tracker.csv").write_text(f"rank,{name}\n{rows}")
    assert not analyze(tmp_path).verdict.ranks


# --- checks between the lines of steps -------------------------------------------------------------------------------

CHECKS = {
    "paddle": "[PRECISION] [ERROR] in [device=gpu:0, op=matmul_grad, tensor=, dtype=fp32], numel=64, num_nan=1, num_inf=0, num_zero=0, max=0.1, min=-0.1, mean=nan",
    "a sound tensor": "[PRECISION] [ERROR] in [device=gpu:0, op=matmul_grad, tensor=, dtype=fp32], numel=64, num_nan=0, num_inf=0, num_zero=0, max=0.1, min=-0.1, mean=0.0",
    "a module": "NaN detected in blocks.3.mlp output",
    "paddle of old": "(PreconditionNotMet) There are NAN or INF (num_nan=1, num_inf=0, num_zero=0) in [device=gpu:0, op=gelu, tensor=, dtype=fp16].",
}  # fmt: skip


def _checked(folder: Path, check: str, first: Mapping[int, int], stride: int = 1) -> Report:
    for rank in range(4):
        lines = []
        for step in range(24, 38):
            lines += [CHECKS[check]] * (rank in first and step >= first[rank])
            if step % stride == 0:
                lines.append(f"global step {step}: loss {'nan' if step > 31 else 3 - step / 50:.4}")
        (folder / f"rank_{rank}.log").write_text("\n".join([f"rank {rank} of 4", *lines]) + "\n")
    return analyze(folder)


@pytest.mark.parametrize("check", ["paddle", "paddle of old", "a module"])
def test_a_check_between_two_steps_is_of_the_later(tmp_path: Path, check: str) -> None:
    assert _said(_checked(tmp_path, check, FIRST)) == ("numerics", [2], 31)


@pytest.mark.parametrize("check", ["paddle", "a module"])
@pytest.mark.parametrize(
    ("first", "stride"), [(TOGETHER, 1), (TWO, 1), (SCATTERED, 1), (FIRST, 4)], ids=["together", "two", "scattered", "not every step"]
)  # fmt: skip
def test_checks_that_do_not_show_one_alone(tmp_path: Path, check: str, first: Mapping[int, int], stride: int) -> None:
    assert not _checked(tmp_path, check, first, stride).verdict.ranks


def test_what_it_prints_of_sound_tensors_tells_nothing(tmp_path: Path) -> None:
    assert not _checked(tmp_path, "a sound tensor", FIRST).verdict.ranks


# --- names of many at once -------------------------------------------------------------------------------------------


def _curves(folder: Path, remark: str, stem: str = "dp") -> Report:
    (folder / "note.txt").write_text(remark + "\n")
    for rank in range(4):
        rows = [
            f"{1.7e9 + step},{step},{'NaN' if step > 31 - (rank == 2) else 3 + rank / 9 - step / 50:.5}"
            for step in range(20, 36)
        ]
        name = f"run-{stem}{rank}-tag-loss_local.csv"
        (folder / name).write_text("\n".join(["Wall time,Step,Value", *rows]) + "\n")
    return analyze(folder)


@pytest.mark.parametrize(
    "remark", ["one run each (dp0 .. dp3 = rank 0 .. 3)", "dp0-dp3 are ranks 0-3", "dp0 to dp3: global ranks 0 to 3"]
)
def test_a_remark_tells_the_ranks_of_files(tmp_path: Path, remark: str) -> None:
    assert _said(_curves(tmp_path, remark)) == ("numerics", [2], 31)


@pytest.mark.parametrize(
    "remark", ["dp0 .. dp3 have rank 0 .. 7", "dp0 .. dp3 = dp rank 0 .. 3", "dp0 .. dp3 = rank 8 .. 9", "four curves"]
)
def test_another_remark_does_not(tmp_path: Path, remark: str) -> None:
    assert not _curves(tmp_path, remark).verdict.ranks


OPERATOR = "[PRECISION] [ERROR] in [device=gpu:0, op={op}, tensor=x, dtype=fp16], numel=64, num_nan={nans}, num_inf={infs}, num_zero=0, max=1, min=-1, mean=0"
INF, NAN = OPERATOR.format(op="matmul_v2", nans=0, infs=5), OPERATOR.format(op="softmax", nans=9, infs=0)


@pytest.mark.parametrize(
    ("at", "checks", "cause", "op"),
    [
        (31, [INF, NAN], "overflow", "matmul_v2"),
        (31, [NAN, INF], "nan_birth", "softmax"),
        (28, [INF], "nan_birth", None),  # in a step whose loss was fine
    ],
    ids=["inf before nan", "nan before inf", "an earlier step"],
)
def test_what_operators_gave_above_the_line_of_a_loss_says_what_it_was_at_first(
    tmp_path: Path, at: int, checks: list[str], cause: str, op: str | None
) -> None:
    for rank in range(4):
        lines = [f"rank {rank} of 4, data-parallel size: 4"]
        for step in range(24, 33):
            lines += checks if (rank, step) == (2, at) else []
            bad = step > 31 or (step, rank) == (31, 2)
            lines.append(f"global step {step}, local_loss: {'nan' if bad else 3 - step / 50 + rank / 9:.4}")
        (tmp_path / f"rank_{rank}.log").write_text("\n".join(lines) + "\n")
    report = analyze(tmp_path)
    assert (*_said(report), report.verdict.cause) == ("numerics", [2], 31, cause)
    assert report.verdict.first_anomaly is not None and report.verdict.first_anomaly.op == op
