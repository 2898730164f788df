"""Which hosts of a job listen where no other host can reach them, by what their processes print of themselves.

Loopback and the bridges of containers and virtual machines never leave their host. Where all hosts print such addresses, a
network of that range may be the job's own: nothing is said. So it is with what their logs tell of themselves in one line each, alike but for the address,
whatever it says.
"""

import polars as pl

from forensics.assemble.starts.announced import announced
from forensics.model.hosts import short_hosts
from parsers.schema.tables import Tables
from parsers.text.connections import is_within_a_host


def out_of_reach(tables: Tables) -> pl.DataFrame:
    """Rows of `ranks`, hosts and addresses short: of the hosts whose processes all listen within their host, where those of
    others do not."""
    told = tables["ranks"].filter(pl.col("how").str.ends_with("bootstrap address")).drop_nulls(["address", "host"])
    if not told.height:
        return announced(tables)
    told = told.with_columns(short_hosts(), pl.col("address").str.split("<").list.first())
    addresses = told["address"].unique().to_list()
    within = [address for address in addresses if is_within_a_host(address)]
    hosts = told.group_by("host").agg(pl.col("address").is_in(within).all().alias("_within"))
    wrong = hosts.filter(pl.col("_within"))["host"]
    if len(wrong) == hosts.height:
        return told.clear()
    return told.filter(pl.col("host").is_in(wrong.implode())).sort("file", "line")
