"""NCCL's lines on who is connected to whom → links: channels with their transport, rings, trees.

    Channel 03/0 : 7[7] -> 8[0] [send] via NET/IB/0/GDRDMA          the printer sends from rank 7 to rank 8
    Channel 00 : 1[3b000] -> 2[5e000] via P2P/IPC comm 0x55 nRanks 08   (until 2.17 the brackets hold a bus)
    Channel 00/04 :    0   1   2   3                                the order of a whole ring, printed by rank 0
    Ring 00 : 3 -> 0 -> 1                                           NCCL_DEBUG_SUBSYS=GRAPH
    Trees [0] 1/-1/-1->0->-1 [1] 4/5/-1->0->2                       children -> the printer -> its parent

Ranks count in the communicator. The lines seldom name it: it is the one whose Init START stands before and whose Init
COMPLETE stands after them in the same process, or, before 2.18, the next Init COMPLETE.
"""

from collections.abc import Iterator
from typing import Any

import polars as pl

from parsers.comm.nccl_records import before_pointer, named_pointer
from parsers.schema.lines import Row
from parsers.schema.tables import conform, table
from parsers.text.patterns import regex

_CHANNEL = (
    r"^Channel (?P<channel>[0-9]{1,3})(?:/[0-9]{1,3})? : (?P<from>[0-9]{1,7})\[[0-9a-f]+\] -> (?P<to>[0-9]{1,7})\[[0-9a-f]+\]"
    r"(?: \[(?P<way>send|receive)\])? via (?P<transport>[A-Za-z0-9_][A-Za-z0-9_/. -]{0,60}?)"
    r"(?: comm (?P<comm>0x[0-9a-f]+).*)?\s*$"
)
_ORDER = regex(r"Channel (\d{1,3})/\d{1,3} :((?: +\d{1,7}){2,})\s*$")
_RING = regex(r"Ring (\d{1,3}) : (\d{1,7}) -> (\d{1,7}) -> (\d{1,7})\b")
_TREE = regex(r"\[(\d{1,3})\] (-?\d{1,7})/(-?\d{1,7})(?:/(-?\d{1,7}))?->(\d{1,7})->(-?\d{1,7})(?![\d/])")
_CUT_FROM = 1000  # until 2.29 a record ends at 1,023 bytes: its last number may be a part of one
_INIT = r"comm (?P<pointer>0x[0-9a-f]+) rank .*- Init (?P<what>START|COMPLETE)"


def is_link() -> pl.Expr:
    """Whether `message` speaks of a connection."""
    begins = r"^(?:Channel [0-9]+(?:/[0-9]+)? : |Ring [0-9]+ : [0-9]|Trees \[)"
    return pl.col("message").str.contains(begins).fill_null(False)


def names_communicator() -> pl.Expr:
    """Whether `message` tells where the setup of a communicator begins or ends."""
    return pl.col("message").str.contains(_INIT).fill_null(False)


def links(records: pl.DataFrame) -> pl.DataFrame:
    """All records of some files that are one or the other, in order → the table `links`."""
    init = pl.col("message").str.extract_groups(_INIT)
    process = ["file", "host", "pid"]
    told = records.with_columns(
        start=init.struct.field("pointer").alias("start"), what=init.struct.field("what").alias("what")
    ).with_columns(
        before=pl.col("start").forward_fill().over(process),
        before_what=pl.col("what").forward_fill().over(process),
        after=pl.col("start").backward_fill().over(process),
        after_what=pl.col("what").backward_fill().over(process),
    )
    during = (pl.col("before_what") == "START") & (pl.col("before") == pl.col("after"))
    old = pl.col("before_what").ne_missing("START") & (pl.col("after_what") == "COMPLETE")
    open_ended = (pl.col("before_what") == "START") & pl.col("after").is_null()  # it never came to an end
    known = told.filter(is_link()).with_columns(
        around=pl.when(during | open_ended).then("before").when(old).then("after")
    )
    is_channel = pl.col("message").str.contains(_CHANNEL)
    rest = table("links", (link for row in known.filter(~is_channel).iter_rows(named=True) for link in _paths(row)))
    return pl.concat([_channels(known.filter(is_channel)), rest])


def _channels(lines: pl.DataFrame) -> pl.DataFrame:
    part = lines.with_columns(pl.col("message").str.extract_groups(_CHANNEL).alias("c")).unnest("c")
    is_receive = (pl.col("way") == "receive").fill_null(False)
    ends = {name: pl.col(name).cast(pl.Int64) for name in ("from", "to")}
    return conform(
        "links",
        part.select(
            "rank", "host", "pid", "device_index", "file", "line",
            comm=before_pointer() + pl.coalesce("comm", "around"),
            channel=pl.col("channel").cast(pl.Int64),
            group_rank=pl.when(is_receive).then(ends["to"]).otherwise(ends["from"]),
            peer_group_rank=pl.when(is_receive).then(ends["from"]).otherwise(ends["to"]),
            direction=pl.when(is_receive).then(pl.lit("receive")).otherwise(pl.lit("send")),
            transport=pl.col("transport"),
        ),
    )  # fmt: skip


def _paths(row: Row) -> Iterator[dict[str, Any]]:
    text = row["message"]
    comm = named_pointer(row, row["around"]) if row["around"] else None
    own = {key: row[key] for key in ("rank", "host", "pid", "device_index", "file", "line")} | {"comm": comm}

    def link(channel: str, at: int, peer: int, direction: str) -> dict[str, Any]:
        made = {"channel": int(channel), "group_rank": at, "peer_group_rank": peer, "direction": direction}
        return own | made

    if order := _ORDER.match(text):
        members = [int(number) for number in order[2].split()]
        is_cut = len(text) >= _CUT_FROM
        following = members[1:-1] if is_cut else [*members[1:], members[0]]
        for at, peer in zip(members, following, strict=False):
            yield link(order[1], at, peer, "ring_next")
    elif ring := _RING.match(text):
        yield link(ring[1], int(ring[3]), int(ring[2]), "ring_previous")
        yield link(ring[1], int(ring[3]), int(ring[4]), "ring_next")
    elif text.startswith("Trees "):
        for tree in _TREE.finditer(text):
            if tree.end() >= len(text) >= _CUT_FROM:
                continue
            for child in tree.group(2, 3, 4):
                if child is not None and int(child) >= 0:
                    yield link(tree[1], int(tree[5]), int(child), "tree_down")
            if int(tree[6]) >= 0:
                yield link(tree[1], int(tree[5]), int(tree[6]), "tree_up")
