"""Faults while a bundle is read: each costs what it touches, is said, and what came before it stays read."""

import errno
import gzip
import io
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import parsers
from parsers.schema.parser import FileParser, LineParser, Source
from parsers.schema.tables import Tables, table

LINE = "[rank{}]: RuntimeError: boom {}\n"
LINES = 3000
BREAK = 40_000  # bytes of the file that come
FLIGHT = '{"version": "2.9", "pg_config": {}, "entries": []}'


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    folder = tmp_path / "bundle"
    folder.mkdir()
    for rank in range(2):
        (folder / f"rank_{rank}.log").write_text("".join(LINE.format(rank, number) for number in range(LINES)))
    return folder


class _Faulty(io.FileIO):
    """Fails beyond BREAK in the file of rank 0."""

    def readinto(self, buffer: Any) -> int | None:
        if "rank_0" not in os.readlink(f"/proc/self/fd/{self.fileno()}"):
            return super().readinto(buffer)
        if self.tell() >= BREAK:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return super().readinto(memoryview(buffer)[: BREAK - self.tell()])


class _Short(io.FileIO):
    """Gives at most 7 bytes at a time."""

    def readinto(self, buffer: Any) -> int | None:
        return super().readinto(memoryview(buffer)[:7])


def _read(folder: Path, between: Callable[[], object] = lambda: None) -> tuple[dict[str, int], dict[str, str]]:
    """(events of each file, why what is not read of others); `between`: what happens after the files were listed."""

    def map_units(work: Any, units: Iterable[Any]) -> Iterator[Any]:
        between()
        return map(work, units)

    tables = parsers.read(str(folder), map=map_units).tables
    counts = tables["events"].group_by("file").len()
    return dict(counts.iter_rows()), dict(tables["unread"].select("file", "reason").iter_rows())


