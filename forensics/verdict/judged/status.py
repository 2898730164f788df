"""Two status words, and the rule that gave them: how sure it is who is named, and how sure it is why.

Only observers of the subject count, each question by those that could have disagreed about it; facts are not counted. Peers
that gave up on a rank corroborate that it is missing, never why. What is not claimed has no word; of two the weaker is shown.
"""

from collections.abc import Sequence

import msgspec

from forensics.model.causes import CAUSES
from forensics.model.names import Reason, Status
from forensics.model.said import Said, joined
from forensics.verdict.judged.arbitrate import Candidate
from forensics.verdict.judged.observers import Observers
from forensics.words import verdict as words

# These do not weaken what is named: others may be to blame besides, or nothing is wrong.
_BESIDES: tuple[Reason, ...] = ("culprit_among_missing", "no_hang", "ring_buffer_wrapped")
_WEAKEST_FIRST: Sequence[Status] = ("unknown", "hypothesis", "supported", "established")


class Statuses(msgspec.Struct, frozen=True):
    """`who`: of those that are named or suspected; `why`: of the cause; null where none is claimed. `rule`: in words."""

    status: Status
    rule: Said
    who: Status | None = None
    why: Status | None = None


def status_of(one: Candidate, observers: Observers) -> Statuses:
    """A candidate → its status words."""
    finding = one.finding
    if one.kind == "unknown":
        running = "no_hang" in finding.undecided
        return Statuses("unknown", words.WAS_RUNNING if running else words.NO_RULE)
    is_about = bool(finding.subjects or finding.places)
    if (doubt := _doubt(one, observers)) is not None:
        weak: Status = "hypothesis"
        return Statuses(weak, doubt, weak if is_about else None, weak if finding.cause else None)
    backing = observers.categories(finding)
    sources = joined(backing, ", ")
    if finding.undecided and finding.is_named and one.kind != "healthy":
        rule = words.SPEAK_FOR(sources=sources, speak=_speak(backing))
        return Statuses("supported", rule, "supported", "supported" if finding.cause else None)
    who = _by_number(backing)
    knowing = observers.categories(finding, of="why") if finding.cause is not None else backing
    why = _by_number(knowing)
    if not is_about:  # what is claimed is the cause alone
        backing, sources = knowing, joined(knowing, ", ")
    by_times = one.kind == "slow" if finding.cause is None else CAUSES[finding.cause].by_times
    if by_times and not observers.measures(finding):
        why = "supported"  # times tell who is slow; of what, only a measure of the device or the host
    several = words.SOURCES_AGREE(number=len(backing), sources=sources)
    rule = several if len(backing) > 1 else words.ONE_SOURCE(sources=sources or words.THE_RECORDS)
    if who != why and is_about:
        rule = words.WHO_AND_WHY(who=words.STATUS_NAME[who], why=words.STATUS_NAME[why], rule=rule)
    weaker = min(who, why, key=_WEAKEST_FIRST.index)
    return Statuses(weaker, rule, who if is_about else None, why if finding.cause else None)


def _doubt(one: Candidate, observers: Observers) -> Said | None:
    """What makes it a hypothesis."""
    finding = one.finding
    besides: tuple[Reason, ...] = _BESIDES if finding.ranks or finding.cycle else ("no_hang",)
    if {*finding.undecided} - {*besides} or ((finding.subjects or finding.places) and not finding.is_named):
        return words.BEST_EXPLANATION
    if against := observers.categories(finding, "against"):
        return words.SPEAK_AGAINST(sources=joined(against, ", "), speak=_speak(against))
    return words.TIME_AND_PLACE if one.basis in ("coincidence", "hint") else None


def _by_number(backing: Sequence[str]) -> Status:
    return "established" if len(backing) > 1 else "supported"


def _speak(names: list[str]) -> Said:
    return words.SPEAKS if len(names) == 1 else words.SPEAK
