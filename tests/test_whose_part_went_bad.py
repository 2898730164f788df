"""A micro-batch that went bad, lines that count their steps as `it`, levels that come and go, heads of a word and a world: whose it is, and where nobody's."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import Report, analyze

RANKS, STEPS, AT, ODD, PART, PARTS = 4, 14, 8, 2, 1, 3
nan = math.nan
Line = Callable[[int, int, int, float], str]  # rank, step, micro-batch, its loss


def prefixed(rank: int, step: int, part: int, loss: float) -> str:
    return f"[R{rank}] step {step} mb {part} tokens {100 + step} loss {loss:.4f}"


def slashed(_: int, step: int, part: int, loss: float) -> str:
    return f"step {step} micro_batch {part}/{PARTS} loss={loss:.4f} lr=1e-3"


def accumulated(folder: Path, line: Line, odd: frozenset[int]) -> Report:
    for rank in range(RANKS):
        said = []
        for step in range(STEPS):
            for part in range(PARTS):
                is_bad = step > AT or (step == AT and part == PART and rank in odd)
                said.append(line(rank, step, part, nan if is_bad else 3 + rank / 7 + part / 11 - step / 13))
        (folder / f"rank{rank}.log").write_text(f"world size {RANKS} rank {rank}\n" + "\n".join(said) + "\n")
    return analyze(folder)


@pytest.mark.parametrize("line", [prefixed, slashed])
def test_the_micro_batch_that_was_bad_first_is_of_its_rank(tmp_path: Path, line: Line) -> None:
    found = accumulated(tmp_path, line, frozenset({ODD})).verdict
    assert (found.kind, [*found.ranks], found.first_anomaly.step) == ("numerics", [ODD], AT)
    assert found.first_anomaly.microbatch == PART


def test_the_same_micro_batch_bad_on_most_is_nobodys(tmp_path: Path) -> None:
    found = accumulated(tmp_path, prefixed, frozenset({0, 1, 2})).verdict
    assert (found.kind, [*found.ranks]) == ("numerics", [])


# --- lines that count their steps as `it` -----------------------------------------------------------------------------------


def counted(folder: Path, odd: frozenset[int]) -> Report:
    for rank in range(RANKS):
        said = [f"world_size={RANKS} rank={rank}"]
        for step in range(STEPS):
            loss = "nan" if step > AT else f"{2 + rank / 7 - step / 30:.4f}"
            norm = "nan" if step > AT or (step == AT and rank in odd) else f"{5 + rank / 9:.3f}"
            said.append(f"it {step}: g_adv {loss} (rec {loss}) | local enc_gnorm {norm} | px max 1.00")
        (folder / f"rank{rank}.err").write_text("\n".join(said) + "\n")
    return analyze(folder)


def test_a_norm_of_its_own_lost_alone(tmp_path: Path) -> None:
    found = counted(tmp_path, frozenset({ODD})).verdict
    assert (found.kind, [*found.ranks], found.first_anomaly.step) == ("numerics", [ODD], AT)


def test_norms_lost_together_are_nobodys(tmp_path: Path) -> None:
    found = counted(tmp_path, frozenset(range(RANKS))).verdict
    assert (found.kind, [*found.ranks]) == ("numerics", [])


# --- what comes and goes ----------------------------------------------------------------------------------------------------


def test_a_level_of_silence_that_comes_and_goes_is_no_fault(tmp_path: Path) -> None:
    for rank in range(RANKS):
        said = [f"world size {RANKS} rank {rank}"]
        for step in range(1, STEPS + 1):
            level = "-inf" if (step + rank) % 3 == 0 else f"-{9 + step / 10:.1f}"
            said.append(f"step {step}/{STEPS} l1 {1 / (1 + step):.4f} gnorm 0.3{step:02d} softest {level} dB")
        (tmp_path / f"rank{rank}.log").write_text("\n".join([*said, "training finished"]) + "\n")
    assert analyze(tmp_path).verdict.kind == "healthy"


# --- heads of a word and a world --------------------------------------------------------------------------------------------


def console(folder: Path, head: str, first: str) -> Report:
    said = [f"[{head}{rank}] {first}" for rank in range(3)]
    for step in range(STEPS):
        for rank in range(3):
            loss = math.inf if step == AT and rank == 1 else 9 - rank / 7 - step / 10
            said += [f"[{head}{rank}] step {step} loss {loss:.4f} y [-5.{step}, -3.{step}]"] if step <= AT else []
    (folder / "nohup.out").write_text("\n".join([*said, "FloatingPointError: loss is inf"]) + "\n")
    return analyze(folder)


@pytest.mark.parametrize(("head", "first"), [("p", "up, world 3, lr 0.1"), ("g", "world size: 3")])
def test_who_tells_the_world_behind_any_word_is_a_rank(tmp_path: Path, head: str, first: str) -> None:
    found = console(tmp_path, head, first).verdict
    assert (found.kind, [*found.ranks], found.first_anomaly.step) == ("numerics", [1], AT)


def test_members_of_an_ensemble_are_none(tmp_path: Path) -> None:
    assert console(tmp_path, "m", "model ready, lr 0.1").verdict.ranks == []
