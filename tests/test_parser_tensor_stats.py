"""Tensor statistics: each spelling of a value, each form of file, and what a bad line costs."""

import io
import json
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.numerics import tensor_stats
from parsers.numerics.tensor_stats import PARSER
from parsers.schema.parser import Source
from parsers.schema.tables import SCHEMAS, Tables

ROW = '{"rank": 3, "step": 7, "module": "fc", "op": "Linear", "tensor": "output", "max": 1.5, "nan_count": 0}'


def read(data: bytes | str, path: str = "tensor_stats/rank_3.jsonl", rank: int | None = None) -> Tables:
    raw = data.encode() if isinstance(data, str) else data
    return PARSER.parse(Source(path, len(raw), lambda: io.BytesIO(raw), rank=rank))


def reasons(tables: Tables) -> list[str]:
    return list(tables["unread"]["reason"])


@pytest.mark.parametrize(
    ("data", "lines", "unread"),
    [
        ("", [], ["empty file"]),
        (ROW, [1], []),
        (f"{ROW}\n{ROW}\n", [1, 2], []),
        (f"{ROW}\r\n{ROW}\r\n", [1, 2], []),
        (f"{ROW}\n\n{ROW}", [1, 3], []),
        (f"{ROW}\n{ROW[:40]}", [1], ["cut or invalid JSON"]),
        (f"{ROW[:40]}\n{ROW}", [2], ["cut or invalid JSON"]),
        (f"{ROW}{ROW}\n", [1, 1], []),
        (f"{ROW}\nepoch 3 begins\n{ROW}\n", [1, 3], ["cut or invalid JSON"]),
        (f"{ROW}\n[1, 2]\n", [1], ["not a JSON object"]),
        (f'{ROW}\n{{"rank": 3, "step": "seven", "tensor": "x"}}\n', [1], ["step is not as it should be: 'seven'"]),
        (f'{ROW}\n{{"rank": 3, "tensor": "x"}}\n', [1], ["1 rows without rank or step"]),
        (ROW.replace('"max"', '"colour": 4, "max"'), [1], ["columns not read: colour"]),
        (ROW.replace("fc", "f\x00c"), [1], []),
    ],
    ids=["empty", "one", "two", "crlf", "blank line", "cut", "cut before", "glued", "foreign", "list", "step", "no step",
         "extra column", "control character"],
)  # fmt: skip
def test_json_lines(data: str, lines: list[int], unread: list[str]) -> None:
    tables = read(data)
    assert tables["tensors"]["line"].to_list() == lines
    assert tables["tensors"]["record"].to_list() == list(range(len(lines)))
    assert reasons(tables) == unread


def test_invalid_utf8_is_kept_with_replaced_bytes() -> None:
    tables = read(ROW.encode().replace(b"fc", b"f\xffc"))
    assert tables["tensors"]["module"].to_list() == ["f�c"]


@pytest.mark.parametrize("text", ["NaN", '"NaN"', '"nan\\t"', '"nan"'])
def test_nan_spellings(text: str) -> None:
    assert read(ROW.replace("1.5", text))["tensors"]["max"].is_nan().to_list() == [True]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Infinity", "inf"),
        ("-Infinity", "-inf"),
        ('"Inf"', "inf"),
        ('"-inf"', "-inf"),
        ("1e400", "inf"),
        ('"2.5"', "2.5"),
    ],
)
def test_infinite_spellings(text: str, value: str) -> None:
    assert read(ROW.replace("1.5", text))["tensors"]["max"].to_list() == [float(value)]


def test_a_value_that_is_no_number_costs_only_itself() -> None:
    tables = read(ROW.replace("1.5", '"big"'))
    assert tables["tensors"]["max"].to_list() == [None]
    assert reasons(tables) == ["max is not a number: 'big'"]


def test_rank_of_the_path_fills_in() -> None:
    assert read(ROW.replace('"rank": 3, ', ""), rank=9)["tensors"]["rank"].to_list() == [9]


