"""Whom who runs the job, or a person, killed while it ran: a supervisor lost sight of one process, and ended it with all others at work.

    lease of member 6 expired, member considered lost        member 6: kill -9 44172 sent
    mia : TTY=pts/3 ; USER=root ; COMMAND=/usr/bin/kill -9 44172
    the node worker-4 has not sent a heartbeat               Delete pod worker-4, grace period 0s

That, and what a person kills by hand, is a kill and no consequence where it is the first end that its printer tells of, nobody waited in vain or failed by itself, and the job
went on until then: some log counted on, step by step, to within two steps of the kill by the clock of the day. Who ends a process of a
job that stands still ends whom it likes: that names nobody.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

import polars as pl

from forensics.assemble.starts.apart import numbered_lines, own_logs
from forensics.facts.ends.process_ends import ProcessEnd, end_of
from forensics.facts.rows.event_rows import detail, rows
from forensics.facts.rows.line_templates import DAY_S, second_of_day
from forensics.model.names import Cause
from parsers.schema.event_kinds import STILL
from parsers.schema.tables import Tables
from parsers.text.patterns import regex
from parsers.text.stamps import SECOND_NS
from parsers.text.whole_numbers import whole_numbers
from parsers.who.lines.prefixes import strip

_BEATS = regex(r"(?i)beat|alive|\bping\b")
_LEAST_COUNTS = 3  # lines of one kind that count on
_LAST_STEPS = 8
_STEPS = 2  # that may lie between the last count and the kill
_KILLS = ("SIGKILL", "DELETED")
_TOLD_ENDS = ("exit", "first_failure", "closing_signal")
_WAITED = ("collective_timeout", "barrier_missing", "missing_members")


def with_killed_running(
    ends: Mapping[int, ProcessEnd], events: pl.DataFrame, tables: Tables, job: frozenset[int]
) -> dict[int, ProcessEnd]:
    """Ends by rank; events of one attempt; `job`: all its ranks → ends, with that of the one rank that was killed so."""
    sent = [row for row in rows(events, "closing_signal") if row["rank"] in job]
    kills = [row for row in sent if row["code"] in _KILLS or _is_by_person(row)]
    first = _first(kills, events)
    stood = any(row["code"] == STILL for row in rows(events, "heartbeat_lost"))
    if first is None or rows(events, *_WAITED) or stood or len(job) <= 1:
        return dict(ends)
    rank = first["rank"]
    others = {other: end for other, end in ends.items() if other != rank}
    is_free = rank not in ends or ends[rank].how in ("stopped", "failed", "gave_up", "lost")
    if not is_free or any(end.how in ("died", "quoted", "bad_loss", "ended") for end in others.values()):
        return dict(ends)
    if not _went_on(tables, first):
        return dict(ends)
    cause: Cause = "stopped_by_hand" if _is_by_person(first) else "killed"
    code = (first["code"] or "") if cause == "stopped_by_hand" else ""  # a launcher's own words say how
    return dict(sorted({**ends, rank: end_of(rank, first, "died", "launcher", code, cause)}.items()))


def _is_by_person(row: Mapping[str, Any]) -> bool:
    return detail(row).get("by") == "person"


def _first(kills: Sequence[Mapping[str, Any]], events: pl.DataFrame) -> Mapping[str, Any] | None:
    """The kill of the only rank that one printer killed before it told of any other end, and before all kills that others tell of."""
    files: defaultdict[str, dict[int, Mapping[str, Any]]] = defaultdict(dict)
    for row in kills:
        files[row["file"]].setdefault(row["rank"], row)
    alone = {file: own for file, own in files.items() if len(own) == 1}
    if len({rank for own in alone.values() for rank in own}) != 1:
        return None
    first = min((row for own in alone.values() for row in own.values()), key=lambda row: row["time_ns"] is None)
    others = [row for row in kills if row["rank"] != first["rank"]]
    if not all(_is_later(row, first) for row in others):
        return None
    before = (pl.col("file") == first["file"]) & (pl.col("line") < (first["line"] or 0))
    return None if events.filter(before & pl.col("kind").is_in(_TOLD_ENDS)).height else first


def _is_later(row: Mapping[str, Any], first: Mapping[str, Any]) -> bool:
    """By the clock that both print."""
    is_timed = None not in (row["time_ns"], first["time_ns"]) and row["time_basis"] == first["time_basis"]
    return is_timed and bool(row["time_ns"] > first["time_ns"])


def _went_on(tables: Tables, kill: Mapping[str, Any]) -> bool:
    """Does any log of the job count on to within a few of its steps of the kill?"""
    files = own_logs(tables)
    at = second_of_day(_line(files, kill) or kill["text"] or "")
    if at is None:
        return False
    of_job = pl.col("rank").is_not_null() | pl.col("file").is_in(tables["steps"]["file"].unique().implode())
    logs = files.filter(of_job & (pl.col("file") != kill["file"]))["last_lines"].drop_nulls()
    counts = chain(_of_steps(tables["steps"]), *map(_counts, logs))
    return any((at - last) % DAY_S <= _STEPS * step for last, step in counts)


def _of_steps(steps: pl.DataFrame) -> Iterator[tuple[int, int]]:
    """The same of the last steps of each file by the clock that it prints."""
    timed = steps.select("file", "step", "time_ns").drop_nulls()
    for own in timed.unique().sort("time_ns").partition_by("file"):
        last = own.unique("step", keep="first").sort("time_ns").tail(_LAST_STEPS)
        if last.height >= _LEAST_COUNTS and last["step"].is_sorted():
            seconds = [at // SECOND_NS for at in last["time_ns"]]
            yield seconds[-1] % DAY_S, max(after - before for before, after in pairwise(seconds))


def _line(files: pl.DataFrame, kill: Mapping[str, Any]) -> str | None:
    """The kill's whole line, where the end of its file is kept."""
    own = files.filter(pl.col("file") == kill["file"]).select("last_lines", "lines")
    lines = (one for row in own.iter_rows(named=True) for one in numbered_lines(row))
    return next((line for number, line in lines if number == kill["line"]), None)


def _counts(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """(second of the day of its last line, seconds of its longest step) of each kind of line with a number that grows; a process that hangs
    may beat on in another thread."""
    found: defaultdict[str, list[tuple[int, tuple[int, ...]]]] = defaultdict(list)
    for line in lines:
        if (at := second_of_day(line)) is not None and not _BEATS.search(line):
            _, template, numbers = whole_numbers(strip(line).text)
            found[template].append((at, numbers))
    for own in found.values():
        runs = zip(*(numbers for _, numbers in own), strict=True)
        if len(own) >= _LEAST_COUNTS and any(_grows(run) for run in runs):
            yield own[-1][0], max((after[0] - before[0]) % DAY_S for before, after in pairwise(own))


def _grows(run: Sequence[int]) -> bool:
    return all(after > before for before, after in pairwise(run))
