"""Faults while results are written, and processes that end in the middle: one line, the promised status, no half file."""

import errno
import io
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import parsers
from forensics.cli import cli
from parsers.archive import members
from reports import outputs

ROOT = Path(__file__).resolve().parent.parent
LINE = "[rank{}]: RuntimeError: boom\n"
OUTPUTS = {
    "page": ["analyze", "bundle", "-o", "out"],
    "json": ["analyze", "bundle", "--json", "out"],
    "markdown": ["analyze", "bundle", "--markdown", "out"],
    "trace": ["analyze", "bundle", "--trace", "out"],
    "tables": ["analyze", "bundle", "--tables", "out"],
    "kept tables": ["parse", "bundle", "--out", "out"],
    "redacted bundle": ["redact", "bundle", "--out", "out"],
    "rows": ["events", "bundle", "-o", "out", "--format", "csv"],
    "history page": ["history", "render", ".", "-o", "out"],
}


@pytest.fixture
def where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "bundle").mkdir()
    for rank in range(4):
        (tmp_path / "bundle" / f"rank_{rank}.log").write_text(LINE.format(rank))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _files(folder: Path) -> list[str]:
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return sorted(str(path) for path in found if path.parts[0] != "bundle")


class _Full(io.RawIOBase):
    """A file on a disk that has room for 64 bytes; without a number of its own, which libraries would write to."""

    def __init__(self, handle: int, room: int = 64) -> None:
        super().__init__()
        self._handle, self._room = handle, room

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._room -= len(data)
        if self._room < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return os.write(self._handle, data)

    def close(self) -> None:
        if not self.closed:
            super().close()
            os.close(self._handle)


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = os.fdopen

    def fdopen(handle: int, mode: str = "r", *args: Any, **more: Any) -> Any:
        return io.BufferedWriter(_Full(handle)) if mode == "wb" else opened(handle, mode, *args, **more)

    monkeypatch.setattr(os, "fdopen", fdopen)


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("kind", OUTPUTS)
def test_a_full_disk_leaves_nothing_of_any_output(where: Path, kind: str) -> None:
    with pytest.raises(outputs.CannotWrite, match=r"cannot write out\S*: No space left on device"):
        CliRunner().invoke(cli, OUTPUTS[kind], catch_exceptions=False)
    assert _files(where) == []


@pytest.mark.usefixtures("full")
def test_a_full_disk_leaves_what_was_there(where: Path) -> None:
    (where / "out").write_text("of yesterday")
    with pytest.raises(outputs.CannotWrite):
        CliRunner().invoke(cli, OUTPUTS["page"], catch_exceptions=False)
    assert (where / "out").read_text() == "of yesterday"


def _limited(size: int) -> Any:
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize("kind", ["page", "kept tables", "redacted bundle"])
def test_files_beyond_what_the_process_may_write(where: Path, kind: str) -> None:
    size = 64 if kind == "redacted bundle" else 512
    done = subprocess.run(
        [sys.executable, "-m", "forensics", *OUTPUTS[kind]],
        cwd=where, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, preexec_fn=_limited(size),
    )  # fmt: skip
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done.stderr
    assert "File too large" in done.stderr
    assert _files(where) == []


def test_a_history_that_cannot_grow_stays_as_it_was(where: Path) -> None:
    command = [sys.executable, "-m", "forensics", "history", "add", "bundle", "--file", "kept.sqlite"]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    assert subprocess.run([*command, "--known-bad", "n1"], cwd=where, env=env, capture_output=True).returncode == 0
    before = (where / "kept.sqlite").read_bytes()
    for rank in range(4):
        (where / "bundle" / f"rank_{rank}.log").write_text(LINE.format(rank) * 3 + f"step: {rank}\n")
    done = subprocess.run(
        [*command, *(word for n in range(2000) for word in ("--known-bad", f"host{n:05}"))],
        cwd=where, env=env, capture_output=True, text=True, preexec_fn=_limited(len(before)),
    )  # fmt: skip
    assert done.returncode != 0 and "Traceback" not in done.stderr
    with sqlite3.connect(where / "kept.sqlite") as connection:
        assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
    assert _files(where) == ["kept.sqlite"]


