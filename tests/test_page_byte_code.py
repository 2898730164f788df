"""Templates are compiled once: their byte code is kept as Python keeps that of modules, and changes no page."""

import sys
from pathlib import Path

import jinja2
import pytest

from reports import html
from reports.html import byte_code
from tests.report_example_hang import hang


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return tmp_path


def page(language: html.Language = "en") -> str:
    """The page as a fresh process makes it."""
    html._environment.cache_clear()
    return html.render(hang(), language=language)


def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the templates that are compiled from now on."""
    names: list[str] = []
    whole = jinja2.Environment.compile
    monkeypatch.setattr(
        jinja2.Environment,
        "compile",
        lambda own, source, name=None, *more, **rest: names.append(name) or whole(own, source, name, *more, **rest),
    )
    return names


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_second_process_compiles_nothing_and_makes_the_same_page(
    language: html.Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = compiled(monkeypatch)
    first = page(language)
    assert "page.html.j2" in names
    names.clear()
    assert page(language) == first
    assert names == []


def test_languages_do_not_share_byte_code() -> None:
    english, chinese = page("en"), page("zh")
    assert (page("en"), page("zh")) == (english, chinese)
    assert english != chinese


def test_byte_code_of_another_jinja_or_text_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    page()
    names = compiled(monkeypatch)
    monkeypatch.setattr(byte_code.jinja2, "__version__", "0.0")
    page()
    assert "page.html.j2" in names


@pytest.mark.parametrize("content", [b"", b"something else", b"j2"])
def test_a_file_that_is_no_byte_code_is_replaced(kept: Path, content: bytes) -> None:
    first = page()
    [file] = kept.rglob("page.html.*")
    whole = file.read_bytes()
    for damaged in (content, whole[: len(whole) // 2], whole[:25]):
        file.write_bytes(damaged)
        assert page() == first
        assert file.read_bytes() == whole


def test_nothing_is_kept_where_python_keeps_nothing(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    page()
    assert list(kept.iterdir()) == []


def test_a_place_that_may_not_be_written_to_is_no_error(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (kept / "file").write_text("")
    monkeypatch.setattr(sys, "pycache_prefix", str(kept / "file"))
    assert page().startswith("<!")
