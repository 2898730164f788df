"""Whose a figure is, where a check that failed shows what each replica had by the name of its host, pod or container.

    RuntimeError: replica check failed at step 700: parameters are not equal: {'a26e46d1bde3': '5cce38a4', '5be07c91a2f4': '44e3cede', …}

A name is a rank's if all who tell it tell that rank alone, and if so is every other name of the list, each of another rank: then the
figures are by rank, and `names_ranks` are these. Else they are nobody's: on a host of several ranks one figure stands for all of them.
"""

import json
from collections.abc import Mapping

import polars as pl

from forensics.model.told import has_kind
from parsers.schema.tables import TableName, Tables
from parsers.text.unanimous import unanimous

_KIND = "replica_mismatch"
_NAMED = ("rank", "name", "host", "address", "uuid")  # columns of `ranks`


def with_named_figures(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global → the same; figures of a failed check by rank."""
    events = tables["events"]
    is_list = (pl.col("kind") == _KIND) & pl.col("detail").str.contains('"figures"', literal=True)
    if not has_kind(events, _KIND) or not (rows := events.with_row_index("_row").filter(is_list)).height:
        return dict(tables)
    names = _names(tables)
    told = [(row, _by_rank(json.loads(detail), names)) for row, detail in rows.select("_row", "detail").iter_rows()]
    found = [(row, [*map(int, said["figures"])], json.dumps(said)) for row, said in told if said is not None]
    schema = {"_row": pl.UInt32(), "_ranks": pl.List(pl.Int64), "_detail": pl.String()}
    figures = pl.DataFrame(found, schema=schema, orient="row")
    joined = events.with_row_index("_row").join(figures, on="_row", how="left", maintain_order="left")
    is_nobodys = pl.col("names_ranks").list.len().fill_null(0) == 0
    filled = joined.with_columns(
        pl.when(is_nobodys).then(pl.coalesce("_ranks", "names_ranks")).otherwise("names_ranks").alias("names_ranks"),
        pl.coalesce("_detail", "detail").alias("detail"),
    )
    return {**tables, "events": filled.select(events.columns).cast(events.schema)}


def _by_rank(said: Mapping[str, object], names: Mapping[str, int]) -> dict[str, dict[str, str]] | None:
    """Of a `detail`; None where a name is of no rank alone, or two are of one."""
    figures = dict(said["figures"])  # type: ignore[call-overload]
    ranks = [names.get(name) for name in figures]
    if None in ranks or len({*ranks}) < len(ranks):
        return None
    return {**said, "figures": {str(rank): text for rank, text in zip(ranks, figures.values(), strict=True)}}  # type: ignore[dict-item]


def _names(tables: Tables) -> dict[str, int]:
    """Names that are of one rank alone, as that of its own file may be, → the rank."""
    said, files = (tables[name].filter(pl.col("rank").is_not_null()) for name in ("ranks", "files"))
    told = [said.select("rank", pl.col(name).cast(pl.String).alias("name")) for name in _NAMED]
    called = files.select("rank", pl.col("file").cast(pl.String).str.extract(r"([^/.]+)[^/]*$").alias("name"))
    pairs = pl.concat([*told, called]).drop_nulls().unique().select("name", "rank")
    return unanimous(pairs.iter_rows())
