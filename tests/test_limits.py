"""What a bundle may cost as a whole, and that everything beyond is said."""

import bz2
import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
import zstandard
from click.testing import CliRunner

import parsers
from forensics.cli import cli
from forensics.views import coverage
from parsers.archive import archives, zstd_blocks
from parsers.engine import scan, windows
from parsers.schema import limits
from parsers.schema.limits import Limits
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, table

LINE = b"a needle\n"


def _parse(lines: pl.DataFrame) -> Tables:
    rows = [{"file": file, "line": line, "kind": "other"} for file, line in lines.select("file", "line").iter_rows()]
    return {"events": table("events", rows)}


NEEDLE = LineParser("needle", (b"needle",), _parse)


def _read(path: Path, **limited: int) -> tuple[dict[str, int], dict[str, str]]:
    """(lines read of each file, why others were not)."""
    tables = parsers.read(str(path), parsers=(NEEDLE,), limits=Limits(**limited)).tables
    counts = dict(tables["events"].group_by("file").len().iter_rows())
    return counts, dict(
        tables["unread"].group_by("file").agg(pl.col("reason").unique(maintain_order=True).str.join("; ")).iter_rows()
    )


def _zip(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def _tar(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


FILES = {f"{n}.log": LINE * 1000 for n in range(9)}


def test_a_zip_that_points_again_and_again_to_one_stretch_is_read_once(tmp_path: Path) -> None:
    raw = _zip({"a.log": LINE * 1000})
    directory = raw.index(b"PK\x01\x02")
    end = raw.index(b"PK\x05\x06")
    one = raw[directory:end]
    count = (500).to_bytes(2, "little")
    sizes = (500 * len(one)).to_bytes(4, "little") + directory.to_bytes(4, "little")
    path = tmp_path / "x.zip"
    path.write_bytes(raw[:directory] + one * 500 + b"PK\x05\x06\0\0\0\0" + count * 2 + sizes + b"\0\0")
    counts, reasons = _read(path)
    assert counts == {"a.log": 1000}
    assert set(reasons.values()) == {"it shares its bytes with another member"}


@pytest.mark.parametrize(
    "pack",
    [_zip, lambda files: gzip.compress(_tar(files)), lambda files: _tar({"x.zip": _zip(files), "y.log": LINE})],
    ids=["zip", "tar.gz", "zip in tar"],
)
def test_all_members_together_unfold_to_so_many_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: Callable[[dict[str, bytes]], bytes]
) -> None:
    monkeypatch.setattr(limits, "FREE", 0)
    monkeypatch.setattr(archives, "BLOCK", 1 << 12)
    path = tmp_path / "x"
    path.write_bytes(pack(FILES))
    counts, reasons = _read(path, unfolded=40_000)
    assert 3 <= sum(count == 1000 for count in counts.values()) <= 4
    assert any("unfolds to more than the limit of 40000 bytes" in reason for reason in reasons.values())
    assert sum(_read(path)[0].values()) >= 9000


def test_a_compressed_file_that_is_read_twice_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FREE", 0)
    for name, data in FILES.items():
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(data))
    whole = sum(map(len, FILES.values()))
    assert sum(_read(tmp_path, unfolded=whole)[0].values()) == 9000
    counts, reasons = _read(tmp_path, unfolded=whole - 1)
    assert sum(counts.values()) == 8000 and len(reasons) == 1


@pytest.mark.parametrize("pack", [_zip, _tar, None], ids=["zip", "tar", "folder"])
def test_members_have_a_number(tmp_path: Path, pack: Callable[[dict[str, bytes]], bytes] | None) -> None:
    path = tmp_path / "x"
    if pack is None:
        path.mkdir()
        for name, data in FILES.items():
            (path / name).write_bytes(data)
    else:
        path.write_bytes(pack(FILES))
    counts, reasons = _read(path, members=4)
    assert len(counts) == 4
    assert list(reasons.values()) == ["more than 4 members: the rest was not read"]


def test_tables_have_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parsers.engine.ledger.UNIT_FILES", 2)
    monkeypatch.setattr(limits, "FREE", 0)
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    counts, reasons = _read(tmp_path, tables=100_000)
    assert 1 <= len(counts) < 9 and len(counts) + len(reasons) == 9
    assert all("the tables take more than the limit of 100000 bytes" in reason for reason in reasons.values())


def test_a_member_has_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "WINDOW", 900)
    found = scan.scan(io.BytesIO(LINE * 1000), (NEEDLE,), until=0.0)
    assert found.lines == 100
    assert [row["reason"] for row in found.unread] == [
        "not read beyond byte 900: it took longer than the limit for one member"
    ]
    (tmp_path / "a.log").write_bytes(LINE)
    with pytest.raises(parsers.BundleError, match="longer than the limit"):
        _read(tmp_path, seconds=0)


