"""Patterns are compiled once: their code is kept as Python keeps that of modules, and finds what re.compile finds."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from parsers import pattern_codes
from parsers.patterns import ascii_digits

PATTERNS: list[tuple[str | bytes, int]] = [
    (r"(?P<rank>\d+):(?:(?P<text>[a-z]+)|-)", 0),
    (r"(?x) fehler \s ÄÖ  # a comment", re.IGNORECASE),
    (rb"^seq (?P<number>\d{1,4})$", re.MULTILINE),
    ("密码|[^a-c\\d]{2,}", 0),
]
TEXTS = ["17:abc 3:- ٣:x", "FEHLER äö", "seq 12\nseq 3\n", "密码 xyz"]


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(pattern_codes, "_new", {})
    pattern_codes._kept.cache_clear()
    yield tmp_path
    pattern_codes._kept.cache_clear()


def ended() -> None:
    """What happens at the end of a process, and before the next begins."""
    pattern_codes._keep()
    pattern_codes._new.clear()
    pattern_codes._kept.cache_clear()


def compiled() -> list[re.Pattern[Any]]:
    return [pattern_codes.compiled(pattern, int(flags), ascii_digits) for pattern, flags in PATTERNS]


def anew() -> list[re.Pattern[Any]]:
    return [re.compile(ascii_digits(pattern), flags) for pattern, flags in PATTERNS]


def found(made: list[re.Pattern[Any]]) -> list[tuple[Any, ...]]:
    """Places and groups of each pattern in each text."""
    return [
        (match.span(), match.groupdict(), match.lastgroup)
        for one in made
        for text in TEXTS
        for match in one.finditer(text.encode() if isinstance(one.pattern, bytes) else text)
    ]


def test_a_second_process_compiles_nothing_and_finds_the_same() -> None:
    assert found(compiled()) == found(anew())
    assert len(pattern_codes._new) == len(PATTERNS)
    ended()
    assert found(compiled()) == found(anew())
    assert pattern_codes._new == {}


def test_a_kept_pattern_says_what_it_is_as_a_compiled_one_does() -> None:
    for _ in range(2):
        assert compiled() == anew()
        ended()


def test_code_of_another_python_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled()
    ended()
    monkeypatch.setattr(sys, "version", "3.0")
    assert found(compiled()) == found(anew())
    assert len(pattern_codes._new) == len(PATTERNS)


@pytest.mark.parametrize("content", [b"", b"something else", b"(\x02\x00\x00\x00"])
def test_a_file_that_is_no_code_is_replaced(kept: Path, content: bytes) -> None:
    compiled()
    ended()
    [file] = filter(Path.is_file, kept.rglob("*"))
    whole = file.read_bytes()
    for damaged in (content, whole[: len(whole) // 2]):
        file.write_bytes(damaged)
        assert found(compiled()) == found(anew())
        ended()
        assert file.read_bytes() == whole


def test_nothing_is_kept_where_python_keeps_nothing(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    compiled()
    ended()
    assert list(kept.iterdir()) == []


def test_where_nobody_may_write_patterns_are_compiled(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", str(kept / "file"))
    (kept / "file").write_text("no folder")
    assert found(compiled()) == found(anew())
    ended()
    assert found(compiled()) == found(anew())
