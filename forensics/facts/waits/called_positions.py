"""Calls of communicators, as rows of positions: lines of enqueued collectives, and numbers of launched ones by NCCL's RAS.

NCCL and its kin print a line per collective when it is enqueued (subsystem COLL), numbered per communicator: the same for
every member. RAS counts, for each member and kind, what was launched; its text lists a minority of the members by rank and
gives the numbers of the others together. Messages count unevenly, and several calls in one batch share a number: what they
bring is not compared.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from forensics.facts.rows.event_rows import Row, detail, is_missing, rows
from forensics.facts.waits.counted_calls import numbered
from parsers.schema.tables import Tables, spelled

_RECENT = 16  # numbers before the last one that calls are compared in
_OF_LINES = (
    "rank", "comm", "seq", "kind", "root", "input_sizes", "input_dtypes", "is_p2p", "state", "time_created_ns", "file", "line",
)  # fmt: skip
Position = dict[str, Any]


def called(events: pl.DataFrame, tables: Tables, expected: frozenset[int]) -> Iterator[Position]:
    """Rows of positions from lines of enqueued collectives."""
    if not tables["operations"].height:
        return
    calls = tables["operations"].select(_OF_LINES).drop_nulls(["line", "rank", "seq"])
    # A record of what was done tells of no call that anybody stands in.
    lines = spelled(calls.filter((pl.col("state") != "completed").fill_null(True)))
    issued = lines.join(_communicators(tables, len(expected)), left_on="comm", right_on="group")
    if issued.is_empty():
        return
    lost = tables["unread"].filter(pl.col("reason").str.ends_with("were not kept"))["file"]
    issued = numbered(issued, "name", lost.to_list())
    last = issued.sort("seq", "file", "line").group_by("name", "rank", maintain_order=True).last()
    for row in _compared(issued).iter_rows(named=True):
        yield _of_line(row)
    for row in last.filter(pl.col("seq") + _RECENT <= pl.col("seq").max().over("name")).iter_rows(named=True):
        yield _of_line(row | {"call": None})
    yield from _without_calls(events, issued, expected)
    yield from _broken_off(lines, last)


def _communicators(tables: Tables, world: int) -> pl.DataFrame:
    """group (as a line prints it), name, size."""
    known = tables["groups"].filter(pl.col("comm") != pl.col("group")).drop_nulls("size")
    stated = known.select("group", "size", name="comm").unique()
    single = stated.filter(pl.len().over("group") == 1)  # a pointer that served twice tells nothing
    if single.height:
        return single
    # Where no id is printed: each process set up just one communicator of all ranks, so it is the same.
    every = tables["groups"].filter((pl.col("comm") == pl.col("group")) & (pl.col("size") == world))
    every = every.drop_nulls("rank").select("group", "rank", "size").unique()
    alone = world > 1 and every.height > 0 and every["rank"].is_unique().all()
    named = every.select("group", pl.lit("of all ranks").alias("name"), "size")
    return named if alone else named.clear()


def _compared(issued: pl.DataFrame) -> pl.DataFrame:
    """The last numbers of each communicator with `call`, what all members must bring alike."""
    is_batch = pl.col("is_p2p").fill_null(False) | (pl.len().over("name", "rank", "seq", "file") > 1)
    recent = issued.filter(pl.col("seq") + _RECENT > pl.col("seq").max().over("name"))
    recent = recent.with_columns((~is_batch.any().over("name")).alias("_single"))
    sizes = pl.when(pl.col("kind") != "all_to_all").then(pl.col("input_sizes").str.strip_chars("[]"))
    call = pl.concat_str(
        "kind",
        pl.format(" of {}", sizes).fill_null(""),
        pl.format(" {}", pl.col("input_dtypes").str.strip_chars('["]')).fill_null(""),
        pl.format(" root {}", "root").fill_null(""),
    )
    return recent.with_columns(pl.when("_single").then(call).alias("call")).sort("name", "seq", "rank", "file", "line")


def _of_line(row: Mapping[str, Any]) -> Position:
    return {
        "rank": row["rank"], "certain": True, "group": row["name"], "label": f"communicator {row['name']}", "size": row["size"],
        "kind": row["kind"], "number": row["seq"], "state": "enqueued", "call": row["call"], "time_ns": row["time_created_ns"],
        "source": "collective_line", "file": row["file"], "line": row["line"], "text": f"{row['kind']}: {_printed(row)}",
    }  # fmt: skip


def _printed(row: Mapping[str, Any]) -> str:
    """The number of a call as its line has it, else how it was counted."""
    return f"opCount 0, line {row['seq'] + 1} of its process" if row["is_counted"] else f"opCount {row['seq']:x}"


def _without_calls(events: pl.DataFrame, issued: pl.DataFrame, expected: frozenset[int]) -> Iterator[Position]:
    """Members that printed no call of a communicator: before its first, if they printed calls of others; else unknown."""
    begun = events.filter(
        pl.col("kind").is_in(["comm_init_start", "comm_init_complete"]) & (pl.col("rank_space") == "global")
    )
    members: dict[str, set[int]] = defaultdict(set)
    for name, rank in begun.select("group", "rank").drop_nulls().unique().iter_rows():
        members[name].add(rank)
    speaking = set(issued["rank"].to_list())
    for (name, size), part in issued.partition_by("name", "size", as_dict=True).items():
        known = members[str(name)] | (set(expected) if size == len(expected) else set())
        for rank in sorted(known - set(part["rank"].to_list())):
            stands = {"number": -1, "state": "absent"} if rank in speaking else {"state": "unknown"}
            same = {"group": name, "label": f"communicator {name}", "size": size, "source": "collective_line"}
            yield {"rank": rank, "certain": True, **same, **stands}


def _broken_off(lines: pl.DataFrame, last: pl.DataFrame) -> Iterator[Position]:
    """A log may go on with a line of a collective that breaks off: then it was issued, of whatever communicator."""
    broken = lines.filter(pl.col("comm").is_null()).select("rank", "file", pl.col("line").alias("_at"))
    behind = last.join(broken, on=["rank", "file"]).filter(pl.col("_at") > pl.col("line"))
    for row in behind.unique(["name", "rank"], maintain_order=True).iter_rows(named=True):
        yield _of_line(row | {"call": None}) | {"number": None, "state": "unknown", "line": row["_at"]}


def launched(events: pl.DataFrame, tables: Tables, expected: frozenset[int]) -> Iterator[Position]:
    """Rows of positions from reports of RAS."""
    told = tables["groups"].filter(pl.col("how") == "ras").drop_nulls("group")
    sizes = dict(told.select("group", "size").iter_rows())
    counted = tables["progress"].filter(pl.col("how") == "ras").drop_nulls(["rank", "record"])
    for row in counted.iter_rows(named=True):
        text = f"rank {row['rank']}: launched {row['last_enqueued']} {row['desc']} of communicator {row['group']}"
        yield _of_report(row, row["group"], sizes.get(row["group"]), row["desc"]) | {
            "rank": row["rank"], "number": row["last_enqueued"], "text": text, "line": row["record"],
        }  # fmt: skip
    for row in rows(events, "ras_status", "missing_members"):
        if row["code"] == "MISMATCH":
            yield from _of_text(row, expected)
        elif is_missing(row) and row["names_rank_space"] == "global":
            same = _of_report(row, row["group"], sizes.get(row["group"]), None)
            yield from (same | {"rank": rank, "state": "unknown"} for rank in row["names_ranks"])


def _of_report(row: Row, group: str | None, size: int | None, kind: str | None) -> Position:
    return {
        "certain": True, "group": group, "label": f"communicator {group}", "size": size, "kind": kind, "state": "enqueued",
        "time_ns": row["time_ns"], "source": "ras", "file": row["file"],
    }  # fmt: skip


def _of_text(row: Row, expected: frozenset[int]) -> Iterator[Position]:
    """A complaint of the text form: members that it lists by rank, and how many others stand at which number."""
    said = detail(row)
    counts, listed = said.get("counts", []), said.get("listed")
    if listed is None:
        return  # of the JSON form: the counts of all members are there
    size = sum(count["ranks"] for count in counts)
    kind = said.get("op")
    same = _of_report(row, row["group"], size, kind) | {"line": row["line"], "text": row["text"]}
    left = {count["operation"]: count["ranks"] for count in counts}
    for one in listed:
        left[one["operation"]] = left.get(one["operation"], 0) - 1
        yield same | {"rank": one["rank"], "count": 1, "number": one["operation"]}
    left = {number: ranks for number, ranks in left.items() if ranks > 0}
    others = sorted(expected - {one["rank"] for one in listed})
    if len(left) == 1 and len(expected) == size and len(others) == sum(left.values()):
        for rank in others:
            yield same | {"rank": rank, "number": next(iter(left))}
    else:
        for number, ranks in left.items():
            yield same | {"rank": None, "count": ranks, "number": number}
