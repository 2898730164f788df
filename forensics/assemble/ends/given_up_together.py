"""Waits in words that nobody has taught, as all processes but a few gave them up, and whom they say they missed.

    worker 5: round 40 begun                         【07:32】step 40, mine is sent
    worker 5: round 40 not left after 600 s          【07:47】wrong: step 40, waited 900 s, without [4], bye

What one log gives up after so many seconds may be anything (parsers/logs/given_up.py). Where the logs of most give up in the same words, it is what they
do together: each of them waited for others (`collective_timeout` of its rank, or of nobody where the log has none).
Whom they missed is told where the last lines of all others hold, in brackets and in the same place, the numbers of just those that do not say
so: the few whom all others name, and who name nobody. Events `missing_members` with the code barrier, a row for each log.

Whom all others that gave up had called, by a name that its own log bears (`rpc_sync("ps0", …)`, and `ps0(rank 0) INFO …`), `names_ranks` of their
time-outs has. The name is the first argument, a literal, of the innermost line of the program's own code in each traceback. Who bears it says it of
itself beside its rank; what stands in others' logs alone is nobody's.

Fooled by: a list in a last line of all others that is of just the rest by chance, or for another reason (`left to [0]`): it must stand in the line that gives up, or in one that
calls itself an error.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import polars as pl

from forensics.assemble.starts.apart import kind_of, numbered_lines, own_logs
from forensics.assemble.starts.roll_calls import missing_row
from forensics.assemble.who.identity import given_rank
from parsers.schema.event_kinds import STILL
from parsers.schema.tables import TableName, Tables, table
from parsers.text.patterns import regex
from parsers.who.lines.prefixes import strip

_FEWEST = 3  # of two, neither is most
_LOGS = 4096  # more are not read line by line
_LAST = 6  # lines, in which a log says why it leaves
_DIGITS = regex(r"\d+")
_LIST = regex(r"[\[({【](?P<items>[^\[\](){}【】]{1,2000})[\])}】]")
_ITEM = regex(r"(?:[^\W\d_]{1,12}[ _:#-]?)?(\d{1,7})")
_ERROR = regex(
    r"(?i)(?<![a-z])(?:error|fatal|critical|panic|err|abort(?:ed|ing)?)(?![a-z])|错误|失败|致命|エラー|ошибка|fehler|erreur"
)
_CALLED = regex(r"\w\(\s*(?:(?:to|dst|dest|target)\s*=\s*)?[\"']([A-Za-z][\w.-]{1,60})[\"']\s*[,)]")
_BESIDE = r"[\s(\[,:=|]{1,3}"
_MANY = 2


class _Said(msgspec.Struct, frozen=True):
    """A list in a line of the end of a log."""

    file: str
    rank: int
    line: int
    text: str
    ranks: frozenset[int]


def with_given_up_together(tables: Tables, job: frozenset[int]) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global; `job`: its ranks if its size is told, else empty → the same with such events."""
    tables = _with_asked_by_name(tables)
    files = own_logs(tables)
    if not _FEWEST <= files.height <= _LOGS:
        return dict(tables)
    events = _as_waits(tables["events"], files)
    if len(job) < _FEWEST or (events["kind"] == "missing_members").any():
        return {**tables, "events": events}
    rows = [
        missing_row(
            one.rank, one.ranks, "barrier", {"reached": len(job) - len(one.ranks), "expected": len(job)},
            text=one.text, file=one.file, line=one.line,
        )
        for one in _missed(files, events, job)
    ]  # fmt: skip
    return {**tables, "events": pl.concat([events, table("events", rows)])}


def _as_waits(events: pl.DataFrame, files: pl.DataFrame) -> pl.DataFrame:
    """What most logs of one form gave up in the same words is a wait of each of them."""
    is_open = (pl.col("kind") == "heartbeat_lost") & (pl.col("code") == STILL) & pl.col("rank").is_null()
    # It counts from a line of its own: no monitor of the job.
    is_open &= pl.col("detail").str.contains('"begun"', literal=True)
    numbered = events.with_row_index("_at")
    told = numbered.filter(is_open.fill_null(False)).select("_at", "file", "text")
    if told["file"].n_unique() < _FEWEST:
        return events
    logs = files.filter(pl.col("lines") > 0).select(
        "file", "rank", shape=pl.col("file").cast(pl.String).str.replace_all(r"\d+", "#")
    )
    own = told.with_columns(pl.col("text").map_elements(kind_of, return_dtype=pl.String).alias("words"))
    own = own.unique("file", keep="last", maintain_order=True).join(logs, on="file", maintain_order="left")
    own = own.join(logs.group_by("shape").agg(pl.len().alias("logs")), on="shape", maintain_order="left")
    alike = pl.len().over("words", "shape")
    is_one_each = pl.col("rank").is_null() | pl.col("rank").is_unique()
    own = own.filter((alike >= _FEWEST) & (2 * alike > pl.col("logs")) & is_one_each)
    waits = numbered.join(own.select("_at", pl.col("rank").alias("_rank")), on="_at", how="left", maintain_order="left")
    is_one = pl.col("_at").is_in(own["_at"].implode())
    return (
        waits.with_columns(
            pl.when(is_one).then(pl.lit("collective_timeout")).otherwise("kind").alias("kind"),
            pl.when(is_one).then(None).otherwise("code").alias("code"),
            pl.when(is_one).then(pl.col("value") * 1000.0).otherwise("value").alias("value"),
            pl.when(is_one).then(pl.lit("{}")).otherwise("detail").alias("detail"),
            *given_rank(pl.col("_rank")),
        )
        .select(events.columns)
        .cast(events.schema)
    )


