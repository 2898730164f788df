"""Numbers of calls whose printer prints none: lines of one communicator, counted.

NCCL before 2.27 numbers the calls of every communicator in its lines of collectives; later versions print `opCount 0` for all
calls of one whose members run on one node. Each call is a line there, so what is printed once by each member is counted: the
first line of a process is its call 0. A count needs all lines from the first one: nothing is counted where a file lost lines,
where the lines of a process are in several files, or where messages, which count unevenly, stand among collectives.
"""

from collections.abc import Collection

import polars as pl


def numbered(lines: pl.DataFrame, communicator: str, incomplete: Collection[str] = ()) -> pl.DataFrame:
    """Lines of calls (rank, comm, seq, is_p2p, file, line) → the same with `seq` counted where all lines of a `communicator`
    have number 0 and some process has several, and `is_counted` (Boolean). `incomplete`: files that lost lines."""
    of_process = pl.struct("rank", "comm").rank("dense")
    lines = lines.with_columns(is_p2p=pl.col("is_p2p").fill_null(False)).with_columns(_process=of_process)
    of = ("_process", communicator)
    is_still = (pl.col("seq") == 0).all().over(communicator) & (pl.len().over(of) > 1).any().over(communicator)
    is_whole = (pl.col("file").n_unique().over(of) == 1).all().over(communicator)
    is_whole &= ~pl.col("file").is_in(sorted(incomplete)).any().over(communicator)
    is_one_sort = pl.col("is_p2p").n_unique().over(communicator) == 1
    marked = lines.with_columns(is_counted=is_still & is_whole & is_one_sort).sort("file", "line", maintain_order=True)
    nth = pl.int_range(pl.len()).over(of)
    return marked.with_columns(seq=pl.when("is_counted").then(nth).otherwise("seq")).drop("_process")
