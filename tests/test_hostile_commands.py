"""What somebody else wrote is given to commands: reports, histories, settings, names, kept tables. Each ends with its promised
status and a line that says why, nothing is run, nothing written beside what was asked for, and no terminal acts on it."""

import io
import json
import os
import re
import stat
import subprocess
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard

from forensics.cli import main
from parsers.schema.limits import kept_rows
from parsers.schema.tables import SCHEMAS, TABLE_NAMES, TableName

ACTS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")  # on a terminal
ESC = "\x1b[2J\x1b]0;x\x07\u202e"
LOG = """\
2026-11-20 10:00:00 node001 [rank3]: Traceback (most recent call last):
[rank3]:   File "/app/train.py", line 7, in <module>
[rank3]: RuntimeError: boom
"""
TOKEN = "hf_" + "QwErTyUiOpAsDfGhJkLzXcVbNmQwErTyUi"  # of the form alone


def run(*args: str) -> tuple[int, str]:
    """(status, all that it said) of the program; no traceback, no internal error, and nothing on which a terminal acts."""
    said = io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(said),
        redirect_stderr(said),
        pytest.raises(SystemExit) as left,
    ):
        patch.setattr("sys.argv", ["forensics", *args])
        main()
    text = said.getvalue()
    assert "Traceback (most" not in text and "internal error" not in text, text[-500:]
    assert not (found := ACTS.search(text.replace("\r", ""))), (found, text[-500:])
    assert isinstance(left.value.code, int)
    return left.value.code, text


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The incident.json of one log."""
    at = tmp_path_factory.mktemp("report")
    (at / "a.log").write_text(LOG)
    assert run("analyze", str(at / "a.log"), "--json", str(at / "a.json"))[0] == 0
    found: dict[str, Any] = json.loads((at / "a.json").read_text())
    return found


@pytest.fixture
def where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, report: dict[str, Any]) -> Path:
    """A folder with a bundle and its report, to stand in."""
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle" / "rank_3.log").write_text(LOG)
    (tmp_path / "a.json").write_text(json.dumps(report))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))  # where a history would be
    monkeypatch.delenv("FORENSICS_HISTORY", raising=False)
    return tmp_path


# --- reports that somebody else wrote ---------------------------------------------------------------------------------


def every_text(value: Any, text: str) -> Any:
    """The same document with a text in place of each."""
    if isinstance(value, dict):
        return {
            key: every_text(one, text) if key not in ("schema_version", "kind", "status") else one
            for key, one in value.items()
        }
    return (
        [every_text(one, text) for one in value]
        if isinstance(value, list)
        else text
        if isinstance(value, str)
        else value
    )


HOSTILE: dict[str, Callable[[dict[str, Any]], bytes]] = {
    "escapes in every text": lambda good: json.dumps(every_text(good, ESC)).encode(),
    "half surrogates": lambda good: json.dumps(every_text(good, "\ud800")).encode(),
    "deep": lambda good: b"[" * 100_000,
    "no incident": lambda good: json.dumps({**good, "incidents": []}).encode(),
    "incidents of numbers": lambda good: json.dumps({**good, "incidents": [1, None, "x"]}).encode(),
    "a number of 5,000 digits": lambda good: json.dumps(good).replace('"attempt": 0', '"attempt": ' + "9" * 5000).encode(),
    "another schema": lambda good: json.dumps({**good, "schema_version": "9" * 400}).encode(),
    "twice": lambda good: json.dumps(good).encode() * 2,
    "nothing": lambda good: b"",
    "bytes": lambda good: bytes(range(256)) * 100,
}  # fmt: skip


@pytest.mark.parametrize("made", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("args", [("diff", "a.json", "b.json"), ("history", "add", "--file", "h.db", "b.json"), ("explain", "rank", "3", "b.json")],
                         ids=lambda args: args[0])  # fmt: skip
def test_a_report_of_somebody_else_is_read_or_refused_in_a_line(
    where: Path, report: dict[str, Any], made: Callable[[dict[str, Any]], bytes], args: tuple[str, ...]
) -> None:
    (where / "b.json").write_bytes(made(report))
    status, said = run(*args)
    assert status in (0, 1, 2, 3) and said


# --- histories --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kept",
    [b'{"a":' * 100_000, b"SQLite format 3\x00" + b"\xff" * 4096, ESC.encode() * 1000],
    ids=["deep", "a broken database", "escapes"],
)
def test_what_is_no_history_is_left_as_it_is(where: Path, kept: bytes) -> None:
    (where / "h.db").write_bytes(kept)
    for args in (
        ("history", "list", "--file", "h.db"),
        ("history", "add", "--file", "h.db", "a.json"),
        ("analyze", "bundle", "--history", "h.db"),
    ):
        status, said = run(*args)
        assert status in (1, 2, 3) and said, (args, said)
        assert (where / "h.db").read_bytes() == kept


# --- settings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    ["loss=nan", "loss=-1", "loss=1e999", "=", "loss", f"{ESC}=1", "loss=" + "9" * 5000, "replicas=0x10"],
)
def test_an_odd_tolerance_is_refused_and_quoted_clean(where: Path, value: str) -> None:
    assert run("analyze", "bundle", "--tolerance", value)[0] == 2


@pytest.mark.parametrize("value", ["step=nan", "step=inf", "step=-1", "tflops=", "x=1", f"{ESC}=1", "rate=1_0e400"])
def test_an_odd_expectation_is_refused_and_quoted_clean(where: Path, value: str) -> None:
    assert run("analyze", "bundle", "--expect", value)[0] == 2


@pytest.mark.parametrize("topic", ["²", "٣", "9" * 400, "-1", ESC])
def test_an_odd_rank_is_no_rank_to_ask_of(where: Path, topic: str) -> None:
    assert run("explain", "rank", topic, "bundle")[0] in (1, 2, 3)


# --- where a bundle is ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("url", [
    "file:///etc/hostname", "http://127.0.0.1:9/x.tar", "simplecache::file:///etc/hostname", "filecache::http://127.0.0.1:9/x",
    "zip://a.log::file:///etc/hostname", "memory://x", "local:///etc/hostname", "tar://::bundle", "nosuch://x", "s3://", f"x{ESC}://y",
])  # fmt: skip
def test_an_address_of_another_kind_reads_no_file_of_this_machine(
    where: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import socket

    def refused(*_: object, **__: object) -> None:
        raise ConnectionRefusedError("no connection in a test")

    monkeypatch.setattr(socket.socket, "connect", refused)
    status, said = run("analyze", url)
    assert status in (2, 3)
    assert Path("/etc/hostname").read_text().strip() not in said.replace(url, "")


def test_bundles_of_one_name_stay_two(where: Path) -> None:
    for folder, rank in (("x", 3), ("y", 5)):
        (where / folder / "bundle").mkdir(parents=True)
        (where / folder / "bundle" / "a.log").write_text(
            LOG.replace("rank3", f"rank{rank}").replace("RuntimeError: boom", f"KeyError: {str(rank) * rank}")
        )
    status, said = run("diff", "x/bundle", "y/bundle")
    assert status in (0, 1) and "named ranks  3  |  5" in said
    for folder in ("x", "y"):
        assert run("history", "add", "--file", "h.db", f"{folder}/bundle")[0] == 0
    listed = run("history", "list", "--file", "h.db")[1]
    assert "rank 3" in listed.lower() and "rank 5" in listed.lower()


# --- redact -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [
    f"{TOKEN}.log", "\x1b[2J.log", "\u202egol.x", "a\nb.log", "$(touch x).log", "-rf", "`id`", "\udcff\udcfe.log",
    "x" * 250, "<script>alert(1)<\u2215script>.log", "..." ,
])  # fmt: skip
def test_a_redacted_bundle_of_odd_names_is_whole_and_its_names_stay_inside(where: Path, name: str) -> None:
    with open(os.fsencode(where / "bundle") + b"/" + os.fsencode(name), "w") as stream:
        stream.write(LOG + f"token={TOKEN}\n")
    status, said = run("redact", "bundle", "--out", "r.tar.zst")
    assert status == 0, said
    assert sorted(os.listdir(where)) == ["a.json", "bundle", "r.tar.zst"]
    with open(where / "r.tar.zst", "rb") as packed:
        raw = zstandard.ZstdDecompressor().stream_reader(packed).read()
    assert TOKEN.encode() not in raw
    listed = subprocess.run(["tar", "-tf", "-"], input=raw, capture_output=True, check=True).stdout.splitlines()
    assert len(listed) == 2 and not any(one.startswith(b"/") or b".." in one.split(b"/") for one in listed)
    status, said = run("analyze", "r.tar.zst")
    assert status == 0, said


# --- parse ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [
    lambda at: at.write_text("precious"), lambda at: os.mkfifo(at), lambda at: at.symlink_to("bundle"),
    lambda at: at.symlink_to("nowhere"), lambda at: (at.mkdir(), (at / "events.parquet").mkdir()),
    lambda at: (at.mkdir(), (at / "events.parquet").symlink_to("../bundle/rank_3.log")),
    lambda at: (at.mkdir(), (at / "evidence.json").symlink_to("../a.json")),
    lambda at: (at.mkdir(), at.chmod(0o555)),
], ids=["a file", "a pipe", "a link into the bundle", "a link to nothing", "a folder for a table", "a table that is a link",
        "a manifest that is a link", "not to be written"])  # fmt: skip
def test_tables_are_kept_over_nothing_else(where: Path, make: Callable[[Path], object]) -> None:
    make(where / "kept")
    before = {name: (where / name).read_bytes() for name in ("a.json", "bundle/rank_3.log")}
    status, said = run("parse", "bundle", "--out", "kept")
    assert status in (0, 1, 2) and (status == 0 or said)
    assert before == {name: (where / name).read_bytes() for name in before}
    assert sorted(os.listdir(where / "bundle")) == ["rank_3.log"]
    if stat.S_ISREG((where / "kept").lstat().st_mode):
        assert (where / "kept").read_text() == "precious"


FORGED: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "no cell says anything": lambda rows: rows.select(pl.lit(None).cast(kind).alias(name) for name, kind in rows.schema.items()),
    "no file": lambda rows: rows.with_columns(file=pl.lit(None, pl.String)),
    "no kind": lambda rows: rows.with_columns(kind=pl.lit(None, pl.String)),
    "no JSON": lambda rows: rows.with_columns(detail=pl.lit("<b>")),
    "a list as an object": lambda rows: rows.with_columns(detail=pl.lit("[1]")),
    "a rank of 10^12": lambda rows: rows.with_columns(rank=pl.lit(10**12, pl.Int64)),
    "another column": lambda rows: rows.with_columns(more=pl.lit(1)),
}  # fmt: skip


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_forged_events_are_refused_in_a_line(where: Path, forge: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    assert run("parse", "bundle", "--out", "kept")[0] == 0
    table = where / "kept" / "events.parquet"
    forge(pl.read_parquet(table)).write_parquet(table)
    status, said = run("analyze", "kept")
    assert status in (2, 3) and "events" in said


@pytest.mark.parametrize("name", TABLE_NAMES)
def test_rows_that_their_bytes_cannot_tell_are_refused_unread(where: Path, name: TableName) -> None:
    assert run("parse", "bundle", "--out", "kept")[0] == 0
    table = where / "kept" / f"{name}.parquet"
    row = {column: "a" if column == "file" else None for column in SCHEMAS[name]}
    pl.DataFrame([row], schema=dict(SCHEMAS[name])).select(pl.all().repeat_by(1_000_000).explode()).write_parquet(table)
    status, said = run("analyze", "kept")
    assert status == 3 and said.count("\n") == 1 and f"the table {name} cannot be used, it has 1000000 rows in" in said


def test_what_its_bytes_can_tell_is_read() -> None:
    assert kept_rows("events", 30_000) == 40_000 and kept_rows("steps", 30_000) == 310_000


def test_a_file_that_is_listed_twice_is_refused(where: Path) -> None:
    assert run("parse", "bundle", "--out", "kept")[0] == 0
    table = where / "kept" / "files.parquet"
    rows = pl.read_parquet(table)
    pl.concat([rows, rows]).write_parquet(table)
    status, said = run("analyze", "kept")
    assert status == 3 and "files cannot be used, it has a file more than once: parse again" in said


def test_texts_of_forged_tables_reach_no_terminal_and_no_page_as_they_are(where: Path) -> None:
    assert run("parse", "bundle", "--out", "kept")[0] == 0
    evil = f"{ESC}</script><script>alert(1)</script>"
    for path in (where / "kept").glob("*.parquet"):
        rows = pl.read_parquet(path)
        texts = [name for name in ("text", "host", "file") if name in rows.columns]
        rows.with_columns(pl.lit(evil).cast(rows.schema[name]).alias(name) for name in texts).write_parquet(path)
    assert run("analyze", "kept", "-o", "out.html")[0] in (0, 2, 3)
    if (where / "out.html").exists():
        assert "<script>alert" not in (where / "out.html").read_text()
