"""Did every launcher of the job say that all processes it had started ended well? Then they did, whoever has which rank.

Needs the log of every launcher: as many processes set up a communicator in these logs as the largest has members.
"""

from collections.abc import Mapping

import polars as pl

from forensics.facts.event_rows import Row
from forensics.facts.places import OF_HOSTS
from parsers.pytorch.elastic import WORKERS
from parsers.tables import TableName


def ended_agents(tables: Mapping[TableName, pl.DataFrame], events: pl.DataFrame) -> tuple[Row, ...]:
    """Tables of one attempt → the lines in which launchers say so, one per log; none where any log of the job lacks it."""
    said = events.filter((pl.col("kind") == "job_end") & (pl.col("code") == WORKERS) & pl.col("rank").is_null())
    if not said.height:
        return ()
    said = said.sort("file", "line").unique("file", keep="last", maintain_order=True)
    spoken = {*events.filter(~pl.col("kind").is_in(OF_HOSTS))["file"], *tables["steps"]["file"]}
    started = events.filter(pl.col("kind") == "comm_init_start").drop_nulls("pid").select("host", "pid").n_unique()
    largest = tables["groups"]["size"].max()
    whole = isinstance(largest, int) and 0 < largest <= started
    return tuple(said.iter_rows(named=True)) if whole and spoken == {*said["file"]} else ()
