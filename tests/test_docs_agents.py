"""docs/agents.md: every question's command works, and says what the page promises."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from forensics.cli import cli

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "agents.md").read_text()
QUESTIONS = re.findall(r"^### (.*)\n\n    forensics (.*)\n\n((?:.+\n)+)", PAGE, re.MULTILINE)
SAMPLES = {"bundle": "data_loader_stall", "other": "rank_killed", "healthy": "healthy_dp"}
QUOTED = re.compile(r'("\w+":"[^"]*")|"([^"]+)"')


def test_there_are_at_least_twelve() -> None:
    assert len(QUESTIONS) >= 12 and len(QUESTIONS) == PAGE.count("\n### ")
    assert len({command for _, command, _ in QUESTIONS}) == len(QUESTIONS)


@pytest.mark.parametrize(("question", "command", "text"), QUESTIONS, ids=[question for question, _, _ in QUESTIONS])
def test_a_question_takes_one_command(
    question: str, command: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "incidents").mkdir()
    for name, sample in SAMPLES.items():
        (tmp_path / name).symlink_to(ROOT / "samples" / sample / "bundle")
    for name in ("bundle", "other"):
        (tmp_path / "incidents" / name).symlink_to(tmp_path / name)
    done = CliRunner().invoke(cli, shlex.split(command), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    promised = [pair or words for pair, words in QUOTED.findall(" ".join(text.split()))]
    assert promised and [one for one in promised if one not in done.output] == []
