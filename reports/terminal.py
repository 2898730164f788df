"""The answer as plain text: what happened, the one thing to do, why; ready to paste into a chat.

The whole text cuts no sentence, no `file:line` and no command; where there is too much, it says how much more there is. The brief
one has LINES lines: what weighs least is left out, never the answer nor its command, and only a message is cut, in its middle.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from forensics.model.incident import Action, Document, Incident
from reports import summary
from reports.answer import actions, is_undecided, next_setup, others
from reports.language import Language
from reports.layout import cells, cut_middle, wrap, wrap_command
from reports.links import linked
from reports.sanitize import clean
from reports.tongue import Voice
from reports.voice import voice_of
from reports.words import KIND

_LABEL = 14  # columns of a label
_CLAIMS, _SIDES, _ACTIONS, _OTHERS, _SETTINGS = 6, 3, 5, 3, 4
LINES = 12  # of the brief text
_SENTENCE = 3  # lines of it that the answer may take, and that what to do may
_UNBROKEN = 240  # columns of these where no line is broken
# What of the answer a person must know first: the smaller, the sooner. What has no weight is in the whole text alone.
_ANSWER, _WHY, _OTHER_FAULT, _AGAINST, _UNSEEN, _CLAIM, _CLAIMS_AFTER, _MORE = range(8)
_FIRST = 3  # claims that come before other facts
_FACTS: Mapping[str, int] = {
    "suspects": _WHY, "program": _WHY, "decision": _CLAIM, "first anomaly": _MORE, "progress": _MORE, "cause": _MORE, "may be": _MORE,
    "bad value": _MORE, "finite until": _MORE, "affected": _MORE, "without it": _MORE,
}  # fmt: skip
_RESET = "\x1b[0m"
NO_LINKS: Mapping[str, str] = {}
_STYLES = {
    "bold": "\x1b[1m", "dim": "\x1b[2m", "red": "\x1b[1;31m", "yellow": "\x1b[1;33m", "green": "\x1b[1;32m", "": "",
}  # fmt: skip


class _Part(NamedTuple):
    """Lines that stand or fall together. Of one row's parts, under its label, a later one never stands without those before it."""

    weight: int | None
    row: str
    lines: list[str]


class _Page:
    """Lines under labels. Every text passes through the sanitiser here and nowhere else. `is_brief`: what `of` says of the lines
    after it decides which are kept."""

    def __init__(self, width: int | None, color: bool, links: Mapping[str, str], *, is_brief: bool) -> None:
        self.width = width
        self.color = color
        self.links = links
        self.is_brief = is_brief
        self.parts = [_Part(_ANSWER, "", [])]

    @property
    def lines(self) -> list[str]:
        return [line for part in self.parts for line in part.lines]

    def of(self, weight: int | None, row: str = "") -> None:
        """What is added from now on is a part of that weight."""
        self.parts.append(_Part(weight, row, []))

    def fitted(self, text: str, indent: int) -> str:
        """What the answer itself says, of the brief text no longer than it may be."""
        room = _UNBROKEN if self.width is None else _SENTENCE * (self.width - indent) - self.width // 4
        return cut_middle(clean(text, "space").strip(), room) if self.is_brief else text

    def brief(self, most: int) -> list[str]:
        """At most so many lines, the weightiest parts, in their order; the answer whatever it takes."""
        kept: set[int] = set()
        ended: set[str] = set()  # rows of which a part was left out
        weighed = [(part.weight, at) for at, part in enumerate(self.parts) if part.weight is not None]
        for weight, at in sorted(weighed):
            _, row, lines = self.parts[at]
            room = most - sum(len(self.parts[one].lines) for one in kept)
            if weight == _ANSWER or (len(lines) <= room and row not in ended):
                kept.add(at)
            elif row:
                ended.add(row)
        return [line for at, part in enumerate(self.parts) if at in kept for line in part.lines]

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
        self.parts.append(_Part(None, "", [""]))

    def _wrapped(self, text: str, indent: int) -> list[str]:
        return wrap(clean(text, "space").strip(), None if self.width is None else self.width - indent)

    def _add(self, *pieces: tuple[str, str]) -> None:
        out = "".join(self._styled(style, linked(text, self.links) if self.links else text) for style, text in pieces)
        self.parts[-1].lines.append(out if self.color else out.rstrip())

    def _styled(self, style: str, text: str) -> str:
        return f"{_STYLES[style]}{text}{_RESET}" if self.color and style and text.strip() else text


def render(
    report: Document,
    *,
    color: bool,
    width: int | None = 80,
    language: Language = "en",
    links: Mapping[str, str] = NO_LINKS,
    is_brief: bool = False,
) -> str:
    """The text with a newline at its end. `color` adds ANSI styles and nothing else; without a `width` no line is broken.
    `links`: place of the evidence → its address, for a terminal that shows links. `is_brief`: LINES lines, of which the last
    says how many there are besides."""
    page, voice = _Page(width, color, links, is_brief=is_brief), voice_of(language)
    incident = summary.primary(report)
    if incident is None:
        page.text("bold", KIND["unknown"], "The bundle holds no incident.")
        return "\n".join(page.lines) + "\n"
    _answer(page, incident, voice)
    _why(page, incident, voice)
    _side(page, "against", "contradicts", incident, voice, voice.nothing)
    _side(page, "unseen", "not recorded", incident, voice, voice.missing(report), lacks=bool(summary.missing(report)))
    _rows(page, "checked", summary.checked(incident, voice.spoken), _CLAIM, voice)
    if is_undecided(incident.verdict):  # the explanations that are left
        _rows(page, "not excluded", map(voice.other, others(incident)[:_OTHERS]), _CLAIM, voice)
    page.gap()
    for row in voice.facts(incident):
        page.of(_FACTS.get(row.label))
        page.row(voice.row(row.label), row.text)
    page.of(None)
    for row in voice.ledger(report):
        page.row(voice.row(row.label), row.text)
    _settings(page, report, voice)
    _then(page, incident, voice)
    for one in [one for one in report.incidents if one is not incident and one.attempt == incident.attempt]:
        page.of(_OTHER_FAULT)
        page.row(voice.row("also"), f"{voice.label(one.verdict)}{voice.colon}{voice.answer(one).sentence}")
    if is_brief:
        return "\n".join(_brief(page, report, voice)) + "\n"
    page.of(None)
    page.row(voice.row("read"), voice.comma.join(voice.coverage(report)))
    return "\n".join(page.lines) + "\n"


