"""Facts of tables that hold nothing: what is so then is declared beside the fact, and not worked out by a hundred questions
to empty tables. Most bundles fill a few of the tables, with events of a few kinds."""

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import polars as pl

from parsers.schema.tables import TableName

Tables = Mapping[TableName, pl.DataFrame]
_Rest = ParamSpec("_Rest")
_Fact = TypeVar("_Fact")
FEW = 1000  # rows
CONSEQUENCE = '"consequence": true'  # in `detail` of an event that another failure caused


def has_kind(events: pl.DataFrame, *kinds: str) -> bool:
    """Is an event of one of these kinds there? Told without a question to polars, of which an analysis asks hundreds, where
    there are few rows."""
    if events.height <= FEW:
        return not {*kinds}.isdisjoint(events["kind"].to_list())
    return bool(events["kind"].is_in(kinds).any())


def values(column: pl.Series) -> set[Any]:
    """What stands in a column; of few rows without a question to polars."""
    return {*(column if len(column) <= FEW else column.unique()).to_list()} - {None}


def told_by(
    *names: TableName, nothing: Callable[[], _Fact], kinds: tuple[str, ...] = ()
) -> Callable[[Callable[Concatenate[Tables, _Rest], _Fact]], Callable[Concatenate[Tables, _Rest], _Fact]]:
    """A fact that these tables alone can tell: where none of them has a row, it is `nothing`. `kinds`: of events that count."""

    def tells(tables: Tables, name: TableName) -> bool:
        frame = tables[name]
        return has_kind(frame, *kinds) if kinds and name == "events" else frame.height > 0

    def declared(fact: Callable[Concatenate[Tables, _Rest], _Fact]) -> Callable[Concatenate[Tables, _Rest], _Fact]:
        @wraps(fact)
        def asked(tables: Tables, /, *rest: _Rest.args, **more: _Rest.kwargs) -> _Fact:
            return fact(tables, *rest, **more) if any(tells(tables, name) for name in names) else nothing()

        return asked

    return declared


def counted(templates: Iterable[str]) -> dict[str, int]:
    """Template → how many lines of the sample are such, of a row's `templates`."""
    return {text: int(count) for count, _, text in (one.partition(" × ") for one in templates)}
