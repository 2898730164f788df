"""Bundles of every form give the same members; nothing hostile in them does harm."""

import bz2
import gzip
import io
import lzma
import os
import random
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import polars as pl
import pytest
import zstandard
from polars.testing import assert_frame_equal

import parsers
from parsers.archive import archives, members
from parsers.archive.bundle import open_bundle
from parsers.schema.evidence import BundleError
from parsers.schema.parser import FileParser, LineParser, Source
from parsers.schema.tables import TABLE_NAMES, Tables, table
from parsers.text.path_hints import Hints, hints

FILES = {
    "a/rank_0.log": b"one\nneedle two\n",
    "a/rank_1.log": b"\xff\xfe broken\r\nneedle\r\n",
    "b/deep/er/x.txt": b"",
    "run7/attempt_2/5/stderr.log": b"needle\n" * 500,
    "z.bin": bytes(range(256)) * 40,
}


def _parse(lines: pl.DataFrame) -> Tables:
    rows = [{"file": file, "line": line, "kind": "other"} for file, line in lines.select("file", "line").iter_rows()]
    return {"events": table("events", rows)}


NEEDLE = LineParser("needle", (b"needle",), _parse)


def _folder(at: Path, files: dict[str, bytes] = FILES) -> Path:
    for name, data in files.items():
        path = at / "bundle" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return at / "bundle"


