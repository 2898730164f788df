"""The answer as plain text: what happened, the one thing to do, why; ready to paste into a chat.

No sentence, no `file:line` and no command is ever cut; where there is too much, the text says how much more there is.
"""

from forensics.model.incident import Evidence, Incident, Report
from reports import ledger, summary
from reports.answer import Answer, actions, answer, is_undecided, todo
from reports.layout import wrap, wrap_command
from reports.sanitize import clean
from reports.words import CAUSE, KIND, STATUS

_LABEL = 14  # columns of a label
_CLAIMS, _SIDES, _ACTIONS, _OTHERS = 6, 3, 5, 3
_RESET = "\x1b[0m"
_STYLES = {
    "bold": "\x1b[1m", "dim": "\x1b[2m", "red": "\x1b[1;31m", "yellow": "\x1b[1;33m", "green": "\x1b[1;32m", "": "",
}  # fmt: skip


class _Page:
    """Lines under labels. Every text passes through the sanitiser here and nowhere else."""

    def __init__(self, width: int | None, color: bool) -> None:
        self.width = width
        self.color = color
        self.lines: list[str] = []

    def row(self, label: str, text: str, style: str = "") -> None:
        """Text beside its label, the further lines under the first."""
        for index, part in enumerate(self._wrapped(text, _LABEL)):
            self._add(("dim", f"{'' if index else label:<{_LABEL}}"), (style, part))

    def point(self, lead: str, text: str) -> None:
        """Text behind a number, a line of its own per fact."""
        for index, part in enumerate(self._wrapped(text, len(lead))):
            self._add(("dim", " " * len(lead) if index else lead), ("", part))

    def command(self, text: str) -> None:
        room = None if self.width is None else self.width - _LABEL - 2
        for index, part in enumerate(wrap_command(clean(text, "space"), room)):
            self._add(("dim", " " * _LABEL + ("  " if index else "$ ")), ("bold", part))

    def text(self, style: str, lead: str, text: str) -> None:
        """The headline: its lead styled, the rest bold."""
        for index, part in enumerate(self._wrapped(f"{lead}  {text}" if lead else text, 0)):
            head, rest = ("", part) if index else (lead, part.removeprefix(lead))
            self._add((style, head), ("bold" if lead else "", rest))

    def gap(self) -> None:
        self.lines.append("")

    def _wrapped(self, text: str, indent: int) -> list[str]:
        return wrap(clean(text, "space").strip(), None if self.width is None else self.width - indent)

    def _add(self, *pieces: tuple[str, str]) -> None:
        out = "".join(self._styled(style, text) for style, text in pieces)
        self.lines.append(out if self.color else out.rstrip())

    def _styled(self, style: str, text: str) -> str:
        return f"{_STYLES[style]}{text}{_RESET}" if self.color and style and text.strip() else text


def render(report: Report, *, color: bool, width: int | None = 80) -> str:
    """The text with a newline at its end. `color` adds ANSI styles and nothing else; without a `width` no line is broken."""
    page = _Page(width, color)
    incident = summary.primary(report)
    if incident is None:
        page.text("bold", KIND["unknown"], "The bundle holds no incident.")
        return "\n".join(page.lines) + "\n"
    said = answer(incident)
    tone = {"healthy": "green", "unknown": "yellow"}.get(incident.verdict.kind, "red")
    page.text(tone, said.label, said.sentence)
    if said.more:
        page.text("", "", said.more)
    page.row("do now" if not is_undecided(incident.verdict) else "collect", said.do, "bold")
    if said.command:
        page.command(said.command)
    _why(page, incident, said)
    _side(page, "against", "contradicts", incident, "nothing" if incident.evidence else "there is no evidence at all")
    _side(page, "unseen", "not recorded", incident, summary.missing(report) or summary.nobody_missing(report))
    _remaining(page, incident)
    page.gap()
    for row in summary.facts(incident):
        page.row(row.label, row.text)
    for row in ledger.facts(report):
        page.row(row.label, row.text)
    _then(page, incident)
    for other in [one for one in report.incidents if one is not incident and one.attempt == incident.attempt]:
        page.row("also", f"{KIND[other.verdict.kind]}: {answer(other).sentence}")
    page.row("read", ", ".join(summary.coverage(report)))
    return "\n".join(page.lines) + "\n"


def _why(page: _Page, incident: Incident, said: Answer) -> None:
    if said.cannot_tell:
        page.row("cannot tell", said.cannot_tell)
    verdict = incident.verdict
    claims = summary.evidence(incident, "for")
    page.gap()
    word = "known" if is_undecided(verdict) else "why"
    page.row(word, f"{verdict.status}: {verdict.status_rule or STATUS[verdict.status]}")
    for number, claim in enumerate(claims[:_CLAIMS], start=1):
        page.point(f"  {number} ", _claim(claim))
    _more(page, len(claims) - _CLAIMS)


def _claim(claim: Evidence) -> str:
    """The claim, and the first place that shows it."""
    return f"{claim.claim}  [{summary.place(claim.refs[0])}]" if claim.refs else claim.claim


def _side(page: _Page, direction: str, label: str, incident: Incident, otherwise: str) -> None:
    claims = summary.evidence(incident, direction)
    for index, claim in enumerate(claims[:_SIDES]):
        page.row("" if index else label, _claim(claim))
    if not claims:
        page.row(label, otherwise)
    _more(page, len(claims) - _SIDES)


def _remaining(page: _Page, incident: Incident) -> None:
    """Where nothing is decided: the explanations that are left."""
    if not is_undecided(incident.verdict):
        return
    for index, other in enumerate(incident.alternatives[:_OTHERS]):
        cause = CAUSE[other.cause] if other.cause else KIND[other.kind].lower()
        who = ", ".join([*(f"rank {rank}" for rank in other.ranks[:4]), *other.hosts[:3]])
        text = f"{cause}{f' ({who})' if who else ''}{f': {other.why_not}' if other.why_not else ''}"
        page.row("" if index else "not excluded", text)


def _then(page: _Page, incident: Incident) -> None:
    """What to do after the first thing."""
    rest = actions(incident)[1:]
    for index, action in enumerate(rest[:_ACTIONS]):
        page.row("" if index else "then", todo(action))
        if action.command:
            page.command(action.command)
    _more(page, len(rest) - _ACTIONS)


def _more(page: _Page, number: int) -> None:
    if number > 0:
        page.row("", f"… {number} more in the report", "dim")
