"""What holds for every parser that is registered: declared columns, no exception, the same whatever the chunks and cuts.

The inputs are made of the sample lines in the docstring of each parser's module: whole, cut, glued, shuffled, damaged.
"""

import inspect
import io
import re
import sys
import time
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import parsers
from parsers.schema.parser import LINES, FileParser, LineParser, Source
from parsers.schema.tables import SCHEMAS, Tables
from parsers.who.lines import prefixes

LINE_PARSERS = [parser for parser in parsers.PARSERS if isinstance(parser, LineParser)]
FILE_PARSERS = [parser for parser in parsers.PARSERS if isinstance(parser, FileParser)]
NOISE = (
    "",
    " ",
    "\x00",
    "step 3",
    '{"a": [',
    "0x",
    "rank",
    "\x1b[31m",
    "é�",
    "9" * 40,
    "-1",
    ": ",
    "nan",
    "]" * 9,
    "(",
    "\t",
)
QUICK = settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def samples(parser: LineParser | FileParser) -> list[str]:
    """The indented lines of the module's docstring; where it has none, the anchors."""
    doc = inspect.getdoc(sys.modules[parser.parse.__module__]) or ""
    found = [line[4:] for line in doc.splitlines() if line.startswith("    ")]
    return found or [anchor.decode("latin-1") for anchor in getattr(parser, "anchors", ())]


def frame(files: dict[str, list[str]]) -> pl.DataFrame:
    """Lines of several files as a line parser gets them."""
    rows: list[dict[str, Any]] = []
    for file in sorted(files):
        for number, raw in enumerate(files[file], 1):
            said = prefixes.strip(raw)
            told = {
                name: getattr(said, name)
                for name in ("text", "rank", "local_rank", "task", "host", "time_ns", "time_basis")
            }
            rows.append(told | {"file": file, "line": number, "raw": raw, "hit": True})
    return pl.DataFrame({name: [row.get(name) for row in rows] for name in LINES}, schema=dict(LINES))


def checked(tables: Tables, *, last_line: int | None = None) -> Tables:
    for name, table in tables.items():
        assert dict(table.schema) == dict(SCHEMAS[name]), name
        assert table["file"].null_count() == 0, name
        if last_line is not None and table.height and table["line"].null_count() < table.height:
            assert 1 <= table["line"].drop_nulls().min() <= table["line"].drop_nulls().max() <= last_line, name  # type: ignore[operator]
    return tables