def test_an_error_in_the_middle_of_a_file_costs_what_is_behind_it(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(io, "FileIO", _Faulty)
    counts, reasons = _read(bundle)
    assert counts["rank_1.log"] == LINES
    assert counts["rank_0.log"] > LINES // 3
    assert reasons == {"rank_0.log": "not read beyond byte 40000: Input/output error"}


def test_an_error_in_the_middle_of_a_document_is_no_failure_of_its_parser(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parse(source: Source) -> Tables:
        with source.open() as stream:
            whole = stream.read()
        return {"events": table("events", [{"file": source.path, "kind": "other", "text": f"{len(whole)} bytes"}])}

    monkeypatch.setattr(io, "FileIO", _Faulty)
    reader = FileParser("whole", lambda path, head: True, parse, whole=True)
    tables = parsers.read(str(bundle), parsers=(reader,)).tables
    assert tables["events"]["text"][0] == "40000 bytes"
    assert tables["unread"]["reason"].to_list() == ["not read beyond byte 40000: Input/output error"]


def test_who_the_first_bytes_name_is_asked_alone(tmp_path: Path) -> None:
    """Statistics in Parquet are no text that every other parser has to look through."""
    asked: list[str] = []

    def accepts(path: str, head: bytes) -> bool:
        asked.append(path)
        return True

    def parse(source: Source) -> Tables:
        return {"events": table("events", [{"file": source.path, "kind": "other", "text": "read"}])}

    for name, content in (("a.bin", b"MAGIC and more"), ("b.bin", b"no MAGIC")):
        (tmp_path / name).write_bytes(content)
    readers = [FileParser("any", accepts, parse), FileParser("named", lambda *_: True, parse, magic=b"MAGIC")]
    files = parsers.read(str(tmp_path), parsers=readers).tables["files"]
    assert (files["parsers"].to_list(), asked) == ([["named"], ["any"]], ["b.bin"])


@pytest.mark.parametrize("ending", ["gz", "zip", "tar"])
def test_an_error_in_the_middle_of_an_archive_is_said_as_it_is(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    if ending == "gz":
        noise = "".join(
            LINE.format(0, f"{number * 7919 % 10007} {number * 104729 % 99991}") for number in range(20 * LINES)
        )
        (bundle / "rank_0.log.gz").write_bytes(gzip.compress(noise.encode(), 1))
        (bundle / "rank_0.log").unlink()
        (bundle / "other.log").write_text(LINE.format(1, 1))
        place = bundle
    else:
        (bundle / "rank_1.log").write_bytes(os.urandom(BREAK))
        place = Path(shutil.make_archive(str(tmp_path / "rank_0_packed"), ending, bundle))
    monkeypatch.setattr(io, "FileIO", _Faulty)
    if ending == "zip":  # its directory is at its end
        with pytest.raises(parsers.BundleError, match=r"nothing in it: damaged zip: .*Input/output error"):
            _read(place)
        return
    _, reasons = _read(place)
    assert "Input/output error" in " ".join(reasons.values()), reasons
    assert "failed" not in " ".join(reasons.values())


def test_short_reads_change_nothing(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (bundle / "fr_trace_0.json").write_text(FLIGHT)
    whole = parsers.read(str(bundle))
    monkeypatch.setattr(io, "FileIO", _Short)
    for name, frame in parsers.read(str(bundle)).tables.items():
        assert frame.equals(whole.tables[name]), name


def _truncate(file: Path) -> None:
    os.truncate(file, BREAK)


def _link_out(file: Path) -> None:
    file.unlink()
    file.symlink_to(file.parent.parent / "outside.log")


def _pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _grow(file: Path) -> None:
    with file.open("a") as stream:
        stream.write(LINE.format(0, "late"))


@pytest.mark.parametrize(
    ("change", "events", "reason"),
    [
        (Path.unlink, 0, "No such file or directory"),
        (_truncate, BREAK // 27, "cut short while it was read: 40000 of"),
        (_link_out, 0, "Too many levels of symbolic links"),
        (_pipe, 0, "not a plain file"),
        (_folder, 0, "not a plain file"),
        (_grow, LINES + 1, None),
    ],
    ids=["vanishes", "truncated", "becomes a link", "becomes a pipe", "becomes a folder", "grows"],
)
def test_a_file_that_changes_between_listing_and_reading(
    bundle: Path, change: Callable[[Path], object], events: int, reason: str | None
) -> None:
    (bundle.parent / "outside.log").write_text(LINE.format(7, "outside"))
    counts, reasons = _read(bundle, between=lambda: change(bundle / "rank_0.log"))
    assert counts["rank_1.log"] == LINES
    assert abs(counts.get("rank_0.log", 0) - events) < max(1, events // 5)
    assert (reason in reasons["rank_0.log"]) if reason else not reasons


def test_a_file_that_may_not_be_read_is_said(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is root may read every file, so the refusal is injected."""
    opened = os.open

    def refuse(path: Any, *args: Any, **more: Any) -> int:
        if str(path).endswith("rank_0.log"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return opened(path, *args, **more)

    monkeypatch.setattr(os, "open", refuse)
    counts, reasons = _read(bundle)
    assert counts == {"rank_1.log": LINES}
    assert reasons == {"rank_0.log": "Permission denied"}


def panics(lines: pl.DataFrame) -> Tables:
    """What a defect of polars looks like from Python: an exception that is no Exception."""
    raise pl.exceptions.PanicException("called `Option::unwrap()` on a `None` value")


def test_a_panic_of_polars_costs_the_lines_that_made_it(bundle: Path) -> None:
    """Its class is none of `Exception`: a parser in which it happens must not cost the bundle."""
    file = FileParser("panics_on_files", lambda path, head: "rank_0" in path, lambda _: panics(pl.DataFrame()))
    line = LineParser("panics_on_lines", (b"boom 7",), panics)
    readers = (file, *(one for one in parsers.PARSERS if isinstance(one, LineParser)), line)
    tables = parsers.read(str(bundle), parsers=readers).tables
    assert tables["events"].height >= 2 * LINES
    said = " ".join(tables["unread"]["reason"])
    assert "panics_on_files failed: PanicException" in said and "panics_on_lines failed: PanicException" in said
