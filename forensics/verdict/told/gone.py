"""Whose processes are known to have ended, so that nobody is sent to look at them.

A rank's own end is told by itself or by its launcher. A launcher that tells of an end takes down the other processes of its host,
and of no other host: there they run until they give up themselves. A line of it that tells no host, in a file in which nothing
does, may be of any. A scheduler stops a job as a whole. Where most
ranks have ended or given up, the job is over: launchers end the rest.
"""

from collections.abc import Iterable

import polars as pl

from forensics.case import Case
from forensics.facts.rows.event_rows import Row, host_of
from forensics.model.told import values
from forensics.verdict.judged.symptoms import STOPS

_RAISED = r"^[A-Za-z_][0-9A-Za-z_.]*(?:Error|Exception|Interrupt)\b"  # as the interpreter ends a traceback
_SEVERAL = 2
_ALIVE = ("gave_up", "followed")  # for all that is known of the process
_TOLD = ("exit", "first_failure", "closing_signal")


def gone(case: Case) -> frozenset[int]:
    """The ranks of whose processes that is known."""
    everybody = case.seen | case.expected
    told = _told_gone(case, everybody)
    if 2 * len(everybody & case.ends.keys()) > len(everybody):
        return frozenset(everybody)
    return told


def may_be_left(case: Case) -> frozenset[int]:
    """Ranks of which no line says that their processes ended, nor that of a launcher of their host did: the others' ends make it likely, and
    whoever waited for none of them may stand there still."""
    everybody = case.seen | case.expected
    return frozenset(everybody - _told_gone(case, everybody) - case.ends.keys())


def _told_gone(case: Case, everybody: frozenset[int]) -> frozenset[int]:
    """Whose end a line tells: their own, that of a launcher of their host, of a scheduler."""
    own = {rank for rank, end in case.ends.items() if end.how not in _ALIVE}
    stopped = (pl.col("kind") == "scheduler") & pl.col("code").is_in(STOPS)
    told = pl.col("kind").is_in(_TOLD) & (pl.col("severity") != "info").fill_null(True)
    if case.events.filter(stopped).height:
        return frozenset(everybody)
    places = _places(case, case.events.filter(told).iter_rows(named=True))
    if None in places:
        return frozenset(everybody)
    place = case.host_of_rank
    return frozenset(own | {rank for rank in everybody if places and place.get(rank) in {*places, None}})


def has_ended(case: Case, ended: frozenset[int]) -> bool:
    """Had the run ended: by the word of all its ranks, of a launcher or a scheduler, or because no process is left?
    `ended`: ranks whose processes are known to have ended."""
    everybody = case.seen | case.expected
    said = pl.col("rank").is_null() & (pl.col("kind") == "job_end")
    is_told = case.ended_well or case.events.filter(said).height > 0 or _has_driver_ended(case)
    return is_told or bool(everybody and everybody <= ended)


def _has_driver_ended(case: Case) -> bool:
    """Does the log of who drives all ranks, each of which has one of its own, end with an error that nobody caught? What it started goes with it."""
    files = case.tables["files"]
    if not case.seen or not case.seen <= values(files["rank"]):
        return False
    ends = files.filter(pl.col("rank").is_null() & pl.col("last_lines").list.last().str.contains(_RAISED))
    told = case.tables["ranks"].filter(pl.col("file").is_in(ends["file"].to_list()))
    return bool((told.group_by("file").agg(pl.col("rank").n_unique())["rank"] >= _SEVERAL).any())


def _places(case: Case, rows: Iterable[Row]) -> set[str | None]:
    """The hosts that these rows tell of; null where one tells none and no row of its file does."""
    by_file: dict[str, set[str | None]] = {}
    for row in rows:
        by_file.setdefault(row["file"], set()).add(host_of(case.identity, row))
    return {host for hosts in by_file.values() for host in (hosts - {None} or hosts)}
