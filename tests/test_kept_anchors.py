"""The database of anchors that was built before is kept, and finds the same; what is kept of others, or cut, is built anew."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from parsers.engine import anchors as anchors_module
from parsers.engine.anchors import MANY, finder, occurring

pytest.importorskip("hyperscan")

ANCHORS = tuple(f"<{number}>".encode() for number in range(MANY))
BLOCK = b"<7> <400>\n<1> and <7>\n"


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    yield tmp_path
    _forget()


def _forget() -> None:
    for asked in (finder, occurring):
        asked.cache_clear()


def _found(anchors: tuple[bytes, ...] = ANCHORS) -> tuple[object, set[int]]:
    _forget()
    return finder(anchors)(BLOCK, len(BLOCK)), occurring(anchors)(BLOCK, len(BLOCK))


def test_what_was_kept_finds_the_same(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = _found()
    assert len([*kept.rglob("anchors.*.pyc")]) == 2
    monkeypatch.setattr(anchors_module.kept, "keep", lambda *_: pytest.fail("it is kept already"))
    assert _found() == first == (([3, 9, 13, 21], [7, 400, 1, 7]), {1, 7, 400})


@pytest.mark.parametrize("size", [0, 10, 40, 1000, -1])
def test_a_cut_file_is_made_anew(kept: Path, size: int) -> None:
    first = _found()
    for file in kept.rglob("anchors.*.pyc"):
        file.write_bytes(file.read_bytes()[:size])
    assert _found() == first


def test_other_anchors_are_another_database(kept: Path) -> None:
    first = _found()
    assert _found(tuple(anchor.replace(b"<", b"(") for anchor in ANCHORS)) == (([], []), set())
    assert _found() == first


def test_few_anchors_are_not_kept(kept: Path) -> None:
    assert _found(ANCHORS[: MANY - 1])[1] == {1, 7, 400}
    assert not [*kept.rglob("anchors.*.pyc")]
