"""Who stands where in each process group: the statements of `facts/waits/positions.py`, those alike in one row."""

import polars as pl

from forensics.case import Case
from forensics.graph.hang.standings import standings
from forensics.model.texts import ranges

SCHEMA = {
    "group": pl.String(),
    "size": pl.Int64(),  # members, null where nobody tells
    "source": pl.String(),  # flight record, watchdog, barrier, stack, …; numbers count within one source and group
    "call": pl.String(),  # "all_reduce #25", "before the first"; null: nothing is said of these members
    "state": pl.String(),
    "members": pl.Int64(),
    "ranks": pl.String(),  # ranges; empty where the source counts members and names none
    "mark": pl.String(),  # "behind": has not made the call that others wait in; "unsure": may have come further
    "where": pl.String(),  # file:line of the first such statement
}
_NEVER = -1  # number of who has made no call


def groups(case: Case) -> pl.DataFrame:
    """Columns of SCHEMA: groups with somebody behind first, then by name and source; in a group who is behind comes first. Of
    each member the first call that it gave up waiting in, else the last that the source tells of it."""
    told = case.positions.with_row_index("_at")
    if not told.height:
        return pl.DataFrame(schema=SCHEMA)
    named, gave_up, number = pl.col("rank").is_not_null(), pl.col("state") == "timed_out", pl.col("number")
    order = (gave_up, pl.when(gave_up).then(-number).otherwise(number), "time_ns", "_at")
    ordered = told.filter(named).sort(order, nulls_last=False)
    last = ordered.group_by("source", "group", "rank", maintain_order=True).last()
    rows = pl.concat([last.select(told.columns), told.filter(~named)])
    kind = pl.col("kind").fill_null("call")
    call = pl.when(number == _NEVER).then(pl.lit("before the first")).otherwise(pl.format("{} #{}", kind, number))
    rows = rows.with_columns(pl.coalesce(call, "kind").alias("call"))
    alike = ["source", "group", "label", "number", "call", "state"]
    found = rows.sort("rank", "_at", nulls_last=True).group_by(alike, maintain_order=True).agg(
        pl.col("rank").drop_nulls().alias("named"),
        pl.when(pl.col("rank").is_null()).then(pl.col("count").fill_null(1)).otherwise(1).sum().alias("members"),
        pl.col("size").drop_nulls().first(),
        pl.concat_str("file", pl.format(":{}", "line").fill_null("")).drop_nulls().first().alias("where"),
    )  # fmt: skip
    return _marked(case, found)


def _marked(case: Case, found: pl.DataFrame) -> pl.DataFrame:
    """With who is behind, by the same standings that the detectors read, in the order that is promised."""
    told = {
        (source, group): one
        for (source, group), rows in case.positions.partition_by("source", "group", as_dict=True).items()
        for one in standings(rows, str(source))
    }
    marks = []
    for source, group, state, named in found.select("source", "group", "state", "named").iter_rows():
        one = told.get((source, group))
        is_late = state == "absent" or (one is not None and not one.behind.isdisjoint(named))
        is_unsure = one is not None and not one.unsure.isdisjoint(named)
        marks.append("behind" if is_late else "unsure" if is_unsure else None)
    shown = found.with_columns(
        pl.Series("mark", marks, dtype=pl.String),
        pl.col("named").map_elements(lambda own: ranges(own), pl.String, skip_nulls=False).alias("ranks"),
        *(pl.col(name).cast(pl.String).str.replace_all("_", " ") for name in ("source", "state")),
    )
    late = (pl.col("mark") == "behind").fill_null(False)
    order = (~late.any().over("source", "group"), "label", "source", "group", ~late, "number", "ranks")
    ordered = shown.sort(order, nulls_last=True, maintain_order=True)
    ordered = ordered.with_columns(pl.col("label").fill_null("not told").alias("group"))
    return ordered.select(pl.col(name).cast(kind) for name, kind in SCHEMA.items())
