"""The verdict as plain text: at most 25 lines of 80 columns, ready to paste into a chat."""

from collections.abc import Iterable
from typing import NamedTuple

from forensics.model.incident import Action, Evidence, Incident, Report
from reports import summary
from reports.layout import cells, cut, cut_left, wrap, wrap_command
from reports.sanitize import clean
from reports.words import ACTION, CAUSE, KIND

LINES = 25
_LABEL = 17  # columns of the label, with its indent
_RESET = "\x1b[0m"
_STYLES = {
    "bold": "\x1b[1m", "dim": "\x1b[2m", "red": "\x1b[1;31m", "yellow": "\x1b[1;33m", "green": "\x1b[1;32m",
    "cyan": "\x1b[36m", "": "",
}  # fmt: skip


class _Density(NamedTuple):
    """How much of each part is shown; the first that fits the screen is taken."""

    row_lines: int
    claims: int
    claim_lines: int
    sides: int
    actions: int
    coverage_lines: int


_DENSITIES = (
    _Density(2, 6, 2, 3, 4, 3),
    _Density(2, 6, 2, 2, 4, 1),
    _Density(1, 4, 2, 1, 3, 1),
    _Density(1, 6, 1, 1, 3, 1),
    _Density(1, 4, 1, 1, 3, 1),
    _Density(1, 3, 1, 1, 2, 1),
)


class _Page:
    """Lines of styled pieces. Every text passes through the sanitiser here and nowhere else."""

    def __init__(self, width: int, color: bool) -> None:
        self.width = width
        self.color = color
        self.lines: list[str] = []

    def add(self, *pieces: tuple[str, str]) -> None:
        room, out = self.width, ""
        for style, raw in pieces:
            text = cut(clean(raw, "space"), room) if room > 0 else ""
            room -= cells(text)
            out += self._styled(style, text)
        self.lines.append(out if self.color else out.rstrip())

    def _styled(self, style: str, text: str) -> str:
        return f"{_STYLES[style]}{text}{_RESET}" if self.color and style and text.strip() else text


def render(report: Report, *, color: bool, width: int = 80) -> str:
    """The text with a newline at its end. `color` adds ANSI styles and nothing else."""
    pages = (_page(report, color, width, density) for density in _DENSITIES)
    fitting = next((page for page in pages if len(page.lines) <= LINES), None)
    lines = (fitting or _page(report, color, width, _DENSITIES[-1])).lines
    if len(lines) > LINES:  # one long command: the last line is the coverage, without which no verdict is shown
        lines = [*lines[: LINES - 1], lines[-1]]
    return "\n".join(lines) + "\n"


def _page(report: Report, color: bool, width: int, density: _Density) -> _Page:
    page = _Page(width, color)
    incident = summary.primary(report)
    if incident is None:
        page.add(("bold", "UNKNOWN"), ("", "  the bundle holds no incident"))
        return page
    _head(page, incident, density)
    page.lines.append("")
    _why(page, incident, density)
    _side(page, "against", incident, density, "nothing contradicts this" if incident.evidence else "no evidence at all")
    _side(page, "unseen", incident, density, summary.missing(report) or summary.nobody_missing(report))
    _remaining(page, incident, density)
    _actions(page, incident, density)
    _row(page, "seen", " · ".join(summary.coverage(report)), density.coverage_lines, label_width=9)
    return page


def _head(page: _Page, incident: Incident, density: _Density) -> None:
    head = summary.headline(incident)
    tone = {"healthy": "green", "unknown": "yellow"}.get(incident.verdict.kind, "red")
    where = f"  ({head.where})" if head.where else ""
    left = cut(clean(f"  {head.subject}{where}", "space"), page.width - len(head.kind) - len(head.status) - 2)
    gap = " " * (page.width - len(head.kind) - cells(left) - len(head.status))
    page.add((tone, head.kind), ("bold", left), ("", gap), ("bold", head.status))
    for row in summary.facts(incident):
        _row(page, f"  {row.label}", row.text, 2 if row.label == "what" else density.row_lines)


