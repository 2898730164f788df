"""Cuts candidate lines into the library's own records: one frame, a row per record, with the columns of its prefix.

`H:P:T [D] NCCL INFO message`, and what the versions put around it: 2.2 and 2.3 leave out the library's name, since 2.14
there are CALL records without a device, since 2.26 warnings begin with `[2026-01-31 10:11:12] ` (local time), and 2.30
adds the function. Processes that share a pipe cut each other's records; a second prefix inside a line begins a new
record, and a host name that another record's rest is glued to is mended by the names that begin lines.
Columns added to LINES: nccl_host, host, pid, thread, device_index, place, function, library, level, message, is_named.
"""

from collections.abc import Iterator
from itertools import islice

import polars as pl

from parsers.schema.lines import Row
from parsers.text.patterns import regex

LIBRARY = "[A-Z]{2,6}CL"  # NCCL, RCCL, MCCL, and of whoever else keeps these records: a name of its own stands there
_STAMP = r"(?P<stamp>\[[0-9]{4}-[0-9][0-9]-[0-9][0-9] [0-9][0-9]:[0-9][0-9]:[0-9][0-9](?:\.[0-9]{1,9})?\] )?"
_HEAD = _STAMP + r"(?P<host>[^\s:\[\]<>|]+):[0-9]{1,9}:[0-9]{1,9} (?:\[-?[0-9]{1,4}\] |NCCL CALL )"
_OWN_HOST = r"(?:\[[0-9]{4}-[0-9][0-9]-[0-9][0-9] [0-9:.]+\] )?([^\s:\[\]<>|]+):[0-9]{1,9}:[0-9]{1,9} (?:\[-?[0-9]{1,4}\] |NCCL CALL )"
_PREFIX = (
    r"(?:\[(?P<stamp>[0-9]{4}-[0-9][0-9]-[0-9][0-9] [0-9][0-9]:[0-9][0-9]:[0-9][0-9](?:\.[0-9]{1,9})?)\] )?"
    r"(?P<nccl_host>[^\s:\[\]<>|]+):(?P<nccl_pid>[0-9]{1,9}):(?P<thread>[0-9]{1,9}) (?:\[(?P<device>-?[0-9]{1,4})\] )?"
    r"(?:[0-9]+\.[0-9]+ )?(?:(?P<place>[A-Za-z0-9_./-]+:[0-9]{1,6}) (?:\((?P<function>[^)]*)\) )?)?"
    rf"(?:(?P<library>{LIBRARY}) )?(?P<level>WARN|INFO|TRACE|CALL|ERROR) ?"
)
_BARE = rf"\b(?P<library>{LIBRARY}) (?P<level>WARN|INFO) "  # some collectors drop the prefix
_SPLIT = regex(_HEAD.replace("(?P<host>", r"(?<![^\s:\[\]<>|])(?P<host>"))  # a name begins where it can begin
AT_ONCE = 16_384  # rows: their parts take as much as they
_MOST_RECORDS = 200  # of one line


