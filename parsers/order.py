"""The order of rows."""

from collections.abc import Sequence

import polars as pl

_LOOKED_AT = 1 << 18  # rows at a time whose order is looked at


def sort_if_needed(frame: pl.DataFrame, keys: Sequence[str], nulls_last: bool = True) -> pl.DataFrame:
    """Sorted by `keys`, rows that are alike in order; left as it is where it stands so: of many columns a sort is dear."""
    names = out_of_order(frame, keys, nulls_last)
    return frame.sort(names, maintain_order=True, nulls_last=nulls_last) if names else frame


def out_of_order(frame: pl.DataFrame, keys: Sequence[str], nulls_last: bool = True) -> list[str]:
    """The keys by which it is to be sorted: none, where it stands so."""
    nulls = frame.select(pl.col(keys).null_count()).row(0, named=True)
    names = [name for name in keys if nulls[name] < frame.height]
    if frame.height < 2 or not names:
        return []
    own = frame.select(names)
    begins = range(0, frame.height, _LOOKED_AT)
    return [] if all(_is_sorted(own.slice(at, _LOOKED_AT + 1), nulls_last) for at in begins) else names


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
