"""One rank's merged timeline, from every source."""

import polars as pl

from forensics.case import Case
from forensics.model.texts import iso

_SCHEMA = {
    "time_utc": pl.String,
    "basis": pl.String,
    "source": pl.String,
    "what": pl.String,
    "file": pl.String,
    "line": pl.Int64,
}
_PLACE = pl.coalesce("line", "record").alias("line")


def timeline(case: Case, rank: int) -> pl.DataFrame:
    """Columns time_utc, basis, source, what, file, line; rows with a time first, in order; rows without time after them,
    in order of file and line. A basis of "local" has no zone: it is shown as printed."""
    mine = pl.col("rank") == rank
    events = (
        case.tables["events"]
        .filter(mine & (pl.col("rank_space") == "global"))
        .select(
            "time_ns",
            pl.col("time_basis").alias("basis"),
            pl.lit("log").alias("source"),
            pl.concat_str(
                [pl.col("kind"), pl.lit(" "), pl.col("code").fill_null(""), pl.lit(" "), pl.col("text").fill_null("")]
            ).alias("what"),
            "file",
            _PLACE,
        )
    )
    steps = (
        case.tables["steps"]
        .filter(mine)
        .select(
            "time_ns",
            pl.col("time_basis").alias("basis"),
            pl.lit("training log").alias("source"),
            pl.concat_str(
                [
                    pl.lit("step "),
                    pl.col("step").cast(pl.String),
                    pl.lit(" loss "),
                    pl.col("loss").cast(pl.String).fill_null("-"),
                ]
            ).alias("what"),
            "file",
            _PLACE,
        )
    )
    operations = (
        case.tables["operations"]
        .filter(mine & pl.col("time_created_ns").is_not_null())
        .select(
            pl.col("time_created_ns").alias("time_ns"),
            pl.lit("utc").alias("basis"),
            pl.lit("flight record").alias("source"),
            pl.concat_str(
                [
                    pl.col("kind"),
                    pl.lit(" seq "),
                    pl.col("seq").cast(pl.String),
                    pl.lit(" on "),
                    pl.coalesce("desc", "group", pl.lit("?")),
                    pl.lit(", "),
                    pl.col("state").fill_null("?"),
                    pl.when("retired").then(pl.lit(", retired")).otherwise(pl.lit("")),
                ]
            ).alias("what"),
            "file",
            _PLACE,
        )
    )
    stacks = (
        case.stacks.filter(mine).select(
            pl.lit(None, pl.Int64).alias("time_ns"),
            pl.lit(None, pl.String).alias("basis"),
            pl.lit("stack").alias("source"),
            pl.concat_str([pl.lit("main thread in "), pl.col("site"), pl.lit(" "), pl.col("op").fill_null("")]).alias(
                "what"
            ),
            "file",
            _PLACE,
        )
        if case.stacks.height
        else events.clear()
    )
    whole = pl.concat([events, steps, operations, stacks]).sort(["time_ns", "file", "line"], nulls_last=True)
    stamps = pl.Series("time_utc", [iso(value) for value in whole["time_ns"].to_list()], dtype=pl.String)
    return whole.with_columns(stamps).select(_SCHEMA.keys())
