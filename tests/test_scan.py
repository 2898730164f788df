"""The scan: the same candidates whatever the engine and the windows; what is lost is listed."""

import io
import random
import re
import time
from array import array
from collections.abc import Callable
from functools import partial

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.engine import beyond, gathered, windows
from parsers.engine import candidates as gathering
from parsers.engine import scan as scanning
from parsers.engine.anchors import ENGINES, MANY, finder
from parsers.engine.candidates import Candidates
from parsers.engine.gathered import Scanned
from parsers.engine.scan import scan
from parsers.engine.unknown import templates
from parsers.schema.parser import LineParser, Source
from parsers.schema.tables import Tables
from parsers.text import newlines
from parsers.text.encodings import in_utf8, is_text
from parsers.text.newlines import SHORT, Newlines
from parsers.who.lines.collected import Habits


def _parser(*anchors: bytes, after: int = 0) -> LineParser:
    return LineParser("p", anchors, lambda _: {}, after)


def _lines(data: bytes, *parsers: LineParser) -> list[list[tuple[int, bytes, bool]]]:
    return _listed(scan(io.BytesIO(data), parsers))


def _listed(scanned: Scanned) -> list[list[tuple[int, bytes, bool]]]:
    found = scanned.found
    return [
        [
            (found.lines[row], found.texts[row], bool(is_hit))
            for row, is_hit in zip(scanned.rows.get(number, ()), scanned.hits.get(number, ()), strict=True)
        ]
        for number in range(max(scanned.rows, default=0) + 1)
    ]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(b"", [], id="empty"),
        pytest.param(b"foreign\n", [], id="foreign"),
        pytest.param(b"key", [(1, b"key", True)], id="no line end"),
        pytest.param(b"a\nkey b\r\nkey\r\n", [(2, b"key b", True), (3, b"key", True)], id="CRLF"),
        pytest.param(b"1%\r2% key\r3%\nkey\n", [(1, b"2% key", True), (2, b"key", True)], id="progress bar"),
        pytest.param(b"key key\n", [(1, b"key key", True)], id="twice in a line"),
        pytest.param(b"\xff key \xfe\n", [(1, b"\xff key \xfe", True)], id="not UTF-8"),
        pytest.param(b"\x00" * 9000 + b"a\nkey\n", [(2, b"key", True)], id="hole before the text"),
    ],
)
def test_candidates(data: bytes, expected: list[tuple[int, bytes, bool]]) -> None:
    assert is_text(data[:65536])
    assert _lines(data, _parser(b"key")) == [expected]


WIDE = ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]


@pytest.mark.parametrize("encoding", WIDE)
@pytest.mark.parametrize("mark", ["\ufeff", ""])
@pytest.mark.parametrize("text", ["a\r\nkey 数 é\r\n", "数数数: 训练已经开始\nkey\n" * 40_000], ids=["short", "long"])
def test_wide_text_is_read_as_utf_8(text: str, mark: str, encoding: str) -> None:
    data = (mark + text).encode(encoding)
    opener, head = in_utf8(lambda: io.BytesIO(data), data[:8192])
    with opener() as stream:
        assert stream.read() == text.encode()
    assert is_text(head) and text.encode().startswith(head)


def test_a_wide_text_that_is_cut_in_a_letter_says_so() -> None:
    data = "line of text\nkey".encode("utf-16-be")[:-1]
    with in_utf8(lambda: io.BytesIO(data), data)[0]() as stream:
        assert stream.read() == "line of text\nke\ufffd".encode()


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(array("h", range(4000)).tobytes(), id="small numbers"),
        pytest.param(array("h", [1, 7, 2, 9] * 999).tobytes(), id="labels"),
        pytest.param(array("i", range(300)).tobytes(), id="numbers of four bytes"),
        pytest.param(bytes(8192), id="a hole"),
        pytest.param(bytes(8192) + b"text\n", id="a hole before text"),
        pytest.param(b"plain text\n" * 9, id="UTF-8"),
        pytest.param(b"plain text\n" + bytes(4096), id="a hole behind text"),
    ],
)
def test_nothing_else_is_wide_text(data: bytes) -> None:
    assert in_utf8(lambda: io.BytesIO(data), data)[1] is data