def _tar(files: dict[str, bytes] = FILES, form: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def _zip(files: dict[str, bytes] = FILES) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def _zst(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


def _xz(data: bytes) -> bytes:
    return lzma.compress(data, preset=0)


PACKED: dict[str, Callable[[], bytes]] = {
    "tar": _tar,
    "gnu tar": lambda: _tar(form=tarfile.GNU_FORMAT),
    "tar.gz": lambda: gzip.compress(_tar()),
    "tar.zst": lambda: _zst(_tar()),
    "tar.zst in frames": lambda: _zst(_tar()[:700]) + _zst(_tar()[700:]),
    "tar.zst behind a frame to skip": lambda: b"\x5f*M\x18\t\0\0\0not a tar" + _zst(_tar()),
    "tar.bz2": lambda: bz2.compress(_tar()),
    "tar.xz": lambda: lzma.compress(_tar()),
    "tar.xz in streams": lambda: _xz(_tar()[:700]) + bytes(8) + _xz(_tar()[700:]) + bytes(4),
    "zip": _zip,
}


def _contents(path: str) -> dict[str, bytes]:
    with open_bundle(path) as bundle:
        read = {}
        for source in bundle.sources:
            with source.open() as stream:
                read[source.path] = stream.read()
        return read


def _reasons(path: Path | str) -> dict[str, str]:
    return dict(parsers.read(str(path), parsers=(NEEDLE,)).tables["unread"].select("file", "reason").iter_rows())


class _Stdin:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)
        self.buffer.seekable = lambda: False  # type: ignore[method-assign]


@pytest.mark.parametrize("form", PACKED)
def test_every_packing_gives_the_same_members(tmp_path: Path, form: str) -> None:
    packed = tmp_path / "name-says-nothing"
    packed.write_bytes(PACKED[form]())
    assert _contents(str(packed)) == FILES == _contents(str(_folder(tmp_path)))


@pytest.mark.parametrize("form", PACKED)
def test_standard_input(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    monkeypatch.setattr(sys, "stdin", _Stdin(PACKED[form]()))
    assert _contents("-") == FILES


@pytest.mark.parametrize("form", ["folder", *PACKED])
def test_every_packing_gives_the_same_tables(tmp_path: Path, form: str) -> None:
    folder = _folder(tmp_path)
    path = folder
    if form != "folder":
        path = tmp_path / "packed"
        path.write_bytes(PACKED[form]())
    expected, got = (parsers.read(str(at), parsers=(NEEDLE,)) for at in (folder, path))
    assert set(got.tables) == set(TABLE_NAMES)
    for name in TABLE_NAMES:
        assert_frame_equal(got.tables[name], expected.tables[name])
    assert got.files == 5
    assert got.tables["events"].height == 502


def test_what_a_row_of_files_says(tmp_path: Path) -> None:
    files = parsers.read(str(_folder(tmp_path)), parsers=(NEEDLE,)).tables["files"]
    row = files.row(by_predicate=pl.col("file") == "run7/attempt_2/5/stderr.log", named=True)
    assert row["lines"] == row["recognised"] == 500
    assert (row["parsers"], row["local_rank"], row["attempt"], row["launch"]) == (["needle"], 5, 2, "run7")
    assert row["templates"] == []
    foreign = files.row(by_predicate=pl.col("file") == "a/rank_0.log", named=True)
    assert (foreign["lines"], foreign["recognised"], foreign["rank"]) == (2, 1, 0)
    assert foreign["templates"] == ["1 × one"]
    assert files.row(by_predicate=pl.col("file") == "z.bin", named=True)["lines"] is None


def test_order_of_members_and_a_pool_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parsers.engine.ledger.UNIT_FILES", 2)
    names = list(FILES)
    random.Random(1).shuffle(names)
    packed = tmp_path / "packed.tgz"
    packed.write_bytes(gzip.compress(_tar({name: FILES[name] for name in names})))
    expected = parsers.read(str(_folder(tmp_path)), parsers=parsers.PARSERS)
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        got = parsers.read(str(packed), map=pool.map)
    for name in TABLE_NAMES:
        assert_frame_equal(got.tables[name], expected.tables[name])


def test_progress_reaches_the_whole(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    parsers.read(str(_folder(tmp_path)), parsers=(), progress=lambda done, whole: seen.append((done, whole)))
    assert seen[-1][0] == seen[-1][1] == sum(map(len, FILES.values()))


@pytest.mark.parametrize("name", ["x.log.gz", "x.log.zst", "x.log.bz2", "x.log.xz", "no_ending"])
def test_a_compressed_member_opens_unfolded_under_its_name(tmp_path: Path, name: str) -> None:
    pack = {".gz": gzip.compress, ".zst": _zst, ".bz2": bz2.compress, ".xz": lzma.compress}
    data = pack.get(Path(name).suffix, gzip.compress)(b"needle\n" * 9)
    assert _contents(str(_folder(tmp_path, {name: data + data if name != "x.log.xz" else data}))).popitem()[1][:7] == (
        b"needle\n"
    )


@pytest.mark.parametrize("pack", [gzip.compress, _zst, bz2.compress, _xz], ids=["gz", "zst", "bz2", "xz"])
def test_a_cut_member_is_read_up_to_the_cut_and_the_loss_is_listed(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    noise = random.Random(2).randbytes(1_400_000).hex().encode()
    folded = pack(b"needle\n" + b"\n".join(noise[at : at + 99] for at in range(0, len(noise), 99)))
    path = _folder(tmp_path, {"cut.log.z": folded[: len(folded) // 2]})
    evidence = parsers.read(str(path), parsers=(NEEDLE,))
    assert evidence.tables["events"]["line"].to_list() == [1]
    assert "cut short" in evidence.tables["unread"]["reason"].item()


@pytest.mark.parametrize("keep", [100, 600, 1500, 3000])
@pytest.mark.parametrize("form", ["tar", "tar.gz"])
def test_a_cut_tar_gives_what_came_before(tmp_path: Path, form: str, keep: int) -> None:
    data = _tar()[:keep]
    path = tmp_path / "cut"
    path.write_bytes(gzip.compress(data) if form == "tar.gz" else data)
    if keep == 100:
        assert list(_contents(str(path)).values()) == [data]  # no header: a file like any other
        return
    assert any("cut short" in reason for reason in _reasons(path).values())


@pytest.mark.parametrize("size", [1 << 63, 1 << 80, -5, (1 << 50) + 1], ids=str)
@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["tar", "tar.gz"])
def test_a_size_beyond_all_measure_in_a_header_costs_what_follows_it(
    tmp_path: Path, compress: Callable[[bytes], bytes], size: int
) -> None:
    lying = tarfile.TarInfo("lying.log")
    lying.size = size
    header = lying.tobuf(tarfile.GNU_FORMAT)  # base 256, as eight digits do not hold it
    good = _tar({"a.log": b"needle\n"})
    path = tmp_path / "x"
    path.write_bytes(compress(good[:1024] + header + good))
    assert _contents(str(path)) == {"a.log": b"needle\n"}
    assert str(size) in _reasons(path)["x"]


def _header(name: bytes, size: int = 0, kind: bytes = b"0", odd: bytes = b"") -> bytes:
    """A tar header written by hand; `odd` fills mode, owners, time and devices."""
    numbers = (odd * 8)[:8] or b"0000644\0"
    block = name.ljust(100, b"\0") + numbers * 3 + b"%011o\0" % size + ((odd * 12)[:12] or b"%011o\0" % 0)
    block = (block + b" " * 8 + kind + b"target".ljust(100, b"\0") + b"ustar\x0000" + bytes(64) + numbers * 2).ljust(
        512, b"\0"
    )
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]


def _entry(name: bytes, data: bytes, kind: bytes = b"0", odd: bytes = b"") -> bytes:
    return _header(name, len(data), kind, odd) + data + bytes(-len(data) % 512)


END = bytes(1024)  # of a tar


@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["tar", "tar.gz"])
@pytest.mark.parametrize(
    ("blocks", "read"),
    [
        pytest.param(_entry(b"", b"1"), {"unnamed": b"1"}, id="an empty name first"),
        pytest.param(_entry(b"a", b"1", odd=b"z"), {"a": b"1"}, id="letters for owner and time"),
        pytest.param(_entry(b"a", b"1", odd=b"\xff"), {"a": b"1"}, id="negative owner and time"),
        *(
            pytest.param(stretch, {}, id=f"type {kind}, {what}")
            for kind in "123456"
            for what, stretch in {
                "with bytes": _entry(b"d/", b"no header\n" * 99, kind.encode()),
                "with a size only": _header(b"d/", 700, kind.encode()),
            }.items()
        ),
    ],
)
def test_an_odd_header_costs_nothing_that_stands_behind_it(
    tmp_path: Path, compress: Callable[[bytes], bytes], blocks: bytes, read: dict[str, bytes]
) -> None:
    path = tmp_path / "x"
    path.write_bytes(compress(blocks + _entry(b"z.log", b"needle\n") + END))
    assert _contents(str(path)) == read | {"z.log": b"needle\n"}


@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["tar", "tar.gz"])
@pytest.mark.parametrize(
    ("behind", "said"),
    [
        (bytes(20_000), None),
        (_entry(b"second.log", b"needle\n") + END, "2048 bytes behind its end marker are not read"),
        (bytes(9_000) + b"\xfe" * 3_000_000, "3000000 bytes behind its end marker are not read"),
    ],
    ids=["zeros", "a second tar", "noise"],
)
def test_what_stands_behind_the_end_of_a_tar_is_listed(
    tmp_path: Path, compress: Callable[[bytes], bytes], behind: bytes, said: str | None
) -> None:
    path = tmp_path / "x"
    path.write_bytes(compress(_entry(b"a.log", b"needle\n") + END + behind))
    assert _contents(str(path)) == {"a.log": b"needle\n"}
    assert _reasons(path) == ({"x": said} if said else {})


def test_what_stands_behind_the_end_of_a_tar_is_counted_so_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "BEHIND", 1 << 20)
    path = tmp_path / "x"
    path.write_bytes(gzip.compress(_entry(b"a.log", b"needle\n") + END + b"\xfe" * (5 << 20)))
    assert _reasons(path)["x"].startswith("at least ")


@pytest.mark.parametrize("before", [b"MZ" + b"\x90" * 200_000, b"#!/bin/sh\nexit\n"], ids=["program", "script"])
@pytest.mark.parametrize("comment", [b"", b"made by hand"], ids=["plain", "comment"])
def test_a_zip_that_unpacks_itself_is_a_zip(tmp_path: Path, before: bytes, comment: bytes) -> None:
    packed = before + _zip()[:-2] + len(comment).to_bytes(2, "little") + comment
    assert _contents(str(_folder(tmp_path, {"x.ZIP": packed}))) == {f"x.ZIP/{name}": FILES[name] for name in FILES}


def test_a_zip_s_end_inside_a_file_makes_no_zip(tmp_path: Path) -> None:
    files = {"x.zip": b"needle\n" + _zip() + b"junk", "y.log": b"needle\n" + _zip()}
    assert _contents(str(_folder(tmp_path, files))) == files


def test_archives_inside_become_folders(tmp_path: Path) -> None:
    inner = {"n1.tgz": gzip.compress(_tar()), "n2.tar": _tar(), "n3.zip": _zip({"in.tar": _tar(), "in.zip": _zip()})}
    got = _contents(str(_folder(tmp_path, inner)))
    for prefix in ("n1.tgz/", "n2.tar/", "n3.zip/in.tar/", "n3.zip/in.zip/"):
        assert {name.removeprefix(prefix): data for name, data in got.items() if name.startswith(prefix)} == FILES


def test_nesting_has_an_end(tmp_path: Path) -> None:
    data = b"needle\n"
    for _ in range(9):
        data = _tar({"t": data})
    got = _contents(str(_folder(tmp_path, {"t": data})))
    assert len(got) == 1 and max(map(len, got)) < 20


def test_names_never_leave_the_bundle_and_doubles_stay_apart(tmp_path: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in (("../../etc/x", b"1"), ("/etc/x", b"2"), ("etc/x", b"3"), ("..", b"4")):
            info = tarfile.TarInfo(name)
            info.size = 1
            archive.addfile(info, io.BytesIO(data))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
        pipe = tarfile.TarInfo("pipe")
        pipe.type = tarfile.FIFOTYPE
        archive.addfile(pipe)
    path = tmp_path / "x.tar"
    path.write_bytes(out.getvalue())
    assert _contents(str(path)) == {"etc/x": b"1", "etc/x#2": b"2", "etc/x#3": b"3", "unnamed": b"4"}
    reasons = _reasons(path)
    assert "symbolic link" in reasons["link"] and reasons["pipe"] == "not a plain file"


def test_links_and_pipes_in_a_folder_are_listed_not_opened(tmp_path: Path) -> None:
    folder = _folder(tmp_path, {"a/log": b"needle\n"})
    (tmp_path / "outside").write_text("needle\n")
    (folder / "out").symlink_to(tmp_path / "outside")
    (folder / "in").symlink_to(folder / "a")
    (folder / "loop").symlink_to(folder)
    os.mkfifo(folder / "pipe")
    assert _contents(str(folder)) == {"a/log": b"needle\n"}
    assert set(_reasons(folder)) == {"out", "in", "loop", "pipe"}


def test_a_bomb_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "RATIO_FREE", 1 << 20)
    bomb = b"".join(_zst(bytes(1 << 24)) for _ in range(4))
    path = _folder(tmp_path, {"bomb.zst": bomb, "fine.log": b"needle\n", "z.zip": _zip({"zeros": bytes(1 << 24)})})
    reasons = _reasons(path)
    assert "more than the limit" in reasons["bomb.zst"]
    assert "more than the limit" in reasons["z.zip/zeros"]


def test_members_beyond_memory_go_to_a_file_that_vanishes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "KEPT_BYTES", 20)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "spill"))
    (tmp_path / "spill").mkdir()
    path = tmp_path / "x.tgz"
    path.write_bytes(gzip.compress(_tar()))
    assert _contents(str(path)) == FILES
    assert list((tmp_path / "spill").iterdir()) == []