def _brief(page: _Page, report: Document, voice: Voice) -> list[str]:
    """What is kept, and a last line of how much was read and what is left out."""
    shown = page.brief(LINES - 1)
    left = sum(1 for line in page.lines if line.strip()) - len(shown)
    page.of(None)
    rest = [voice.rest.format(left)] if left else []
    page.row(voice.row("read"), voice.comma.join([*voice.coverage(report)[:2], *rest]))
    return [*shown, *page.parts[-1].lines]


def _answer(page: _Page, incident: Incident, voice: Voice) -> None:
    said = voice.answer(incident)
    tone = {"healthy": "green", "unknown": "yellow"}.get(incident.verdict.kind, "red")
    page.text(tone, said.label, page.fitted(said.sentence, len(said.label)))
    first = next(iter(actions(incident)), None)
    is_open = is_undecided(incident.verdict) and (first is None or first.kind == "collect_more")
    label = voice.row("collect" if is_open else "do now")
    page.row(label, page.fitted(said.do, _LABEL), "bold")
    if said.command:
        page.command(said.command)


def _why(page: _Page, incident: Incident, voice: Voice) -> None:
    said = voice.answer(incident)
    page.of(_WHY)
    page.row(voice.row("known" if is_undecided(incident.verdict) else "why"), voice.why(incident))
    if said.cannot_tell:
        page.of(_WHY)
        page.row(voice.row("cannot tell"), said.cannot_tell)
    if said.more:
        page.of(_MORE)
        page.point("  ", said.more)
    claims = list(dict.fromkeys(text for item in summary.evidence(incident, "for") if (text := voice.claim(item))))
    for number, claim in enumerate(claims[:_CLAIMS], start=1):
        page.of(_CLAIM if number == 1 else _CLAIMS_AFTER if number <= _FIRST else _MORE, "why")
        page.point(f"  {number} ", claim)
    _more(page, len(claims) - _CLAIMS, voice)


def _side(
    page: _Page, direction: str, label: str, incident: Incident, voice: Voice, otherwise: str, *, lacks: bool = False
) -> None:
    """What speaks against it, or is not there; else `otherwise`, which is worth a line of few only where something is missing."""
    claims = summary.evidence(incident, direction)
    said = [text for item in claims if (text := voice.claim(item))]
    _rows(page, label, said[:_SIDES], _AGAINST if direction == "against" else _UNSEEN, voice)
    if not said:
        page.of(_UNSEEN if lacks else None)
        page.row(voice.row(label), voice.unsaid if claims else otherwise)
    _more(page, len(said) - _SIDES, voice)


def _rows(page: _Page, label: str, texts: Iterable[str], weight: int | None, voice: Voice) -> None:
    """Texts under one label."""
    for index, text in enumerate(texts):
        page.of(weight, label)
        page.row("" if index else voice.row(label), text)


def _settings(page: _Page, report: Document, voice: Voice) -> None:
    """What is set differently, or cannot work as meant."""
    texts = []
    for one in report.environment[:_SETTINGS]:
        values = (f"{value} ({voice.spoken(who) or who})" for value, who in one.values.items())
        note = voice.spoken(one.note)
        texts.append(f"{one.name}{voice.colon}{voice.comma.join(values)}{f'; {note}' if note else ''}")
    _rows(page, "settings", texts, None, voice)
    _more(page, len(report.environment) - _SETTINGS, voice)


def _then(page: _Page, incident: Incident, voice: Voice) -> None:
    """What to do after the first thing."""
    first, rest = actions(incident)[:1], actions(incident)[1:]
    for action in first:
        page.of(_MORE)
        _reading(page, action, voice)
    for index, action in enumerate(rest[:_ACTIONS]):
        page.of(_MORE, "then")
        page.row("" if index else voice.row("then"), voice.todo(action))
        if action.command:
            page.command(action.command)
        _reading(page, action, voice)
    _more(page, len(rest) - _ACTIONS, voice)
    if setup := next_setup(incident):
        page.of(_CLAIMS_AFTER)
        page.row(voice.row("next run"), setup)


def _reading(page: _Page, action: Action, voice: Voice) -> None:
    """What to look for, in the output of its command where it has one, and what to do then."""
    if action.look:
        page.row(voice.row("look for"), voice.spoken(action.look))
        page.row(voice.row("if so"), voice.spoken(action.then))


def _more(page: _Page, number: int, voice: Voice) -> None:
    page.of(None)
    if number > 0:
        page.row("", voice.more.format(number), "dim")
