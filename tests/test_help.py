"""What `--help` says of each command: its options in groups, its examples, an example a line, and that they can be pasted."""

import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from forensics.cli import cli

STALL = str(Path(__file__).resolve().parent.parent / "samples" / "data_loader_stall" / "bundle")


def commands(group: click.Group, before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*before, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*before, name))


ALL = list(commands(cli))
every_command = pytest.mark.parametrize(("path", "command"), ALL, ids=[" ".join(path) for path, _ in ALL])


def test_there_are_many() -> None:
    names = {path for path, _ in ALL}
    assert len(names) > 20
    assert {("analyze",), ("groups",), ("unread",), ("mcp",), ("history", "render"), ("show", "rank")} <= names


@every_command
def test_its_examples_stand_unbroken_in_its_help_and_its_parser_takes_them(
    path: tuple[str, ...], command: click.Command
) -> None:
    shown = CliRunner().invoke(cli, [*path, "--help"], terminal_width=60).output
    examples = command.examples  # type: ignore[attr-defined]
    assert examples
    for line in examples:
        assert f"  {line}\n" in shown
        program, *words = shlex.split(line)
        assert program == "forensics"
        context: click.Context = click.Context(cli)
        own: click.Command = cli
        while isinstance(own, click.Group):
            found = own.get_command(context, words.pop(0))
            assert found is not None
            own = found
        own.make_context(own.name, words)  # raises click's error for an option that is none
    assert any(line.startswith(" ".join(("forensics", *path))) for line in examples)


@every_command
def test_every_command_that_answers_takes_o(path: tuple[str, ...], command: click.Command) -> None:
    is_answer = not isinstance(command, click.Group) and path not in (("mcp",), ("history", "add"))
    assert any("-o" in option.opts for option in command.params) or not is_answer


def test_options_stand_in_groups() -> None:
    shown = CliRunner().invoke(cli, ["analyze", "--help"]).output
    heads = ["What is written:", "What you know of the job:", "What is read:", "How it is shown:", "Options:"]
    places = [shown.index(head) for head in heads]
    assert places == sorted(places)
    assert places[1] < shown.index("--hung") < places[2] < shown.index("--each-in DIR") < places[3]


@pytest.mark.parametrize(
    "words",
    [["groups"], ["stacks"], ["who"], ["unread"], ["inspect"], ["show", "rank", "5"], ["show", "host", "localhost"]],
    ids=" ".join,
)
def test_o_writes_what_would_be_shown(words: list[str], tmp_path: Path) -> None:
    shown = CliRunner().invoke(cli, [*words, STALL])
    written = CliRunner().invoke(cli, [*words, STALL, "-o", str(tmp_path / "x.txt")])
    assert shown.exit_code == written.exit_code == 0 and not written.stdout
    assert (tmp_path / "x.txt").read_text() == shown.stdout
    inside = CliRunner().invoke(cli, [*words, STALL, "-o", f"{STALL}/x.txt"])
    assert inside.exit_code == 2 and "never written to" in inside.output


@pytest.mark.parametrize("time", ["25:99", "24:00", "10:60", "10:05:61", "2026-13-01", "noon"])
@pytest.mark.parametrize("option", ["--since", "--until"])
@pytest.mark.parametrize("command", [["events"], ["show", "rank", "5"]], ids=" ".join)
def test_a_time_that_is_none_is_an_error_before_anything_is_read(command: list[str], option: str, time: str) -> None:
    done = CliRunner().invoke(cli, [*command, "/nowhere", option, time])
    assert done.exit_code == 2 and f"'{time}' is no time" in done.output


@pytest.mark.parametrize(
    ("layout", "status"),
    [("tp=3", 2), ("tp=2,pp=8", 2), ("tp=2,pp=2", 0), ("tp=2,dp=4", 0), ("tp=2,ep=3,dp=4", 0)],
)
def test_a_layout_divides_the_job(layout: str, status: int) -> None:
    done = CliRunner().invoke(cli, ["analyze", STALL, "--topology", layout])
    assert done.exit_code == status
    assert ("does not divide the 8 ranks" in done.output) == (status == 2)


def test_a_layout_is_not_held_against_a_guess(tmp_path: Path) -> None:
    """The highest rank that left a record is no number of ranks."""
    for rank in range(7):
        (tmp_path / f"rank_{rank}.log").write_text(f"[rank{rank}]: RuntimeError: boom\n")
    assert CliRunner().invoke(cli, ["analyze", str(tmp_path), "--topology", "tp=8"]).exit_code == 0


def test_a_word_that_is_none_gets_the_nearest_ones() -> None:
    done = CliRunner().invoke(cli, ["explain", "rank absnt"])
    assert done.exit_code == 2 and "did you mean rank_absent" in done.output and len(done.output) < 300
    assert "rank_absent\n" in CliRunner().invoke(cli, ["explain", "words"]).output
