"""A small static page for notebooks: banner and why. No script, no style sheet, nothing fetched."""

from html import escape

from forensics.model.incident import Document, Evidence
from reports import summary
from reports.answer import answer, is_undecided
from reports.layout import cut_middle
from reports.sanitize import clean
from reports.voice import ENGLISH

_CLAIMS = 6
_LINE = 300  # characters of the answer in a `repr`


def line(report: Document) -> str:
    """`repr` of a report: "<Report of job-7: HANG. Rank 5 is stuck …; 8 of 8 ranks, 1 host>"."""
    incident = summary.primary(report)
    if incident is None:
        return f"<Report of {clean(report.bundle.name)}: UNKNOWN, the bundle holds no incident>"
    said = answer(incident)
    read = ", ".join(summary.coverage(report)[:2])
    text = cut_middle(clean(f"{said.label}: {said.sentence}", "space"), _LINE)
    return f"<Report of {clean(report.bundle.name)}: {text} {read}>"


def repr_html(report: Document) -> str:
    """HTML for `_repr_html_`. Only tags and text, so that every notebook's own sanitiser leaves it whole."""
    incident = summary.primary(report)
    if incident is None:
        return "<p><strong>UNKNOWN</strong>: the bundle holds no incident</p>"
    said, verdict = answer(incident), incident.verdict
    command = f"<br><code>{_text(said.command)}</code>" if said.command else ""
    parts = [
        f"<p><strong>{said.label}</strong> <strong>{_text(said.sentence)}</strong></p>",
        f"<p>{'Collect' if is_undecided(verdict) else 'Do now'}: {_text(said.do)}{command}</p>",
        f"<p>{_text(ENGLISH.why(incident))}</p>",
        "<table><tbody>",
        *(
            f'<tr><th scope="row">{_text(label)}</th><td>{_text(text)}</td></tr>'
            for label, text in summary.facts(incident)
        ),
        "</tbody></table>",
        f"<p><small>{_text(' · '.join(summary.coverage(report)))}</small></p>",
    ]
    for direction, title in (("for", "why"), ("against", "contradicts"), ("unseen", "not recorded")):
        claims = summary.evidence(incident, direction)
        if claims:
            parts += [f"<p><em>{title}</em></p>", "<ul>", *map(_claim, claims[:_CLAIMS]), "</ul>"]
        if len(claims) > _CLAIMS:
            parts.append(f"<p><small>… {len(claims) - _CLAIMS} more in the report</small></p>")
    if incident.checked:
        parts += ["<p><em>looked at and found clean</em></p>", "<ul>"]
        parts += [*(f"<li>{_text(one)}</li>" for one in summary.checked(incident)), "</ul>"]
    return "\n".join(["<div>", *parts, "</div>"])


def _claim(claim: Evidence) -> str:
    where = f" <code>{_text(summary.place(claim.refs[0]))}</code>" if claim.refs else ""
    return f"<li>{_text(claim.claim)}{where}</li>"


def _text(text: str) -> str:
    return escape(clean(text, "space"))