@pytest.mark.parametrize(
    ("text", "members"),
    [
        ("[0, 1, 5]", "0-1,5"),
        ('"3,0 - 2,8"', "3,0-2,8"),
        ('"0;1;2;3"', "0-3"),
        ('"0 1 | 5"', "0-1,5"),
        ('"{3, 0}"', "3,0"),
        ('"(3,)"', "3"),
        ("null", None),
        ('"0-99999999999"', None),
        ('"all"', None),
        ("[]", None),
    ],
)
@pytest.mark.parametrize("form", ["json", "csv"])
def test_group_ranks(text: str, members: str | None, form: str) -> None:
    cell = text.strip('"').replace("null", "")
    data = f'step,tensor,max,group_ranks\n1,output,1.5,"{cell}"\n'
    tables = (
        read(ROW.replace('"max"', f'"group_ranks": {text}, "max"')) if form == "json" else read(data, "a.csv", rank=3)
    )
    assert tables["tensors"]["group_ranks"].to_list() == [members]
    assert tables["unread"].height == (members is None and text != "null")


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("[4, 16]", "[4, 16]"),
        ("[4,16]", "[4, 16]"),
        ('"4x16"', "[4, 16]"),
        ('"4 X 16"', "[4, 16]"),
        ('"(4, 16)"', "[4, 16]"),
        ('"torch.Size([4, 16])"', "[4, 16]"),
        ('"4"', "[4]"),
        ('"[]"', "[]"),
        ("[[1, 2], [3]]", "[[1, 2], [3]]"),
        ('"wide"', None),
        ('"4x"', None),
        ("null", None),
    ],
)
@pytest.mark.parametrize("form", ["json", "csv", "parquet"])
def test_shapes(text: str, shape: str | None, form: str) -> None:
    """However it is written it is one text, and equal shapes are equal; what is none is said and costs itself alone."""
    cell = text.strip('"').replace("null", "")
    if form == "json":
        tables = read(ROW.replace('"max"', f'"shape": {text}, "max"'))
    elif form == "csv":
        tables = read(f'step,tensor,max,shape\n1,output,1.5,"{cell}"\n', "a.csv", rank=3)
    else:
        tables = read(parquet(max=[1.0, 2.0], shape=[cell, cell]), "s.parquet")
    assert set(tables["tensors"]["shape"].to_list()) == {shape}
    assert bool(tables["unread"].height) == (shape is None and text != "null")


def test_a_count_that_is_no_integer_costs_only_itself() -> None:
    tables = read(ROW.replace('"nan_count": 0', '"nan_count": "many", "numel": NaN'))
    assert tables["tensors"].select("max", "nan_count", "numel").rows() == [(1.5, None, None)]
    assert reasons(tables) == ["numel is not as it should be: 'nan'", "nan_count is not as it should be: 'many'"]


CSV = "step,module,tensor,max,nan_count,group_ranks\n"


@pytest.mark.parametrize(
    ("data", "values", "unread"),
    [
        (f"{CSV}1,fc,output,2.5,0,\n", [2.5], 0),
        (f"{CSV}1,fc,output,,0,\r\n2,fc,output,-Infinity,,0-1\r\n", [None, float("-inf")], 0),
        (f'{CSV}1,"a,b",output,1,0,"0,1"\n2,fc,out', [1.0], 1),
        (f"{CSV}1,fc,output,abc,0,\n", [None], 1),
        (CSV, [], 0),
    ],
    ids=["one", "crlf and empty cells", "cut", "no number", "header only"],
)
def test_csv(data: str, values: list[float | None], unread: int) -> None:
    tables = read(data, "stats.csv", rank=2)
    assert tables["tensors"]["max"].to_list() == values
    assert tables["unread"].height == unread
    assert set(tables["tensors"]["rank"].to_list()) <= {2}


def parquet(**columns: list[Any]) -> bytes:
    stream = io.BytesIO()
    pl.DataFrame({"rank": [1, 1], "step": [0, 1], "tensor": ["input", "output"], **columns}).write_parquet(stream)
    return stream.getvalue()


def test_parquet() -> None:
    tables = read(parquet(max=["NaN", "2"], shape=[[1, 2], [3]], other=[1, 2]), "s.parquet")
    assert tables["tensors"].select("rank", "step", "record", "line").rows() == [(1, 0, 0, None), (1, 1, 1, None)]
    assert tables["tensors"]["max"].is_nan().to_list() == [True, False]
    assert reasons(tables) == ["columns not read: other"]


@pytest.mark.parametrize("keep", [5, 60, -9])
def test_cut_parquet_is_unread(keep: int) -> None:
    tables = read(parquet(max=[1.0, 2.0])[:keep], "s.parquet")
    assert tables["tensors"].is_empty()
    assert "not readable as Parquet" in reasons(tables)[0]


