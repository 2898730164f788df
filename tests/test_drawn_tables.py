"""Digests in tables drawn with lines, a column for each rank and others of words beside them."""

from pathlib import Path

import pytest

from forensics import analyze

ODD, FIRST = 2, 12
MARKS = {"thin": "│", "thick": "┃", "double": "║", "plain": "|"}


def _row(step: int, mark: str, odd: bool) -> str:
    digests = [
        f"{0x9E37A1B5 * (step + 3) % (1 << 32) ^ (0xA5 if odd and rank == ODD and step >= FIRST else 0):08x}"
        for rank in range(4)
    ]
    return f"{mark} {step:5} {mark} " + f" {mark} ".join([*digests, "all alike (4)"]) + f" {mark}"


@pytest.mark.parametrize("mark", MARKS.values(), ids=MARKS)
@pytest.mark.parametrize("odd", [True, False])
def test_who_left_the_others_in_a_drawn_table(tmp_path: Path, mark: str, odd: bool) -> None:
    head = f"{mark} step  {mark} " + f" {mark} ".join([*(f"  r{rank}  " for rank in range(4)), "grad"]) + f" {mark}"
    rows = [_row(step, mark, odd) for step in range(20)]
    (tmp_path / "audit.txt").write_text(
        "\n".join(["crc of weights by rank", "┌───────┬──────┐", head, "├───────┼──────┤", *rows]) + "\n"
    )
    verdict = analyze(tmp_path).verdict
    assert (verdict.cause, verdict.ranks) == (("replica_divergence", [ODD]) if odd else (None, []))
    assert not odd or verdict.first_anomaly.step == FIRST
