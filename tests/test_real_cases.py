"""Every file of the real cases is read without an error and recognised, notes and truths aside.

The cases are excerpts of other people's logs and stay where they are: the folder that FORENSICS_CASES names, or
../shared/cases beside the repository. Without it there is nothing to test.
"""

import os
from pathlib import Path

import pytest

import parsers

_FOLDER = Path(os.environ.get("FORENSICS_CASES") or Path(__file__).resolve().parents[2] / "shared" / "cases")
_CASES = sorted(path for path in _FOLDER.iterdir() if path.is_dir()) if _FOLDER.is_dir() else []
_CASES = [inner for path in _CASES for inner in (sorted(path.iterdir()) if path.name in ("gloo", "real") else [path])]
# Not evidence: notes on where a case is from, what its truth is, and what injected the fault.
_NOTES = ("readme", "sources", "truth.json", "meta.json", "expect.json", "peer_out.txt", "fault_injection.log")
# Runs of others' own programs, of whose files some hold no word that any parser knows: they count as records of their ranks.
_IN_OWN_WORDS = ("programs", "realruns", "num2")

pytestmark = pytest.mark.skipif(not _CASES, reason="the real cases are not here")


def _is_note(path: str) -> bool:
    return path.rsplit("/", 1)[-1].lower().startswith(_NOTES)


@pytest.mark.parametrize("case", _CASES, ids=lambda path: path.relative_to(_FOLDER).as_posix())
def test_every_file_is_recognised_and_no_parser_fails(case: Path) -> None:
    evidence = parsers.read(str(case))
    reasons = evidence.tables["unread"].select("file", "reason").rows()
    assert [row for row in reasons if "failed:" in row[1] or "no parser" in row[1]] == []
    if case.name in _IN_OWN_WORDS:
        return
    files = evidence.tables["files"].select("file", "bytes", "parsers").rows()
    assert [name for name, size, known in files if size and not known and not _is_note(name)] == []
