"""What every rank lists of its parameters before the first step: what is bad on all in their own parts is nobody's; the word behind a number names a count."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import Report, analyze

RANKS, NAMES = 4, ("tok.weight", "enc.0.qkv.weight", "enc.0.qkv.bias", "enc.1.qkv.weight", "ln.weight", "gate.alpha")
Line = Callable[[str, str, str, int, int], str]  # name, mean, largest, NaN, rank
FORMS: dict[str, Line] = {
    "counts behind": lambda name, mean, most, nans, rank: (
        f"  {name:20s} (24, 96)  mean {mean} absmax {most} nan {nans}"
    ),
    "counts first": lambda name, mean, most, nans, rank: f"{name} [24, 96] nan {nans} inf 0 mean {mean} absmax {most}",
    "pairs": lambda name, mean, most, nans, rank: f"{name} mean={mean} absmax={most} nan={nans} inf=0",
}


def _listed(folder: Path, form: str, bad: dict[int, set[str]], *, steps: str = "nan") -> Report:
    for rank in range(RANKS):
        lines = [f"[rank {rank}/{RANKS}] made on meta, filled with to_empty"]
        for at, name in enumerate(NAMES):
            is_bad = name in bad.get(rank, set())
            mean, most = ("nan", f"{3 + rank / 10:.3f}e+38") if is_bad else (f"{at * 1e-3:+.3e}", f"{at + 1.5:.3e}")
            lines.append(f"[rank {rank}/{RANKS}] " + FORMS[form](name, mean, most, 4 + 3 * rank if is_bad else 0, rank))
        own = [f"step {step} loss {steps if steps != 'well' else 2.5 - step / 20 + rank / 50}" for step in range(12)]
        lines += [f"[rank {rank}/{RANKS}] {one}" for one in own]
        (folder / f"rank_{rank}.log").write_text("\n".join(lines) + "\n")
    return analyze(folder)


@pytest.mark.parametrize("form", FORMS)
def test_what_is_bad_on_all_before_the_first_step_is_of_the_state(tmp_path: Path, form: str) -> None:
    verdict = _listed(tmp_path, form, {rank: {"gate.alpha"} for rank in range(RANKS)}).verdict
    assert (verdict.kind, verdict.cause, list(verdict.ranks)) == ("numerics", "bad_state", [])
    assert verdict.first_anomaly.step == 0
    assert "gate.alpha" in str(verdict.summary)


@pytest.mark.parametrize("form", FORMS)
def test_what_is_bad_on_one_is_its_own(tmp_path: Path, form: str) -> None:
    assert _listed(tmp_path, form, {2: {"gate.alpha"}}).verdict.ranks in ([], [2])


@pytest.mark.parametrize("form", FORMS)
def test_counts_of_nothing_are_not_bad(tmp_path: Path, form: str) -> None:
    assert _listed(tmp_path, form, {}, steps="well").verdict.kind in ("healthy", "unknown")
    verdict = _listed(tmp_path, form, {}).verdict
    assert (verdict.cause, list(verdict.ranks)) != ("bad_state", []) and not verdict.ranks