@pytest.mark.parametrize("piece", [b"key other ", b"key \r", b"key\n"], ids=["one line", "carriage returns", "lines"])
def test_a_window_of_hits_costs_what_its_bytes_cost(piece: bytes) -> None:
    began = time.process_time()
    found = scan(io.BytesIO(piece * (4_000_000 // len(piece))), (_parser(b"key", b"other", after=3),))
    assert time.process_time() - began < 30
    assert len(found.found)


@pytest.mark.parametrize("data", [b"", b"one", b"one\n", b"one\n\ntwo", b"x\n" * 40_000])
def test_without_parsers_lines_are_counted_alone(data: bytes) -> None:
    counted, scanned = scan(io.BytesIO(data), None), scan(io.BytesIO(data), ())
    assert (counted.lines, counted.first, counted.last) == (scanned.lines, scanned.first, scanned.last)
    assert not counted.sample and bool(scanned.sample) == bool(data)


def test_lines_after_a_hit_come_along() -> None:
    data = b"0\nkey\n2\n3\nkey\n5\n6\n7\n"
    expected = [(2, b"key", True), (3, b"2", False), (4, b"3", False), (5, b"key", True), (6, b"5", False)]
    assert _lines(data, _parser(b"key", after=2))[0] == [*expected, (7, b"6", False)]


def test_only_the_hits_that_lead_have_lines_after_them() -> None:
    data = b"key\n1\nkey!\n3\nkey\n5\n6\n"
    parser = LineParser("test", (b"key",), lambda lines: {}, after=3, leads=re.compile(rb"!"))
    wanted = [(1, b"key", True), (3, b"key!", True), (4, b"3", False), (5, b"key", True), (6, b"5", False)]
    assert _lines(data, parser)[0] == wanted


def test_each_parser_gets_its_own_lines_and_shared_anchors_go_to_both() -> None:
    first, second = _lines(b"one two\ntwo\none\n", _parser(b"one", b"two"), _parser(b"two"))
    assert [line for line, _, _ in first] == [1, 2, 3]
    assert [line for line, _, _ in second] == [1, 2]


@given(st.lists(st.sampled_from([b"ab", b"abc", b"bc", b"\n", b"\r\n", b"\r", b"x" * 9, b"\xff"]), max_size=60))
def test_engines_agree(parts: list[bytes]) -> None:
    block = b"".join(parts)
    anchors = (b"ab", b"abc", b"bca", b"cab")
    assert len({str(finder(anchors, engine)(block, len(block))) for engine in (None, *ENGINES)}) == 1


def test_engines_agree_on_many_anchors() -> None:
    anchors = tuple(f"<{number}>".encode() for number in range(MANY + 1))
    block = b"<7> <400>\n<1> and <7>\n"
    assert [finder(anchors, engine)(block, 18) for engine in ENGINES] == [([3, 9, 13], [7, 400, 1])] * 3


@given(
    st.lists(st.sampled_from([b"key", b"\n", b"\n", b"\r\n", b"text ", b"other"]), max_size=80),
    st.integers(min_value=300, max_value=400),
)
def test_windows_change_nothing(parts: list[bytes], window: int) -> None:
    data = b"".join(b"%d%s" % (at, part) for at, part in enumerate(parts)) * 9
    parsers = (_parser(b"key"), _parser(b"other", after=3))
    whole = scan(io.BytesIO(data), parsers)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows, "WINDOW", window)
        pieces = scan(io.BytesIO(data), parsers)
    if all(len(line) < window for line in data.split(b"\n")):
        assert _listed(pieces) == _listed(whole)
    assert pieces.lines == whole.lines == data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


@pytest.mark.parametrize("many", [0, beyond.MANY])  # hits in a window from which on it goes by columns
def test_of_lines_with_an_anchor_those_that_hold_more_are_hits(many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beyond, "MANY", many)
    data = b"a writer\niter 3\nnext\nthe writer again\nnext\n"
    of_steps = LineParser("p", (b"iter ",), lambda _: {}, after=1, holds=re.compile(rb"(?<![a-z])iter"))
    whoever = _parser(b"writer", b"nobody")
    assert _lines(data, of_steps, whoever) == [
        [(2, b"iter 3", True), (3, b"next", False)],
        [(1, b"a writer", True), (4, b"the writer again", True)],
    ]


def test_a_line_that_is_too_long_is_cut_and_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "LINE_BYTES", 100)
    data = b"a\n" + b"key" + b"x" * 300 + b"key\nkey\n"
    scanned = scan(io.BytesIO(data), (_parser(b"key"),))
    assert _listed(scanned) == [[(2, b"key" + b"x" * 97, True), (3, b"key", True)]]
    assert scanned.unread == [{"line": 2, "reason": "a line longer than 100 bytes was cut"}]


def test_a_line_longer_than_a_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "WINDOW", 1000)
    monkeypatch.setattr(scanning, "LINE_BYTES", 100)
    scanned = scan(io.BytesIO(b"x" * 5000 + b"key" + b"y" * 3000 + b"\nkey\n"), (_parser(b"key"),))
    assert _listed(scanned) == [[(2, b"key", True)]]
    assert [row["line"] for row in scanned.unread] == [1]
    assert scanned.lines == 2


