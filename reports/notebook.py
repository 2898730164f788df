"""A small static page for notebooks: banner and why. No script, no style sheet, nothing fetched."""

from html import escape

from forensics.model.incident import Evidence, Report
from reports import summary
from reports.sanitize import clean
from reports.words import STATUS

_CLAIMS = 6


def repr_html(report: Report) -> str:
    """HTML for `_repr_html_`. Only tags and text, so that every notebook's own sanitiser leaves it whole."""
    incident = summary.primary(report)
    if incident is None:
        return "<p><strong>UNKNOWN</strong>: the bundle holds no incident</p>"
    head = summary.headline(incident)
    where = f" ({_text(head.where)})" if head.where else ""
    parts = [
        f"<p><strong>{head.kind}</strong> <strong>{_text(head.subject)}</strong>{where}<br>"
        f"{head.status}: {_text(incident.verdict.status_rule or STATUS[incident.verdict.status])}</p>",
        "<table><tbody>",
        *(
            f'<tr><th scope="row">{_text(row.label)}</th><td>{_text(row.text)}</td></tr>'
            for row in summary.facts(incident)
        ),
        "</tbody></table>",
        f"<p><small>{_text(' · '.join(summary.coverage(report)))}</small></p>",
    ]
    for direction in ("for", "against", "unseen"):
        claims = summary.evidence(incident, direction)
        if claims:
            parts += [f"<p><em>{direction}</em></p>", "<ul>", *map(_claim, claims[:_CLAIMS]), "</ul>"]
        if len(claims) > _CLAIMS:
            parts.append(f"<p><small>… {len(claims) - _CLAIMS} more in the report</small></p>")
    return "\n".join(["<div>", *parts, "</div>"])


def _claim(claim: Evidence) -> str:
    where = f" <code>{_text(summary.place(claim.refs[0]))}</code>" if claim.refs else ""
    return f"<li>{_text(claim.claim)}{where}</li>"


def _text(text: str) -> str:
    return escape(clean(text, "space"))
