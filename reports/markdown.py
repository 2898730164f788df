"""The report as Markdown, ready to paste into an issue or a chat.

Whatever comes from the bundle stands in a code span or a fenced block: there a mention, a link, a quick action or a tag
is only text, on every renderer.
"""

import re
from collections.abc import Iterable, Sequence

from forensics.model.incident import Document, Evidence, Incident
from forensics.model.said import Form, Said, capital
from reports import ledger, summary, terminal
from reports.answer import actions, answer
from reports.language import Language
from reports.layout import duration, ranks_phrase
from reports.sanitize import clean
from reports.tongue import Voice
from reports.voice import ENGLISH, voice_of
from reports.words import CAUSE, DOMAIN, KIND, STATUS

_ROWS = 200
_SIDE = {"for": "for", "against": "contradicts", "unseen": "not recorded"}
WIDTH = 100  # columns of the text at the top
_TICKS = re.compile("`+")
# Of the skeleton of a postmortem.
_NO_INCIDENT = Said("No incident.", "无事故。")
_UNKNOWN, _NO_TIME = Said("not known", "未知"), Said("time not known", "时间未知")
_WAITED = Form("Ranks that waited: {ranks:,}", "等待的 rank：{ranks:,} 个")
_STEPS = Form(
    "Last completed step: {done}; last stored checkpoint: {stored}",
    "最后完成的 step：{done}；最后落盘的检查点：{stored}",
)
_STOOD = Form("Stood still for: {time}", "停滞：{time}")
_CAUSE = Form("{cause} ({domain}), {status}", "{cause}（{domain}），{status}")
_SEEN, _NOTICED = Form("First anomaly: {time}", "首个异常：{time}"), Said("Noticed by: …", "发现者：…")
_COLUMNS = (Said("action", "行动"), Said("owner", "负责人"), Said("done", "完成"))


