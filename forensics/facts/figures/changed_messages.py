"""Which message did not arrive as it was sent, by digests that both ends tell of each: all others are equal at both.

A message is told by its step and micro-batch, and by who sent it to whom, where that is known; where nobody knows whose file is whose, by the one that is left over
of those sent, and of those received, at one time, between two files whose other messages are equal.
"""

from typing import Any

import msgspec
import polars as pl

_FEWEST = 8  # messages that are equal at both ends
_FEW = 0.1  # of all messages may differ
_WHEN = ["step", "microbatch"]


class Changed(msgspec.Struct, frozen=True):
    """`sent`, `got`: the rows of the first such message; `ends`: the ranks of both, where they are known; `equal`: how many arrived as they were sent."""

    sent: dict[str, Any]
    got: dict[str, Any]
    ends: tuple[int, ...]
    equal: int


def changed_message(tensors: pl.DataFrame) -> Changed | None:
    """Table `tensors` → the first message that is another at its receiver; None where all are equal, or many differ: then both tell digests of different things."""
    told = tensors.filter(pl.col("op").is_in(["send", "recv"])).drop_nulls(["checksum", "step"])
    told = told.with_columns(pl.col("file").cast(pl.String), pl.col("microbatch").fill_null(-1))
    sends, gets = told.filter(pl.col("op") == "send"), told.filter(pl.col("op") == "recv")
    if not sends.height or not gets.height:
        return None
    key = [*_WHEN, "checksum"]
    equal = sends.join(gets, on=key, suffix="_got", maintain_order="left").unique(
        key, keep="first", maintain_order=True
    )
    routes = equal.select("file", "file_got").unique()
    left = sends.join(gets, on=key, how="anti", maintain_order="left").join(
        gets.join(sends, on=key, how="anti", maintain_order="left"), on=_WHEN, suffix="_got", maintain_order="left"
    )
    left = left.join(routes, on=["file", "file_got"], how="semi", maintain_order="left")
    is_met = (pl.col("peer") == pl.col("rank_got")) & (pl.col("peer_got") == pl.col("rank"))
    left = left.filter(is_met.fill_null(True) & (pl.len().over("file", "file_got", *_WHEN) == 1))
    if equal.height < _FEWEST or not left.height or left.height > _FEW * equal.height:
        return None
    row = left.sort(*_WHEN, maintain_order=True).row(0, named=True)
    sent = {name: row[name] for name in tensors.columns}
    got = {name: row.get(f"{name}_got", row[name]) for name in tensors.columns} | {"checksum": row["checksum_got"]}
    ends = tuple(sorted({rank for rank in (row["rank"], row["rank_got"]) if rank is not None}))
    return Changed(sent, got, ends if len(ends) == 2 else (), equal.height)
