"""`--profile`: what each step took, on standard error, in the order of the way."""

from pathlib import Path

from click.testing import CliRunner

from forensics.cli import cli


def test_each_step_with_its_time_and_memory(tmp_path: Path) -> None:
    (tmp_path / "rank_0.log").write_text("RuntimeError: boom\n")
    result = CliRunner().invoke(cli, ["analyze", str(tmp_path), "--profile"])
    lines = [line.split() for line in result.stderr.splitlines()]
    assert [words[0] for words in lines] == ["read", "attempts", "facts", "detectors", "verdict", "outputs"]
    assert all(words[-1] == "MB" and int(words[-2]) > 10 for words in lines)


def test_nobody_hears_of_it_unasked(tmp_path: Path) -> None:
    (tmp_path / "rank_0.log").write_text("RuntimeError: boom\n")
    assert CliRunner().invoke(cli, ["analyze", str(tmp_path)]).stderr == ""
