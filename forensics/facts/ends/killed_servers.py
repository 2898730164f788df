"""Did a kernel kill a server of the job for memory, a process of no rank, and did all ranks lose it?

Nothing need say what that process was: it is the only one that a kernel of the bundle killed then, none of the ranks' by its number, a program as
ranks run it; nobody of the ranks failed by itself; several failed all the same; and either the steps of the job ended just there, by one clock, or a launcher
tells of a process of no known rank that ended by SIGKILL. Then the ranks followed, in whatever words, and no rank is at fault. A kill that the job
outlived, one of two, or one beside a failure that is a rank's own, explains nothing.
"""

from collections.abc import Iterable, Mapping
from itertools import pairwise

import polars as pl
from msgspec.structs import replace

from forensics.facts.ends.failure_roles import FailureRole
from forensics.facts.ends.process_ends import ProcessEnd
from forensics.facts.hosts.hardware import Record
from forensics.facts.rows.error_words import may_be_rank
from forensics.facts.rows.event_rows import Row, detail, own_rank, rows
from forensics.model.signals import signal_of
from forensics.model.told import values
from parsers.schema.tables import Tables
from parsers.text.stamps import SECOND_NS

_SOON_NS = 120 * SECOND_NS
_STEPS = 5  # the longest step as often, from the last one to the kill
_SAID = 3  # steps with a time
_FAILED = 2  # failures of others
_KINDS = ("exception", "peer_closed", "remote_error", "connect_failed")
_LOSING = ("lost", "unclear", "gave_up", "failed", "stopped", "followed", "quoted")


def killed_servers(
    records: Iterable[Record],
    ends: Mapping[int, ProcessEnd],
    roles: Mapping[int, FailureRole],
    events: pl.DataFrame,
    tables: Tables,
    identity: pl.DataFrame,
) -> tuple[Record, ...]:
    """Records of hardware; ends by rank with their roles; events of one attempt → the lines of the one such kill."""
    pids = values(identity["pid"]) if identity.height else set()
    killed = [
        one
        for one in records
        if one.kind == "host_oom" and one.severity == "fatal" and one.rank is None and one.row["pid"] is not None
        and may_be_rank(detail(one.row).get("task"))
    ]  # fmt: skip
    if len({(one.host, one.row["pid"]) for one in killed}) != 1 or killed[0].row["pid"] in pids:
        return ()
    is_own = any(roles[rank].state == "own" if rank in roles else not _follows(end) for rank, end in ends.items())
    failed = {
        (own_rank(row), row["file"], row["line"])
        for row in rows(events, *_KINDS)
        if row["severity"] in ("error", "fatal")
    }
    if is_own or len(failed) < _FAILED:
        return ()
    return tuple(killed) if _ends_there(killed[0].row, tables["steps"]) or _is_told(killed[0].row, events) else ()


def after_servers(ends: Mapping[int, ProcessEnd]) -> dict[int, ProcessEnd]:
    """Ends by rank, where a server was killed → the same; all that failed followed."""
    return {rank: replace(end, how="followed", cause=None) if _lost_it(end) else end for rank, end in ends.items()}


def _lost_it(end: ProcessEnd) -> bool:
    return end.how in ("lost", "unclear") or (end.how == "died" and end.cause == "exception")


def _follows(end: ProcessEnd) -> bool:
    return end.how in _LOSING or (end.how == "died" and end.cause == "exception")


def _ends_there(kill: Row, steps: pl.DataFrame) -> bool:
    """Did the job go on until the kill, and no further?"""
    timed = steps.filter(pl.col("time_basis") == kill["time_basis"]).drop_nulls(["step", "time_ns"])
    first = sorted(timed.group_by("step").agg(pl.col("time_ns").min())["time_ns"].to_list())
    if kill["time_ns"] is None or len(first) < _SAID:
        return False
    longest = max(after - before for before, after in pairwise(first))
    return bool(-_SOON_NS < kill["time_ns"] - first[-1] < max(_STEPS * longest, _SOON_NS))


def _is_told(kill: Row, events: pl.DataFrame) -> bool:
    """Does a launcher tell of the end of a process of no known rank by that signal, at no other time?"""
    gone = [row for row in rows(events, "exit") if own_rank(row) is None and signal_of(row["code"]) == "SIGKILL"]
    return any(
        row["time_basis"] != kill["time_basis"]
        or None in (row["time_ns"], kill["time_ns"])
        or abs(row["time_ns"] - kill["time_ns"]) < _SOON_NS
        for row in gone
    )
