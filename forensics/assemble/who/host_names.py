"""One name for each host: addresses and other names that the bundle says are of one place (parsers/who/processes/process_table.py) become the one that a person would
call it by; what ends in the number of the one process there is a name of that process, as of its log, and no host's. Domains are left to
`model.hosts.short_host`."""

from collections.abc import Mapping

import polars as pl

from forensics.assemble.who.path_hosts import HOSTED
from forensics.model.told import values
from parsers.schema.tables import TableName, Tables
from parsers.who.places.job_table import ALIAS


def names_of_hosts(ranks: pl.DataFrame) -> dict[str, str | None]:
    """The table `ranks` → what a host is called otherwise by the name that it is known by; null for what is no host's."""
    told = ranks.filter(pl.col("how") == ALIAS) if ranks.height else ranks
    return dict(told.select("host", "name").unique().iter_rows()) | dict.fromkeys(_of_processes(ranks))


def with_one_name_each(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Evidence tables → the same with one name for each host, without the rows that told that."""
    names = names_of_hosts(tables["ranks"])
    if not names:
        return dict(tables)
    result = dict(tables)
    result["ranks"] = tables["ranks"].filter(pl.col("how").ne_missing(ALIAS))
    for name in HOSTED:
        frame = result[name]
        found = values(frame["host"]) & names.keys()
        if found:
            own = pl.col("host").cast(pl.String).replace({host: names[host] for host in found})
            result[name] = frame.with_columns(own.cast(frame.schema["host"]).alias("host"))
    result["events"] = _named_too(result["events"], names)
    return result


def _named_too(events: pl.DataFrame, names: Mapping[str, str | None]) -> pl.DataFrame:
    """Events, with the same names for the hosts that lines speak of."""
    called = {name: other for name, other in names.items() if other is not None}
    if not values(events["names_hosts"].explode()) & called.keys():
        return events
    own = pl.col("names_hosts").list.eval(pl.element().replace(called))
    return events.with_columns(own.cast(events.schema["names_hosts"]).alias("names_hosts"))


def _of_processes(ranks: pl.DataFrame) -> list[str]:
    """Names of one process each that end in its number."""
    placed = ranks.filter(pl.col("host").is_not_null() & pl.col("pid").is_not_null())
    if not placed.height:
        return []
    alone = placed.select(pl.col("host").cast(pl.String), "pid").unique().filter(pl.len().over("host") == 1)
    number = pl.col("host").str.extract(r"\D(\d{3,10})$", 1).cast(pl.Int64, strict=False)
    return alone.filter(number == pl.col("pid"))["host"].sort().to_list()
