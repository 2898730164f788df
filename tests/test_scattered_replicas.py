"""Replicas that were alike and all go their own ways at once: divergence without a majority. Who averages now and then, and what is each rank's own, says nothing."""

from hashlib import sha1
from pathlib import Path

import pytest

from forensics import Report, analyze

RANKS, STEPS, APART = 4, 24, 12
RECORD = '{{"step": {step}, "rank": {rank}, "loss": {loss}, '


def _report(folder: Path, form: str, every: int = 0) -> Report:
    for rank in range(RANKS):
        rows = []
        for step in range(STEPS):
            is_own = step >= APART and not (every and step % every == 0)
            own, common = (
                sha1(f"{step} {who}".encode()).hexdigest()[:12] for who in (rank if is_own else "all", "all")
            )
            loss = f"{3 - step / 50 + (7 * rank + step) % 5 / 1000:.4f}"
            rows.append(form.format(step=step, rank=rank, loss=loss, own=own, common=common))
        (folder / f"rank_{rank}.jsonl").write_text("\n".join(rows) + "\n")
    return analyze(folder)


@pytest.mark.parametrize(
    "form",
    [
        RECORD + '"sha": {{"encoder.1": "{own}", "head": "{common}"}}}}',
        RECORD + '"train": {{"fingerprint": {{"embed_tokens": "{own}", "layer2.downsample": "{common}"}}}}}}',
        RECORD + '"weights_md5": "{own}"}}',
    ],
)
def test_all_that_were_alike_part_at_once(tmp_path: Path, form: str) -> None:
    verdict = _report(tmp_path, form).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("numerics", "replica_divergence", [])
    assert verdict.first_anomaly is not None
    assert verdict.first_anomaly.step == APART


@pytest.mark.parametrize(
    ("form", "every"),
    [
        (RECORD + '"weights_md5": "{own}"}}', 4),  # means of a local SGD after its warm-up
        (
            RECORD + '"sha": {{"error_feedback": "{own}", "model": "{common}"}}}}',
            0,
        ),  # of a compression that begins late
        (RECORD + '"sha": {{"data.shuffle": "{own}", "model": "{common}"}}}}', 0),
    ],
)
def test_what_is_each_ranks_own_or_averaged_later(tmp_path: Path, form: str, every: int) -> None:
    assert _report(tmp_path, form, every).verdict.kind != "numerics"
