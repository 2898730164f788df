"""Digits of other scripts are no numbers: `[rank٣]` is not rank 3, whoever reads it."""

import inspect
import io
import sys

import pytest

import parsers
from parsers.engine.candidates import Candidates
from parsers.engine.scan import scan
from parsers.forms.reading import real, whole
from parsers.schema.parser import LineParser, Parser, Source
from parsers.schema.rules import integer
from parsers.schema.tables import Tables
from parsers.text import stamps
from parsers.text.patterns import ascii_digits, regex
from parsers.who.lines.collected import Habits

SCRIPTS = {"Arabic": "٠", "fullwidth": "\uff10", "Devanagari": "०"}
COUNTED = ("rank", "local_rank", "step", "world_size", "size", "seq", "peer", "root", "pid", "attempt", "iteration")
LISTED = ("members", "names_ranks")


def read(parser: Parser, text: str, path: str) -> list[Tables]:
    raw = text.encode()
    source = Source(path, len(raw), lambda: io.BytesIO(raw))
    if not isinstance(parser, LineParser):
        return [parser.parse(source)]
    candidates = Candidates([parser])
    candidates.add(source, scan(source.open(), [parser]), Habits(stamps.all_of(2026)))
    return [tables for _, tables in candidates.parse()]


def sample(parser: Parser) -> str:
    """The indented lines of its module's docstring."""
    doc = inspect.getdoc(sys.modules[parser.parse.__module__]) or ""
    return "\n".join(line[4:] for line in doc.splitlines() if line.startswith("    "))


@pytest.mark.parametrize("zero", SCRIPTS.values(), ids=SCRIPTS)
@pytest.mark.parametrize("parser", parsers.PARSERS, ids=lambda parser: parser.name)
def test_no_parser_counts_in_digits_of_another_script(parser: Parser, zero: str) -> None:
    digits = str.maketrans("0123456789", "".join(chr(ord(zero) + number) for number in range(10)))
    for tables in read(parser, sample(parser).translate(digits), "a.log"):
        for name, table in tables.items():
            told = {key: set(table[key].drop_nulls()) - {0} for key in COUNTED if key in table.columns}
            lists = {
                key: [one for one in table[key].drop_nulls() if len(one)] for key in LISTED if key in table.columns
            }
            assert not any(told.values()) and not any(lists.values()), (name, told, lists)


@pytest.mark.parametrize("digit", ["٣", "\uff13", "३", "²", "③"])
def test_numbers_are_of_ascii(digit: str) -> None:
    assert (whole(digit), real(digit), real(f"{digit} W"), integer(digit)) == (None, None, None, None)


@pytest.mark.parametrize(
    ("pattern", "written"),
    [
        (r"rank(\d+)", r"rank([0-9]+)"),
        (r"[\d.]+\d", r"[0-9.]+[0-9]"),
        (r"[]\d]\d", r"[]0-9][0-9]"),
        (r"[^]\d]\d", r"[^]0-9][0-9]"),
        (r"[a[\d]\d", r"[a[0-9][0-9]"),
        (r"[^\[\]\d]\d", r"[^\[\]0-9][0-9]"),
        (r"\[\d\]\\d", r"\[[0-9]\]\\d"),
        (r"\D\w", r"\D\w"),
    ],
)
def test_a_digit_of_a_pattern_is_one_of_ascii(pattern: str, written: str) -> None:
    assert ascii_digits(pattern) == written
    assert regex(pattern).flags