def cuts(text: str, most: int = 40) -> Iterator[str]:
    """The beginnings and the ends of a text."""
    step = max(1, len(text) // most)
    for at in range(0, len(text), step):
        yield text[:at]
        yield text[at:]


def same(one: Tables, other: Tables) -> None:
    assert {name for name, table in one.items() if table.height} == {
        name for name, table in other.items() if table.height
    }
    for name, table in one.items():
        if table.height:
            assert_frame_equal(table, other[name])


lines_of = pytest.mark.parametrize("parser", LINE_PARSERS, ids=lambda parser: parser.name)
files_of = pytest.mark.parametrize("parser", FILE_PARSERS, ids=lambda parser: parser.name)


@lines_of
def test_every_cut_of_a_sample_is_read(parser: LineParser) -> None:
    variants = [part for line in samples(parser) for part in cuts(line, 12)]
    glued = [one + other for one, other in zip(samples(parser), samples(parser)[1:], strict=False)]
    checked(parser.parse(frame({"cut": variants, "glued": glued, "crlf": [line + "\r" for line in samples(parser)]})))
    checked(parser.parse(frame({"none": []})))


@lines_of
@QUICK
@given(data=st.data())
def test_any_lines_give_the_declared_columns(parser: LineParser, data: st.DataObject) -> None:
    fragment = st.sampled_from(samples(parser)) | st.sampled_from(NOISE)
    cut = st.builds(lambda text, at: text[: at % (len(text) + 1)], fragment, st.integers(0, 400))
    line = st.builds("".join, st.lists(cut | fragment, max_size=3))
    listed = data.draw(st.lists(line, max_size=25))
    checked(parser.parse(frame({"a": listed})), last_line=len(listed))


@lines_of
def test_files_in_one_call_are_as_each_alone(parser: LineParser) -> None:
    body = samples(parser)
    files = {"a": body, "b": body[::-1], "c": body[: len(body) // 2]}
    whole = parser.parse(frame(files))
    alone = [parser.parse(frame({name: listed})) for name, listed in files.items()]
    for name in whole:
        order = [key for key in ("file", "line", "record") if key in SCHEMAS[name]]
        parts = [tables[name] for tables in alone if name in tables and tables[name].height]
        if parts:
            assert_frame_equal(
                whole[name].sort(order, maintain_order=True), pl.concat(parts).sort(order, maintain_order=True)
            )
        else:
            assert whole[name].is_empty()


class _Slow(io.RawIOBase):
    """A stream that gives a few bytes at a time."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self._data, self._at = data, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._data[self._at : self._at + min(len(buffer), 7)]
        buffer[: len(part)] = part
        self._at += len(part)
        return len(part)


def _source(data: bytes, *, slow: bool = False) -> Source:
    return Source("a.txt", len(data), lambda: io.BufferedReader(_Slow(data), 16) if slow else io.BytesIO(data))  # type: ignore[arg-type, return-value]


@files_of
def test_every_cut_of_a_file_is_read(parser: FileParser) -> None:
    data = "\n".join(samples(parser)).encode()
    for part in (data[: len(data) * at // 24] for at in range(25)):
        assert parser.accepts("a.txt", part) in (True, False)
        checked(parser.parse(_source(part)))


@files_of
@QUICK
@given(data=st.data())
def test_any_file_gives_the_declared_columns(parser: FileParser, data: st.DataObject) -> None:
    fragment = st.sampled_from([*samples(parser), *NOISE]).map(str.encode) | st.binary(max_size=40)
    whole = b"\n".join(data.draw(st.lists(fragment, max_size=25)))
    assert parser.accepts("a.txt", whole) in (True, False)
    checked(parser.parse(_source(whole)))


@files_of
def test_the_chunks_of_a_stream_do_not_matter(parser: FileParser) -> None:
    data = "\r\n".join(samples(parser)).encode() + b"\n\xff\xfe"
    same(checked(parser.parse(_source(data))), parser.parse(_source(data, slow=True)))


PUMPED = 8_000  # characters
MS_PER_LINE = 120  # of processor time; a pattern that grows with the square of a line takes many times as much


def pumped(text: str) -> Iterator[str]:
    """The text with one of its runs made very long, and what follows kept or gone: where a pattern can blow up."""
    for run in re.finditer(r"\d+|[A-Za-z]+|\s+|[^\w\s]", text[:400]):
        longer = text[: run.end()] + run[0][-1] * PUMPED
        yield longer
        yield longer + text[run.end() :]


def _some_pumped(parser: LineParser | FileParser, most: int = 40) -> list[str]:
    lines = [line for sample in samples(parser)[:8] for line in pumped(sample)]
    return lines[:: max(1, len(lines) // most)]


@lines_of
def test_no_pattern_blows_up_on_a_long_line(parser: LineParser) -> None:
    lines = _some_pumped(parser)
    candidates = frame({"a": lines})
    began = time.process_time()
    checked(parser.parse(candidates))
    assert time.process_time() - began < MS_PER_LINE / 1000 * len(lines)


@files_of
def test_no_pattern_blows_up_on_a_long_line_of_a_file(parser: FileParser) -> None:
    lines = _some_pumped(parser)
    data = "\n".join([*samples(parser), *lines]).encode()
    began = time.process_time()
    parser.accepts("a.txt", data)
    checked(parser.parse(_source(data)))
    assert time.process_time() - began < MS_PER_LINE / 1000 * len(lines)


# What fuzzing found, cut down to what matters.
BROKE_FILES = {
    "nvidia_smi_dmon": ["# gpu   pwr   gpu", "# Idx     W   Idx", "    0    71     -"],
    "prometheus_range": ['{"data": {"result": [{"metric": {}, "values": true}]}}', '{"data": {"result": [{"metric": {}, "values": 7}]}}'],
}  # fmt: skip


@pytest.mark.parametrize("name", BROKE_FILES)
def test_what_broke_a_reader_of_files(name: str) -> None:
    (parser,) = (parser for parser in FILE_PARSERS if parser.name == name)
    checked(parser.parse(_source("\n".join(BROKE_FILES[name]).encode())))
    for line in BROKE_FILES[name]:
        checked(parser.parse(_source(line.encode())))


TOOK_TOO_LONG = {
    "mthreads_gmi": "-" * 4000 + "x",
    "failures": "ERROR nan " + "grad_" * 800,
    "horovod": "Stalled ops: " + "x" * 30_000,
    "fabric_manager": "[Jan 31 2026 10:11:12] [ERROR] [tid 7] " + "pci bus " * 4000,
}


@pytest.mark.parametrize("name", TOOK_TOO_LONG)
def test_what_took_a_reader_too_long(name: str) -> None:
    (parser,) = (parser for parser in parsers.PARSERS if parser.name == name)
    lines = [*samples(parser), *[TOOK_TOO_LONG[name]] * 20]
    began = time.process_time()
    if isinstance(parser, FileParser):
        checked(parser.parse(_source("\n".join(lines).encode())))
    else:
        checked(parser.parse(frame({"a": lines})))
    assert time.process_time() - began < 0.8
