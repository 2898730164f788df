"""Names of hosts as rows have them: the same one with its domain and without."""

from functools import lru_cache

import polars as pl


@lru_cache(maxsize=65_536)  # a job has thousands of hosts, and their names are asked millions of times
def short_host(host: str) -> str:
    """The first label alone counts as the same host; addresses are kept whole."""
    return host if host.replace(".", "").isdecimal() or ":" in host else host.split(".", 1)[0]


def short_hosts(column: str = "host") -> pl.Expr:
    """The column by its first labels, as `short_host` has them, in words of polars: a function of Python is dear to begin with."""
    return short_of(pl.col(column).cast(pl.String)).alias(column)


def short_of(host: pl.Expr) -> pl.Expr:
    """The same of any expression of text, such as an element of a list."""
    is_address = host.str.contains(r"^[\d.]*\d[\d.]*$|:")
    return pl.when(is_address).then(host).otherwise(host.str.extract(r"^([^.]*)"))


def hosts_of_ranks(identity: pl.DataFrame) -> dict[int, str]:
    """Rank → host, of the ranks whose host is known."""
    told = zip(identity["rank"].to_list(), identity["host"].to_list(), strict=True) if identity.height else ()
    return {rank: host for rank, host in told if host is not None}
