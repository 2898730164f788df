"""Dumps of replicas that somebody compared, pair by pair: the first step in which a pair that was the same differs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import analyze


def _script(step: int, a: int, b: int, same: bool) -> str:
    head = f"== diff <(show d/step{step:04}/rank{a}.bin) <(show d/step{step:04}/rank{b}.bin)\n"
    return head + ("" if same else "7c7\n< w.1 sum 0.25\n---\n> w.1 sum 0.26\n")


def _cmp(step: int, a: int, b: int, same: bool) -> str:
    paths = f"state/it_{step}/r{a}.pt state/it_{step}/r{b}.pt"
    return f"$ diff {paths}\n" + ("" if same else f"Binary files {paths.replace(' ', ' and ')} differ\n")


def _unified(step: int, a: int, b: int, same: bool) -> str:
    left, right = (f"w/step-{step}/worker_{one}.txt" for one in (a, b))
    said = f"--- {left}\t2026-01-01\n+++ {right}\t2026-01-01\n@@ -1 +1 @@\n-w 0.25\n+w 0.26\n"
    return f"$ diff -u {left} {right}\n" + ("" if same else said)


FORMS = [_script, _cmp, _unified]


def _write(path: Path, form: Callable[..., str], told: dict[int, dict[tuple[int, int], bool]]) -> None:
    lines = [f"step {step} loss {3 - step / 50:.4f} grad_norm 0.7" for step in range(40)]
    (path / "train.log").write_text("\n".join(["world_size: 4", *lines, "Training completed."]) + "\n")
    said = [form(step, *pair, same) for step, pairs in told.items() for pair, same in pairs.items()]
    (path / "compared.out").write_text("\n".join(said))


@pytest.mark.parametrize("form", FORMS)
def test_of_two_that_part_both_are_suspects(tmp_path: Path, form: Callable[..., str]) -> None:
    _write(tmp_path, form, {step: {(0, 2): True, (1, 3): step < 24} for step in (8, 16, 24, 32)})
    verdict = analyze(tmp_path).verdict
    assert (verdict.cause, verdict.ranks, verdict.suspects.ranks) == ("replica_divergence", [], [1, 3])
    assert (verdict.first_anomaly.step, verdict.undecided) == (24, ["replica_tie"])


@pytest.mark.parametrize("form", FORMS)
def test_who_differs_from_those_that_are_the_same_as_others(tmp_path: Path, form: Callable[..., str]) -> None:
    _write(tmp_path, form, {step: {(0, one): one != 2 or step < 24 for one in (1, 2, 3)} for step in (8, 16, 24)})
    verdict = analyze(tmp_path).verdict
    assert (verdict.cause, verdict.ranks, verdict.first_anomaly.step) == ("replica_divergence", [2], 24)


@pytest.mark.parametrize("form", FORMS)
def test_what_never_was_the_same_accuses_nobody(tmp_path: Path, form: Callable[..., str]) -> None:
    _write(tmp_path, form, {step: {(0, 1): False, (2, 3): False} for step in (8, 16)})
    verdict = analyze(tmp_path).verdict
    assert (verdict.cause, verdict.ranks, verdict.suspects.ranks) == (None, [], [])