@pytest.mark.parametrize(
    ("path", "head", "mine"),
    [
        ("a.jsonl", ROW.encode(), True),
        ("a.jsonl", b'{"cut\n' + ROW.encode(), True),
        ("a.csv", CSV.encode(), True),
        ("a.parquet", b"PAR1....", True),
        ("tensor_stats/rank_0.jsonl", b"", True),
        ("log.jsonl", b'{"step": 3, "loss": 2.1}', False),
        ("train.log", b"step 3 loss 2.1", False),
        ("train.log", b"", False),
        ("a.csv", b"step,loss\n1,2\n", False),
        ("a.bin", bytes(range(256)), False),
    ],
)
def test_accepts_by_content(path: str, head: bytes, mine: bool) -> None:
    assert PARSER.accepts(path, head) is mine


@settings(max_examples=60, deadline=None)
@given(data=st.lists(st.sampled_from([ROW, "\n", "{", "}", "NaN", ",", "\x00", CSV, '"', "[1]", "é"]), max_size=12))
def test_any_content_makes_declared_tables(data: list[str]) -> None:
    tables = read("".join(data), rank=0)
    assert dict(tables["tensors"].schema) == dict(SCHEMAS["tensors"])
    assert dict(tables["unread"].schema) == dict(SCHEMAS["unread"])


@settings(max_examples=30, deadline=None)
@given(cut=st.integers(0, 3 * len(ROW)))
def test_a_cut_anywhere_costs_one_line(cut: int) -> None:
    whole = "\n".join([ROW] * 3)
    tables = read(whole[:cut], rank=3)
    assert tables["tensors"].height >= whole[:cut].count("\n")
    for row in tables["tensors"].iter_rows(named=True):
        assert row["max"] == json.loads(ROW)["max"]


@pytest.mark.parametrize(
    "line",
    [
        ROW,
        ROW.replace("1.5", "NaN"),
        ROW.replace(" 1.5", "-Infinity"),
        ROW.replace("1.5", '"inf"'),
        ROW.replace('"fc"', "NaN"),
        ROW.replace('"fc"', '": NaN"'),
        ROW.replace('"fc"', '"\\": NaN, "').replace("1.5", "NaN"),
        ROW.replace('"nan_count": 0', '"nan_count": NaN'),
        ROW.replace('"nan_count": 0', '"shape": [2, [3, 4]], "group_ranks": [0, 3]'),
        ROW + ROW,
        ROW.replace(", ", ",\n", 1),
        ROW.replace(", ", ",\n", 1) + "\n" + ROW + ROW,
    ],
)
def test_a_line_says_the_same_whatever_follows_it(line: str) -> None:
    """Lines that are all plain are decoded at once, and one by one where one of them is not: the last one, here."""
    alone, beside = read(f"{line}\n{ROW}"), read(f"{line}\n{ROW}\nno row")
    assert alone["tensors"].equals(beside["tensors"])
    assert alone["unread"].equals(beside["unread"].head(-1))


MORE = ROW.replace('"max"', '"group": "dp", "max"')
OTHER = ROW.replace('"max"', '"colour": 4, "max"')


@pytest.mark.parametrize(
    ("lines", "groups", "unread"),
    [
        ([ROW, ROW, MORE, ROW, MORE], [None, None, "dp", None, "dp"], []),
        ([MORE, ROW, ROW], ["dp", None, None], []),
        ([ROW, ROW, OTHER, MORE], [None, None, None, "dp"], ["columns not read: colour"]),
        ([ROW, ROW.replace("1.5", "NaN"), MORE.replace("1.5", '"big"')], [None, None, "dp"], ["max is not a number: 'big'"]),
        ([ROW, ROW.replace("7", "[7]"), MORE], [None, "dp"], ["step is not as it should be: '[7]'"]),
    ],
    ids=["late", "early", "extra", "no number", "no step"],
)  # fmt: skip
def test_keys_that_come_in_a_later_block(
    monkeypatch: pytest.MonkeyPatch, lines: list[str], groups: list[str | None], unread: list[str]
) -> None:
    """A block is decoded with the keys of those before it, where it has no others."""
    monkeypatch.setattr(tensor_stats, "BLOCK_BYTES", len(ROW))
    tables = read("\n".join(lines))
    assert tables["tensors"]["group"].to_list() == groups
    assert tables["tensors"]["record"].to_list() == list(range(len(groups)))
    assert reasons(tables) == unread
