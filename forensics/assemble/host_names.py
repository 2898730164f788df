"""One name for each host: addresses and other names that the bundle says are of one place (parsers/who/process_table.py) become the one that a person would
call it by. Domains are left to `identity.short_host`."""

from collections.abc import Mapping

import polars as pl

from forensics.assemble.path_hosts import HOSTED
from parsers.schema.tables import TableName
from parsers.who.job_table import ALIAS


def with_one_name_each(tables: Mapping[TableName, pl.DataFrame]) -> dict[TableName, pl.DataFrame]:
    """Evidence tables → the same with one name for each host, without the rows that told that."""
    told = tables["ranks"].filter(pl.col("how") == ALIAS)
    if not told.height:
        return dict(tables)
    names = dict(told.select("host", "name").unique().iter_rows())
    result = dict(tables)
    result["ranks"] = tables["ranks"].filter(pl.col("how").ne_missing(ALIAS))
    for name in HOSTED:
        frame = result[name]
        found = (
            {host for host in frame["host"].unique().drop_nulls().to_list() if host in names} if frame.height else set()
        )
        if found:
            own = pl.col("host").cast(pl.String).replace({host: names[host] for host in found})
            result[name] = frame.with_columns(own.cast(frame.schema["host"]).alias("host"))
    return result
