"""Whose memory of a device ran out, where the line says host and device but no rank?

torch says the device by the process's own numbering, and so does a communication library when it sets up a communicator (`cudaDev`).
Where the library said the device of every rank of the host, and one rank alone has this one, the error is that rank's; not
if that rank gave up waiting for others. Where each process sees one device only, all of them are 0, and nobody is told.
"""

import polars as pl

from forensics.assemble.who.identity import with_ranks
from forensics.model.hosts import short_hosts
from forensics.model.told import has_kind
from parsers.schema.tables import TableName, Tables
from parsers.who.places.job_table import HOW

_AT = ["host", "device_index"]
_OWNED = ["file", "line", "_rank"]
_BY_LIBRARY = r"^\w+ init\b"  # `how` of claims that a library's own numbering makes


def with_device_ranks(tables: Tables, identity: pl.DataFrame) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global → the same, with the rank of such errors, and of the exceptions in their lines."""
    events = tables["events"]
    if not identity.height or not has_kind(events, "gpu_oom"):
        return dict(tables)
    nameless = pl.col("rank").is_null() & pl.col("pid").is_null() & pl.col("local_rank").is_null()
    told = pl.col("host").is_not_null() & pl.col("device_index").is_not_null() & pl.col("line").is_not_null()
    ours = (pl.col("kind") == "gpu_oom") & nameless
    errors, logged = events.filter(ours & told), events.filter(ours & (pl.col("device_index") > 0))
    if not errors.height and not logged.height:
        return dict(tables)
    waited = events.filter((pl.col("kind") == "collective_timeout") & (pl.col("rank_space") == "global"))["rank"]
    waited = waited.drop_nulls().unique()
    alone = _alone(tables["ranks"], identity).filter(~pl.col("_rank").is_in(waited.implode()))
    lines = errors.select("file", "line", pl.col("host").cast(pl.String), "device_index")
    by_log = tables["ranks"].filter((pl.col("how") == HOW) & ~pl.col("rank").is_in(waited.implode()))
    by_log = by_log.select("file", pl.col("local_rank").alias("device_index"), pl.col("rank").alias("_rank"))
    placed = logged.select("file", "line", "device_index").join(by_log, on=["file", "device_index"])
    owned = pl.concat([lines.join(alone, on=_AT).select(_OWNED), placed.select(_OWNED)]).unique()
    owned = owned.unique(["file", "line"], keep="none")
    is_open = nameless & pl.col("kind").is_in(["gpu_oom", "exception"])
    return {**tables, "events": with_ranks(events, owned, ["file", "line"], is_open)}


def _alone(claims: pl.DataFrame, identity: pl.DataFrame) -> pl.DataFrame:
    """host, device_index, _rank: of hosts all of whose ranks say their device, where one rank alone says this one."""
    by_library = claims.filter(pl.col("how").str.contains(_BY_LIBRARY)).drop_nulls([*_AT, "rank"])
    said = by_library.with_columns(short_hosts()).select(*_AT, "rank").unique()
    here = identity.select("host", "rank").drop_nulls()
    silent = here.join(said, on=["host", "rank"], how="anti")["host"].unique()
    known = said.filter(~pl.col("host").is_in(silent.implode()))
    single = known.filter((pl.len().over(_AT) == 1) & (pl.len().over("host", "rank") == 1))
    return single.select(pl.col("host").cast(pl.String), "device_index", pl.col("rank").alias("_rank"))
