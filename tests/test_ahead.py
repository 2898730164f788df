"""Logs of an archive that can be read only once are scanned while it goes by; the tables are those of the folder."""

import io
import pickle
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
import zstandard
from polars.testing import assert_frame_equal

import parsers
from parsers.archive.bundle import open_bundle
from parsers.engine import ahead, pool
from parsers.registry import DENSE
from parsers.schema.limits import Limits
from parsers.schema.tables import TABLE_NAMES

WIDE = b" " + b"*" * 200  # lines are few and long: what counts is the size of a log, and what it says takes time
DATED = b"2026-05-01 10:00:%02d INFO trainer.py:7 step %d took 0.5 s" + WIDE + b"\n"
COLL = (
    b"2026-05-01 10:00:00 node0:7:8 [0] NCCL INFO AllReduce: opCount %x sendbuff 0x7f00 recvbuff 0x7f01 count 64 "
    b"datatype 9 op 0 root 0 comm 0x5a [nranks=8] stream 0x5b\n"
)
FAULT = b"[rank3]: RuntimeError: boom\n"
LOG = b"".join(DATED % (n % 60, n) for n in range(600)) + FAULT
OTHER = b"".join(DATED % (n % 60, n + 7) for n in range(600)) + FAULT
FILES = {
    "rank_3.log": LOG,
    "rank_4.log": OTHER,
    "nccl.log": b"".join(COLL % n for n in range(1000)),
    "syslog": b"".join(b"May  1 10:00:%02d node0 kernel: eth0: Link is down%b\n" % (n % 60, WIDE) for n in range(600)),
    "undated.log": (b"step 1 of 9" + WIDE + b"\n") * 700 + FAULT,
    "wide.log": ("﻿" + LOG.decode()).encode("utf-16-le"),
    "no_newline_at_the_end.log": LOG + b"a last " * 9,
    "one_line.log": DATED % (1, 1) + b"x" * 3_000_000,
    "returns.log": LOG.replace(b"\n", b"\r"),
    "core.7": bytes(range(256)) * 2000,
    "dump.pkl": pickle.dumps({"version": "2.4", "entries": [], "pg_config": {}, "fill": "x" * 400_000}),
    "inside.zip": b"",  # made below
    "small.log": FAULT,
}


def _zip(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


FILES["inside.zip"] = _zip({"rank_5.log": LOG})


def _tar(files: list[tuple[str, bytes]]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def _folded(at: Path, files: list[tuple[str, bytes]]) -> Path:
    at.write_bytes(zstandard.ZstdCompressor().compress(_tar(files)))
    return at


def _seen(path: Path) -> set[str]:
    with open_bundle(path, None, ahead.Ahead(parsers.PARSERS, DENSE, 9)) as bundle:
        return {source.path for source in bundle.sources if source.seen is not None}


def _equal(got: parsers.Evidence, expected: parsers.Evidence) -> None:
    for name in TABLE_NAMES:
        assert_frame_equal(got.tables[name], expected.tables[name])


@pytest.fixture(autouse=True)
def _logs_of_half_the_size_may_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead.Ahead, "least", ahead.LEAST_BYTES // 2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    at = tmp_path_factory.mktemp("files")
    for name, data in FILES.items():
        (at / name).write_bytes(data)
    return at


@pytest.fixture(scope="module")
def expected(folder: Path) -> parsers.Evidence:
    return parsers.read(str(folder))


PACKED: dict[str, Callable[[], bytes]] = {
    "tar": lambda: _tar(list(FILES.items())),
    "tar.zst": lambda: zstandard.ZstdCompressor().compress(_tar(list(FILES.items()))),
    "the other way round": lambda: zstandard.ZstdCompressor().compress(_tar(list(FILES.items())[::-1])),
    "zip": lambda: _zip(FILES),
}


@pytest.mark.parametrize("form", PACKED)
def test_every_packing_gives_the_same_tables(tmp_path: Path, expected: parsers.Evidence, form: str) -> None:
    path = tmp_path / "packed"
    path.write_bytes(PACKED[form]())
    _equal(parsers.read(str(path)), expected)


def test_who_is_seen_and_who_is_kept(tmp_path: Path, folder: Path) -> None:
    """Kept: whose stamps tell no year, what is no text, what a file parser takes, archives, and what is small."""
    path = _folded(tmp_path / "x", list(FILES.items()))
    dated = {name for name in FILES if name.endswith(".log")} - {"undated.log", "small.log", "wide.log"}
    assert _seen(path) == dated | {"nccl.log"}
    assert _seen(folder) == set()


def test_a_pool_reads_what_was_seen(
    tmp_path: Path, expected: parsers.Evidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parsers.engine.ledger.UNIT_FILES", 3)
    path = _folded(tmp_path / "x", list(FILES.items()))
    _equal(parsers.read(str(path), map=lambda work, units: pool.in_processes(work, units, 2)), expected)


def test_what_is_seen_has_a_size(tmp_path: Path, expected: parsers.Evidence, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "KEPT_BYTES", 20_000)
    path = _folded(tmp_path / "x", list(FILES.items()))
    assert 1 <= len(_seen(path)) < 4
    _equal(parsers.read(str(path)), expected)


def test_of_one_name_the_second_is_kept_and_called_otherwise(tmp_path: Path) -> None:
    path = _folded(tmp_path / "x", [("a.log", LOG), ("a.log", OTHER)])
    assert _seen(path) == {"a.log"}
    assert parsers.read(str(path)).tables["files"]["file"].to_list() == ["a.log", "a.log#2"]


@pytest.mark.parametrize("kept", [0.5, 0.9])
def test_a_log_that_is_cut_is_read_as_far_as_it_goes(tmp_path: Path, kept: float) -> None:
    tar = _tar([("a.log", LOG)])[: int(kept * len(LOG))]
    cut, whole = tmp_path / "cut", tmp_path / "whole"
    cut.write_bytes(zstandard.ZstdCompressor().compress(tar))
    whole.write_bytes(tar)
    tables = parsers.read(str(cut)).tables
    assert tables["files"]["lines"].to_list() == [tar[512:].count(b"\n") + 1]
    assert tables["files"]["bytes"].to_list() == [len(tar) - 512]
    reasons = tables["unread"].filter(pl.col("file") == "a.log")["reason"].to_list()
    assert reasons == [f"cut short: {len(tar) - 512} of {len(LOG)} bytes"]
    assert _seen(cut) == {"a.log"}


def test_a_log_has_its_time_and_those_behind_it_theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parsers.engine.windows.WINDOW", 1 << 16)
    path = _folded(tmp_path / "x", [("a.log", LOG), ("small.log", FAULT)])
    moments = iter((0.0, 9.0, *[20.0] * 99))
    monkeypatch.setattr("parsers.engine.ahead.time.monotonic", lambda: next(moments))
    tables = parsers.read(str(path), limits=Limits(seconds=5)).tables
    assert tables["files"]["bytes"].to_list() == [len(LOG), len(FAULT)]
    assert "it took longer than the limit for one member" in tables["unread"]["reason"].item()


class _Stdin:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)
        self.buffer.seekable = lambda: False  # type: ignore[method-assign]


@pytest.mark.parametrize("fold", [bytes, zstandard.ZstdCompressor().compress], ids=["plain", "zst"])
def test_a_log_on_standard_input_is_read_as_it_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fold: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setattr(sys, "stdin", _Stdin(fold(LOG)))
    (tmp_path / "stdin").write_bytes(LOG)
    _equal(parsers.read("-"), parsers.read(str(tmp_path / "stdin")))
