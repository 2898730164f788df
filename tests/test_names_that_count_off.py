"""Who speaks in one file by names before the lines, and counts himself off once: whose hash of the weights is another one; and what only looks like it."""

from hashlib import sha1
from pathlib import Path

import pytest

from forensics import analyze
from parsers import read
from tests.sources import written

WORLD = 4


def _log(
    before: str, says: str, odd: int | None, check: str = "[check] step {step} crc(body)={same} crc(top)={own}"
) -> list[str]:
    lines = []
    for step in range(-10, 50, 10):
        for rank in range(WORLD):
            same, own = (sha1(f"{one} {step}".encode()).hexdigest()[:8] for one in ("body", rank == odd))
            text = (
                says.format(rank=rank, world=WORLD, other=rank % 2)
                if step < 0
                else check.format(step=step, same=same, own=own)
            )
            lines.append(before.format(rank=rank, next=rank + 1) + text)
            lines.append(
                before.format(rank=rank, next=rank + 1) + f"Step {step + 10}/50 - loss: {2 - step / 90 + rank / 70:.4f}"
            )
    return [*lines, *(before.format(rank=rank, next=rank + 1) + "finished" for rank in range(WORLD))]


@pytest.mark.parametrize(
    ("before", "says"),
    [
        ("trainer-{rank}  | ", "torch backend, worker {rank} of {world}"),
        ("job-fit-{next}  | ", "replica {rank}/{world} up"),
        ("fit_{rank}      | ", "member {rank} of {world} joined"),
    ],
)
def test_whose_weights_never_were_those_of_the_others(tmp_path: Path, before: str, says: str) -> None:
    verdict = analyze(written(tmp_path, {"all.log": _log(before, says, 2)})).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("numerics", "replica_divergence", [2])
    assert verdict.first_anomaly is not None and verdict.first_anomaly.step == 0


def test_equal_weights_accuse_nobody(tmp_path: Path) -> None:
    verdict = analyze(written(tmp_path, {"all.log": _log("fit-{rank}  | ", "worker {rank} of {world}", None)})).verdict
    assert (verdict.kind, verdict.ranks) == ("healthy", [])


@pytest.mark.parametrize(
    "says",
    [
        "phase {rank} of {world}",
        "worker {other} of {world}",
        "worker {rank} of {world}, worker {other} of {world}",
        "shard {rank} of 8",
    ],
)
def test_what_counts_something_else(tmp_path: Path, says: str) -> None:
    tables = read(str(written(tmp_path, {"all.log": _log("fit-{rank}  | ", says, None)}))).tables
    assert tables["ranks"]["rank"].drop_nulls().to_list() == []
