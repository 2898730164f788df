"""A job that ends well stays healthy, whatever one line of its libraries, drivers or launchers complains of in between.

Each row of knowledge that is about lines is put alone into the middle of one rank's log. Of the many, the suite takes a share that
changes with the rows, and one of each kind of event; `make knowledge-healthy` takes all, each anchor of theirs, or with ONLY=printer those of
one file of rows.
"""

import os
from hashlib import sha256
from pathlib import Path

import pytest

from forensics import analyze
from parsers import knowledge
from parsers.knowledge import MessageRow

WHOLE = bool(os.environ.get("KNOWLEDGE_WHOLE"))
ONLY = os.environ.get("KNOWLEDGE_ONLY", "").split()
SHARE = 12  # one row in so many
ROWS = [row for row in knowledge.rows()[1] if row.event and (not ONLY or row.printer in ONLY)]


def _lines(row: MessageRow) -> list[str]:
    if not WHOLE or row.pattern:
        return [row.example]
    own = next(anchor for anchor in knowledge.anchors_of(row) if anchor in row.example)
    return [row.example.replace(own, anchor) for anchor in knowledge.anchors_of(row)]


def _is_taken(row: MessageRow) -> bool:
    first = next(one for one in ROWS if one.event == row.event)
    return WHOLE or row is first or sha256(f"{row.printer}.{row.name}".encode()).digest()[0] % SHARE == 0


def _tells_of_an_end(row: MessageRow) -> bool:
    """A process did not end well, whoever it was, with the code that it ended with: accused is nobody, but not all is well."""
    return row.claim in ("exited", "crashed") or "(?P<exitcode>" in (row.pattern or "")


LINES = [
    pytest.param(line, _tells_of_an_end(row), id=f"{row.printer}.{row.name}.{number}")
    for row in ROWS
    if _is_taken(row)
    for number, line in enumerate(_lines(row))
]


def _bundle(folder: Path, line: str | None) -> Path:
    """Four ranks that take twelve steps and end well."""
    for rank in range(4):
        told = [f"2026-01-31 10:00:00,000 - app - INFO - started rank={rank} world_size=4"]
        for step in range(1, 13):
            told.append(f"2026-01-31 10:{step:02d}:00,{rank:03d} - app - INFO - step {step} | loss {3 - step / 10:.2f}")
            if step == 6 and rank == 2 and line is not None:
                told.append(line)
        told.append(f"2026-01-31 10:13:00,{rank:03d} - app - INFO - training finished after 12 steps")
        (folder / f"rank_{rank}.log").write_text("\n".join(told) + "\n", encoding="utf-8")
    return folder


def test_the_run_without_a_remark_is_healthy(tmp_path: Path) -> None:
    assert analyze(str(_bundle(tmp_path, None))).verdict.kind == "healthy"


@pytest.mark.parametrize(("line", "is_end"), LINES)
def test_a_remark_in_a_run_that_ends_well_accuses_nobody(line: str, is_end: bool, tmp_path: Path) -> None:
    verdict = analyze(str(_bundle(tmp_path, line))).verdict
    assert verdict.kind == "healthy" or (is_end and verdict.kind == "unknown")
    assert not verdict.ranks and not verdict.suspects.ranks and not verdict.suspects.hosts
    assert not verdict.hosts and not verdict.devices and not verdict.links
