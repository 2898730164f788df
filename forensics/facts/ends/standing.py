"""Whom whoever watches ended because nothing moved: one printer says both, in one line or the next. And whether all processes of a job say that nothing moves, each in
its own log and behind the same step."""

from collections.abc import Mapping, Sequence, Set
from itertools import chain

import msgspec
import polars as pl

from forensics.assemble.starts.apart import numbered_lines, own_logs
from forensics.facts.rows.event_rows import Row, rows
from parsers.schema.event_kinds import STILL
from parsers.schema.tables import Tables
from parsers.text.patterns import regex

_NEAR = 2  # lines from the one word to the other
_GOES_ON = regex(
    r"(?i)\b(?:in progress|under ?way|on-?going|still running|\d{1,9} {0,2}(?:of|out of) {0,2}\d{1,9}|eval\w*|validat\w+|(?:sav|writ|stor|load|upload|download|copy|compil|checkpoint|restor|resum|warm|tun|"
    r"tokeniz|test|generat|sampl)ing)\b|\d ?%|(?<![\w./:-])\d{1,9}/\d{1,9}(?![\w./:-])"
)
_HELD = ("stopped", "traced", "tracing stop", "zombie", "dead")  # states of processes
_FEWEST = 2  # processes: of one alone the job is another question
_GAVE_UP = ("collective_timeout", "exit", "exception", "first_failure", "store_timeout", "comm_abort")


class Ended(msgspec.Struct, frozen=True):
    """`told`: that nothing moved for so many `seconds`; `at_ns`: when the last of `ranks` was ended, null where no line says."""

    ranks: tuple[int, ...]
    seconds: float
    told: Sequence[Row]
    at_ns: int | None


def ended_standing(events: pl.DataFrame, seen: Set[int]) -> Ended | None:
    """Events of one attempt; `seen`: all ranks that left a record → how all of them were ended so; None where some were not."""
    still = [row for row in rows(events, "heartbeat_lost") if row["code"] == STILL and row["rank"] is None]
    if not still or not seen:
        return None
    places = {(row["file"], row["line"]) for row in still}
    closed = [
        row
        for row in rows(events, "closing_signal")
        if any((row["file"], (row["line"] or 0) - at) in places for at in range(-_NEAR, _NEAR + 1))
    ]
    if {row["rank"] for row in closed} != {*seen} or len(seen) < _FEWEST:
        return None
    at = max((row["time_ns"] for row in closed if row["time_ns"] is not None), default=None)
    return Ended(tuple(sorted(seen)), max(row["value"] or 0.0 for row in still), still, at)


class Stood(msgspec.Struct, frozen=True):
    """`told`: each rank's last word that nothing moves, for at least so many `seconds`, behind `step`."""

    ranks: tuple[int, ...]
    seconds: float
    step: int
    told: Sequence[Row]


def stood_alike(tables: Tables, events: pl.DataFrame, job: Set[int]) -> Stood | None:
    """Tables and events of one attempt → how all ranks of the job stand; None where one of them does not say so, has a step behind its word, or stands at another step:
    then somebody is elsewhere than the others. None, too, where a word, or a line behind it, tells what goes on without a step, and where somebody saw a process that is held."""
    steps, logs = tables["steps"], own_logs(tables)
    still = [row for row in rows(events, "heartbeat_lost") if row["code"] == STILL]
    own = dict(logs.filter(pl.col("rank").is_not_null()).select(pl.col("file").cast(pl.String), "rank").iter_rows())
    last = {own[row["file"]]: row for row in sorted(still, key=lambda row: row["line"] or 0) if row["file"] in own}
    is_own = all(row["file"] in own and row["rank"] in (None, own[row["file"]]) for row in still)
    if len(job) < _FEWEST or last.keys() != job or not is_own:
        return None
    held = {row["file"]: dict(numbered_lines(row)) for row in logs.iter_rows(named=True) if row["file"] in own}
    behind = (text for row in last.values() for at, text in held[row["file"]].items() if at > (row["line"] or 0))
    told = (row["text"] or "" for row in last.values())
    if tables["stacks"]["status"].is_in(_HELD).any() or any(map(_GOES_ON.search, chain(told, behind))):
        return None
    at: set[int | None] = set()
    for row in last.values():
        here = steps.filter((pl.col("file").cast(pl.String) == row["file"]) & pl.col("step").is_not_null())
        if (here["line"] > (row["line"] or 0)).any():
            return None
        at.add(here.sort("line")["step"].last() if here.height else None)  # type: ignore[arg-type]
    step = at.pop() if len(at) == 1 else None
    least = min(row["value"] or 0.0 for row in last.values())
    return None if step is None else Stood(tuple(sorted(job)), least, step, [last[rank] for rank in sorted(job)])


def ended_first(programs: Mapping[str, tuple[pl.DataFrame, Set[int]]]) -> str | None:
    """Program → its events and ranks → the one all of whose processes were ended so, before any other tells that it gave up or failed."""
    ended = {name: found.at_ns for name, own in programs.items() if (found := ended_standing(*own))}
    if len(ended) != 1:
        return None
    [(first, at)] = ended.items()
    gave_up = pl.col("kind").is_in(_GAVE_UP)
    others = [events.filter(gave_up)["time_ns"].min() for name, (events, _) in programs.items() if name != first]
    return first if at is not None and all(isinstance(other, int) and at < other for other in others) else None
