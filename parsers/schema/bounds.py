"""What no parser may deliver, whatever its format says: ranks, sizes and times beyond all measure.

One number in one line must not cost what a real job of that size would: a world of 999,999,999 ranks is a set of that
many numbers. So the tables of every parser come through here before anybody counts with them. A row that names an
impossible rank or size is refused whole, as nothing else in it can be trusted to belong to whom it then seems to; a
time that cannot be is null. A name is cut where no name is so long; texts are their parsers' business.
"""

from collections.abc import Container, Iterator, Mapping
from functools import lru_cache
from typing import Any

import polars as pl

from parsers.schema.tables import SCHEMAS, TableName, Tables, table
from parsers.text.rank_list import RANKS
from parsers.text.stamps import LATEST_NS

_RANKED: Mapping[TableName, tuple[str, ...]] = {
    name: tuple(schema.keys() & {"rank", "min_rank", "max_rank", "world_size", "tp", "pp", "dp", "ep", "cp"})
    + (("size",) if name == "groups" else ())
    for name, schema in SCHEMAS.items()
}
_LISTED: Mapping[TableName, tuple[str, ...]] = {
    name: tuple(schema.keys() & {"members", "names_ranks"}) for name, schema in SCHEMAS.items()
}
_TEXTS = {"detail", "file", "group_ranks", "input_sizes", "output_sizes", "reason", "stack", "text", "value"}
_TIMED: Mapping[TableName, tuple[str, ...]] = {
    name: tuple(column for column in schema if column.endswith("_ns")) for name, schema in SCHEMAS.items()
}
_NAME, _BEYOND = 4096, "_beyond"  # bytes; whether a rank is impossible
_NAMES: Mapping[TableName, tuple[str, ...]] = {
    name: tuple(
        column
        for column, kind in schema.items()
        if isinstance(kind, pl.String | pl.Categorical) and column not in _TEXTS
    )
    for name, schema in SCHEMAS.items()
}
_REASON = f"names a rank or a size beyond {RANKS:,} ranks, which is not believed"


def bounded(tables: Tables) -> Tables:
    """The same tables without rows of impossible ranks, each of which becomes a row of `unread`."""
    kept: dict[TableName, pl.DataFrame] = dict(tables)
    refused: list[pl.DataFrame] = []
    for name, frame in tables.items():
        told = _told(name, frame)
        if told is None:
            continue
        frame = _with_short_names(name, frame, told)
        if told.get(_BEYOND):
            tests = pl.any_horizontal(_impossible(name, frame.columns))
            refused.append(_unread(frame.filter(tests)))
            frame = frame.filter(~tests)
        wrong = [pl.col(column) for column in _TIMED[name] if told.get(column)]
        kept[name] = frame.with_columns(pl.when(time <= LATEST_NS).then(time) for time in wrong) if wrong else frame
    if refused:
        before = [kept["unread"]] if "unread" in kept else []
        kept["unread"] = pl.concat([*before, *refused]).unique(maintain_order=True)
    return kept


def _told(name: TableName, frame: pl.DataFrame) -> dict[str, Any] | None:
    """What is asked of a table, all at once: how long its longest names are, whether a rank or a time is beyond measure. Of
    columns that hold nothing nothing is asked: most of a table of a few rows are."""
    told = frame.null_count().row(0, named=True) if frame.height else {}
    asked = _questions(name, frozenset(column for column, nulls in told.items() if nulls < frame.height))
    return frame.select(asked).row(0, named=True) if asked else None


@lru_cache(maxsize=1024)
def _questions(name: TableName, columns: frozenset[str]) -> tuple[pl.Expr, ...]:
    asked = [_bytes(name, column).max() for column in _NAMES[name] if column in columns]
    if tests := list(_impossible(name, columns)):
        asked.append(pl.any_horizontal(tests).any().alias(_BEYOND))
    asked += [(pl.col(column) > LATEST_NS).any() for column in _TIMED[name] if column in columns]
    return tuple(asked)


def _with_short_names(name: TableName, frame: pl.DataFrame, told: Mapping[str, Any]) -> pl.DataFrame:
    """The frame with names cut where they are beyond all measure."""
    long = [column for column in _NAMES[name] if (told.get(column) or 0) > _NAME]
    short = [pl.col(column).cast(pl.String).str.slice(0, _NAME // 4).cast(SCHEMAS[name][column]) for column in long]
    return frame.with_columns(short) if short else frame


def _bytes(name: TableName, column: str) -> pl.Expr:
    is_text = SCHEMAS[name][column] == pl.String
    return pl.col(column).str.len_bytes() if is_text else pl.col(column).cat.len_bytes()


def _impossible(name: TableName, columns: Container[str]) -> Iterator[pl.Expr]:
    for column in _RANKED[name]:
        if column in columns:
            yield (pl.col(column) > RANKS).fill_null(False)
    for column in _LISTED[name]:
        if column in columns:
            yield (pl.col(column).list.max() >= RANKS).fill_null(False)


def _unread(lost: pl.DataFrame) -> pl.DataFrame:
    places = lost.select("file", *({"line", "record"} & set(lost.columns))).unique(maintain_order=True)
    return table("unread", [row | {"reason": _REASON} for row in places.iter_rows(named=True)])
