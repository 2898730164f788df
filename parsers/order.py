"""The order of rows."""

from collections.abc import Sequence

import polars as pl

_LOOKED_AT = 1 << 18  # rows at a time whose order is looked at


def sort_if_needed(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Sorted by `keys`, nulls last, rows that are alike in order; left as it is where it stands so: of many columns a
    sort is dear."""
    nulls = frame.select(pl.col(keys).null_count()).row(0, named=True)
    names = [name for name in keys if nulls[name] < frame.height]
    if frame.height < 2 or not names:
        return frame
    own = frame.select(names)
    if all(_is_sorted(own.slice(at, _LOOKED_AT + 1)) for at in range(0, frame.height, _LOOKED_AT)):
        return frame
    return frame.sort(names, maintain_order=True, nulls_last=True)


def _is_sorted(keys: pl.DataFrame) -> bool:
    """Whether rows are in order of all columns. Texts are compared where they differ, not row by row."""
    first = keys.to_series(0)
    same = first.to_physical() if first.dtype == pl.Categorical else first
    is_new = same.ne_missing(same.shift(1)).scatter(0, True)
    fine = pl.lit(True)
    for name in reversed(keys.columns[1:]):  # lexicographic: more, or the same and the rest is in order
        fine = _rises(name) | (pl.col(name).eq_missing(pl.col(name).shift(1)) & fine)
    names = first.filter(is_new).to_frame()
    in_each = keys.select((pl.lit(is_new) | fine).slice(1).all()).item()
    return bool(in_each) and bool(names.select(_rises(first.name).slice(1).all()).item())


def _rises(name: str) -> pl.Expr:
    here, before = pl.col(name), pl.col(name).shift(1)
    return (here > before).fill_null(here.is_null() & before.is_not_null())
