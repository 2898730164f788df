"""A loss that went bad on one rank alone, by what it looked up in another rank's part of a table."""

from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

AT, RANKS = 9, 4


def _files(loss: str, broken: int | None, size: str) -> dict[str, list[str]]:
    """Each rank's log and its part of a table; from AT on the loss of rank 3 is that, and the part of `broken` holds `size`."""
    files: dict[str, list[str]] = {}
    for rank in range(RANKS):
        log, table = [f"rank {rank}/{RANKS} holds 100 rows"], ["step\twhen\tshard\tabsmax\tl2"]
        for step in range(12):
            own = loss if rank == 3 and step == AT else "nan" if step > AT else f"0.{700 - 3 * step + rank}"
            log.append(f"step={step} loss={own} gnorm_local=0.{20 + (step * 7 + rank) % 9}")
            for when in ("begin", "end"):
                held = size if rank == broken and step >= AT else f"0.28{rank}{step % 9}"
                table.append(f"{step}\t{when}\t{rank}/{RANKS}\t{held}\t3.2{step % 9}")
        files |= {f"logs/trainer-{rank}.log": log, f"tables/rank{rank}.tsv": table}
    return files


@pytest.mark.parametrize("loss", ["1.1232e+35", "nan"])
@pytest.mark.parametrize("size", ["3.14712e+37", "nan", "inf"])
def test_who_looked_it_up_is_not_named(loss: str, size: str, tmp_path: Path) -> None:
    verdict = analyze(written(tmp_path, _files(loss, 1, size))).verdict
    assert verdict.kind == "numerics" and 3 not in verdict.ranks


@pytest.mark.parametrize("loss", ["1.1232e+35", "nan"])
def test_where_all_parts_are_sound_it_is_its_own(loss: str, tmp_path: Path) -> None:
    verdict = analyze(written(tmp_path, _files(loss, None, ""))).verdict
    assert (verdict.kind, verdict.ranks, verdict.first_anomaly.step) == ("numerics", [3], AT)