def test_too_many_hits_keep_the_first_and_the_last_and_rare_anchors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathered, "KEPT_HITS", 10)
    data = b"dense\n" * 50 + b"rare\n" + b"dense\n" * 50
    scanned = scan(io.BytesIO(data), (_parser(b"dense", b"rare"),))
    assert [line for line, _, _ in _listed(scanned)[0]] == [1, 2, 3, 4, 5, 51, 97, 98, 99, 100, 101]
    assert scanned.unread == [{"reason": "90 candidate lines of p beyond the limit were not read"}]


def test_of_many_anchors_no_more_lines_are_kept_than_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathered, "KEPT_HITS", 10)
    anchors = [b"%c%c" % (65 + at, 97 + at) for at in range(20)]
    data = b"".join(anchor + b"\n" for anchor in anchors * 50)
    for window in (300, 500, 10**6):
        monkeypatch.setattr(windows, "WINDOW", window)
        scanned = scan(io.BytesIO(data), (_parser(*anchors), _parser(anchors[7])))
        assert [line for line, _, _ in _listed(scanned)[0]] == [*range(1, 11), *range(996, 1001)]
        assert [line for line, _, _ in _listed(scanned)[1]] == [*range(8, 90, 20), *range(908, 990, 20)]
        assert [row["reason"].split(" ")[0] for row in scanned.unread] == ["985", "40"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("window", [300, 600, 10**6])
def test_lines_of_spent_anchors_are_the_last_wherever_windows_end(monkeypatch: pytest.MonkeyPatch, window: int) -> None:
    monkeypatch.setattr(gathered, "KEPT_HITS", 10)
    monkeypatch.setattr(windows, "WINDOW", window)
    data = b"dense\n" * 60 + b"other dense\n" * 20 + b"dense\n" * 20
    scanned = scan(io.BytesIO(data), (_parser(b"dense"), _parser(b"other"), _parser(b"dense", b"other")))
    dense, other, both = [[line for line, _, _ in one] for one in _listed(scanned)]
    assert dense == [*range(1, 6), *range(96, 101)]
    assert other == [*range(61, 66), *range(76, 81)]
    assert both == [*range(1, 6), *range(61, 66), *range(96, 101)]


_AROUND = (
    LineParser("plain", (b"dense", b"rare"), lambda _: {}),
    LineParser("after", (b"dense", b"other"), lambda _: {}, after=3),
    LineParser("both", (b"other",), lambda _: {}, after=2, before=True, follows=re.compile(rb"\A\s*\Z|x")),
    LineParser(
        "leads", (b"dense",), lambda _: {}, after=4, leads=re.compile(rb"d|\Axdense"), follows=re.compile(rb"x")
    ),
)
_MIXED = [
    b"dense",
    b"dense",
    b"dense",
    b"xdense other",
    b"other",
    b"",
    b"x",
    b"foreign",
    b"\xff\xfe other",
    b"dense\r",
    b"d" * 40,
]


def _random_log(seed: int, of: list[bytes]) -> bytes:
    own = random.Random(seed)
    kinds = own.sample(of, own.randint(1, len(of)))
    lines = [b"rare" if own.random() < 0.003 else own.choice(kinds) for _ in range(own.choice([100, 300]))]
    return b"\n".join(lines) + own.choice([b"", b"\n", b"\n\n"])


_BARS = [
    b"10%\r20% dense\r",
    b"dense\rother\r\r",
    b"other dense\rxdense\rdense",
    b"\r",
    b"\rx",
    b"x" * 70 + b"\rother\rdense",
]


def _told(scanned: Scanned, data: bytes) -> object:
    offsets = {row: data.count(b"\n", 0, offset) + 1 for row, offset in enumerate(scanned.found.offsets)}
    assert all(scanned.found.lines[row] == line for row, line in offsets.items())
    places = [[scanned.found.offsets[row] for row in rows] for rows in scanned.rows.values()]
    return _listed(scanned), places, scanned.unread, scanned.lines, scanned.sample, scanned.last


@pytest.mark.parametrize("text", [1 << 20, 300])
@pytest.mark.parametrize("window", [500, 2000, 10**6])
@pytest.mark.parametrize("kinds", [_MIXED, _MIXED + _BARS, _BARS], ids=["lines", "both", "pieces"])
def test_windows_as_columns_or_hit_by_hit(
    monkeypatch: pytest.MonkeyPatch, kinds: list[bytes], window: int, text: int
) -> None:
    monkeypatch.setattr(gathered, "KEPT_HITS", 10)
    monkeypatch.setattr(gathered, "KEPT_TEXT", text)
    monkeypatch.setattr(windows, "WINDOW", window)
    monkeypatch.setattr(scanning, "PROBE", 100)
    for seed in range(3):
        data, told = _random_log(seed, kinds), []
        for many, each in ((10**9, 1), (0, 1), (5, 10**9)):
            monkeypatch.setattr(beyond, "MANY", many)
            monkeypatch.setattr(beyond, "EACH", each)
            told.append(_told(scan(io.BytesIO(data), _AROUND), data))
        assert told[0] == told[1] == told[2], seed


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from([b"dense", b"other", b"rare", b"x", b"\n", b"\n", b"\r\n", b"\r", b"\xff"]), max_size=80),
    st.integers(min_value=20, max_value=60),
    st.sampled_from([4, 20, 10**6]),
)
def test_pieces_as_columns_or_one_by_one(parts: list[bytes], long: int, kept: int) -> None:
    data, told = b"".join(parts), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scanning, "LINE_BYTES", long)
        patch.setattr(gathered, "KEPT_HITS", kept)
        for many, each in ((10**9, 1), (0, 1), (0, 10**9)):
            patch.setattr(beyond, "MANY", many)
            patch.setattr(beyond, "EACH", each)
            told.append(_told(scan(io.BytesIO(data), _AROUND), data))
    assert told[0] == told[1] == told[2]