@pytest.mark.parametrize("make", [lambda path: None, Path.mkdir, os.mkfifo], ids=["absent", "empty", "pipe"])
def test_nothing_to_read_is_an_error(tmp_path: Path, make: Callable[[Path], object]) -> None:
    make(tmp_path / "x")
    with pytest.raises(BundleError):
        parsers.read(str(tmp_path / "x"))


@pytest.mark.parametrize(
    ("files", "named"),
    [
        ({"nccl_trace_rank_0": b"", "nccl_trace_rank_1": b""}, "nccl_trace_rank_0: empty"),
        ({"core.7": bytes(range(256)) * 8}, "core.7: binary"),
        ({"a.log": b""}, "a.log: empty"),
    ],
    ids=["empty dumps", "a core file", "an empty log"],
)
def test_files_that_say_nothing_are_an_error(tmp_path: Path, files: dict[str, bytes], named: str) -> None:
    with pytest.raises(BundleError, match=named):
        parsers.read(str(_folder(tmp_path, files)))


@pytest.mark.parametrize("said", [b"words nobody knows\n", b"x"])
def test_one_readable_file_is_enough(tmp_path: Path, said: bytes) -> None:
    tables = parsers.read(str(_folder(tmp_path, {"nccl_trace_rank_0": b"", "a.log": said}))).tables
    assert tables["files"].height == 2 and tables["unread"]["file"].to_list() == ["nccl_trace_rank_0"]


