"""The two languages of a report: the same lines, made by one set of functions each. Nothing else asks for the language."""

from collections.abc import Callable
from typing import NamedTuple

from forensics.model.incident import Action, Alternative, Evidence, Incident, Report, Verdict
from forensics.model.names import Cause, Kind, Status
from reports import answer as english
from reports import ledger, summary, words
from reports.language import Language
from reports.summary import Row


class Voice(NamedTuple):
    """`title`, `row`: headings and labels of rows by their English text. `spoken`: what was said in both. `claim`: empty where it cannot be said;
    `unsaid` stands for those."""

    language: str
    answer: Callable[[Incident], english.Answer]
    label: Callable[[Verdict], str]
    todo: Callable[[Action], str]
    owner: Callable[[Action], str]
    why: Callable[[Incident], str]
    claim: Callable[[Evidence], str]
    other: Callable[[Alternative], str]
    facts: Callable[[Incident], list[Row]]
    ledger: Callable[[Report], list[Row]]
    coverage: Callable[[Report], list[str]]
    missing: Callable[[Report], str]
    status: Callable[[Status], str]
    cause: Callable[[Verdict], str]
    domain: Callable[[Verdict], str]
    what: Callable[[Kind, Cause | None], str]
    rule: Callable[[Verdict], str]
    row: Callable[[str], str]
    title: Callable[[str], str]
    spoken: Callable[[str], str]
    nothing: str
    unsaid: str
    more: str
    rest: str
    comma: str
    colon: str


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
    cause=lambda verdict: words.CAUSE[verdict.cause] if verdict.cause else "cause not known",
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
