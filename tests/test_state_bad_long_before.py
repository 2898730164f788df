"""A parameter that is bad long before anybody reads the bad part of it: the step is the first that shows it so; unread it harms nobody."""

import json
from pathlib import Path

import pytest

from forensics import Report, analyze

RANKS, STEPS, READ = 3, 8, 5


def _report(folder: Path, since: int, read: int, *, other: int | None = None, count: str = "nan_count") -> Report:
    """`other`: the rank whose own output is bad from step READ on, where the parameter is never read."""
    for rank in range(RANKS):
        rows = []
        for step in range(STEPS):
            begun = READ if other is not None else read
            for module in ("emb", "fc1", "fc2"):
                is_held = rank == 0 and module == "emb" and step >= since
                told = {"module": f"stage{rank}.{module}", "tensor": "param"}
                rows.append({"step": step, **told, count: 12 * is_held, "absmax": 1.5})
            for at, module in enumerate(("emb", "fc1", "fc2")):
                is_first = rank == 0 if other is None else (rank == other and at > 0)
                made = step > begun or (step == begun and (is_first or (other is None or rank > other)))
                given = made and not (is_first and at == (0 if other is None else 1)) and (rank or at)
                for tensor, bad in (("input", given), ("output", made)):
                    told = {"module": f"stage{rank}.{module}", "tensor": tensor}
                    rows.append({"step": step, "microbatch": 0, **told, count: 7 * bool(bad), "absmax": 2.5})
        said = ({"rank": rank, "phase": "forward", **row} for row in rows)
        (folder / f"stats_rank{rank}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in said))
    return analyze(folder)


@pytest.mark.parametrize(("since", "count"), [(0, "nan_count"), (2, "nan_count"), (0, "inf_count")])
def test_the_step_is_the_first_that_shows_it(tmp_path: Path, since: int, count: str) -> None:
    verdict = _report(tmp_path, since, READ, count=count).verdict
    assert (verdict.cause, verdict.ranks) == ("bad_state", [0])
    assert verdict.first_anomaly is not None
    assert (verdict.first_anomaly.step, verdict.first_anomaly.module) == (since, "stage0.emb")


def test_what_nobody_reads_accuses_nobody(tmp_path: Path) -> None:
    assert 0 not in _report(tmp_path, 0, STEPS).verdict.ranks


def test_the_fault_of_another_is_found_behind_it(tmp_path: Path) -> None:
    assert 0 not in _report(tmp_path, 0, STEPS, other=1).verdict.ranks
