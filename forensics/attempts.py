"""Which launch a record belongs to. Calls, ranks and steps match within one attempt only."""

from collections.abc import Mapping

import polars as pl

from parsers.tables import TableName

_NOT_SPLIT = ("files", "unread", "claimed")


def split_attempts(tables: Mapping[TableName, pl.DataFrame]) -> dict[int, dict[TableName, pl.DataFrame]]:
    """Attempt number → the tables of that attempt, in ascending order.

    The number comes from the path (torchrun's `attempt_N`). Files outside any attempt folder (dumps that a job writes
    to one place, kernel logs) belong to the newest attempt: a dump is overwritten by the next launch.
    """
    files = tables["files"].select("file", pl.col("attempt").alias("_attempt"))
    numbers = sorted(files["_attempt"].drop_nulls().unique().to_list())
    if len(numbers) < 2:
        return {numbers[0] if numbers else 0: dict(tables)}
    newest = numbers[-1]
    split: dict[int, dict[TableName, pl.DataFrame]] = {number: {} for number in numbers}
    for name, frame in tables.items():
        if name in _NOT_SPLIT:
            marked = (
                frame.join(files, on="file", how="left")
                if name != "files"
                else frame.with_columns(pl.col("attempt").alias("_attempt"))
            )
        else:
            marked = frame.join(files, on="file", how="left", maintain_order="left")
        marked = marked.with_columns(pl.col("_attempt").fill_null(newest))
        for number in numbers:
            split[number][name] = marked.filter(pl.col("_attempt") == number).drop("_attempt")
    return split