def _missed(files: pl.DataFrame, events: pl.DataFrame, job: frozenset[int]) -> Iterator[_Said]:
    """The last such line of each log, where those of all but a few hold just these few."""
    gave_up = events.filter(pl.col("kind").is_in(["collective_timeout", "heartbeat_lost", "store_timeout"]))
    ends = {*gave_up.select("file", "line").drop_nulls().iter_rows()}
    own = files.filter(pl.col("rank").is_not_null() & (pl.col("last_lines").list.len() > 0)).sort("file")
    found: defaultdict[str, dict[int, _Said]] = defaultdict(dict)
    for row in own.iter_rows(named=True):
        for key, one in _lists(row):
            if (one.file, one.line) in ends or _ERROR.search(one.text):
                found[key][one.rank] = one
    agreed = []
    for said in found.values():
        named = {one.ranks for one in said.values()}
        if len(said) >= _FEWEST and len(named) == 1 and named == {job - frozenset(said)} and job.issuperset(said):
            agreed.append(said)
    if len({frozenset(said) for said in agreed}) == 1 and 2 * len(agreed[0]) > len(job):
        yield from (agreed[0][rank] for rank in sorted(agreed[0]))


def _lists(row: Mapping[str, Any]) -> Iterator[tuple[str, _Said]]:
    """(the words around a list, the list), of the last lines of a log."""
    filled = [(line, text) for line, text in numbered_lines(row) if text.strip()]
    for line, text in filled[-_LAST:]:
        own = strip(text).text
        for found in _LIST.finditer(own):
            if (ranks := _ranks(found["items"])) is not None:
                around = f"{own[: found.start()]}[]{own[found.end() :]}"
                yield _DIGITS.sub("#", around), _Said(row["file"], row["rank"], line, text, ranks)


def _ranks(items: str) -> frozenset[int] | None:
    parts: Sequence[re.Match[str] | None] = [_ITEM.fullmatch(one) for one in re.split(r"[,;、，\s]\s*", items.strip())]
    numbers = [int(one[1]) for one in parts if one is not None]
    return frozenset(numbers) if len(numbers) == len(parts) == len({*numbers}) else None


def _with_asked_by_name(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global → the same; time-outs of calls name whom all of them called."""
    events = tables["events"]
    is_wait = (pl.col("kind") == "collective_timeout") & pl.col("names_ranks").is_null()
    waits = events.filter(is_wait)
    asked = _asked(waits, tables["files"]) if waits.height and waits["group"].null_count() == waits.height else None
    if asked is None:
        return dict(tables)
    said = {"names_ranks": pl.lit([asked]), "names_rank_space": pl.lit("global")}
    named = [pl.when(is_wait).then(value).otherwise(name).alias(name) for name, value in said.items()]
    return {**tables, "events": events.with_columns(named).cast(events.schema)}


def _asked(waits: pl.DataFrame, files: pl.DataFrame) -> int | None:
    """Rows of those that gave up; the table of files → the rank that all of them asked."""
    called: defaultdict[int, set[str]] = defaultdict(set)
    for row in waits.drop_nulls("rank").iter_rows(named=True):
        found = _CALLED.search(str(json.loads(row["detail"] or "{}").get("source") or ""))
        called[row["rank"]].add(found[1] if found else "")
    names = set().union(*called.values())
    if len(called) < _MANY or len(names) != 1 or "" in names:
        return None
    [name] = names
    bearers = {
        rank
        for rank, lines in files.select("rank", "last_lines").drop_nulls().iter_rows()
        if any(_bears(name, rank, line) for line in lines)
    }
    return bearers.pop() if len(bearers) == 1 and not bearers & called.keys() else None


def _bears(name: str, rank: int, line: str) -> bool:
    if name not in line:
        return False
    own, number = rf"(?<![\w.-]){name.replace('.', '[.]')}(?![\w.-])", rf"\brank[\s:=#]{{0,2}}{rank}(?!\d)"
    return regex(rf"(?i){own}{_BESIDE}{number}|{number}{_BESIDE}(?:name[:=]\s?)?{own}").search(line) is not None
