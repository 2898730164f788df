"""Outputs that cannot be written, streams that are closed, odd values of the environment: one line, the promised status,
and nothing left behind."""

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from forensics.cli import cli
from reports import outputs

ROOT = Path(__file__).resolve().parent.parent
COMMAND = f"{sys.executable} -m forensics"


@pytest.fixture
def where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle" / "rank_0.log").write_text("[rank0]: RuntimeError: x\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _run(*args: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    done = CliRunner().invoke(cli, args, env=env)
    return done.exit_code, done.output


def _files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    "args",
    [
        ("bundle", "-o", "bundle/out.html"),
        ("bundle", "--json", "bundle/deep/../x.json"),
        ("bundle", "--markdown", "link/x.md"),
        ("bundle", "--tables", "bundle/tables"),
        ("bundle/rank_0.log", "-o", "bundle/rank_0.log"),
        ("bundle", "-o", "bundle"),
        ("bundle", "-o", "."),
        ("bundle", "-o", "-", "--json", "-"),
        ("bundle", "-o", "x", "--json", "./x"),
        ("bundle", "-o", "into"),
        ("bundle", "-o", "dangling"),
    ],
    ids=" ".join,
)
def test_no_output_goes_into_the_evidence_or_over_it(where: Path, args: tuple[str, ...]) -> None:
    (where / "link").symlink_to("bundle")
    (where / "into").symlink_to("bundle/rank_0.log")
    (where / "dangling").symlink_to("bundle/new.html")
    status, said = _run("analyze", *args)
    assert status == 2 and "Error" in said
    assert _files(where) == ["bundle/rank_0.log", "into"]
    assert (where / "bundle" / "rank_0.log").read_text() == "[rank0]: RuntimeError: x\n"


def test_outputs_beside_the_evidence_are_written(where: Path) -> None:
    (where / "old.html").write_text("old")
    (where / "link.html").symlink_to("old.html")
    status, _ = _run("analyze", "bundle", "-o", "link.html", "--json", "x.json", "--tables", "t")
    assert status == 0
    assert (where / "old.html").read_text() == "old"  # the link was replaced, not followed
    assert (where / "link.html").read_bytes().rstrip().endswith(b"</html>")
    assert (where / "t" / "events.parquet").exists()


def test_what_is_shown_to_others_and_its_names_are_two_files(where: Path) -> None:
    status, said = _run("redact", "bundle", "--out", "x.tar.zst", "--names", "x.tar.zst")
    assert status == 2 and "named for two outputs" in said


@pytest.mark.parametrize("option", ["-o", "--json", "--markdown", "--tables"])
@pytest.mark.parametrize("target", ["no/such/x", "/proc/x", "file/x", "x" * 300])
def test_what_cannot_be_written_is_said_and_nothing_is_left(where: Path, option: str, target: str) -> None:
    (where / "file").write_text("")
    if option == "--tables" and target == "no/such/x":
        return  # folders are made
    with pytest.raises(outputs.CannotWrite, match="cannot write"):
        CliRunner().invoke(cli, ["analyze", "bundle", option, target], catch_exceptions=False)
    assert [name for name in _files(where) if name not in ("bundle/rank_0.log", "file")] == []


def test_a_failure_in_the_middle_leaves_what_was_there(where: Path) -> None:
    (where / "x").write_text("old")
    with pytest.raises(outputs.CannotWrite), outputs.replacing("x") as stream:
        stream.write(b"half")
        raise OSError(28, "No space left on device")
    with pytest.raises(KeyboardInterrupt), outputs.replacing("x") as stream:
        raise KeyboardInterrupt
    assert (where / "x").read_text() == "old"
    assert _files(where) == ["bundle/rank_0.log", "x"]


def _device(path: Path, minor: int) -> None:
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, minor))
        path.open("wb").close()
    except OSError:
        pytest.skip("devices cannot be made here")


@pytest.mark.parametrize("option", ["-o", "--json", "--trace"])
def test_a_device_is_written_to_and_stays(where: Path, option: str) -> None:
    _device(where / "full", 7)
    with pytest.raises(outputs.CannotWrite, match="cannot write full: No space left on device"):
        CliRunner().invoke(cli, ["analyze", "bundle", option, "full"], catch_exceptions=False)
    assert stat.S_ISCHR((where / "full").stat().st_mode)
    _device(where / "null", 3)
    assert _run("analyze", "bundle", "-o", "null", "--json", "null")[0] == 0
    assert stat.S_ISCHR((where / "null").stat().st_mode)
    assert _files(where) == ["bundle/rank_0.log"]