def render(report: Document, language: Language = "en") -> str:
    """The whole text."""
    incident = summary.primary(report)
    if incident is None:
        return f"# {KIND['unknown']}\n\n{fenced(terminal.render(report, color=False, width=WIDTH))}\n"
    if language == "zh":
        return _chinese(report, incident)
    said = answer(incident)
    parts = [
        f"# {said.label}: {code(said.sentence)}",
        fenced(terminal.render(report, color=False, width=WIDTH)),
        _verdict(incident),
        "## Evidence",
        *_evidence(incident),
        *_checked(incident, ENGLISH),
        "## Coverage",
        *_coverage(report),
        "## Alternatives",
        _alternatives(incident),
        *_ledger(report),
        *_settings(report),
        "## Do now",
        *_actions(incident, ENGLISH),
        postmortem(report),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def postmortem(report: Document, language: Language = "en") -> str:
    """A skeleton to fill in; what the report knows stands there already."""
    incident, voice = summary.primary(report), voice_of(language)
    if incident is None:
        return f"## {voice.title('Postmortem')}\n\n{voice.spoken(_NO_INCIDENT)}"
    lost, verdict = incident.lost, incident.verdict
    stood = _UNKNOWN if lost.stalled_s is None else duration(lost.stalled_s)
    done, stored = (_UNKNOWN if one is None else one for one in (lost.last_completed_step, lost.last_persisted_step))
    steps = _STEPS(done=done, stored=stored)
    said = [verdict.summary] if language == "en" or isinstance(verdict.summary, Said) else []
    facts: list[tuple[str, list[str]]] = [
        ("Impact", [_WAITED(ranks=incident.blast_radius.ranks_waiting), steps, _STOOD(time=stood)]),
        ("Trigger", [code(voice.answer(incident).sentence)]),
        ("Cause", [_cause(incident, voice), *(code(voice.spoken(text)) for text in said)]),
        ("Detection", [_SEEN(time=code(verdict.first_anomaly.time_utc or voice.spoken(_NO_TIME))), _NOTICED]),
        ("Resolution", ["…"]),
        ("What went well, what did not, where we were lucky", ["…"]),
    ]
    lines = [f"## {voice.title('Postmortem')}"]
    for title, points in facts:
        lines += ["", f"### {voice.title(title)}", "", *(f"- {voice.spoken(point)}" for point in points)]
    rows = [f"| {cell(voice.todo(action))} | {voice.owner(action)} | |" for action in incident.actions[:_ROWS]]
    lines += ["", f"### {voice.title('Action items')}", "", f"| {' | '.join(map(voice.spoken, _COLUMNS))} |"]
    return "\n".join([*lines, "|---|---|---|", *rows, "| … | | |"])


def code(text: str) -> str:
    """`text` as a code span in which nothing acts."""
    text = clean(text, "space").strip()
    if not text:
        return "–"
    ticks = "`" * (max((len(run) for run in _TICKS.findall(text)), default=0) + 1)
    pad = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def cell(text: str) -> str:
    """A code span inside a table, where a pipe would end the cell. After a backslash no escape of it is safe."""
    return code(clean(text, "space").replace("\\|", "\\¦")).replace("|", "\\|")


def fenced(text: str, language: str = "text") -> str:
    """`text` as a fenced block that it cannot close."""
    text = clean(text, "keep").strip("\n")
    ticks = "`" * max(3, max((len(run) for run in _TICKS.findall(text)), default=0) + 1)
    return f"{ticks}{language}\n{text}\n{ticks}"


def _chinese(report: Document, incident: Incident) -> str:
    """The answer, the lines that show it, what to do, and a skeleton of headings: what has a Chinese form, and no more."""
    voice = voice_of("zh")
    said = voice.answer(incident)
    lines = [
        (voice.title(item.direction), cell(summary.place(ref)), cell(ref.text))
        for item in incident.evidence[:_ROWS]
        for ref in item.refs
    ]
    parts = [
        f"# {said.label}：{code(said.sentence)}",
        fenced(terminal.render(report, color=False, width=WIDTH, language="zh")),
        f"## {voice.title('Evidence')}",
        _table(("", "位置", "原文"), lines) if lines else voice.nothing,
        *_checked(incident, voice),
        f"## {voice.title('Do now')}",
        *_actions(incident, voice),
        postmortem(report, "zh"),
    ]
    return "\n\n".join(parts) + "\n"


def _verdict(incident: Incident) -> str:
    verdict = incident.verdict
    lines = [f"Status: **{verdict.status}** ({STATUS[verdict.status]}). {capital(DOMAIN[verdict.domain])}."]
    if verdict.status_rule and verdict.status_rule != STATUS[verdict.status]:
        lines.append(f"Rule: {code(verdict.status_rule)}")
    lines += [f"Cannot tell: {said.cannot_tell}." for said in [answer(incident)] if said.cannot_tell]
    return "  \n".join(lines)


def _evidence(incident: Incident) -> list[str]:
    rows = [row for item in incident.evidence[:_ROWS] for row in _evidence_rows(item)]
    if not rows:
        return ["No evidence."]
    table = _table(("", "fact", "where", "as printed"), rows)
    return [table, *_more(len(incident.evidence), "facts")]


def _checked(incident: Incident, voice: Voice) -> list[str]:
    found = [f"- {code(text)}" for text in summary.checked(incident, voice.spoken)]
    return [f"## {voice.title('Looked at and found clean')}", "\n".join(found)] if found else []


def _evidence_rows(item: Evidence) -> list[tuple[str, str, str, str]]:
    """The fact stands beside the first of its places."""
    places = [(cell(summary.place(ref)), cell(ref.text)) for ref in item.refs] or [("–", "–")]
    first = (_SIDE[item.direction], cell(item.claim))
    return [(*(("", "") if index else first), *place) for index, place in enumerate(places)]


def _coverage(report: Document) -> list[str]:
    lines = [f"- {code(part)}" for part in summary.coverage(report)]
    if report.coverage.ranks_missing:
        lines.append(f"- {code(summary.missing(report))}")
    lines += [f"- unreadable: {code(item.file)}: {code(item.reason)}" for item in report.coverage.unreadable[:_ROWS]]
    lines += [f"- limit: {code(limit)}" for limit in report.limits[:_ROWS]]
    return ["\n".join(lines), *_more(len(report.coverage.unreadable), "unreadable files")]


def _ledger(report: Document) -> list[str]:
    """Where the time went, attempt by attempt; the sums stand in the text at the top."""
    rows = [tuple(cell(text) for text in row) for row in ledger.table(report.ledger.attempts[-_ROWS:])]
    return ["## Time and attempts", _table(ledger.HEADINGS, rows)] if rows else []


def _settings(report: Document) -> list[str]:
    """Settings that differ, or cannot work."""
    rows = []
    for row in report.environment[:_ROWS]:
        values = "; ".join(f"{value}: {who}" for value, who in row.values.items())
        rows.append((cell(row.name), cell(values), cell(row.note)))
    table = _table(("setting", "values, and who has them", "note"), rows)
    return ["## Settings", table, *_more(len(report.environment), "settings")] if rows else []


def _alternatives(incident: Incident) -> str:
    if not incident.alternatives:
        return "None was considered."
    rows = []
    for other in incident.alternatives[:_ROWS]:
        cause, who = CAUSE[other.cause] if other.cause else "–", [*map(str, other.ranks[:8]), *other.hosts[:8]]
        rows.append((KIND[other.kind], cause, cell(", ".join(who)), cell(other.why_not)))
    return _table(("kind", "cause", "who", "why not"), rows)


def _actions(incident: Incident, voice: Voice) -> list[str]:
    if not incident.actions:
        return [voice.answer(incident).do]
    parts = []
    for number, action in enumerate(actions(incident)[:_ROWS], start=1):
        parts.append(f"**{number}.** {code(voice.todo(action))} ({voice.owner(action)})")
        if action.command:
            parts.append(fenced(action.command, "sh"))
        if action.look:
            said = ((voice.row("look for"), action.look), (voice.row("if so"), action.then))
            parts.append("  \n".join(f"{label}{voice.colon}{code(voice.spoken(text))}" for label, text in said))
    return parts


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(header)} |", "|" + "---|" * len(header)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _more(total: int, what: str) -> list[str]:
    return [f"Showing {_ROWS} of {total:,} {what}; the rest is in incident.json."] if total > _ROWS else []


def _cause(incident: Incident, voice: Voice) -> str:
    verdict = incident.verdict
    cause = voice.cause(verdict)
    if verdict.ranks:
        who = code(voice.spoken(ranks_phrase(",".join(map(str, verdict.ranks)))))
        cause = f"{cause}{voice.colon}{who}"
    said = _CAUSE(cause=cause, domain=voice.domain(verdict), status=voice.status(verdict.status))
    return voice.spoken(said)
