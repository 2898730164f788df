"""The status word and the rule that gave it. Only observers of the subject count; facts are not counted."""

from forensics.model.names import Reason, Status
from forensics.verdict.arbitrate import Candidate
from forensics.verdict.observers import Observers

# These do not weaken what is named: others may be to blame besides, or nothing is wrong.
_BESIDES: tuple[Reason, ...] = ("culprit_among_missing", "no_hang", "ring_buffer_wrapped")


def status_of(one: Candidate, observers: Observers) -> tuple[Status, str]:
    """A candidate → (status, the rule in words)."""
    finding = one.finding
    if one.kind == "unknown":
        running = "no_hang" in finding.undecided
        return (
            "unknown",
            "the job was running when this was taken" if running else "no rule explains what is in the bundle",
        )
    named = finding.ranks or finding.cycle
    doubts = [reason for reason in finding.undecided if not (named and reason in _BESIDES)]
    doubts = [reason for reason in doubts if reason != "no_hang"]
    if doubts or ((finding.subjects or finding.places) and not finding.is_named):
        return "hypothesis", "the best explanation; others are not excluded"
    against = observers.categories(finding, "against")
    if against:
        return "hypothesis", f"{', '.join(against)} {_speak(against)} against it"
    if one.basis in ("coincidence", "hint"):
        return "hypothesis", "time and place fit, and no record of its own proves it"
    backing = observers.categories(finding)
    if finding.undecided and finding.is_named and one.kind != "healthy":
        return "supported", f"{', '.join(backing)} {_speak(backing)} for it; others may be at fault, too"
    if len(backing) > 1:
        return (
            "established",
            f"{len(backing)} sources that could have disagreed agree ({', '.join(backing)}); none contradicts",
        )
    return "supported", f"one source ({', '.join(backing) or 'the records'}); nothing contradicts it"


def _speak(names: list[str]) -> str:
    return "speaks" if len(names) == 1 else "speak"