def test_a_pipe_that_nobody_reads_is_an_error_and_stays(where: Path) -> None:
    os.mkfifo(where / "pipe")
    with pytest.raises(outputs.CannotWrite, match="cannot write pipe: nobody reads it"):
        CliRunner().invoke(cli, ["analyze", "bundle", "-o", "pipe"], catch_exceptions=False)
    assert stat.S_ISFIFO((where / "pipe").stat().st_mode)


def test_a_pipe_with_a_reader_gets_the_whole(where: Path) -> None:
    os.mkfifo(where / "pipe")
    got: list[bytes] = []
    handle = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(handle, True)
    with os.fdopen(handle, "rb") as source:
        reader = threading.Thread(target=lambda: got.append(source.read()))
        with outputs.replacing("pipe") as stream:
            reader.start()
            stream.write(b"x" * 1_000_000)
        reader.join(10)
    assert [len(one) for one in got] == [1_000_000] and stat.S_ISFIFO((where / "pipe").stat().st_mode)


def test_a_reader_that_goes_away_is_an_error(where: Path) -> None:
    os.mkfifo(where / "pipe")
    handle = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    with (
        pytest.raises(outputs.CannotWrite, match="cannot write pipe: Broken pipe"),
        outputs.replacing("pipe") as stream,
    ):
        os.close(handle)
        stream.write(b"x" * 1_000_000)


@pytest.mark.parametrize("epoch", ["9" * 30, "²", "", "-1", "1e3", "99999999999"])
def test_an_odd_time_in_the_environment_is_no_time(where: Path, epoch: str) -> None:
    assert _run("analyze", "bundle", "-o", "x.html", env={"SOURCE_DATE_EPOCH": epoch})[0] == 0


@pytest.mark.parametrize(
    "text", ["", '{"schema_version": 1', '{"incidents": [1], "primary": 99}', "[" * 100_000, "null", "{}"]
)
def test_a_document_that_is_no_incident_is_an_error_of_the_call(where: Path, text: str) -> None:
    (where / "x.json").write_text(text)
    status, said = _run("diff", "x.json", "bundle")
    assert status == 2 and "not an incident.json" in said
    assert _run("diff", "gone.json", "bundle")[0] == 2


def test_an_error_shows_the_name_it_quotes() -> None:
    command = [sys.executable, "-m", "forensics", "analyze", "no\x1b[2J\u202e"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    assert done.returncode == 3
    assert "no«U+202E»: No such file" in done.stderr


def test_no_cell_of_an_export_acts_in_a_spreadsheet(where: Path) -> None:
    (where / "bundle" / "=1+1.log").write_text("[rank1]: RuntimeError: =cmd\n")
    status, said = _run("events", "bundle", "--format", "csv")
    assert status == 0 and "'=1+1.log" in said
    assert not [cell for line in said.splitlines()[1:] for cell in line.split(",") if cell[:1] in ("=", "@", "+")]


SHELL = {
    "{} analyze bundle | true": 0,
    "{} analyze bundle >/dev/full": 1,
    "{} analyze bundle --json - >/dev/full": 1,
    "{} analyze bundle -o x.html >&-": 0,
    "{} analyze bundle -o x.html 2>&-": 0,
    "{} analyze - <&-": 3,
    "{} analyze bundle -o >(cat >caught); wait $!; grep -q '</html>' caught": 0,
    "{} analyze bundle --json /proc/self/fd/1 >caught; grep -q schema_version caught": 0,
}


@pytest.mark.parametrize("line", SHELL)
def test_streams_that_are_closed_or_full(where: Path, line: str) -> None:
    script = line.format(COMMAND) + "; exit ${PIPESTATUS[0]}"
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=where
    )
    assert done.returncode == SHELL[line], done.stderr
    assert len(done.stderr.splitlines()) <= 1 and "Traceback" not in done.stderr
    assert _files(where) == ["bundle/rank_0.log", *(name for name in ("caught", "x.html") if name in line)]


def test_a_termination_leaves_nothing(where: Path) -> None:
    script = (
        "import os, signal, sys\nfrom forensics import cli\nfrom reports import outputs\n"
        "def run():\n  with outputs.replacing('x') as stream:\n    os.kill(os.getpid(), signal.SIGTERM)\n    stream.write(b'')\n"
        "cli._run = run\ncli.main()"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=where, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 128 + signal.SIGTERM
    assert _files(where) == ["bundle/rank_0.log"]
