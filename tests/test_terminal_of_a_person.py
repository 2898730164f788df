"""What a real terminal is given: its own width, colours and links where it shows them, and none of that in a pipe."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from forensics import analyze
from reports import links, terminal

ROOT = Path(__file__).resolve().parents[1]
BUNDLE = ROOT / "samples" / "data_loader_stall" / "bundle"
LINK = re.compile(r"\x1b]8;;(file://[^\x1b]*)\x1b\\([^\x1b]*)\x1b]8;;\x1b\\")


def shown(settings: dict[str, str], columns: int = 100) -> str:
    """What `forensics analyze` writes to a terminal of so many columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    bare = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    command = [sys.executable, "-m", "forensics", "-q", "analyze", str(BUNDLE)]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=theirs, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
        env=bare | {"PYTHONPATH": str(ROOT)} | settings,
    )  # fmt: skip
    os.close(theirs)
    parts = []
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # Linux: the other end was closed
            break
        if not part:
            break
        parts.append(part)
    os.close(ours)
    assert process.wait() == 0
    return b"".join(parts).decode().replace("\r\n", "\n")


def test_width_colours_and_links() -> None:
    text = shown({"TERM": "xterm-256color", "VTE_VERSION": "7200"})
    plain = re.sub(r"\x1b\[[0-9;]*m", "", LINK.sub(r"\2", text))
    assert plain == terminal.render(analyze(BUNDLE), color=False, width=100, is_brief=True)
    assert "\x1b[1" in text and max(map(len, plain.splitlines())) > 80
    found = {place: url for url, place in LINK.findall(text)}
    url = found["fr/comm_lib_trace_rank_5:0"]
    assert url.endswith("/samples/data_loader_stall/bundle/fr/comm_lib_trace_rank_5#0")


@pytest.mark.parametrize(
    ("settings", "colours", "has_links"),
    [
        ({"TERM": "xterm-256color"}, True, False),  # nothing says that it shows links
        ({"TERM": "xterm-256color", "NO_COLOR": "1", "TERM_PROGRAM": "WezTerm"}, False, True),
        ({"TERM": "dumb", "TERM_PROGRAM": "WezTerm"}, False, False),
    ],
)
def test_only_what_the_terminal_shows(settings: dict[str, str], colours: bool, has_links: bool) -> None:
    text = shown(settings)
    assert ("\x1b[" in text, "\x1b]8;" in text) == (colours, has_links)


@pytest.mark.parametrize(
    ("settings", "able"),
    [
        ({"FORCE_HYPERLINK": "1"}, True),
        ({"FORCE_HYPERLINK": "0", "VTE_VERSION": "7200"}, False),
        ({"TERM": "xterm-kitty"}, True),
        ({"WT_SESSION": "x"}, True),
        ({"VTE_VERSION": "4205"}, False),
        ({"VTE_VERSION": "²"}, False),
        ({"TERM": "screen"}, False),
    ],
)
def test_which_terminals_show_links(settings: dict[str, str], able: bool) -> None:
    assert links.can(settings) == able


def test_a_place_outside_the_bundle_is_no_link(tmp_path: Path) -> None:
    report = analyze(BUNDLE)
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks" / "pyspy_rank_5.json").symlink_to("/etc/hostname")
    assert links.of_evidence(report, tmp_path) == {}
    assert links.linked("seen  [a b]", {"a b": "x"}) == "seen  [a b]"


@pytest.mark.parametrize(
    ("encoding", "asked"),
    [
        ("latin-1", ["analyze"]), ("ascii", ["analyze"]), ("gb2312", ["analyze"]), ("latin-1", ["analyze", "--lang", "zh"]),
        ("latin-1", ["analyze", "--markdown", "-"]), ("latin-1", ["inspect"]), ("latin-1", ["stacks"]), ("latin-1", ["events"]),
    ],
)  # fmt: skip
def test_what_an_encoding_lacks_is_written_with_what_it_has(encoding: str, asked: list[str], tmp_path: Path) -> None:
    """Curly quotes, arrows and Chinese in the answer, and whatever stands in a line of the bundle."""
    log = tmp_path / "rank_0.log"
    log.write_text('File "/app/é.py", line 7, in <module>\nRuntimeError: ✗ “boom” …\n')
    command = [sys.executable, "-m", "forensics", "-q", *asked[:1], str(log), *asked[1:]]
    settings = os.environ | {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    done = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, timeout=60)
    assert done.returncode == 0 and done.stdout.strip() and not done.stderr, done.stderr[-300:]


def test_a_quotation_mark_that_an_encoding_lacks_is_a_typed_one() -> None:
    said = "import sys; from reports import outputs; outputs.write_plainly(); print('“a” → b… 卡')"
    command = [sys.executable, "-c", said]
    told = subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONIOENCODING": "latin-1"}, capture_output=True)
    assert told.stdout == b'"a" -> b... \\u5361\n'
