"""What the process itself exits with."""

import subprocess
import sys
from pathlib import Path

import pytest

from forensics.cli.analysis import detailed_code
from forensics.model.incident import Verdict
from forensics.model.names import Reason, Status

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "samples"
WAIT = (
    "[rank1]:[E1120 03:10:11.000000000 ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 600016 milliseconds before timing out.\n"
)


def exit_code(bundle: Path, *options: str) -> int:
    command = [sys.executable, "-m", "forensics", "analyze", str(bundle), *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True).returncode


@pytest.mark.parametrize(("sample", "code"), [("healthy_dp", 0), ("rank_killed", 10)])
def test_the_detailed_exit_code_says_the_verdict(sample: str, code: int) -> None:
    assert exit_code(SAMPLES / sample / "bundle", "--detailed-exitcode") == code


@pytest.mark.parametrize(
    ("text", "code"),
    [("loss scale: overflow\n", 12), (WAIT, 12)],
    ids=["unknown", "undecided"],
)
def test_less_than_a_verdict(tmp_path: Path, text: str, code: int) -> None:
    (tmp_path / "rank_1.log").write_text(text)
    assert exit_code(tmp_path, "--detailed-exitcode") == code


@pytest.mark.parametrize(
    ("status", "named", "undecided", "code"),
    [
        ("established", True, False, 10), ("supported", True, True, 10), ("hypothesis", True, False, 11),
        ("hypothesis", False, True, 12), ("unknown", False, False, 12),
    ],
)  # fmt: skip
def test_a_status_has_its_code(status: Status, named: bool, undecided: bool, code: int) -> None:
    reasons: list[Reason] = ["tied_explanations"] if undecided else []
    assert detailed_code(Verdict(kind="hang", status=status, ranks=[3] if named else [], undecided=reasons)) == code


def test_without_the_option_a_verdict_is_a_success() -> None:
    assert exit_code(SAMPLES / "rank_killed" / "bundle") == 0
