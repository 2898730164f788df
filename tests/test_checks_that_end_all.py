"""A check that all ranks make ends them alike: what it found is why; and errors of all that nothing led to."""

from pathlib import Path

import pytest

from forensics import analyze

RANKS, ODD, AT, LAST = 5, 3, 30, 40


def written(folder: Path, raised: str, *, since: int, source: str = "raise_on_mismatch()") -> None:
    for rank in range(RANKS):
        lines = [f"process {rank} of {RANKS} on box{rank}"]
        for step in range(LAST + 1):
            own = f"{step * 7919 + (13 if rank == ODD and step >= since else 0):08x}"
            lines.append(f"step {step} loss {2.5 + (rank * 7 + step * 3) % 23 / 70:.4f} params_crc={own}a1")
        lines += [
            "Traceback (most recent call last):",
            '  File "/w/train.py", line 88, in check',
            f"    {source}",
            raised,
        ]
        (folder / f"proc_{rank}.log").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize(
    "raised", ["SystemExit: 9", "RuntimeError: digests are not all equal", "app.errors.Stop: see the digests"]
)
def test_what_a_check_of_all_found_is_why_they_ended(tmp_path: Path, raised: str) -> None:
    written(tmp_path, raised, since=AT)
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks, verdict.first_anomaly.step) == (
        "numerics", "replica_divergence", [ODD], AT,
    )  # fmt: skip


@pytest.mark.parametrize("raised", ["SystemExit: 9", "ValueError: no shard is left"])
def test_an_error_of_all_that_nothing_led_to_stays_a_crash_of_nobody(tmp_path: Path, raised: str) -> None:
    written(tmp_path, raised, since=LAST + 9)
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.ranks) == ("crash", [])
