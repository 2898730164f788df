"""Reports of a watchdog that gave up a collective, by columns: of a large job they are most of what its logs say.

    [E131 10:11:12.123 ProcessGroupNCCL.cpp:633] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7,
        OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600011 milliseconds before timing out.

Only lines of this very form, without another statement in them, are read here. process_group reads all others one by one,
and would make the same rows of these.
"""

from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import polars as pl

from parsers.schema.lines import PRINTER, TEXT_CHARACTERS
from parsers.schema.tables import conform, table
from parsers.text.group_prefix import member
from parsers.text.op_types import operation
from parsers.text.patterns import regex

FEWEST = 100  # lines: fewer cost less one by one
AT_ONCE = 16_384  # lines: their parts take thrice as much as they
_WORDS = "Watchdog caught collective operation timeout: "
_N = "[0-9]{1,18}"
_PLACE = r"^\[[A-Z][0-9 :.]* ?[A-Za-z0-9_.]+:[0-9]+\] "
# Behind the words. Each byte leaves one way to go on: such a form is matched in half the time.
_FORM = (
    rf"^Work[A-BD-Z]?CCL\((?:SeqNum=(?P<seq>{_N}), )?OpType=(?P<op_type>[A-Za-z0-9_]+), "
    rf"(?:NumelIn=(?P<numel_in>{_N}), (?:NumelOut=(?P<numel_out>{_N}), )?)?"
    rf"T(?:ensorShape=(?P<shape>\[[0-9, ]*\]), T)?imeout\(ms\)=(?P<timeout_ms>{_N})\) "
    rf"ran for (?P<value>{_N}) milliseconds before timing out\.[ ]*$"
)
_DETAIL = ("numel_in", "numel_out", "timeout_ms", "shape", "op_type")
_NUMBERS = ("seq", "numel_in", "numel_out", "timeout_ms", "value")
_MORE = regex(
    r"CCL(?:\(| error)|completed|ran for|what\(\):|\n"
)  # before the report: the line says something else, too
_MEMBER = {"who": pl.String, "group": pl.String, "number": pl.Int64, "space": pl.String}
Said = tuple[str, int | None, str | None, int | None, str | None]  # kind, rank, rank_space, seq, op of an event


class Reports:
    """What was read, and what was not."""

    def __init__(self, left: pl.DataFrame, events: pl.DataFrame, printers: pl.Series) -> None:
        self.left = left  # lines of schema LINES
        self.events = events
        self._printers = printers  # of the events: who printed them, lines.PRINTER as a structure

    @cached_property
    def said(self) -> Mapping[tuple[Any, ...], set[Said]]:
        """Printer → what its reports say."""
        found: defaultdict[tuple[Any, ...], set[Said]] = defaultdict(set)
        rows = self.events.select("kind", "rank", "rank_space", "seq", "op").iter_rows()
        for printer, said in zip(self._printers.to_list(), rows, strict=True):
            found[tuple(printer.values())].add(said)
        return found


def reports(lines: pl.DataFrame, near: int) -> Reports:
    """Lines of schema LINES → the reports among them. What comes up to `near` lines after an error of the library may
    belong to it, and is left."""
    has_words = lines["text"].str.contains(_WORDS, literal=True)
    if has_words.sum() < FEWEST:
        return Reports(lines, table("events", []), pl.Series(dtype=pl.Null))
    is_plain = lines.select(_is_apart(near) & _is_of_a_job()).to_series()
    at = (has_words & is_plain).arg_true()
    read = [_read(lines, at[begin : begin + AT_ONCE]) for begin in range(0, max(1, at.len()), AT_ONCE)]
    taken, events, printers = (pl.concat(column) for column in zip(*read, strict=True))
    is_left = pl.repeat(True, lines.height, eager=True).scatter(taken, False)
    return Reports(lines.filter(is_left), events, printers)


def _read(lines: pl.DataFrame, at: pl.Series) -> tuple[pl.Series, pl.DataFrame, pl.Series]:
    """Of the lines `at` those that are reports, their events, and who printed them."""
    made = lines[at].select(pl.all(), at.alias("at"), printer=pl.struct(PRINTER))
    parts = pl.col("text").str.splitn(_WORDS, 2)
    made = made.with_columns(
        who=parts.struct.field("field_0").str.replace(_PLACE, ""),
        form=parts.struct.field("field_1").str.extract_groups(_FORM),
    ).unnest("form")
    made = made.filter(pl.col("value").is_not_null())
    members = [_member(who) for who in made["who"].unique() if not _MORE.search(who)]
    rows = made.join(pl.DataFrame(members, schema=_MEMBER, orient="row"), on="who", maintain_order="left")
    return rows["at"], _events(rows), rows["printer"]


def _is_apart(near: int) -> pl.Expr:
    """Neither near an error, nor in a file of which one line holds several candidates."""
    error = pl.when(pl.col("text").str.contains("CCL error", literal=True)).then("line").forward_fill().over("file")
    is_near = (pl.col("line") - error <= near).fill_null(False)
    is_piece = (pl.col("line") == pl.col("line").shift(1)) & (pl.col("file") == pl.col("file").shift(1))
    return ~is_near & ~is_piece.fill_null(False).any().over("file")


def _is_of_a_job() -> pl.Expr:
    """Surely not printed by a kernel (lines.is_of_kernel)."""
    foreign = (pl.col("time_basis") == "boot").fill_null(False) | pl.col("raw").str.contains(r"^\[|kernel")
    return pl.col("process").is_null() | ~foreign


def _member(who: str) -> tuple[str, str | None, int | None, str | None]:
    told = member(who)
    return who, told.get("group"), told.get("rank"), told.get("rank_space")


def _events(rows: pl.DataFrame) -> pl.DataFrame:
    """Lines with the groups of the form and of `_MEMBER` → rows of `events`."""
    own = pl.coalesce("rank", "path_rank")
    parts = [*map(_field, _NUMBERS[1:4]), _field("shape", '"'), _field("op_type", '"'), pl.lit('"unit": "ms"}')]
    rows = rows.with_columns(pl.col(_NUMBERS).cast(pl.Int64))
    alike = rows.select(_DETAIL).unique()  # a text of each, of which most reports have the same
    detail = alike.with_columns(detail=pl.concat_str(pl.lit("{"), *parts))
    rows = rows.join(detail, on=_DETAIL, how="left", nulls_equal=True, maintain_order="left")
    names = rows["op_type"].unique().to_list()
    made = rows.select(
        "file", "line", "time_ns", "time_basis", "attempt", "group", "seq",
        rank=pl.coalesce(own, "number"),
        rank_space=pl.when(own.is_not_null()).then(pl.lit("global")).otherwise("space"),
        local_rank=pl.coalesce("local_rank", "path_local_rank"),
        host=pl.coalesce("host", "path_host"),
        pid="process",
        op=pl.col("op_type").replace_strict(names, list(map(operation, names)), return_dtype=pl.String),
        value=pl.col("value").cast(pl.Float64),
        text=pl.col("text").str.slice(0, TEXT_CHARACTERS),
        detail="detail",
        kind=pl.lit("collective_timeout"),
        severity=pl.lit("error"),
    )  # fmt: skip
    return conform("events", made)


def _field(name: str, quote: str = "") -> pl.Expr:
    """`"name": value, ` of a JSON object, or nothing where the form has no such field."""
    value = pl.col(name).cast(pl.String)
    return pl.concat_str(pl.lit(f'"{name}": {quote}'), value, pl.lit(f"{quote}, ")).fill_null("")
