"""Whom does a coordination service miss, and whose own watchdog got stuck?

A task that stopped sending heartbeats died, was busy in a call that holds everything up, or lost the network: it is a
suspect; one whose pod or node a scheduler takes away is none. It is named, without a cause, where all others of the job that left a record
were told so and say it, and its own record says nothing of an error and ends before: who is only cut off hears of it or goes on. It is named, as dead, too, where the service itself met a new process
in its place, and in that of no other, and everybody misses it alone. Where most tasks are missed, the service itself or the way to it is the matter.
Where a process' own monitor saw its watchdog stuck, a call to the device or a lock held it: that may be a collective whose
peer never came, so its printer is no suspect for that. Of DLRover's timers most of which show a kernel that does not end,
those that show none are of ranks that never launched it, or are past it: suspects.
"""

from typing import Any

import polars as pl

from forensics.case import Case, Detector
from forensics.facts.ends.taken_places import are_taken_away
from forensics.facts.ends.waiting import stuck_watchdogs
from forensics.facts.rows.event_rows import own_rank, refs, rows
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, FirstAnomaly
from forensics.model.said import joined, sentence
from forensics.model.texts import ranks_text
from forensics.model.told import values
from forensics.words import ranks as words

_OTHERS = 2  # at least
_GAUGE = "XPU_TIMER_COMMON_HANG"


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding."""
    told = [row for row in rows(case.events, "heartbeat_lost") if row["names_rank_space"] == "global"]
    missed = tuple(sorted({rank for row in told for rank in row["names_ranks"] or ()}))
    known = len(case.expected | case.seen)
    if not missed:
        return _stuck(case)
    if 2 * len(missed) > max(known, 2) or case.has_open_operations:
        return ()
    if are_taken_away(missed, case.events, case.tables, case.job_hosts, case.host_of_rank):
        return ()
    anew = _came_back(case, missed, told)
    named = missed if anew or _fell_silent(case, missed, told) else ()
    text = words.NO_MORE_BEATS(who=ranks_text(missed))
    if anew:
        text = words.AND_CAME_BACK(text=text)
    elif named:
        text = words.AND_FELL_SILENT[len(named) == 1](text=text)
    return (
        Finding(
            cause="rank_died" if anew else None,
            ranks=named,
            suspect_ranks=() if named else missed,
            undecided=() if named else ("tied_explanations",),
            claims=(Claim(text, "for", refs([*told, *anew])),),
            first_anomaly=FirstAnomaly(
                rank=min(named) if len(named) == 1 else None, step=case.step_in_progress(), signature="lost_heartbeat"
            ),
            blast_radius=BlastRadius(ranks_waiting=max(known - len(missed), 0)),
            collect=((words.WHAT_BECAME_OF if named else words.LOG_STACK_HOST)(who=ranks_text(missed)),),
            summary=sentence(text)
            if named
            else words.UNDECIDED(what=words.DEAD_HELD_CUT_OFF(text=text, what=words.THE_NETWORK)),
        ),
    )


def _came_back(case: Case, missed: tuple[int, ...], told: list[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Where the service says of these, and of no others, that another process came in their place: its words; of two and more lines that miss somebody none misses anybody else."""
    anew = [row for row in rows(case.events, "other") if row["code"] == "restarted"]
    heard = len(rows(case.events, "heartbeat_lost"))  # some say that others are missed, without a name
    is_alone = heard >= _OTHERS and all({*(row["names_ranks"] or ())} == {*missed} for row in told)
    came = {rank for row in anew for rank in row["names_ranks"] or () if row["names_rank_space"] == "global"}
    return tuple(anew) if is_alone and came == {*missed} else ()


def _fell_silent(case: Case, missed: tuple[int, ...], told: list[dict[str, Any]]) -> bool:
    """Do all others that left a record say that these are missed, while their own records tell of no error and end before?"""
    own = {rank: row for row in told if (rank := own_rank(row)) is not None}
    others = case.seen - {*missed}
    heard = len(others) >= _OTHERS and own.keys() == others and all({*row["names_ranks"]} == {*missed} for row in told)
    if not heard or not case.seen.issuperset(missed):
        return False
    of_missed, is_error = pl.col("rank").is_in(missed), pl.col("severity").is_in(["error", "fatal"])
    errors = case.events.filter(of_missed & (pl.col("rank_space") == "global") & is_error)
    times = [(row["time_basis"], row["time_ns"]) for row in own.values()]
    first = min((time for _, time in times if time is not None), default=None)
    later = (pl.col("time_ns") >= first) if first is not None else pl.lit(True)
    went_on = case.tables["steps"].filter(of_missed & later)
    return not errors.height and not went_on.height and len({basis for basis, _ in times}) == 1


def _stuck(case: Case) -> tuple[Finding, ...]:
    """Watchdogs that got stuck, where nothing tells of the wait itself."""
    told = stuck_watchdogs(case.events)
    if not told or case.has_waited:
        return ()
    printers = {rank for row in told if (rank := own_rank(row)) is not None}
    free = _without_hang(case, printers)
    stuck = words.WATCHDOG_STUCK(who=ranks_text(printers) if printers else words.SOME_MEMBER)
    text = joined((stuck, words.NOTHING_HANGS(who=ranks_text(free)) if free else ""), "; ")
    return (
        Finding(
            suspect_ranks=free,
            undecided=("tied_explanations",),
            claims=(Claim(text, "for", refs(told)),),
            first_anomaly=FirstAnomaly(step=case.step_in_progress(), signature="stuck_watchdog"),
            blast_radius=BlastRadius(ranks_waiting=len(printers)),
            collect=(words.DUMPS_AND_STACKS,),
            summary=words.UNDECIDED(what=text),
        ),
    )


def _without_hang(case: Case, hung: set[int]) -> tuple[int, ...]:
    """Ranks whose gauge of a hang stands at zero, where it does not for most."""
    gauges = case.tables["devices"].filter(pl.col("metric").str.starts_with(_GAUGE) & (pl.col("value") == 0))
    free = values(gauges["rank"]) - hung
    return tuple(sorted(free)) if 2 * len(free) < len(free | hung) else ()


DETECTOR = Detector("lost_heartbeat", ("events",), detect, "waiting")
