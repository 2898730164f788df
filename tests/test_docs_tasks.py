"""The tasks of docs/tasks.md: one command each, and it says what the page promises."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from forensics.cli import cli

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "tasks.md").read_text()
TASKS = re.findall(r"^## (\d+)\. .*\n\n    forensics (.*)\n\n((?:.+\n)+)", PAGE, re.MULTILINE)
STATUS = {"4": 10, "12": 10}


def test_there_are_fifteen() -> None:
    assert [int(number) for number, _, _ in TASKS] == list(range(1, 16))


@pytest.mark.parametrize(("number", "command", "text"), TASKS, ids=[number for number, _, _ in TASKS])
def test_a_task_takes_one_command(
    number: str, command: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bundle").symlink_to(ROOT / "samples" / "data_loader_stall" / "bundle")
    (tmp_path / "other").symlink_to(ROOT / "samples" / "rank_killed" / "bundle")
    done = CliRunner().invoke(cli, shlex.split(command))
    assert done.exit_code == STATUS.get(number, 0)
    promised = re.findall(r'`("[^`]*)`|(?<![`\w])"([^"`]+)"', " ".join(text.split()))
    assert all((code or words) in done.output for code, words in promised)
    for name in re.findall(r"(?:-o|--markdown) (\S+)", command):
        assert (tmp_path / name).stat().st_size > 0
