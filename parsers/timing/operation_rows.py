"""Tables of operations with their starts → rows of `timings` and `ranks`.

Not a parser: the format, with its source, is in operation_times.py. Parquet comes here from tensor statistics, which own its files.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from parsers.schema.parser import Source
from parsers.schema.tables import Tables, conform, tables_of
from parsers.text import vocabulary
from parsers.text.durations import UNITS

_WHAT = ("operation", "phase", "name")  # first wins
_STAMP_NS = 1e17  # since 1970: no microsecond is as large
_FACTORS: Mapping[str, float] = {**UNITS, "ns": 1e-6}


def tells(names: Iterable[str]) -> bool:
    """By the names of the columns: a step, an operation, its start and its end or length."""
    meant = vocabulary.meanings(sorted(names))
    is_timed = {"step", "begin"} <= meant and not meant.isdisjoint(("duration", "length", "finish"))
    return is_timed and not meant.isdisjoint(_WHAT) and meant.isdisjoint(("tensor", "module", "loss"))


def of_frame(
    source: Source, frame: pl.DataFrame, place: pl.Series, claimed: Iterable[dict[str, Any]] = (),
    unread: Iterable[dict[str, Any]] = (),
) -> Tables:  # fmt: skip
    """A table with its own names → timings, ranks, claimed, unread. `place`: `line` or `record` of each row."""
    frame = frame.select(name for name, dtype in frame.schema.items() if not dtype.is_nested())
    named = vocabulary.columns(tuple(frame.columns))
    if not frame.height or not tells(frame.columns):
        return tables_of(claimed=claimed, unread=unread)
    begin, begin_ms = _ms(frame, named["begin"][0])
    length = next((named[each][0] for each in ("duration", "length") if each in named), None)
    took = _ms(frame, length, begin)[1] if length else _ms(frame, named["finish"][0], begin)[1] - begin_ms
    what = frame[next(named[each][0] for each in _WHAT if each in named)]
    told = pl.DataFrame(
        {
            "rank": _whole(frame, named.get("rank"), source.rank),
            "host": frame[named["host"][0]].cast(pl.String) if "host" in named else pl.repeat(source.host, frame.height, dtype=pl.String, eager=True),
            "step": _whole(frame, named["step"], None),
            "phase": what.cast(pl.String).str.strip_chars(),
            "level": pl.repeat(0, frame.height, dtype=pl.Int64, eager=True),
            "value_ms": took,
            "start_ms": begin_ms,
            place.name: place,
            **{axis: _whole(frame, [name], None) for name in frame.columns if (axis := vocabulary.axis_of(name))},
        }
    ).with_columns(file=pl.lit(source.path))  # fmt: skip
    is_timed = pl.col("start_ms").is_finite() & pl.col("value_ms").is_finite() & (pl.col("value_ms") >= 0)
    fits = pl.all_horizontal(pl.col("rank", "step").is_not_null()) & (pl.col("phase") != "") & is_timed
    good, bad = told.filter(fits.fill_null(False)), told.filter(~fits.fill_null(False))
    axes = [axis for axis in ("tp", "pp", "dp", "ep", "cp") if axis in good.columns]
    who = good.unique("rank", keep="first", maintain_order=True).with_columns(how=pl.lit("operation times"))
    reasons = bad.select("file", place.name, reason=pl.lit("not a row of operation times"))
    return tables_of(
        timings=conform("timings", good.drop(axes)),
        ranks=conform("ranks", who.select("rank", "host", *axes, "how", "file", place.name)),
        claimed=claimed,
        unread=[*unread, *reasons.head(1000).to_dicts()],
    )


def _whole(frame: pl.DataFrame, names: Any, otherwise: int | None) -> pl.Series:
    if not names:
        return pl.repeat(otherwise, frame.height, dtype=pl.Int64, eager=True)
    return frame.get_column(names[0]).cast(pl.Int64, strict=False)


def _ms(frame: pl.DataFrame, name: str, like: str = "") -> tuple[str, pl.Series]:
    """(unit, milliseconds) of a column; `like`: the unit where its name tells none."""
    values = frame[name]
    if values.dtype == pl.String:
        is_whole = values.str.contains(r"^[-+]?\d+$").all()
        values = values.cast(pl.Int64 if is_whole else pl.Float64, strict=False)
    meant = vocabulary.meaning_of(name)
    unit = (meant.unit if meant is not None else "") or like
    if not unit:
        most = values.cast(pl.Float64, strict=False).abs().max()
        unit = "s" if not values.dtype.is_integer() else "ns" if isinstance(most, float) and most > _STAMP_NS else "us"
    return unit, values.cast(pl.Float64, strict=False) * _FACTORS[unit]
