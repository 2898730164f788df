"""Holes of sparse files: gone over, said, and what stands behind them is read as if they had been."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import parsers
from parsers.archive.members import HOLE

MB = 1 << 20
BEFORE = b"[rank0]: RuntimeError: before\n"
BEHIND = b"\n[rank1]: RuntimeError: behind\n"


@pytest.fixture
def came(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Bytes that were asked of files, read by read."""
    got: list[int] = []

    class Counting(io.FileIO):
        def readinto(self, buffer: Any) -> int | None:
            got.append(super().readinto(buffer) or 0)
            return got[-1]

    monkeypatch.setattr("parsers.archive.members.io.FileIO", Counting)
    return got


def _sparse(path: Path, parts: Sequence[bytes | int]) -> None:
    """A file of texts and of holes, a number of bytes each."""
    with path.open("wb") as stream:
        for part in parts:
            if isinstance(part, int):
                stream.seek(part, io.SEEK_CUR)
            else:
                stream.write(part)
        stream.truncate(stream.tell())
    if path.stat().st_blocks * 512 > path.stat().st_size // 2:
        pytest.skip("no sparse files here")


@pytest.mark.parametrize(
    ("parts", "ranks", "left_out"),
    [
        pytest.param([BEFORE, 3000 * MB, BEHIND], [0, 1], 2998, id="one"),
        pytest.param([BEFORE, 900 * MB, BEHIND, 900 * MB, BEHIND], [0, 1, 1], 1796, id="two"),
        pytest.param([BEFORE, BEHIND, 3000 * MB], [0, 1], 2998, id="at the end"),
        pytest.param([BEFORE, HOLE - 2 * MB, BEHIND], [0, 1], None, id="a short one is read"),
        pytest.param([BEFORE, b"[rank1]: RuntimeError: be", 900 * MB, b"hind\n"], [0, 1], 898, id="inside a line"),
    ],
)
def test_a_hole_is_gone_over_and_said(
    tmp_path: Path, came: list[int], parts: Sequence[bytes | int], ranks: list[int], left_out: int | None
) -> None:
    _sparse(tmp_path / "job.log", parts)
    tables = parsers.read(str(tmp_path)).tables
    assert tables["events"].sort("line")["rank"].to_list() == ranks
    assert sum(came) < 40 * MB
    holes = [reason for reason in tables["unread"]["reason"] if "hole" in reason]
    assert [round(int(reason.split()[0]) / MB) for reason in holes] == ([] if left_out is None else [left_out])


def test_lines_are_counted_as_if_it_had_been_read(tmp_path: Path) -> None:
    _sparse(tmp_path / "job.log", [BEFORE * 3, 300 * MB, BEHIND])
    tables = parsers.read(str(tmp_path)).tables
    assert tables["events"]["line"].to_list() == [1, 2, 3, 5]
    assert tables["files"]["lines"].to_list() == [5]
