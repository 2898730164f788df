"""The order of rows."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import polars as pl

_LOOKED_AT = 1 << 18  # rows at a time whose order is looked at
_FEW = 1000  # rows that are looked at for less than what five questions to polars cost


def sort_if_needed(frame: pl.DataFrame, keys: Sequence[str], nulls_last: bool = True) -> pl.DataFrame:
    """Sorted by `keys`, rows that are alike in order; left as it is where it stands so: of many columns a sort is dear."""
    names = out_of_order(frame, keys, nulls_last)
    return frame.sort(names, maintain_order=True, nulls_last=nulls_last) if names else frame


def out_of_order(frame: pl.DataFrame, keys: Sequence[str], nulls_last: bool = True) -> list[str]:
    """The keys by which it is to be sorted: none, where it stands so."""
    if frame.height <= _FEW and all(_is_plain(frame.schema[key]) for key in keys):
        return _of_few({key: frame[key].to_list() for key in keys}, nulls_last)
    own = pl.DataFrame([frame[key] for key in keys])  # of a frame in pieces each question costs all columns
    nulls = own.null_count().row(0, named=True)
    names = [name for name in keys if nulls[name] < frame.height]
    if frame.height < 2 or not names:
        return []
    own = own.select(names)
    parts = (own.slice(at, _LOOKED_AT + 1) for at in range(0, own.height, _LOOKED_AT))
    return [] if all(_is_sorted(part, nulls_last) for part in parts) else names


def _is_plain(kind: pl.DataType) -> bool:
    """Is it ordered as Python orders its values?"""
    return kind.is_integer() or kind in (pl.String, pl.Categorical)


def _of_few(columns: Mapping[str, Sequence[Any]], nulls_last: bool) -> list[str]:
    """As `out_of_order`, of a few rows by columns of plain values."""
    names = [name for name, values in columns.items() if any(value is not None for value in values)]
    rows = zip(*([((value is None) is nulls_last, value) for value in columns[name]] for name in names), strict=True)
    return [] if all(before <= here for before, here in pairwise(rows)) else names


def _is_sorted(keys: pl.DataFrame, nulls_last: bool) -> bool:
    """Whether rows are in order of all columns. Texts are compared where they differ, not row by row."""
    first = keys.to_series(0)
    same = first.to_physical() if first.dtype == pl.Categorical else first
    is_new = same.ne_missing(same.shift(1)).scatter(0, True)
    fine = pl.lit(True)
    for name in reversed(keys.columns[1:]):  # lexicographic: more, or the same and the rest is in order
        fine = _rises(name, nulls_last) | (pl.col(name).eq_missing(pl.col(name).shift(1)) & fine)
    names = first.filter(is_new).to_frame()
    in_each = keys.select((pl.lit(is_new) | fine).slice(1).all()).item()
    return bool(in_each) and bool(names.select(_rises(first.name, nulls_last).slice(1).all()).item())


def _rises(name: str, nulls_last: bool) -> pl.Expr:
    here, before = pl.col(name), pl.col(name).shift(1)
    late, early = (here, before) if nulls_last else (before, here)
    return (here > before).fill_null(late.is_null() & early.is_not_null())
