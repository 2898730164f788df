"""A process that a program forked is its child in whatever shows its stack: a kernel's stack of it tells no parent, a profiler's beside it does.

Whom a table of processes calls a parent may be the launcher of all of them.
"""

import polars as pl

from parsers.schema.tables import TableName, Tables
from parsers.text.unanimous import unanimous

_TABLES = ("proc status", "ps", "top", "kernel")


def with_parents(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt → the same, with the parent of each process in a kernel's row of `stacks`, where the same file tells it."""
    stacks = tables["stacks"]
    is_open = (pl.col("source") == "kernel") & pl.col("parent_pid").is_null() & pl.col("pid").is_not_null()
    is_told = pl.col("parent_pid").is_not_null() & ~pl.col("source").is_in(_TABLES)
    told = stacks.filter(is_told) if stacks.filter(is_open).height else stacks.clear()
    if not told.height:
        return dict(tables)
    pairs = told.select("file", "pid", "parent_pid").drop_nulls().unique().iter_rows()
    parents = unanimous(((str(file), pid), parent) for file, pid, parent in pairs)
    known = pl.DataFrame(
        [(file, pid, parent) for (file, pid), parent in parents.items()],
        {"file": pl.String, "pid": pl.Int64, "_parent": pl.Int64},
        orient="row",
    ).with_columns(pl.col("file").cast(stacks.schema["file"]))
    joined = stacks.join(known, on=["file", "pid"], how="left", maintain_order="left")
    parent = pl.when(is_open).then("_parent").otherwise("parent_pid").alias("parent_pid")
    return {**tables, "stacks": joined.with_columns(parent).select(stacks.columns)}
