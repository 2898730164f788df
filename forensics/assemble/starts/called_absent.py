"""Whom all others call by number and do not reach, at a start that never came about.

    rank 0: Connecting to rank 3 failed, waiting for 200 milliseconds          rank 3: Binding port 12400 failed
            Connecting to rank 3 failed, waiting for 260 milliseconds
    rank 5: waiting for incoming link of rank 3

A line says it of one rank alone, in whatever logs it stands, and says that somebody waits, tries again or fails. Where
all other ranks of a job that had not begun print such lines of one and the same rank, and that one of nobody, they miss it. It is named where
its own log goes another way than those of all others (apart.py) and does not tell that it waits itself; else it is a suspect.

Whom the full count of a barrier in a store leaves, each other rank having come and given up there, is called so as well where its own log goes
another way: `names_ranks` of these rows.

Events `missing_members` as those of counted starts (roll_calls.py), a row for each log. Where somebody has counted, or a library says that a wait
ended or a connection failed, nothing is added.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from forensics.assemble.starts.announced import with_announced
from forensics.assemble.starts.apart import is_apart, numbered_lines, own_logs
from forensics.assemble.starts.left_out import with_left_out
from forensics.assemble.starts.roll_calls import ROLL_CALL, ROLL_COUNT, has_begun, missing_row, with_roll_calls
from parsers.schema.tables import TableName, Tables, table
from parsers.text.patterns import regex
from parsers.text.whole_numbers import whole_numbers
from parsers.who.lines.prefixes import strip

STORE_BARRIER = "store_barrier"  # code of what ranks say that wait in a store
_MOST_RANKS = 1_000_000
_TOLD = ("connect_failed", "store_timeout", "missing_members")
_CALLED = regex(
    r"(?i)(?<![\w.-])(?:rank|worker|member|peer|node|process|proc|task|trainer|replica|machine|party|learner)s?(?:[ _](?:id|no))?[ _#=:\[(-]{0,2}(\d{1,6})(?![\w-]|[./:]\d)"
)
_IN_VAIN = regex(
    r"(?i)fail|refus|retr|again|await|wait|miss|unreach|unable|cannot|can't|could not|no (?:route|answer|reply|response)|time[d -]?out|absent|silent|attempt"
    r"|not (?:yet )?(?:\w{1,12} )?(?:connect|join|answer|respond|reach|ready|there|up\b)|等待|重试|失败|缺|未|超时|대기|실패"
)
_WAITS = regex(r"(?i)wait|retr|again|attempt|等待|重试|대기")
_FAILS = regex(
    r"(?i)\b(?:fail(?:ed|ure|s)?|error|fatal|cannot|can't|could not|unable|denied|in use)\b|失败|错误|실패|오류"
)
_FEWEST = 3  # ranks of the job
_LAST = 5  # lines of who is missed, in which it would say that it waits


class _Call(NamedTuple):
    rank: int  # who speaks
    template: str
    called: int
    text: str
    file: str
    line: int


def with_missed(tables: Tables, job: frozenset[int], seen: frozenset[int]) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global; `job`: its ranks if its size is told, else empty; `seen`: those that left rows → the same with
    the events of counted starts, or these."""
    counted = with_roll_calls(_with_left(with_left_out(with_announced(tables))), job, seen)
    if has_begun(tables) or counted["events"]["kind"].is_in(_TOLD).any():
        return counted
    files = own_logs(tables)
    calls = [*_calls(files)]
    job = job or frozenset(files["rank"].drop_nulls())
    if len(job) < _FEWEST or job != frozenset(range(len(job))) or not calls:
        return counted
    missed = {one.called for one in calls} & job
    whole = [rank for rank in missed if {one.rank for one in calls if one.called == rank} == job - {rank}]
    if len(whole) != 1 or any(one.rank == whole[0] for one in calls):
        return counted
    [rank] = whole
    goes_apart = is_apart(files, [rank], job - {rank}) or _fails_alone(files, rank)
    own = files.filter(pl.col("rank") == rank)["last_lines"].drop_nulls()
    is_named = goes_apart and not any(_WAITS.search(line) for lines in own for line in lines[-_LAST:])
    last = {one.rank: one for one in calls if one.called == rank}
    code, counts = ROLL_CALL if is_named else ROLL_COUNT, {"joined": len(job) - 1, "expected": len(job)}
    rows = [
        missing_row(one.rank, [rank], code, counts, file=one.file, line=one.line, text=one.text)
        for _, one in sorted(last.items())
    ]
    return {**counted, "events": pl.concat([counted["events"], table("events", rows)])}


