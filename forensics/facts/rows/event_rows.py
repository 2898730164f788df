"""Rows of events as detectors read them: which rows, where they stand, who printed them."""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import polars as pl

from forensics.model.hosts import short_host
from forensics.model.ref import Ref
from forensics.model.told import FEW, has_kind
from parsers.schema.order import sort_if_needed

Row = Mapping[str, Any]


def of_kinds(events: pl.DataFrame, *kinds: str) -> pl.DataFrame:
    """Events of these kinds, by place; of kinds that a log may hold by the ten thousand, read no row that you need not."""
    if events.height <= FEW and not has_kind(events, *kinds):
        return events.clear()
    found = events.filter(pl.col("kind").is_in(kinds))
    return sort_if_needed(found, ("file", "line", "record", "kind"), nulls_last=False) if found.height else found


class _Cells(Mapping[str, Any]):
    """A row as a mapping that shares the columns, lists, with all other rows: a dictionary of its own takes 2 KB."""

    __slots__ = ("_at", "_columns")

    def __init__(self, columns: Mapping[str, list[Any]], at: int) -> None:
        self._columns, self._at = columns, at

    def __getitem__(self, name: str) -> Any:
        return self._columns[name][self._at]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


def _few_objects(column: pl.Series) -> list[Any]:
    """Its values; texts that are equal are one object."""
    values = column.to_list()
    if column.dtype != pl.String:
        return values
    known: dict[str | None, str | None] = {}
    return [known.setdefault(value, value) for value in values]


def rows_to_keep(frame: pl.DataFrame) -> Iterator[Row]:
    """The rows of a table, each of little memory beside what it says."""
    nothing = [None] * frame.height  # most columns of most kinds hold nothing
    columns = {one.name: nothing if one.null_count() == len(one) else _few_objects(one) for one in frame}
    return (_Cells(columns, at) for at in range(frame.height))


def rows(events: pl.DataFrame, *kinds: str) -> list[dict[str, Any]]:
    """The same, a dictionary each."""
    return list(of_kinds(events, *kinds).iter_rows(named=True))


def _number(digits: str) -> int | float:
    number = int(digits)
    return number if -(2**63) <= number < 2**63 else float(digits)


_DETAIL = json.JSONDecoder(parse_int=_number)


def detail(row: Row) -> Mapping[str, Any]:
    """The JSON object of an event's `detail`; empty where there is none. What 64 bits do not hold is no integer."""
    return _decoded(row["detail"] or "{}")


@lru_cache(maxsize=1024)  # a record of hardware is asked by several properties, one after another
def _decoded(text: str) -> Mapping[str, Any]:
    try:
        found = _DETAIL.decode(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def refs(found: Iterable[Row], most: int = 3) -> tuple[Ref, ...]:
    """Places of the first rows, each once."""
    places: dict[Ref, None] = {}
    for row in found:
        places[reference(row)] = None
        if len(places) == most:
            break
    return tuple(places)


def own_rank(row: Row) -> int | None:
    """The global rank that printed the row, if known."""
    rank = row["rank"] if row["rank_space"] == "global" else None
    return None if rank is None else int(rank)


def host_of(identity: pl.DataFrame, row: Row) -> str | None:
    """The host that printed the row: as printed, else that of its rank."""
    if row["host"]:
        return short_host(row["host"])
    rank = own_rank(row)
    known = identity.filter(pl.col("rank") == rank) if rank is not None and identity.height else None
    return known["host"][0] if known is not None and known.height else None


def line_of(row: Row) -> int | None:
    """The line of a row of any table, else its record."""
    line: int | None = row.get("record") if row.get("line") is None else row["line"]
    return line


def reference(row: Row) -> Ref:
    """The place of a row of any table."""
    return Ref(file=str(row["file"]), line=line_of(row), text=str(row.get("text") or "")[:500])


def is_missing(row: Row) -> bool:
    """A RAS report's list of members that did not answer, not a rendezvous that counted too few."""
    return bool(row["kind"] == "missing_members" and row["code"] == "INCOMPLETE" and row["names_ranks"])


def is_later_barrier(row: Row, has_steps: bool) -> bool:
    """A whole barrier of a job that had come together before: by its steps, or since all had come to that barrier (assemble/starts/roll_calls.py)."""
    return is_whole_barrier(row) and (has_steps or "again" in detail(row))


def is_whole_barrier(row: Row) -> bool:
    """A coordination service's word on a barrier that timed out, with the name of everybody who did not come."""
    said = detail(row) if row["kind"] == "missing_members" and row["code"] == "barrier" and row["names_ranks"] else {}
    reached, expected = str(said.get("reached", "")), str(said.get("expected", ""))
    is_counted = expected.isdigit() and reached.isdigit() and max(row["names_ranks"]) < int(expected) < 1 << 24
    return is_counted and int(expected) - int(reached) == len(row["names_ranks"])
