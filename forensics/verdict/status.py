"""The status word and the rule that gave it. Only observers of the subject count; facts are not counted."""

from forensics.model.names import Reason, Status
from forensics.model.said import Said, joined
from forensics.verdict.arbitrate import Candidate
from forensics.verdict.observers import Observers
from forensics.words import verdict as words

# These do not weaken what is named: others may be to blame besides, or nothing is wrong.
_BESIDES: tuple[Reason, ...] = ("culprit_among_missing", "no_hang", "ring_buffer_wrapped")


def status_of(one: Candidate, observers: Observers) -> tuple[Status, Said]:
    """A candidate → (status, the rule in words)."""
    finding = one.finding
    if one.kind == "unknown":
        running = "no_hang" in finding.undecided
        return "unknown", words.WAS_RUNNING if running else words.NO_RULE
    named = finding.ranks or finding.cycle
    doubts = [reason for reason in finding.undecided if not (named and reason in _BESIDES)]
    doubts = [reason for reason in doubts if reason != "no_hang"]
    if doubts or ((finding.subjects or finding.places) and not finding.is_named):
        return "hypothesis", words.BEST_EXPLANATION
    against = observers.categories(finding, "against")
    if against:
        return "hypothesis", words.SPEAK_AGAINST(sources=joined(against, ", "), speak=_speak(against))
    if one.basis in ("coincidence", "hint"):
        return "hypothesis", words.TIME_AND_PLACE
    backing = observers.categories(finding)
    sources = joined(backing, ", ")
    if finding.undecided and finding.is_named and one.kind != "healthy":
        return "supported", words.SPEAK_FOR(sources=sources, speak=_speak(backing))
    if len(backing) > 1:
        return "established", words.SOURCES_AGREE(number=len(backing), sources=sources)
    return "supported", words.ONE_SOURCE(sources=sources or words.THE_RECORDS)


def _speak(names: list[str]) -> Said:
    return words.SPEAKS if len(names) == 1 else words.SPEAK