def test_the_line_before_a_hit_comes_once_and_no_longer_than_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "LINE_BYTES", 50)
    parser = LineParser("p", (b"key",), lambda _: {}, leads=re.compile(b"!"), before=True, after=1)
    found = _lines(b"first\n" + b"x" * 70 + b"\nkey\rkey\n", parser)[0]
    assert found == [(2, b"x" * 50, False), (3, b"key", True), (3, b"key", True)]


@pytest.mark.parametrize("piece", [b"key 1\r", b"a%d key\n", b"key\r\n"])
def test_where_hits_are_many_a_window_costs_what_few_cost(piece: bytes) -> None:
    """A piece of a line is no object before somebody keeps it."""
    data = b"".join(piece.replace(b"%d", b"%d" % (at % 50)) for at in range(40_000)) * 40
    began = time.process_time()
    scan(io.BytesIO(b"".join(b"line %d of text\n" % at for at in range(4_000)) * 180), (_parser(b"key"),))
    few = time.process_time() - began
    began = time.process_time()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gathered, "KEPT_HITS", 1000)
        assert len(scan(io.BytesIO(data), (_parser(b"key"),)).found) == 1000
    assert time.process_time() - began < 1 + 60 * few


@pytest.mark.parametrize(
    "data", [bytes(range(256)) * 64, b"\x80\x04\x95" + b"\x00\x01\x02" * 3000, b"\x7fELF" + bytes(99)]
)
def test_binary_is_no_text(data: bytes) -> None:
    assert not is_text(data)


