"""Which documents a change moves; `make documents BASE=REV` asks it of all samples and situations."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.documents import moved

ROOT = Path(__file__).resolve().parent.parent


def test_a_document_that_is_another_one_is_told_with_its_lines(tmp_path: Path) -> None:
    then, now = tmp_path / "then", tmp_path / "now"
    for folder, rank in ((then, 2), (now, 3)):
        folder.mkdir()
        for at, told in enumerate((2, rank)):
            (folder / f"{at}.json").write_text(f'{{\n"kind": "hang",\n"rank": {told}\n}}\n')
            (folder / f"{at}.md").write_text("A hang.\n")
    assert [*moved(["alike", "other"], then, now)] == ["other: json", '  -"rank": 2', '  +"rank": 3']
    assert [*moved(["alike", "other"], then, then)] == []


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no revision without a checkout")
def test_the_last_revision_against_itself() -> None:
    command = [sys.executable, "benchmarks/documents.py", "HEAD", "--only", "sample data_exception"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert done.stdout.splitlines()[-1].startswith("1 bundles, of ")