@pytest.mark.parametrize("command", ["parse", "redact"])
def test_a_bundle_that_is_gone_before_it_is_read_again(
    where: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    read = parsers.read

    def then_gone(*args: Any, **more: Any) -> parsers.Evidence:
        evidence = read(*args, **more)
        shutil.rmtree(where / "bundle")
        return evidence

    monkeypatch.setattr(parsers, "read", then_gone)
    result = CliRunner().invoke(cli, [command, "bundle", "--out", "out"])
    assert (result.exit_code, _files(where)) == (3, [])


def test_no_room_for_what_is_unfolded_is_said(where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compressed archive beyond what is kept in memory goes to a temporary file."""
    with tarfile.open(where / "x.tar.gz", "w:gz") as archive:
        archive.add(where / "bundle", "bundle")

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(members, "KEPT_BYTES", 40)
    monkeypatch.setattr(members.tempfile, "NamedTemporaryFile", refuse)
    tables = parsers.read(str(where / "x.tar.gz")).tables
    assert tables["events"].height >= 1
    assert "No space left on device" in " ".join(tables["unread"]["reason"])


class _NoRoom(io.BytesIO):
    """A temporary file on a full disk."""

    def write(self, data: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_no_room_for_a_member_ends_a_redaction(where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no damage of the evidence: a bundle cut for that would look like a whole one."""
    monkeypatch.setattr("tempfile.TemporaryFile", _NoRoom)
    with pytest.raises(outputs.CannotWrite, match="No space left on device"):
        CliRunner().invoke(cli, OUTPUTS["redacted bundle"], catch_exceptions=False)
    assert _files(where) == []


def test_a_redaction_names_what_it_could_not_read(where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Faulty(io.FileIO):
        def readinto(self, buffer: Any) -> int | None:
            if self.tell() >= 30_000:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return super().readinto(memoryview(buffer)[: 30_000 - self.tell()])

    (where / "bundle" / "rank_0.log").write_text(LINE.format(0) * 2000)
    monkeypatch.setattr(io, "FileIO", Faulty)
    done = CliRunner().invoke(cli, OUTPUTS["redacted bundle"])
    assert done.exit_code == 0
    assert "left out: rank_0.log: not read beyond byte 30000: Input/output error" in done.output


# --- interrupts ------------------------------------------------------------------------------------------------------

_STOPPED = """
import os, signal, sys, time
from forensics import cli
def here(*_, **__):
    print("here", flush=True)
    time.sleep(60)
{patch}
cli.main()
"""
MOMENTS = {
    "while modules are loaded": "import builtins; builtins.__import__, old = (lambda name, *a, **k: here() if name == 'polars' else old(name, *a, **k)), builtins.__import__",
    "while files are listed": "import parsers.archive.bundle; parsers.archive.bundle._walk = here",
    "while a file is read": "import parsers.engine.ledger; parsers.engine.ledger._read_file = here",
    "while a parser works": "import parsers.engine.candidates; parsers.engine.candidates._parse = here",
    "while the case is weighed": "import forensics.analyze; sys.modules['forensics.analyze'].choose = here",
    "while the page is made": "import reports.html; reports.html.render = here",
    "while the page is written": "import os; from reports import outputs; os.replace = here",
}


def _seconds_of(process: int) -> float:
    """Processor time so far: what a clock on the wall says depends on who else works on the machine."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _seconds_of_ended() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.parametrize(
    ("moment", "kind"),
    [
        *((moment, signal.SIGINT) for moment in MOMENTS),
        *((moment, signal.SIGTERM) for moment in ("while a parser works", "while the page is written")),
    ],
)
def test_an_interrupt_ends_the_command_at_once(where: Path, moment: str, kind: signal.Signals) -> None:
    running = subprocess.Popen(
        [sys.executable, "-c", _STOPPED.format(patch=MOMENTS[moment]), "analyze", "bundle", "-o", "out"],
        cwd=where, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    assert running.stdout is not None and running.stdout.readline() == "here\n"
    before = _seconds_of(running.pid) + _seconds_of_ended()
    running.send_signal(kind)
    _, said = running.communicate(timeout=30)
    assert _seconds_of_ended() - before < 1.0
    assert running.returncode == 128 + kind
    assert "Traceback" not in said
    assert _files(where) == []
    with pytest.raises(ProcessLookupError):
        os.killpg(running.pid, 0)


def test_a_panic_of_polars_is_an_internal_error_in_one_line(where: Path) -> None:
    program = (
        "import sys, polars as pl, forensics.analyze\nfrom forensics import cli\n"
        "def panic(*_): raise pl.exceptions.PanicException('boom')\n"
        "sys.modules['forensics.analyze'].choose = panic\ncli.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "analyze", "bundle", "-o", "out"],
        cwd=where, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["Error: internal error, PanicException: boom (forensics -v … shows where)"]
    assert _files(where) == []