def test_few_control_characters_in_a_line_are_text() -> None:
    assert is_text(b"[rank5]: RuntimeError: \x0e \x05 lost\n")
    assert not is_text(b"[rank5]: RuntimeError: \x0e \x00 lost\n")
    assert not is_text(bytes(range(1, 32)))


def test_coloured_text_is_text() -> None:
    assert is_text(b"\x1b[31mred\x1b[0m \xe2\x96\x88\n" * 50)


@pytest.mark.parametrize("lines", [100, 5000])
def test_templates_count_what_nobody_recognised(lines: int) -> None:
    data = b"".join(b"loss %d of %d\n" % (at, at * 7) for at in range(lines)) + b"other\n"
    scanned = scan(io.BytesIO(data), ())
    [first, *_] = templates(scanned.sample, set())
    assert first.endswith("× loss # of #")
    assert templates(scanned.sample, set(scanned.sample)) == []


def test_sampled_lines_have_the_right_numbers() -> None:
    rng = random.Random(3)
    data = b"".join(b"%d %s\n" % (at, b"x" * rng.randrange(90)) for at in range(1, 4000))
    scanned = scan(io.BytesIO(data), ())
    assert len(scanned.sample) > 100
    assert all(text.startswith(f"{line} ") for line, text in scanned.sample.items())


