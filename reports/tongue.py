"""What a report asks of a language (voice.py has the two)."""

from collections.abc import Callable
from typing import NamedTuple

from forensics.model.incident import Action, Alternative, Document, Evidence, Incident, Verdict
from forensics.model.names import Cause, Kind, Status
from reports import answer as english
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
    ledger: Callable[[Document], list[Row]]
    coverage: Callable[[Document], list[str]]
    missing: Callable[[Document], str]
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
