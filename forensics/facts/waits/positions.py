"""Who stands at which call: one row for each statement of a source about a rank and a call of its group.

Two sources that disagree about a rank stay two rows, and nothing here says who is right. Numbers count within one source
and group, so they are compared there alone. A rank of a group of which a source says nothing has a row `unknown` with no
number. Filled from flight records (facts/waits/states.py), from lines and reports (facts/waits/told_positions.py, called_positions.py)
and from stacks inside a call.
"""

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import polars as pl

from forensics.facts.waits.called_positions import called, launched
from forensics.facts.waits.memberships import Memberships, group_name
from forensics.facts.waits.states import States
from forensics.facts.waits.told_positions import beside_timeouts, timed_out, told
from forensics.model.names import POSITION_SOURCES, POSITION_STATES
from forensics.model.said import Said
from forensics.words import facts as words
from parsers.schema.tables import Tables

SCHEMA: Mapping[str, pl.DataType] = {
    "rank": pl.Int32(),  # global; null: not told which, `count` members of the group
    "count": pl.Int32(),  # members that the statement is about; null: 1
    "certain": pl.Boolean(),  # False: the rank is a guess, its number counts within a group that is not known
    "group": pl.String(),  # tells groups of one source apart
    "label": pl.String(),  # how sentences call the group
    "size": pl.Int32(),  # its members, null where not known
    "kind": pl.String(),  # all_reduce, …
    "number": pl.Int64(),  # of the call, as the source counts within the group; -1: before the first
    "state": pl.Enum(POSITION_STATES),
    "call": pl.String(),  # what all members must bring alike, in words; null where the source does not tell
    "code": pl.String(),  # file:line that calls
    "since_ns": pl.Int64(),  # when the call began, by the clock of its host
    "time_ns": pl.Int64(),  # when it was said
    "clock": pl.Enum(["utc", "local", "boot"]),
    "source": pl.Enum(POSITION_SOURCES),
    "file": pl.String(),
    "line": pl.Int64(),  # or the record of a structured file
    "text": pl.String(),
}
_RECORDED = {"in": "entered", "enqueued": "enqueued", "done": "completed", "absent": "absent", "entered": "entered"}


def positions(
    tables: Tables,
    events: pl.DataFrame,
    expected: frozenset[int],
    states: States,
    stacks: pl.DataFrame,
    memberships: Memberships,
) -> pl.DataFrame:
    """All statements of one attempt; `events`: without recovered errors, `stacks`: of the main threads."""
    waits = timed_out(events, memberships)
    rows = chain(
        beside_timeouts(waits, tables, memberships, expected),
        told(events, memberships, expected, tables["steps"].height > 0),
        launched(events, tables, expected),
        called(events, tables, expected),
    )
    return pl.concat([_recorded(states), _in_stacks(stacks), _whole(waits.rows), _frame(rows)])


def _frame(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    columns: dict[str, list[Any]] = {name: [] for name in SCHEMA}
    for row in rows:
        for name, values in columns.items():
            values.append(row.get(name))
    return pl.DataFrame(columns, schema=SCHEMA)


def _whole(rows: pl.DataFrame) -> pl.DataFrame:
    """Columns of rows → all columns."""
    kinds = SCHEMA.items()
    return rows.select(
        (pl.col(name) if name in rows.columns else pl.lit(None)).cast(kind).alias(name) for name, kind in kinds
    )


def _recorded(states: States) -> pl.DataFrame:
    """Members of each open collective, as the flight records show them."""
    if not states.open.height:
        return _frame(())
    opened = states.open.filter(~pl.col("is_p2p"))
    root = pl.when(pl.col("kind").is_in(["broadcast", "reduce"])).then("root")
    call = pl.concat_str(
        pl.col("kind").fill_null("operation"), pl.format(" of {} elements", "numel").fill_null(""),
        pl.format(" {}", "dtype").fill_null(""), pl.format(" root {}", root).fill_null(""),
    )  # fmt: skip
    said = opened.select(
        "op", "rank", "kind", "file", call.alias("call"), "code", pl.col("time_created_ns").alias("since_ns"),
        pl.col("record").alias("line"), pl.col("state").alias("how"),
    )  # fmt: skip
    names = [group_name(group, desc) for group, desc in states.groups.select("group", "desc").iter_rows()]
    groups = states.groups.select("gid").with_columns(pl.Series("label", names, dtype=pl.String))
    ops = opened.select("op", "gid", "seq").unique("op", keep="first", maintain_order=True)
    ops = ops.join(groups, on="gid", how="left")
    members = states.members.with_columns(pl.len().over("op").alias("size"))
    rows = members.join(ops, on="op", maintain_order="left")
    rows = rows.join(said, on=["op", "rank"], how="left", maintain_order="left")
    has_started = (pl.col("state") == "in") & (pl.col("how") == "started")
    told_as = pl.col("state").replace_strict(_RECORDED, default="unknown", return_dtype=pl.String)
    state = pl.when(has_started).then(pl.lit("started")).otherwise(told_as)
    return rows.select(
        pl.col("rank").cast(pl.Int32), pl.lit(None, pl.Int32).alias("count"), pl.lit(True).alias("certain"),
        pl.col("gid").cast(pl.String).alias("group"), "label", pl.col("size").cast(pl.Int32), "kind", pl.col("seq").alias("number"),
        state.cast(SCHEMA["state"]).alias("state"), "call", "code", "since_ns", pl.lit(None, pl.Int64).alias("time_ns"),
        pl.lit("utc").cast(SCHEMA["clock"]).alias("clock"), pl.lit("flight_record").cast(SCHEMA["source"]).alias("source"),
        "file", "line", pl.col("call").alias("text"),
    )  # fmt: skip


def _in_stacks(stacks: pl.DataFrame) -> pl.DataFrame:
    """Ranks whose main thread stands in a call; which group it is of, a stack does not tell."""
    if not stacks.height:
        return _frame(())
    rows = stacks.filter(pl.col("site") == "communication").drop_nulls(["rank", "op"])
    return _frame(
        {"rank": rank, "certain": True, "kind": op, "state": "entered", "source": "stack", "file": file,
         "line": record if line is None else line}
        for rank, op, file, line, record in rows.select("rank", "op", "file", "line", "record").iter_rows()
    )  # fmt: skip


def call_text(call: str) -> Said:
    """A value of the column `call`, for sentences."""
    kind, of, what = call.partition(" of ")
    return words.CALL_OF(kind=kind, what=what) if of else Said(call, call)
