"""Rows of knowledge that were read before are kept, and are the same; what is kept of another state is made anew."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from parsers import knowledge


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    knowledge.rows.cache_clear()
    yield tmp_path
    knowledge.rows.cache_clear()


def read_again() -> object:
    knowledge.rows.cache_clear()
    return knowledge.rows()


def test_rows_that_were_kept_are_those_that_were_read(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = read_again()
    monkeypatch.setattr(knowledge, "read", lambda texts: ((), ()))  # no TOML is read
    assert read_again() == first


@pytest.mark.parametrize("content", [b"", b"not rows", bytes(32) + b"\x92\x90\x90"])
def test_what_holds_something_else_is_replaced(kept: Path, content: bytes) -> None:
    first = read_again()
    (file,) = kept.rglob("rows.*.pyc")
    whole = file.read_bytes()
    file.write_bytes(content)
    assert read_again() == first
    assert file.read_bytes() == whole


def test_a_cut_file_is_read_anew(kept: Path) -> None:
    first = read_again()
    (file,) = kept.rglob("rows.*.pyc")
    file.write_bytes(file.read_bytes()[:1000])
    assert read_again() == first


def test_another_kind_of_event_is_another_state(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_again()
    (file,) = kept.rglob("rows.*.pyc")
    before = file.read_bytes()
    monkeypatch.setattr(knowledge, "EVENT_KINDS", [*knowledge.EVENT_KINDS, "another"])
    read_again()
    assert file.read_bytes() != before