def _row(page: _Page, label: str, text: str, lines: int, label_width: int = _LABEL) -> None:
    for index, part in enumerate(wrap(clean(text, "space"), page.width - label_width, lines)):
        page.add(("dim", f"{'' if index else label:<{label_width}}"), ("", part))


def _why(page: _Page, incident: Incident, density: _Density) -> None:
    claims = summary.evidence(incident, "for")
    if not claims:
        return
    word = "known" if summary.is_undecided(incident.verdict) else "why"
    noun = "fact" if len(claims) == 1 else "facts"
    page.add(("bold", word), ("dim", f" ({len(claims)} {noun})"))
    for number, claim in enumerate(claims[: density.claims], start=1):
        _claim(page, f"  {number} ", claim, density.claim_lines)
    if len(claims) > density.claims:
        page.add(("dim", f"    … {len(claims) - density.claims} more in the report"))


def _claim(page: _Page, lead: str, claim: Evidence, lines: int) -> None:
    """The claim, with its first place at the right end of its last line."""
    room = page.width - len(lead)
    where = cut_left(clean(summary.place(claim.refs[0]), "space"), room // 2) if claim.refs else ""
    text = clean(claim.claim, "space")
    side = cells(where) + 2 if where else 0
    if cells(text) + side <= room or lines == 1:
        parts = [cut(text, room - side)]
    else:
        parts = wrap(text, room, lines)
        if len(parts) == 1:
            parts.append("")
        parts[-1] = cut(parts[-1], room - side)
    for index, part in enumerate(parts):
        is_last = index == len(parts) - 1
        gap = " " * (room - cells(part) - cells(where)) if is_last and where else ""
        indent = " " * len(lead) if index else lead
        page.add(("", indent), ("", part), ("", gap), ("cyan", where if is_last else ""))


def _side(page: _Page, direction: str, incident: Incident, density: _Density, otherwise: str) -> None:
    claims = summary.evidence(incident, direction)
    shown = claims[: density.sides]
    for index, claim in enumerate(shown):
        _claim(page, f"{'' if index else direction:<9}", claim, 1)
    if not claims:
        _row(page, direction, otherwise, 1, label_width=9)
    elif len(claims) > len(shown):
        page.add(("dim", f"         … {len(claims) - len(shown)} more in the report"))


def _remaining(page: _Page, incident: Incident, density: _Density) -> None:
    """Where nothing is decided: the explanations that are left."""
    if not summary.is_undecided(incident.verdict):
        return
    for index, other in enumerate(incident.alternatives[: density.actions]):
        cause = CAUSE[other.cause] if other.cause else KIND[other.kind].lower()
        who = ", ".join([*(f"rank {rank}" for rank in other.ranks[:4]), *other.hosts[:3]])
        text = f"{cause}{f' ({who})' if who else ''}{f': {other.why_not}' if other.why_not else ''}"
        _row(page, "" if index else "remains", text, 1, label_width=9)


def _actions(page: _Page, incident: Incident, density: _Density) -> None:
    word = "collect" if summary.is_undecided(incident.verdict) else "do now"
    shown = _first(summary.commands(incident), density.actions)
    for number, action in shown:
        lead = f"{word if number == 1 else '':<9}[{number}] "
        if action.command:
            lines = wrap_command(clean(action.command, "space"), page.width - len(lead))
        else:
            target = f" ({action.target})" if action.target else ""
            text = f"{ACTION[action.kind][0]}{target}: {action.reason}"
            lines = wrap(clean(text, "space"), page.width - len(lead), density.row_lines)
        for index, line in enumerate(lines):
            page.add(("dim", " " * len(lead) if index else lead), ("", line))
    if len(incident.actions) > len(shown):
        page.add(("dim", f"         … {len(incident.actions) - len(shown)} more in the report"))


def _first(actions: Iterable[Action], limit: int) -> list[tuple[int, Action]]:
    return list(enumerate(list(actions)[:limit], start=1))
