"""Processes ended with an error or were interrupted, and nothing but the launcher's word is there: who is to be looked at?

An exit code says that a process failed, never why; whom the launcher reports first it saw first (contract, honesty 3). So
nobody is named. A few that failed while the launcher had to stop all the others ended before these: they are suspects.
Where most aborted, as watchdogs make them after a wait, the few that did not are: found alive, ended in another way, or not
told of. A line that gives a local rank alone accuses no rank. A stop from outside is no failure.
"""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from forensics.case import Case
from forensics.facts.ends.process_ends import SIGNAL_CAUSES, ProcessEnd, is_stop
from forensics.facts.ends.stopped_pods import stopped_objects
from forensics.facts.ends.waiting import stuck_watchdogs
from forensics.facts.rows.event_rows import detail, host_of, own_rank, refs, rows
from forensics.model.finding import Claim, Finding
from forensics.model.hosts import short_host
from forensics.model.incident import BlastRadius, FirstAnomaly
from forensics.model.said import Said, joined, sentence
from forensics.model.signals import signal_of
from forensics.model.texts import ranks_text
from forensics.words import ended as words

_FEW = 2  # fewer than half as many


def ended_unexplained(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding, only where no line tells more than that processes failed."""
    if any(end.how not in ("failed", "stopped") for end in case.ends.values()) or case.has_waited:
        return _lost_by_all(case)
    aborted = ("SIGABRT",) if stuck_watchdogs(case.events) else ()  # by the monitor that saw its watchdog stuck
    failed = {rank: end for rank, end in case.ends.items() if end.how == "failed" and end.code not in aborted}
    stopped = {rank: end for rank, end in case.ends.items() if end.how == "stopped"}
    if not failed:
        unplaced = _unplaced_failures(case, aborted)
        return (_unplaced(case, unplaced),) if unplaced else ()
    codes = sorted({end.code for end in failed.values() if end.code}) or ["?"]  # a report may be cut before it
    suspects, why = _suspects(case, failed, set(stopped))
    places = tuple(ref for rank in sorted(failed)[:3] for ref in failed[rank].refs[:1])
    text = words.ENDED_WITH_ERROR(who=ranks_text(failed), codes=joined(codes[:3], ", "))
    claims = [Claim(text, "for", places)]
    if stopped:
        told = tuple(ref for rank in sorted(stopped)[:2] for ref in stopped[rank].refs[:1])
        claims.append(Claim(words.LAUNCHER_STOPPED(who=ranks_text(stopped)), "for", told))
    return (
        Finding(
            suspect_ranks=suspects,
            undecided=("tied_explanations",),
            claims=tuple(claims),
            first_anomaly=FirstAnomaly(step=case.step_in_progress(), signature=f"exit:{codes[0]}"),
            blast_radius=BlastRadius(ranks_waiting=len(stopped)),
            collect=(words.WHAT_PRINTED_LAST(who=ranks_text(suspects or sorted(failed))),),
            summary=words.UNDECIDED(what=joined((text, why), "; ")),
        ),
    )


def _lost_by_all(case: Case) -> tuple[Finding, ...]:
    """A signal of a process whose rank is not told, and ranks that lost their connection and gave up on nothing else: it is
    one of those that did not."""
    hows = {end.how for end in case.ends.values()}
    told = [row for row in _unplaced_failures(case, ()) if signal_of(row["code"]) in SIGNAL_CAUSES]
    if case.has_waited or not told or not hows <= {"gave_up", "failed", "stopped"}:
        return ()
    victims = {rank for rank, end in case.ends.items() if end.how == "gave_up"}
    rest = tuple(sorted(case.job_told_of - victims))
    found = _unplaced(case, told)
    return (replace(found, suspect_ranks=rest if len(rest) <= len(victims) else ()),)


def _unplaced_failures(case: Case, explained: tuple[str, ...]) -> list[dict[str, Any]]:
    """What is told of processes whose rank is not known, but for ends by signals that something else explains."""
    stopped = {(row["file"], row["pid"]) for row in rows(case.events, "closing_signal") if row["pid"] is not None}
    pods = stopped_objects(case.events, case.expected or case.seen)
    return [
        row
        for row in rows(case.events, "exit")
        if own_rank(row) is None
        and row["code"] not in (None, "0")
        and not is_stop(row["code"])
        and signal_of(row["code"]) not in explained
        and (row["file"], row["pid"]) not in stopped
        and detail(row).get("object") not in pods
    ]


_CRASHES = frozenset({"SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT"})  # that leave a core


def _unplaced(case: Case, failed: list[dict[str, Any]]) -> Finding:
    codes = sorted({signal_of(row["code"]) or str(row["code"]) for row in failed})
    locals_ = sorted({row["local_rank"] for row in failed if row["local_rank"] is not None})
    hosts = sorted({host for row in failed if (host := host_of(case.identity, row))})
    number = len({_process(row) for row in failed})
    several = words.PROCESSES(number) if number > 1 else words.A_PROCESS
    who = words.WITH_LOCAL_RANK(rank=locals_[0]) if len(locals_) == 1 else several
    who = words.ON_HOSTS(who=who, hosts=joined(hosts[:4], ", ")) if hosts else who
    text = words.ENDED_WITH_ERROR(who=who, codes=joined(codes[:3], ", "))
    causes = {SIGNAL_CAUSES.get(code) for code in codes}
    cause = causes.pop() if len(causes) == 1 else None
    return Finding(
        cause=cause,
        hosts=(hosts[0],) if cause and len(hosts) == 1 and all(_tells_host(case, row) for row in failed) else (),
        undecided=("membership_unknown",) if cause else ("membership_unknown", "tied_explanations"),
        claims=(Claim(text, "for", refs(failed)),),
        first_anomaly=FirstAnomaly(
            host=hosts[0] if len(hosts) == 1 else None, step=case.step_in_progress(), signature=f"exit:{codes[0]}"
        ),
        collect=(words.CORES_AND_KERNEL if {*codes} & _CRASHES else words.WHAT_PROCESSES_PRINTED,),
        summary=sentence(text, words.RANK_NOT_RECORDED)
        if cause
        else words.UNDECIDED(what=joined((text, words.RANK_AND_WHY_NOT_RECORDED), "; ")),
    )


def _process(row: dict[str, Any]) -> tuple[str, ...]:
    """What tells the process that a line is about from others; lines of one file that tell nothing may all be about one."""
    said = detail(row)
    told = (row[name] for name in ("host", "pid", "local_rank"))
    return str(row["file"]), *map(str, told), *(str(said.get(name)) for name in ("name", "names", "tasks", "object"))


def _tells_host(case: Case, row: dict[str, Any]) -> bool:
    """Does the line itself say where the process ran? What only stands before it is where its printer does, a launcher perhaps."""
    host = host_of(case.identity, row)
    words_of = (word.strip("()[]{},.;:'\"") for word in str(row["text"] or "").split())
    return host is not None and host in {short_host(word) for word in (*words_of, *(row["names_hosts"] or ())) if word}


def _suspects(case: Case, failed: Mapping[int, ProcessEnd], stopped: set[int]) -> tuple[tuple[int, ...], Said]:
    if len(failed) < len(stopped):
        return tuple(sorted(failed)), words.ALIVE_UNTIL_STOPPED(who=ranks_text(stopped))
    aborted = {rank for rank, end in failed.items() if end.code == "SIGABRT"}
    job = case.expected if case.is_world_told else case.seen | failed.keys() | stopped | _of_launchers(case)
    others = job - aborted
    if others and len(aborted) > 2 and _FEW * len(others) < len(aborted):
        return tuple(sorted(others)), words.DID_NOT_ABORT(who=ranks_text(others))
    return (), words.NOT_WHO_NOR_WHY


def _of_launchers(case: Case) -> frozenset[int]:
    """The ranks that each host's launcher started, as far as its numbers tell: it counts its own from 0, in the order of
    their ranks, so whom it does not mention is one of those between."""
    found: set[int] = set()
    placed = case.identity.select("host", "rank", "local_rank").drop_nulls() if case.identity.height else case.identity
    for here in placed.partition_by("host"):
        first = set((here["rank"] - here["local_rank"]).to_list())
        if len(first) == 1:
            found |= set(range(first.pop(), max(here["rank"].to_list()) + 1))
    return frozenset(found)
