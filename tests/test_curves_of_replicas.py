"""What replicas hold alike as curves without names, a file for each rank and figure, as trackers of experiments store them."""

from pathlib import Path

import pytest

from forensics import analyze

RANKS, ODD, FIRST = 4, 1, 16


def _value(name: str, rank: int, step: int, odd: bool) -> str:
    left = rank == ODD and odd and step >= FIRST
    return {
        "param_norm": f"{40 + step / 7 + (1e-7 if left else 0):.14f}",
        "weights_hash": f"{7919 * (step + 131) + (5 if left else 0)}.0",
        "activation_norm": f"{3 + step / 7 + rank / 9:.14f}",
    }[name]


def _write(path: Path, name: str, form: str, odd: bool) -> None:
    for rank in range(RANKS):
        for figure in ("loss", name):
            file = path / form.format(rank=rank, name=figure)
            file.parent.mkdir(parents=True, exist_ok=True)
            told = (
                f"{2 + rank / 9 + step / 50:.5f}" if figure == "loss" else _value(name, rank, step, odd)
                for step in range(30)
            )
            file.write_text("".join(f"{1790000000123 + 1000 * step} {one} {step}\n" for step, one in enumerate(told)))


FORMS = ["runs/rank_{rank}/metrics/{name}", "curves/{name}_rank{rank}.txt"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["param_norm", "weights_hash"])
@pytest.mark.parametrize("odd", [True, False])
def test_who_left_the_others_in_a_curve(tmp_path: Path, form: str, name: str, odd: bool) -> None:
    _write(tmp_path, name, form, odd)
    verdict = analyze(tmp_path).verdict
    assert (verdict.cause, verdict.ranks) == (("replica_divergence", [ODD]) if odd else (None, []))
    assert not odd or verdict.first_anomaly.step == FIRST


@pytest.mark.parametrize("form", FORMS)
def test_what_each_rank_has_of_its_own_parts_nobody(tmp_path: Path, form: str) -> None:
    _write(tmp_path, "activation_norm", form, odd=True)
    verdict = analyze(tmp_path).verdict
    assert (verdict.cause, verdict.ranks, verdict.suspects.ranks) == (None, [], [])
