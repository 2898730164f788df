"""Facts of tables that hold nothing: what is so then is declared beside the fact, and not worked out by a hundred questions
to empty tables. Most bundles fill a few of the tables."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

import polars as pl

from parsers.tables import TableName

Tables = Mapping[TableName, pl.DataFrame]
_Rest = ParamSpec("_Rest")
_Fact = TypeVar("_Fact")


def told_by(
    *names: TableName, nothing: Callable[[], _Fact]
) -> Callable[[Callable[Concatenate[Tables, _Rest], _Fact]], Callable[Concatenate[Tables, _Rest], _Fact]]:
    """A fact that these tables alone can tell: where none of them has a row, it is `nothing`."""

    def declared(
        fact: Callable[Concatenate[Tables, _Rest], _Fact],
    ) -> Callable[Concatenate[Tables, _Rest], _Fact]:
        @wraps(fact)
        def asked(tables: Tables, /, *rest: _Rest.args, **more: _Rest.kwargs) -> _Fact:
            return fact(tables, *rest, **more) if any(tables[name].height for name in names) else nothing()

        return asked

    return declared