@pytest.mark.parametrize(
    ("texts", "made"), [({"unfolded": "2G"}, Limits(unfolded=2 << 30)), ({"seconds": "7"}, Limits(seconds=7))]
)
def test_limits_are_written_as_texts(texts: dict[str, str], made: Limits) -> None:
    assert Limits.of(texts) == made


@pytest.mark.parametrize(("most", "said"), [(2, ["files lists 2 of 3 members, those with errors first"]), (3, [])])
def test_members_beyond_the_rows_of_the_report_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, said: list[str]
) -> None:
    monkeypatch.setattr(coverage, "_MAX_FILES", most)
    for name in "abc":
        (tmp_path / f"{name}.log").write_bytes(b"[rank0]: RuntimeError: boom\n")
    out = tmp_path.parent / f"{tmp_path.name}.json"
    assert CliRunner().invoke(cli, ["analyze", str(tmp_path), "--json", str(out)]).exit_code == 0
    report = json.loads(out.read_bytes())
    assert len(report["files"]) == most
    assert [limit for limit in report["limits"] if "members" in limit] == said


@pytest.mark.parametrize(
    "limit", ["unfolded", "unfolded=-1", "unfolded=²", "unfolded=1X", "nothing=1", "seconds=" + "9" * 30]
)
def test_a_limit_that_is_none_is_an_error_of_the_call(tmp_path: Path, limit: str) -> None:
    (tmp_path / "a.log").write_bytes(LINE)
    assert CliRunner().invoke(cli, ["analyze", str(tmp_path), "--limit", limit]).exit_code == 2
    assert CliRunner().invoke(cli, ["analyze", str(tmp_path), "--limit", "seconds=60"]).exit_code == 0


def _damaged(data: bytes, at: float, width: int = 8) -> bytes:
    start = int(len(data) * at)
    return data[:start] + bytes(byte ^ 0xFF for byte in data[start : start + width]) + data[start + width :]


NOISE = b"".join(b"%d needle %d\n" % (n, n * 7919 % 10007) for n in range(20_000))
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
    "bzip2": bz2.compress,
}


@pytest.mark.parametrize("kind", PACKERS)
def test_a_wrong_sum_at_the_end_costs_no_line(tmp_path: Path, kind: str) -> None:
    folded = PACKERS[kind](NOISE)
    (tmp_path / "a.log.z").write_bytes(folded[:-8] + bytes(8) if kind == "gzip" else folded[:-4] + bytes(4))
    counts, reasons = _read(tmp_path)
    assert counts == {"a.log.z": 20_000}
    assert "damaged" in reasons["a.log.z"]


@pytest.mark.parametrize("level", [1, 19])
def test_no_piece_of_zstd_unfolds_to_more_than_some_blocks(level: int) -> None:
    """As many blocks as are asked for at once, of 128 KiB each, however little they take in the file."""
    compressor = zstandard.ZstdCompressor(level=level, write_checksum=True, write_content_size=level == 1)
    folded = compressor.compress(bytes(1 << 28)) + compressor.compress(NOISE)
    reader = archives.Unfolded("zstd", io.BytesIO(folded))
    pieces = list(iter(reader._next, b""))
    assert sum(map(len, pieces)) == (1 << 28) + len(NOISE) and reader.loss is None
    assert max(map(len, pieces)) <= archives.BLOCK
    parts = zstd_blocks.Parts(io.BytesIO(folded))
    engine = zstd_blocks.engine().decompressobj()
    assert max(len(engine.decompress(part)) for part in parts if not engine.eof) <= (zstd_blocks.BLOCKS + 1) << 17
    assert parts.read(1) != b"" or parts.is_whole


@pytest.mark.parametrize(("kind", "kept"), [("gzip", 0.35), ("zstd", 0.2)])
def test_damage_in_the_middle_leaves_what_stands_before(tmp_path: Path, kind: str, kept: float) -> None:
    (tmp_path / "a.log.z").write_bytes(_damaged(PACKERS[kind](NOISE), 0.5))
    counts, reasons = _read(tmp_path)
    assert counts["a.log.z"] >= kept * 20_000
    assert "damaged" in reasons["a.log.z"]


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_a_damaged_tar_leaves_the_members_before(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(_damaged(PACKERS[kind](_tar({f"{n}.log": NOISE for n in range(3)} | {"z.log": NOISE[::-1]})), 0.9))
    assert _read(path)[0]["0.log"] == 20_000


def test_a_small_tar_with_a_wrong_sum_is_still_a_tar(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(gzip.compress(_tar(FILES))[:-8] + bytes(8))
    assert sum(_read(path)[0].values()) == 9000
