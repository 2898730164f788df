"""The answer as plain text: what happened, the one thing to do, why; ready to paste into a chat.

No sentence, no `file:line` and no command is ever cut; where there is too much, the text says how much more there is.
"""

from collections.abc import Mapping

from forensics.model.incident import Incident, Report
from reports import summary
from reports.answer import Answer, actions, is_undecided, others
from reports.language import Language
from reports.layout import cells, wrap, wrap_command
from reports.links import linked
from reports.sanitize import clean
from reports.voice import Voice, voice_of
from reports.words import KIND

_LABEL = 14  # columns of a label
_CLAIMS, _SIDES, _ACTIONS, _OTHERS = 6, 3, 5, 3
_RESET = "\x1b[0m"
NO_LINKS: Mapping[str, str] = {}
_STYLES = {
    "bold": "\x1b[1m", "dim": "\x1b[2m", "red": "\x1b[1;31m", "yellow": "\x1b[1;33m", "green": "\x1b[1;32m", "": "",
}  # fmt: skip


class _Page:
    """Lines under labels. Every text passes through the sanitiser here and nowhere else."""

    def __init__(self, width: int | None, color: bool, links: Mapping[str, str]) -> None:
        self.width = width
        self.color = color
        self.links = links
        self.lines: list[str] = []

    def row(self, label: str, text: str, style: str = "") -> None:
        """Text beside its label, the further lines under the first."""
        for index, part in enumerate(self._wrapped(text, _LABEL)):
            self._add(("dim", " " * _LABEL if index else label + " " * max(1, _LABEL - cells(label))), (style, part))

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
        out = "".join(self._styled(style, linked(text, self.links) if self.links else text) for style, text in pieces)
        self.lines.append(out if self.color else out.rstrip())

    def _styled(self, style: str, text: str) -> str:
        return f"{_STYLES[style]}{text}{_RESET}" if self.color and style and text.strip() else text


def render(
    report: Report,
    *,
    color: bool,
    width: int | None = 80,
    language: Language = "en",
    links: Mapping[str, str] = NO_LINKS,
) -> str:
    """The text with a newline at its end. `color` adds ANSI styles and nothing else; without a `width` no line is broken.
    `links`: place of the evidence → its address, for a terminal that shows links."""
    page, voice = _Page(width, color, links), voice_of(language)
    incident = summary.primary(report)
    if incident is None:
        page.text("bold", KIND["unknown"], "The bundle holds no incident.")
        return "\n".join(page.lines) + "\n"
    said = voice.answer(incident)
    tone = {"healthy": "green", "unknown": "yellow"}.get(incident.verdict.kind, "red")
    page.text(tone, said.label, said.sentence)
    page.row(voice.row("collect" if is_undecided(incident.verdict) else "do now"), said.do, "bold")
    if said.command:
        page.command(said.command)
    _why(page, incident, said, voice)
    _side(page, "against", "contradicts", incident, voice, voice.nothing)
    _side(page, "unseen", "not recorded", incident, voice, voice.missing(report))
    _checked(page, incident, voice)
    _remaining(page, incident, voice)
    page.gap()
    for row in (*voice.facts(incident), *voice.ledger(report)):
        page.row(voice.row(row.label), row.text)
    _then(page, incident, voice)
    for one in [one for one in report.incidents if one is not incident and one.attempt == incident.attempt]:
        page.row(voice.row("also"), f"{voice.label(one.verdict)}{voice.colon}{voice.answer(one).sentence}")
    page.row(voice.row("read"), voice.comma.join(voice.coverage(report)))
    return "\n".join(page.lines) + "\n"


def _why(page: _Page, incident: Incident, said: Answer, voice: Voice) -> None:
    page.row(voice.row("known" if is_undecided(incident.verdict) else "why"), voice.why(incident))
    if said.cannot_tell:
        page.row(voice.row("cannot tell"), said.cannot_tell)
    if said.more:
        page.point("  ", said.more)
    claims = list(dict.fromkeys(text for item in summary.evidence(incident, "for") if (text := voice.claim(item))))
    for number, claim in enumerate(claims[:_CLAIMS], start=1):
        page.point(f"  {number} ", claim)
    _more(page, len(claims) - _CLAIMS, voice)


def _side(page: _Page, direction: str, label: str, incident: Incident, voice: Voice, otherwise: str) -> None:
    claims = summary.evidence(incident, direction)
    said = [text for item in claims if (text := voice.claim(item))]
    for index, text in enumerate(said[:_SIDES]):
        page.row("" if index else voice.row(label), text)
    if not said:
        page.row(voice.row(label), voice.unsaid if claims else otherwise)
    _more(page, len(said) - _SIDES, voice)


def _checked(page: _Page, incident: Incident, voice: Voice) -> None:
    """What was looked at and found clean."""
    for index, text in enumerate(summary.checked(incident, voice.spoken)):
        page.row("" if index else voice.row("checked"), text)


def _remaining(page: _Page, incident: Incident, voice: Voice) -> None:
    """Where nothing is decided: the explanations that are left."""
    if not is_undecided(incident.verdict):
        return
    for index, other in enumerate(others(incident)[:_OTHERS]):
        page.row("" if index else voice.row("not excluded"), voice.other(other))


def _then(page: _Page, incident: Incident, voice: Voice) -> None:
    """What to do after the first thing."""
    rest = actions(incident)[1:]
    for index, action in enumerate(rest[:_ACTIONS]):
        page.row("" if index else voice.row("then"), voice.todo(action))
        if action.command:
            page.command(action.command)
    _more(page, len(rest) - _ACTIONS, voice)


def _more(page: _Page, number: int, voice: Voice) -> None:
    if number > 0:
        page.row("", voice.more.format(number), "dim")