def _broken_lines(lines: pl.DataFrame) -> Tables:
    if "a/rank_0.log" in lines["file"]:
        raise RuntimeError("broken")
    return _parse(lines)


def _broken_file(source: Source) -> Tables:
    raise RuntimeError(f"broken on {source.path}")


def test_a_parser_that_raises_costs_only_that_file(tmp_path: Path) -> None:
    broken = LineParser("broken", (b"needle",), _broken_lines)
    whole = FileParser("whole", lambda path, _: path == "z.bin", _broken_file)
    tables = parsers.read(str(_folder(tmp_path)), parsers=(whole, broken, NEEDLE)).tables
    assert sorted(tables["unread"].select("file", "reason").iter_rows()) == [
        ("a/rank_0.log", "parser broken failed: RuntimeError: broken"),
        ("z.bin", "parser whole failed: RuntimeError: broken on z.bin"),
    ]
    assert tables["events"].height == 502 + 501


def test_a_parser_that_raises_on_a_line_costs_only_that_line(tmp_path: Path) -> None:
    def parse(lines: pl.DataFrame) -> Tables:
        for text in lines["text"]:
            int(text.split()[1])
        return _parse(lines)

    fussy = LineParser("fussy", (b"needle",), parse)
    texts = ["9" * 5000 if line in (3, 70) else str(line) for line in range(1, 100)]
    path = _folder(tmp_path, {"a.log": "".join(f"needle {text}\n" for text in texts).encode()})
    tables = parsers.read(str(path), parsers=(fussy,)).tables
    assert tables["events"]["line"].to_list() == [line for line in range(1, 100) if line not in (3, 70)]
    assert tables["unread"]["line"].to_list() == [3, 70]


