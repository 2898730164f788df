"""Who speaks is learnt of all files at once: what is wrong there costs no file, and is said."""

from pathlib import Path

import polars as pl
import pytest

import parsers
from forensics import analyze
from parsers.engine import ledger

TRACE = "Traceback (most recent call last):\n  File \"/job/fit.py\", line 61, in <module>\n    run()\nKeyError: 'bos'\n"
STEPS = "".join(f"[rank1]: 2026-03-04 05:06:{at:02} step {at} loss 2.1\n" for at in range(10, 16))


@pytest.mark.parametrize("error", [KeyError("| "), RecursionError("too deep"), pl.exceptions.ComputeError("no")])
def test_files_are_read_without_it(error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: object) -> None:
        raise error

    monkeypatch.setattr(ledger, "speakers", fails)
    (tmp_path / "a.log").write_text(STEPS + TRACE)
    read = parsers.read(str(tmp_path)).tables
    assert read["steps"].height == 6
    assert read["events"].filter(pl.col("kind") == "exception").height == 1
    [(file, reason)] = read["unread"].select("file", "reason").iter_rows()
    assert file == "." and reason.startswith(f"who speaks was not learnt: {type(error).__name__}")
    assert analyze(tmp_path).verdict.kind == "crash"


@pytest.mark.parametrize("mark", ["| \t", " |\t", "\t| ", "│\t", ",\t", ";  ", "\t\t", "  \t"])
def test_cells_may_stand_apart_by_several_marks(mark: str, tmp_path: Path) -> None:
    rows = [("worker", "card"), ("amber", "0"), ("coral", "1"), ("jade", "2")]
    (tmp_path / "table.txt").write_text("".join(mark.join(row) + "\n" for row in rows))
    assert not parsers.read(str(tmp_path)).tables["unread"].filter(pl.col("file") == ".").height
