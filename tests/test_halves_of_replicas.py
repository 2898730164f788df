"""Halves of a job whose parameters never were alike, each of neighbours that print the same: undecided; what sharding or mates make of it says nothing."""

from hashlib import sha1
from pathlib import Path
from typing import Any

import pytest

from forensics import Report, analyze

RANKS, STEPS = 4, 6


def _report(folder: Path, form: str, side: str = "neighbours", own: bool = True, begins: int = 1) -> Report:
    sides = {"neighbours": lambda rank: rank // 2, "every second": lambda rank: rank % 2}
    for rank in range(RANKS):
        rows = [f"rank {rank} of {RANKS}"] if "{" in form else [form]
        for step in range(begins, STEPS):
            half = 0 if side == "alike at times" and step % 2 else sides.get(side, sides["neighbours"])(rank)
            digest = sha1(f"{half} {step}".encode()).hexdigest()[:12]
            loss = f"{3 - step / 10 + (rank if own else rank // 2) / 50 + (7 * rank * own + step) % 5 / 1000:.4f}"
            told: dict[str, Any] = {"step": step, "digest": digest, "loss": loss}
            rows.append(form.format(**told) if "{" in form else f"{step},{loss},{digest}")
        path = folder / f"rank_{rank}" / ("log.txt" if "{" in form else "log.csv")
        path.parent.mkdir()
        path.write_text("\n".join(rows) + "\n")
    return analyze(folder)


@pytest.mark.parametrize(
    "form",
    [
        "it {step} loss={loss}\nit {step} weights sha1={digest}",
        "step {step} model checksum {digest}\nstep {step} loss {loss}",
        "step,loss,weights_md5",
        '{{"step": {step}, "param_crc": "{digest}", "loss": {loss}}}',
    ],
)
def test_halves_that_never_were_alike(tmp_path: Path, form: str) -> None:
    verdict = _report(tmp_path, form).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("numerics", "replica_divergence", [])
    assert verdict.first_anomaly is not None
    assert verdict.first_anomaly.step == 1


@pytest.mark.parametrize(
    ("form", "side", "own"),
    [
        ("it {step} loss={loss}\nit {step} weights sha1={digest}", "every second", True),  # parts dealt out among neighbours
        ("it {step} loss={loss}\nit {step} weights sha1={digest}", "neighbours", False),  # mates of one replica
        ("it {step} loss={loss}\nit {step} shard sha1={digest}", "neighbours", True),
        ("it {step} loss={loss}\nit {step} weights sha1={digest}", "alike at times", True),  # means of a local SGD
    ],
)  # fmt: skip
def test_what_layouts_make_of_it(tmp_path: Path, form: str, side: str, own: bool) -> None:
    assert _report(tmp_path, form, side, own).verdict.kind != "numerics"