def test_a_parser_that_raises_on_every_line_has_an_end(tmp_path: Path) -> None:
    calls = []

    def parse(lines: pl.DataFrame) -> Tables:
        calls.append(lines.height)
        raise RuntimeError("broken")

    path = _folder(tmp_path, {"a.log": b"needle\n" * 5000})
    assert parsers.read(str(path), parsers=(LineParser("no", (b"needle",), parse),)).tables["unread"].height < 100
    assert len(calls) < 300


def test_a_table_of_the_wrong_shape_is_a_failure_of_its_parser(tmp_path: Path) -> None:
    wrong = LineParser("wrong", (b"needle",), lambda lines: {"events": lines})
    tables = parsers.read(str(_folder(tmp_path)), parsers=(wrong,)).tables
    assert tables["events"].height == 0
    assert tables["unread"]["reason"].str.contains("parser wrong failed").sum() == 3


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("run1/attempt_0/3/stderr.log", Hints(local_rank=3, attempt=0, launch="run1")),
        ("attempt_1/12/stdout.log", Hints(local_rank=12, attempt=1)),
        ("run/attempt_1/agent.log", Hints(attempt=1, launch="run")),
        ("logs/attempt_1.log", Hints(attempt=1)),
        ("task_id=fit/attempt=2.log", Hints(attempt=2)),
        ("fit/try-2/main.log", Hints(attempt=2, launch="fit")),
        ("fit.try_number=3.log", Hints(attempt=3)),
        ("trial_3/retry_2_entry_1.log", Hints()),
        ("logs/train-attempt2.rank_3.log", Hints(rank=3, attempt=2)),
        ("logs/attempts_1.log", Hints()),
        ("output/msrun_log/worker_2.log", Hints(local_rank=2)),
        ("pods/worker_2.log", Hints()),
        ("x/_dump_9", Hints(rank=9)),
        ("core_dump_9", Hints()),
        ("fr/trace_3", Hints(rank=3)),
        ("nccl_trace_12.pkl", Hints(rank=12)),
        ("trace_3.json", Hints()),
        ("fr/comm_lib_trace_rank_3.json", Hints(rank=3)),
        ("nccl_trace_rank_0", Hints(rank=0)),
        ("mccl_trace_rank_11", Hints(rank=11)),
        ("step0/rank3/dump.json", Hints(rank=3)),
        ("rank_2/pyspy_rank_5.txt", Hints(rank=5)),
        ("rank5.log.gz", Hints(rank=5)),
        ("rank0-7.log", Hints()),
        ("rank_0_rank_1.log", Hints()),
        ("local_rank_3.log", Hints(local_rank=3)),
        ("node_rank_3.log", Hints()),
        ("lora_rank_16.json", Hints()),
        ("frank5.log", Hints()),
        ("step_100/2node/20241120.log", Hints()),
        ("5.log", Hints()),
        ("syslog_node999.txt", Hints()),
        ("messages-20241120", Hints()),
        ("hosts/alpha/app.log", Hints(host="alpha")),
        ("node17/dmesg.txt", Hints()),
    ],
)
def test_path_hints(path: str, expected: Hints) -> None:
    assert hints(path) == expected