def records(lines: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Candidate lines of schema LINES → one row per record, in order, AT_ONCE at a time and one frame at least; rows without a
    record keep a null `level`."""
    sure = frozenset(lines.select(name_at_begin()).to_series().drop_nulls().unique().to_list())
    whole = _one_record_per_row(lines, sure)
    for at in range(0, max(whole.height, 1), AT_ONCE):
        yield _read(whole[at : at + AT_ONCE], sure)


def name_at_begin() -> pl.Expr:
    """The host name that `text` begins with, which no other record's rest is glued to."""
    return pl.col("text").str.extract(rf"^{_OWN_HOST}")


def before_pointer() -> pl.Expr:
    """`host:pid:`, which makes one name of a pointer that is of a process."""
    return pl.col("host").fill_null("") + ":" + pl.col("pid").cast(pl.String).fill_null("") + ":"


def named_pointer(row: Row, pointer: str) -> str:
    """The same of one record, with the pointer."""
    return f"{row['host'] or ''}:{'' if row['pid'] is None else row['pid']}:{pointer}"


def _read(rows: pl.DataFrame, sure: frozenset[str]) -> pl.DataFrame:
    """Rows of one record each, with the columns of its prefix."""
    named = rows.with_columns(pl.col("text").str.extract_groups(_PREFIX).alias("prefix")).unnest("prefix")
    bare = pl.col("text").str.extract_groups(_BARE)
    has_prefix = pl.col("nccl_host").is_not_null()
    stamp = pl.col("stamp").str.to_datetime("%Y-%m-%d %H:%M:%S%.f", strict=False, time_unit="ns").dt.epoch("ns")
    is_stamped = stamp.is_not_null() & (pl.col("time_basis") != "utc").fill_null(True)
    after_prefix, after_bare = (pl.col("text").str.replace(rf"^.*?{head}", "") for head in (_PREFIX, _BARE))
    made = named.with_columns(
        message=pl.when(has_prefix).then(after_prefix).otherwise(after_bare),
        library=pl.coalesce("library", bare.struct.field("library"), pl.when(has_prefix).then(pl.lit("NCCL"))),
        level=pl.coalesce("level", bare.struct.field("level")),
        pid=pl.col("nccl_pid").cast(pl.Int64, strict=False),
        device_index=pl.col("device").cast(pl.Int64, strict=False),
        rank=pl.coalesce("rank", "path_rank"),
        time_ns=pl.when(is_stamped).then(stamp).otherwise("time_ns"),
        time_basis=pl.when(is_stamped).then(pl.lit("local")).otherwise("time_basis"),
    )
    mended = {host: _mended(host, sure) for host in made["nccl_host"].drop_nulls().unique().to_list()}
    made = made.with_columns(pl.col("nccl_host").replace(mended))
    return made.with_columns(host=pl.coalesce("nccl_host", "host", "path_host"))


def _one_record_per_row(lines: pl.DataFrame, sure: frozenset[str]) -> pl.DataFrame:
    """Rows with several prefixes come apart; a record of another process than the first loses the line's rank."""
    is_many = pl.col("text").str.count_matches(_HEAD) > 1
    many = lines.filter(is_many)
    if many.is_empty():
        return lines
    pieces = [_cut(text, sure) for text in many["text"].to_list()]
    owners = [[_SPLIT.search(piece) for piece in of_line] for of_line in pieces]
    first = [next((match[0] for match in of_line if match), None) for of_line in owners]
    foreign = [
        [match is not None and _process(match[0]) != _process(own or "") for match in of_line]
        for of_line, own in zip(owners, first, strict=True)
    ]
    apart = many.with_columns(
        pl.Series("text", pieces, dtype=pl.List(pl.String)), pl.Series("foreign", foreign, dtype=pl.List(pl.Boolean))
    ).explode("text", "foreign")
    apart = apart.with_columns(
        pl.when(~pl.col("foreign")).then(name).alias(name) for name in ("rank", "local_rank", "task")
    ).select(lines.columns)
    return pl.concat([lines.filter(~is_many.fill_null(False)), apart]).sort("file", "line", maintain_order=True)


def _cut(text: str, sure: frozenset[str]) -> list[str]:
    """The records of a line. What is glued to the left of a host name ends the record before."""
    begins = []
    for match in islice(_SPLIT.finditer(text), _MOST_RECORDS):
        host = match["host"]
        begins.append(match.start() if match["stamp"] else match.end("host") - len(_mended(host, sure)))
    begins[0] = 0  # what stands before the first prefix belongs to its line
    return [text[begin:end] for begin, end in zip(begins, [*begins[1:], len(text)], strict=True)]


def _process(head: str) -> str:
    return ":".join(head.split(":")[-3:-1]) if ":" in head else head


def _mended(host: str, sure: frozenset[str]) -> str:
    """`lg183` → `g183` where `g183` begins lines and `lg183` never does: the rest of another record is glued to it."""
    if host in sure or len(host) > 500:
        return host
    return max((own for own in sure if host.endswith(own)), key=len, default=host)
