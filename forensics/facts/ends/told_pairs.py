"""With whom alone did a process work when it ended? By what its own lines last said of a group: a group of two.

Of two, each may be why a call of both failed, whatever it did afterwards in other groups.
"""

import polars as pl

from forensics.facts.ends.process_ends import ProcessEnd


def partner(groups: pl.DataFrame, end: ProcessEnd) -> int | None:
    """The other member of the group that the process's own file named last before its end; None where it is not of two, or not told."""
    for ref in end.refs[:1]:
        is_own = (pl.col("how") == "told") & (pl.col("rank") == end.rank) & (pl.col("file") == ref.file)
        told = groups.filter(is_own & (pl.col("line") < (ref.line or 0))).sort("line").tail(1)
        for members in told["members"].to_list():
            others = [rank for rank in members if rank != end.rank]
            return others[0] if len(members) == 2 and len(others) == 1 else None
    return None
