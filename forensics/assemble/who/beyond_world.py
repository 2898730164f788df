"""Numbers that are no ranks of the job, because its size is told and they are not below it.

A column of records that holds such a number counts something else (places in a ranking, samples): none of that file's is a rank.
Of lines that each tell their own, only those lose it: a log left by a larger job lies beside.
"""

import polars as pl

from parsers.schema.tables import TableName, Tables

_RECORDS: tuple[TableName, ...] = ("steps", "timings", "tensors")
_LINES: tuple[TableName, ...] = ("events", "settings", "devices", "stacks")


def within_world(tables: Tables, told: frozenset[int]) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global → the same, null where a number is no rank. `told`: the ranks of the job, empty where
    its size is not told."""
    result = dict(tables)
    for name in (*_RECORDS, *_LINES) if told else ():
        frame, is_beyond = result[name], pl.col("rank") > max(told)
        if name == "events":
            is_beyond &= pl.col("rank_space") == "global"
        if frame.height and frame.select(is_beyond.any()).item():
            wrong = is_beyond.any().over("file") if name in _RECORDS else is_beyond
            result[name] = frame.with_columns(pl.when(wrong).then(None).otherwise("rank").alias("rank"))
    return result
