"""Single values of tensor statistics: one decoded row, membership lists, and columns of text made into numbers.

Not a parser: the format itself, with its source, is in tensor_stats.py.
"""

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Annotated, Any

import msgspec
import polars as pl

from parsers.schema.tables import SCHEMAS, conform
from parsers.text.patterns import regex
from parsers.text.rank_list import normal, rank_text

FIELDS = tuple(name for name in SCHEMAS["tensors"] if name not in ("file", "line", "record"))
_BIGGEST = 2**63 - 1
_DIGITS = regex(r"[0-9]{1,18}")
_SIZE = regex(r"(?:[0-9]{1,18}(?:[,x×*;|][0-9]{1,18}){0,63},?)?")
_SIZES = regex(r"[\[\], 0-9]{0,4096}")
_Integer = Annotated[int, msgspec.Meta(ge=-_BIGGEST, le=_BIGGEST)]
Row = Any  # a ROW: msgspec builds the class from the schema, so that no column is spelled twice


def _field(name: str) -> tuple[str, Any, Any]:
    kind = SCHEMAS["tensors"][name]
    if name in ("shape", "group_ranks"):
        return name, msgspec.Raw, msgspec.Raw(b"")
    if kind == pl.Int64():
        return name, _Integer | None, None
    return (name, float | str | None, None) if kind == pl.Float64() else (name, str | None, None)


ROW = msgspec.defstruct("ROW", [_field(name) for name in FIELDS], gc=False)


@lru_cache(64)
def row_decoder(names: frozenset[str]) -> msgspec.json.Decoder[Row]:
    """Of objects that hold these fields and no others."""
    fields = [_field(name) for name in FIELDS if name in names]
    return msgspec.json.Decoder(msgspec.defstruct("ROW", fields, gc=False, forbid_unknown_fields=True))


def to_row(value: Any) -> tuple[Row | None, list[str]]:
    """A decoded JSON value → (row, which of its cells cannot be read), or (None, why it is not one): without a readable rank
    and step there is no row. Numbers may be text, integers may be floats."""
    if not isinstance(value, dict):
        return None, ["not a JSON object"]
    row = ROW()
    lost = []
    for name, reader in _READERS.items():
        read = value.get(name)
        if read is None:
            continue
        try:
            setattr(row, name, reader(read))
        except (ValueError, TypeError, OverflowError):
            lost.append(f"{name} is not as it should be: {str(read)[:40]!r}")
            if name in ("rank", "step"):
                return None, lost
    return row, lost


@lru_cache(4096)
def shape_text(text: str) -> str | None:
    """`[4, 16]`, `4x16`, `(4, 16)`, `torch.Size([4, 16])`, nested lists as well → `[4, 16]`; None where it is no shape."""
    told = text.strip("\"' \t\r\n")
    try:
        read = json.loads(told)
    except (ValueError, RecursionError):
        read = None
    if isinstance(read, list):
        return json.dumps(read) if _SIZES.fullmatch(told) else None
    sizes = _SIZE.fullmatch(told.removeprefix("torch.Size").replace(" ", "").lower().strip("()[]"))
    return None if sizes is None else json.dumps([int(size) for size in _DIGITS.findall(told)])


def _integer(read: Any) -> int:
    if isinstance(read, str) and not read.isascii():  # int() knows the digits of every script
        raise ValueError(read)
    number = int(read) if isinstance(read, int | str) else _whole(read)
    if abs(number) > _BIGGEST:
        raise ValueError(number)
    return number


def _text(read: Any) -> str:
    if isinstance(read, dict | list):
        raise TypeError(read)
    return str(read).encode("utf-8", "replace").decode()  # halves of surrogate pairs have no place in UTF-8


def _raw(read: Any) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(read).encode())


def _whole(number: float) -> int:
    if number != int(number):
        raise ValueError(number)
    return int(number)


def _reader(name: str) -> Callable[[Any], Any]:
    kind = SCHEMAS["tensors"][name]
    if name in ("shape", "group_ranks"):
        return _raw
    return float if kind == pl.Float64() else _integer if kind == pl.Int64() else _text


_READERS = {name: _reader(name) for name in FIELDS}


def cast_text(frame: pl.DataFrame, unread: list[dict[str, Any]]) -> pl.DataFrame:
    """Columns of any type → the types of `tensors`; what cannot be read becomes null and one `unread` row a column."""
    made = []
    for name in frame.columns:
        series = frame[name]
        if series.dtype == pl.String:
            series = series.str.strip_chars().replace("", None)
        read = _typed(name, series).alias(name)
        lost = series.is_not_null() & read.is_null()
        if lost.any():
            at = lost.arg_max() or 0
            place: dict[str, Any] = {key: frame[key][at] for key in ("line", "record") if key in frame.columns}
            reason = f"{name} is not as it should be in {int(lost.sum())} rows: {str(series[at])[:40]!r}"
            unread.append({**place, "reason": reason})
        made.append(read)
    return conform("tensors", pl.DataFrame(made))


def _typed(name: str, series: pl.Series) -> pl.Series:
    kind = SCHEMAS["tensors"][name]
    if name == "group_ranks":
        return _members(series)
    if name == "shape" and series.dtype == pl.String():
        return _each(series, shape_text)
    if name == "shape" and series.dtype.is_nested():
        return pl.Series(name, [None if shape is None else json.dumps(_plain(shape)) for shape in series], kind)
    if series.dtype.is_nested():
        return pl.Series(name, [None] * len(series), kind)
    if series.dtype != pl.String or kind == pl.String():
        return series.cast(kind, strict=False)
    text = series.str.to_lowercase().str.strip_prefix("+").str.replace("^(-?)infinity$", "${1}inf")
    number = text.cast(pl.Float64, strict=False)
    if kind == pl.Float64():
        return number
    whole = number.round().cast(pl.Int64, strict=False)  # "3.0" is an integer, "3.5" is none
    return text.cast(pl.Int64, strict=False).fill_null(whole.set(number != number.floor(), None))


def _members(series: pl.Series) -> pl.Series:
    """Lists of ranks, or texts of them → the one text for each."""
    if series.dtype == pl.String:
        return _each(series, normal)
    if series.dtype == pl.List and series.dtype.inner.is_integer():  # type: ignore[attr-defined]
        return _each(series, lambda ranks: normal(rank_text(rank for rank in ranks if rank is not None)))
    return pl.Series(series.name, [None] * len(series), pl.String)


def _each(series: pl.Series, form: Callable[[Any], str | None]) -> pl.Series:
    """The text for each cell, made once of those that are equal: few different ones come in many rows."""
    distinct = series.drop_nulls().unique()
    told = pl.DataFrame({"told": distinct, "text": pl.Series([form(cell) for cell in distinct], dtype=pl.String)})
    return series.to_frame("told").join(told, on="told", how="left", maintain_order="left")["text"].alias(series.name)


def _plain(value: Any) -> Any:
    return [_plain(item) for item in value] if isinstance(value, pl.Series | list) else value