def joined_store(row: Mapping[str, Any]) -> int | None:
    """How many had come when a barrier of a store gave up; its numbers are texts."""
    joined = str(_said(row).get("joined", ""))
    return int(joined) if row["code"] == STORE_BARRIER and joined.isdigit() else None


def eliminated(missing: Sequence[Mapping[str, Any]]) -> tuple[int, ...]:
    """Who did not come to a barrier of a store: whoever gives up in it has come, and counts how many came. Empty where
    the count leaves more than one answer."""
    barriers = [row for row in missing if joined_store(row) is not None]
    keys = {(_said(row).get("key"), _said(row).get("expected")) for row in barriers}
    size = str(next(iter(keys))[1]) if len(keys) == 1 else ""
    came = {number for row in barriers if isinstance(number := _said(row).get("rank"), int)}
    if not size.isdigit() or int(size) > _MOST_RANKS:
        return ()
    left = set(range(int(size))) - came
    absent = int(size) - max(joined for row in barriers if (joined := joined_store(row)) is not None)
    return tuple(sorted(left)) if len(left) == absent > 0 else ()


def _said(row: Mapping[str, Any]) -> dict[str, Any]:
    said = json.loads(row["detail"] or "{}")
    return said if isinstance(said, dict) else {}


def _with_left(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """The same, where rows of a barrier in a store name whom it leaves, if that is shown."""
    events = tables["events"]
    of_store = ((pl.col("kind") == "missing_members") & (pl.col("code") == STORE_BARRIER)).fill_null(False)
    barriers = list(events.filter(of_store & (pl.col("severity") != "info")).iter_rows(named=True))
    left = eliminated(barriers) if barriers else ()
    files = own_logs(tables) if left else tables["files"]
    others = {row["rank"] for row in barriers} - {None, *left}
    if not left or not is_apart(files, left, others):
        return dict(tables)
    names = pl.when(of_store).then(pl.lit([*left], pl.List(pl.Int64))).otherwise("names_ranks").alias("names_ranks")
    space = pl.when(of_store).then(pl.lit("global")).otherwise("names_rank_space").alias("names_rank_space")
    return {**tables, "events": events.with_columns(names, space).cast(events.schema)}


def _calls(files: pl.DataFrame) -> Iterator[_Call]:
    """Each line of a kind that is said of one rank alone, and of no success."""
    of_kind: defaultdict[str, list[_Call]] = defaultdict(list)
    for row in files.filter(pl.col("rank").is_not_null()).sort("file").iter_rows(named=True):
        for number, line in numbered_lines(row):
            text = strip(line).text
            for found in _CALLED.finditer(text):
                if (called := int(found[1])) != row["rank"]:
                    template = whole_numbers(f"{text[: found.start(1)]}@{text[found.end(1) :]}")[1]
                    of_kind[template].append(_Call(row["rank"], template, called, line, row["file"], number))
    for template, own in of_kind.items():
        if len({one.called for one in own}) == 1 and _IN_VAIN.search(template):
            yield from own


def _fails_alone(files: pl.DataFrame, rank: int) -> bool:
    """Does its log tell of a failure of a kind that no other log does?"""
    kinds: defaultdict[bool, set[str]] = defaultdict(set)
    for own, lines in files.select("rank", "last_lines").drop_nulls().iter_rows():
        kinds[own == rank] |= {whole_numbers(strip(line).text)[1] for line in lines}
    return any(_FAILS.search(kind) for kind in kinds[True] - kinds[False])
