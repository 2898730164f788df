"""Panics of Rust (parsers/logs/panics.py)."""

from pathlib import Path

import pytest

from parsers import read

SAID = "index out of bounds: the len is 16 but the index is 16"
FORMS = {
    "the place first": f"thread 'main' (4711) panicked at src/data.rs:88:31:\n{SAID}\nnote: run with `RUST_BACKTRACE=1`\n",
    "the words first": f"thread 'main' panicked at '{SAID}', src/data.rs:88:31\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_a_panic_of_the_main_thread_is_an_exception_with_its_words(tmp_path: Path, form: str) -> None:
    (tmp_path / "err.log").write_text(FORMS[form])
    [row] = read(str(tmp_path)).tables["events"].to_dicts()
    assert (row["kind"], row["code"], row["severity"], row["text"]) == ("exception", "panic", "fatal", f"panic: {SAID}")
    assert row["pid"] == (4711 if "(4711)" in FORMS[form] else None)


def test_another_thread_ends_no_process_and_its_number_is_no_pid(tmp_path: Path) -> None:
    (tmp_path / "err.log").write_text("thread 'loader' (4712) panicked at src/data.rs:88:31:\nboom\n")
    [row] = read(str(tmp_path)).tables["events"].to_dicts()
    assert (row["severity"], row["pid"]) == ("error", None)


def test_a_sentence_about_panics_is_none(tmp_path: Path) -> None:
    (tmp_path / "err.log").write_text("the worker panicked at step 5: see above\n")
    assert read(str(tmp_path)).tables["events"].filter(code="panic").is_empty()
