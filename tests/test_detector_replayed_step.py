"""Rows of a step that was repeated on several devices: who differs, and when nobody can be told."""

import json
from pathlib import Path
from typing import Any

import pytest

from forensics import analyze

NAN = float("nan")


def rows(world: int = 4, **odd: Any) -> list[dict[str, Any]]:
    """What all ranks of a sound job write; `odd`: (computed by, step of) → what stands there instead, by `by<rank>of<whose>`."""
    made = []
    for rank in range(world):
        for at, whose in enumerate((rank, rank, (rank - 1) % world, (rank - 2) % world)):
            row = {
                "step": 7,
                "rank": rank,
                "host": f"n{rank // 2}",
                "replay_of": whose,
                "run": at if whose == rank else 0,
            }
            row |= {"loss": 2.0 + whose, "digest": f"{whose:016x}", "state": "aa", "batch_bad": 0}
            row |= odd.get(f"of{whose}", {}) | odd.get(f"by{rank}", {}) | odd.get(f"by{rank}of{whose}", {})
            made.append(row | ({"digest": f"{rank:08x}{at:08x}"} if row["digest"] == "each" else {}))
    return made


def answer(folder: Path, found: list[dict[str, Any]]) -> tuple[str | None, list[int], list[int]]:
    for rank in {row["rank"] for row in found}:
        lines = [json.dumps(row) for row in found if row["rank"] == rank]
        (folder / f"replay_rank_{rank}_step_7.jsonl").write_text("\n".join(lines) + "\n")
    verdict = analyze(folder).verdict
    return verdict.cause, verdict.ranks, verdict.suspects.ranks


@pytest.mark.parametrize(
    ("odd", "expected"),
    [
        pytest.param({}, (None, [], []), id="all alike"),
        pytest.param({"by1": {"digest": "bad"}}, ("replica_divergence", [1], []), id="a device differs always"),
        pytest.param({"by1of0": {"digest": "bad"}}, ("replica_divergence", [1], []), id="a device differs once"),
        pytest.param(
            {"by1of1": {"digest": "each"}}, ("replica_divergence", [1], []), id="a device differs from itself"
        ),
        pytest.param(
            {f"by{n}of{n}": {"digest": "each"} for n in range(4)}, (None, [], []), id="no device repeats itself"
        ),
        pytest.param({"of2": {"loss": NAN}}, ("nan_birth", [2], []), id="NaN on every device"),
        pytest.param({"of2": {"loss": NAN, "batch_bad": 3}}, ("bad_input", [2], []), id="NaN in the batch"),
        pytest.param({"of2": {"loss": NAN, "state": "bb"}}, ("bad_state", [2], []), id="other parameters"),
        pytest.param({f"of{n}": {"loss": NAN} for n in range(4)}, ("nan_birth", [], []), id="NaN of all"),
        pytest.param(
            {"by2of2": {"loss": NAN, "digest": "bad"}}, ("nan_birth", [2], []), id="NaN on its own device alone"
        ),
    ],
)
def test_who(tmp_path: Path, odd: dict[str, Any], expected: tuple[str | None, list[int], list[int]]) -> None:
    assert answer(tmp_path, rows(**odd)) == expected


def test_three_that_all_differ_are_suspects(tmp_path: Path) -> None:
    found = rows(3, by0={"digest": "a"}, by1={"digest": "b"}, by2={"digest": "c"})
    assert answer(tmp_path, found) == ("replica_divergence", [], [0, 1, 2])


def test_the_files_of_some_are_lost(tmp_path: Path) -> None:
    kept = [row for row in rows(by1={"digest": "bad"}) if row["rank"] in (1, 2)]
    assert answer(tmp_path, kept) == ("replica_divergence", [], [1, 2])
