"""The two languages of a report: the same lines, made by one set of functions each. Nothing else asks for the language."""

from forensics.model.incident import Alternative, Evidence, Incident, Verdict
from reports import answer as english
from reports import ledger, summary, words
from reports.language import Language
from reports.tongue import Voice


def _rule(verdict: Verdict) -> str:
    return verdict.status_rule or words.STATUS[verdict.status]


def _why(incident: Incident) -> str:
    told = _rule(incident.verdict)
    return told if english.tells_apart(incident.verdict) else f"{incident.verdict.status}: {told}"


def _claim(item: Evidence) -> str:
    """The claim, and the first place that shows it."""
    return f"{item.claim}  [{summary.place(item.refs[0])}]" if item.refs else item.claim


def _other(weighed: Alternative) -> str:
    cause = words.CAUSE[weighed.cause] if weighed.cause else words.KIND[weighed.kind].lower()
    who = ", ".join([*(f"rank {rank}" for rank in weighed.ranks[:4]), *weighed.hosts[:3]])
    return f"{cause}{f' ({who})' if who else ''}{f': {weighed.why_not}' if weighed.why_not else ''}"


ENGLISH = Voice(
    language="en",
    answer=english.answer,
    label=english.label,
    todo=english.todo,
    owner=lambda action: words.ACTION[action.kind][2],
    why=_why,
    claim=_claim,
    other=_other,
    facts=summary.facts,
    ledger=ledger.facts,
    coverage=summary.coverage,
    missing=lambda report: summary.missing(report) or summary.nobody_missing(report),
    status=lambda status: status,
    cause=lambda verdict: english.cause_of(verdict) or "cause not known",
    domain=lambda verdict: words.DOMAIN[verdict.domain],
    what=lambda kind, cause: words.CAUSE[cause] if cause else words.KIND[kind].lower(),
    rule=_rule,
    row=lambda label: label,
    title=lambda heading: heading,
    spoken=str,
    nothing="nothing",
    unsaid="",
    more="… {:,} more in the report",
    rest="{:,} more lines with -v",
    comma=", ",
    colon=": ",
)


def voice_of(language: Language) -> Voice:
    """The tables of Chinese are loaded only where they are spoken."""
    if language == "en":
        return ENGLISH
    from reports.voice_zh import CHINESE

    return CHINESE