def test_what_a_window_begins_within_is_no_line_after_a_hit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that is longer than windows: of its middle nobody can say what it is."""
    monkeypatch.setattr(windows, "WINDOW", 300)
    data = b"key\n" + b"x" * 2000 + b"\nlast\nother\n"
    (rows,) = _lines(data, _parser(b"key", after=2))
    assert [(line, text.strip(b"x")) for line, text, _ in rows] == [(1, b"key"), (2, b""), (3, b"last")]


def test_of_the_lines_after_a_hit_only_those_that_belong() -> None:
    parser = LineParser("p", (b"key",), lambda _: {}, after=3, follows=re.compile(rb"^ |x$"))
    assert [line for line, _, _ in _lines(b"key\n a\nother\nx\n b\n", parser)[0]] == [1, 2, 4]


CRI = "2026-01-31T10:11:12.5Z stdout "


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(CRI + "F key\n", [(1, CRI + "F key")], id="whole"),
        pytest.param(CRI + "P key a\n" + CRI + "F  b\n", [(1, CRI + "P key a b")], id="two pieces"),
        pytest.param(
            CRI + "P a \n" + CRI + "P b \n" + CRI + "F key\nkey\n",
            [(1, CRI + "P a b key"), (4, "key")],
            id="hit in the last",
        ),
        pytest.param(CRI + "P key\n" + CRI + "F key\n", [(1, CRI + "P keykey")], id="hits in both"),
        pytest.param(CRI + "P key\n" + CRI.replace("out", "err") + "F b\n", [(1, CRI + "P key")], id="another stream"),
        pytest.param(CRI + "P key\n" + CRI + "P b", [(1, CRI + "P keyb")], id="cut"),
        pytest.param(CRI + "F a\r\n" + CRI + "P key\r\n" + CRI + "F b\r\n", [(2, CRI + "P keyb")], id="CRLF"),
    ],
)
def test_pieces_of_a_kubernetes_line_are_one_line(data: str, expected: list[tuple[int, str]]) -> None:
    found = _lines(data.encode(), _parser(b"key"))[0]
    assert [(line, text.decode()) for line, text, _ in found] == expected


FOLLOWING = LineParser("q", (b"key",), lambda _: {}, after=2, follows=re.compile(rb"a|\d+b"))


@given(st.lists(st.sampled_from([b"key", b"a", b"7", b"b", b"other", b"\n", b"\n", b"\r\n", b"\r"]), max_size=60))
def test_lines_looked_at_together_or_one_by_one(parts: list[bytes]) -> None:
    parsers = (_parser(b"key"), _parser(b"other", after=3), FOLLOWING)
    together = scan(io.BytesIO(b"".join(parts)), parsers)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scanning, "has_only_lines", lambda *_: False)
        patch.setattr(scanning, "_BORDER", re.compile(b""))
        one_by_one = scan(io.BytesIO(b"".join(parts)), parsers)
    assert (_listed(together), together.unread) == (_listed(one_by_one), one_by_one.unread)


def _kept(seen: list[pl.DataFrame], lines: pl.DataFrame) -> Tables:
    seen.append(lines)
    return {}


@given(
    st.lists(
        st.lists(st.sampled_from(["1: [rank1]: key", "0: key", "[rank0]: key", "0: [rank0]: key", "no"]), max_size=9),
        max_size=3,
    )
)
def test_candidates_become_rows_however_many_at_a_time(files: list[list[str]]) -> None:
    seen: list[list[pl.DataFrame]] = []
    for at_once in (2, 1000):
        seen.append([])
        parser = LineParser("p", (b"key",), partial(_kept, seen[-1]))
        candidates = Candidates([parser])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(gathering, "AT_ONCE", at_once)
            for number, texts in enumerate(files):
                data = "\n".join(texts).encode()
                source = Source(f"{number}.log", len(data), partial(io.BytesIO, data))
                candidates.add(source, scan(source.open(), [parser]), Habits())
            assert list(candidates.parse()) == [("p", {})] * len(seen[-1])
    assert [frame.to_dicts() for frame in seen[0]] == [frame.to_dicts() for frame in seen[1]]


@pytest.mark.parametrize("kind", [bytes, bytearray])
def test_line_ends_are_counted_between_any_two_places(kind: Callable[[bytes], bytes | bytearray]) -> None:
    block = kind(b"".join(b"x" * (at % 70) + b"\n" for at in range(3_000)))
    ends = Newlines(block, len(block) - 5)
    for begin, end in ((0, 0), (0, 90_000), (1, len(block) - 5), (50, SHORT - 1), (4_711, 4_711 + SHORT)):
        assert ends.count(begin, end) == block.count(b"\n", begin, end)


@pytest.mark.parametrize("few", [0, 10**9], ids=["at once", "one by one"])
def test_the_lines_that_hold_places(monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    monkeypatch.setattr(newlines, "FEW", few)
    found = Newlines(bytearray(b"\nab\ncd\n\nx"), 9).lines([2, 3, 5, 9])
    assert found == ([1, 2, 4], [1, 4, 8], [3, 6, 9], [0, 2, 3])


def test_lines_that_nobody_gets_any_more_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathered, "KEPT_HITS", 10)
    monkeypatch.setattr(windows, "WINDOW", 300)
    parsers = (_parser(b"dense", b"rare"), _parser(b"rare", after=1))
    scanned = scan(io.BytesIO(b"dense\n" * 90 + b"rare\nx\n" + b"dense\n" * 90), parsers)
    first, second = _listed(scanned)
    assert [line for line, _, _ in first] == [1, 2, 3, 4, 5, 91, 178, 179, 180, 181, 182]
    assert second == [(91, b"rare", True), (92, b"x", False)]
    assert len(scanned.found) == 12
