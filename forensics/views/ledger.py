"""The ledger of a job: attempt by attempt what it ended by, what was lost, and what of the time was training that was kept.

Of an attempt that a later one went on from, what counts is what lies before the step where that one began; of the newest
what lies before the checkpoint that can be gone back to, where one is known, else all of it.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import structs

from forensics.case import Case
from forensics.facts.durations.spent import Spent
from forensics.model.incident import Incident
from forensics.model.ledger import AttemptRow, ChainLink, Interval, Ledger, PhaseTime
from forensics.model.middle import median
from forensics.model.said import Said
from forensics.model.texts import ranks_text
from forensics.views.recovery import NOTHING, Recovery, chain, recovery
from forensics.words import views as words
from parsers.text.stamps import SECOND_NS

_PLANNED = ("preempted", "stopped_by_hand", "time_limit")
_FAILED = ("hang", "crash", "launch", "numerics")
_HOSTS = 16  # in a row
_FEWEST_FAILURES = 2  # one failure is no rate


class Told(NamedTuple):
    """What one attempt says, kept after its tables are gone."""

    incident: Incident  # that ended it
    spent: Spent
    hosts: frozenset[str]
    ranks: int
    resumed_from: int | None
    notes: tuple[str, ...]
    recovery: Recovery = NOTHING


def told(case: Case, incident: Incident) -> Told:
    """Case of one attempt and the incident that ended it → what the ledger needs."""
    loads = case.events.filter(case.events["kind"] == "checkpoint_load")["step"].drop_nulls()
    hosts = frozenset(case.host_of_rank.values()) or case.job_hosts
    return Told(
        incident, case.spent, hosts, len(case.expected | case.seen), int(loads.max()) if len(loads) else None,  # type: ignore[arg-type]
        tuple(_unfinished(case)), recovery(case),
    )  # fmt: skip


def _unfinished(case: Case) -> list[Said]:
    """Checkpoints of which a part is missing, who owed it, and what it raised meanwhile."""
    notes = []
    for lines, act in ((case.checkpoints.saved, words.SAVE), (case.checkpoints.stored, words.STORE)):
        for step, ranks in lines.unfinished.items():
            text = words.RANKS_NEVER_ENDED(who=ranks_text(ranks), act=act, step=step)
            notes.append(_raised(case, text, ranks))
        if lines.begun and not lines.ended:
            step = max(lines.begun)
            every = [rank for rank in lines.begun[step] if rank is not None]
            notes.append(_raised(case, words.JOB_NEVER_ENDED(act=act, step=step), every))
    return notes


def _raised(case: Case, text: Said, ranks: Sequence[int]) -> Said:
    """The same with an error of these ranks that a process may outlive: a thread that writes beside the work."""
    events = case.tables["events"]
    is_error = events["kind"].is_in(["exception", "storage_error", "disk_full"])
    errors = events.filter(is_error & events["rank"].is_in(list(ranks)))
    told = errors.sort("file", "line").select("rank", "text").head(1).rows()
    return words.PRINTED(what=text, rank=told[0][0], text=told[0][1]) if told else text


def ledger(attempts: Sequence[Told], pace: Sequence[str] = ()) -> Ledger:
    """Attempts in their order → the ledger."""
    rows = [_row(number, one, attempts) for number, one in enumerate(attempts)]
    bases = {one.spent.basis for one in attempts}
    # How long one stood still is the most of what was lost.
    untold = [one for one in attempts if one.incident.verdict.kind == "hang" and one.incident.lost.stalled_s is None]
    wall = _wall(attempts) if len(bases) == 1 and None not in bases and not untold else None
    kept = [_kept_s(one, after) for one, after in zip(attempts, [*attempts[1:], None], strict=True)]
    known = [seconds for seconds in kept if seconds is not None]
    is_known = wall is not None and len(known) == len(kept) and sum(known) <= wall
    return Ledger(
        attempts=rows,
        wall_s=wall,
        effective_s=round(sum(known), 3) if is_known else None,
        lost_gpu_hours=_by_cause(rows),
        interval=_interval(attempts, rows, wall),
        pace=list(pace),
        notes=[note for one in attempts for note in one.notes],
    )


def _row(number: int, one: Told, attempts: Sequence[Told]) -> AttemptRow:
    verdict, lost = one.incident.verdict, one.incident.lost
    before = attempts[number - 1] if number else None
    after = attempts[number + 1] if number + 1 < len(attempts) else None
    older: set[str] = set().union(*(past.hosts for past in attempts[: max(0, number - 1)]))
    restarted = None
    if before is not None and before.hosts and one.hosts:
        # On the same hosts only processes were begun anew; a host that is gone was lost or replaced.
        restarted = "processes" if one.hosts == before.hosts else "hosts"
    joined = one.hosts - before.hosts if before is not None and before.hosts else frozenset()
    left = before.hosts - one.hosts if before is not None and one.hosts else frozenset()
    redone = _lost_steps(one, after)
    seconds = None if redone is None or one.spent.step_s is None else redone * one.spent.step_s
    return AttemptRow(
        attempt=one.incident.attempt,
        kind=verdict.kind,
        cause=verdict.cause,
        planned=is_planned(one.incident),
        accused=_accused(one.incident),
        ranks=one.ranks or None,
        hosts_joined=sorted(joined)[:_HOSTS],
        hosts_left=sorted(left)[:_HOSTS],
        hosts_returned=sorted(joined & older)[:_HOSTS],
        restarted=restarted,
        first_step=one.spent.first_step,
        last_step=one.spent.last_step,
        resumed_from=_begun_at(one) if before is not None or one.resumed_from is not None else None,
        checkpoint=lost.checkpoint,
        lost_steps=redone,
        lost_s=_sum(seconds, lost.stalled_s),
        phases=_phases(one, before),
        chain=_chain(one, after),
    )


def _chain(one: Told, after: Told | None) -> list[ChainLink]:
    """Of an attempt that a fault ended."""
    if is_planned(one.incident):
        return []
    begun = _begun_at(after) if after is not None else None
    form = words.ATTEMPT if begun is None else words.ATTEMPT_FROM
    resumed = form(attempt=after.incident.attempt, step=begun) if after else None
    links = chain(one.recovery, after.recovery if after is not None else NOTHING, resumed)
    summary = one.incident.verdict.summary
    return [structs.replace(link, text=summary) if link.stage == "failed" else link for link in links]


def is_planned(incident: Incident) -> bool:
    """Did no fault end it?"""
    verdict = incident.verdict
    return verdict.cause in _PLANNED or verdict.kind == "healthy" or "no_hang" in verdict.undecided


def _accused(incident: Incident) -> list[str]:
    verdict = incident.verdict
    ranks = verdict.ranks or verdict.cycle or verdict.suspects.ranks
    places = {place.host for place in verdict.places if place.rank in ranks and place.host}
    hosts = sorted({*verdict.hosts, *(verdict.suspects.hosts if not verdict.hosts else ()), *places})
    return [*([ranks_text(ranks)] if ranks else []), *(words.ACCUSED_HOST(host=host) for host in hosts[:_HOSTS])]


def _phases(one: Told, before: Told | None) -> list[PhaseTime]:
    """In order of the course of a run."""
    inits = [PhaseTime(phase=f"init: {init.what}", seconds=round(init.seconds, 3)) for init in one.spent.inits]
    phases = [PhaseTime(phase=name, seconds=round(seconds, 3)) for name in ("launch", "training", "checkpoint", "evaluation", "pause")
              if (seconds := one.spent.phases.get(name)) is not None]  # fmt: skip
    stalled, down = one.incident.lost.stalled_s, _down(one, before)
    idle = [PhaseTime(phase="down before it", seconds=round(down, 3))] if down else []
    return [*idle, *inits, *phases, *([PhaseTime(phase="stalled", seconds=round(stalled, 3))] if stalled else [])]


def _down(one: Told, before: Told | None) -> float | None:
    """Seconds from the end of the attempt before to the first line of this one."""
    if before is None or before.spent.basis != one.spent.basis:
        return None
    began, ended = one.spent.begin_ns, _end_ns(before)
    return (began - ended) / SECOND_NS if began is not None and ended is not None and began > ended else None


def _end_ns(one: Told) -> int | None:
    """When nothing went on any more: the last step, and the stall after it."""
    last = one.spent.last_ns
    return None if last is None else last + round((one.incident.lost.stalled_s or 0) * SECOND_NS)


# --- what was lost ---------------------------------------------------------------------------------------------------


def _begun_at(one: Told) -> int | None:
    """The step that an attempt went on from: as it says, else the one before its first."""
    if one.resumed_from is not None:
        return one.resumed_from
    return one.spent.first_step - 1 if one.spent.first_step is not None else None


def _lost_steps(one: Told, after: Told | None) -> int | None:
    """Steps that were, or will have to be, done again."""
    begun = _begun_at(after) if after is not None else None
    if begun is not None and one.spent.last_step is not None:
        return max(0, one.spent.last_step - begun)
    return one.incident.lost.lost_steps


def _kept_s(one: Told, after: Told | None) -> float | None:
    """Seconds of steps whose result was kept: no more than all its steps took, by the clock."""
    first, last, pace = one.spent.first_step, one.spent.last_step, one.spent.step_s
    if first is None or last is None or pace is None:
        return 0.0 if one.incident.verdict.kind == "launch" else None
    kept = last - first + 1 - (_lost_steps(one, after) or 0)
    return min(max(0, kept) * pace, one.spent.phases.get("training", math.inf))


def _wall(attempts: Sequence[Told]) -> float | None:
    begins = [one.spent.begin_ns for one in attempts if one.spent.begin_ns is not None]
    ends = [end for one in attempts if (end := _end_ns(one)) is not None]
    return round((max(ends) - min(begins)) / SECOND_NS, 3) if begins and ends else None


def _sum(*parts: float | None) -> float | None:
    known = [part for part in parts if part is not None]
    return round(sum(known), 3) if known else None


def _by_cause(rows: Sequence[AttemptRow]) -> dict[str, float]:
    """Cause → GPU hours lost by it."""
    hours: dict[str, float] = defaultdict(float)
    for row in rows:
        if row.lost_s and row.ranks and not row.planned:
            hours[row.cause or row.kind] += row.lost_s * row.ranks / 3600
    return {cause: round(value, 3) for cause, value in sorted(hours.items())}


# --- how often to save -----------------------------------------------------------------------------------------------


def _interval(attempts: Sequence[Told], rows: Sequence[AttemptRow], wall: float | None) -> Interval | None:
    """None where fewer than two failures were seen, or no checkpoint's cost."""
    failures = sum(row.kind in _FAILED and not row.planned for row in rows)
    saves = [cost for one in attempts for cost in one.spent.saves_s]
    if failures < _FEWEST_FAILURES or wall is None or not saves or not (cost := median(saves)):
        return None
    between = wall / failures
    paces = [one.spent.step_s for one in attempts if one.spent.step_s]
    now = [one.spent.every_steps for one in attempts if one.spent.every_steps]
    best = daly(cost, between)
    return Interval(
        failures=failures, between_failures_s=round(between, 3), save_s=round(cost, 3), young_s=round(young(cost, between), 3),
        daly_s=round(best, 3), steps=max(1, round(best / median(paces))) if paces else None,
        now_steps=round(median(now)) if now else None,
    )  # fmt: skip


def young(cost: float, between: float) -> float:
    """Seconds of work between two checkpoints that lose least: sqrt(2 C M) (Young, CACM 17(9), 1974)."""
    return math.sqrt(2 * cost * between)


def daly(cost: float, between: float) -> float:
    """With the higher terms, for costs that are not small beside M (Daly, FGCS 22(3), 2006, eq. 37)."""
    if cost >= 2 * between:
        return between
    part = cost / (2 * between)
    return young(cost, between) * (1 + math.sqrt(part) / 3 + part / 9) - cost
