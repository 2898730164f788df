"""The report as one page: a single file that opens offline, asks for nothing and runs only its own script.

Every text passes the sanitiser (as Jinja's `finalize`) and then autoescaping; the templates know no `safe`. Styles and
script are allowed by their hashes alone. The same report gives the same bytes.
"""

from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib import resources
from typing import Any

import msgspec
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from forensics.model.incident import Incident, Report
from forensics.model.texts import SITE
from reports import answer, json, ledger, markdown, summary, terminal, words
from reports.html import drawings
from reports.language import Language
from reports.layout import count, ranks_phrase, size
from reports.sanitize import clean
from reports.voice import VOICES

_ROWS = 500
_EMBEDDED_BYTES = 2_000_000


def render(report: Report, *, generated: str | None = None, language: Language = "en") -> str:
    """The page. `generated` is printed in the footer as it is; without it the page tells no time of its own."""
    incident, voice = summary.primary(report), VOICES[language]
    style, script = _asset("style.css"), _asset("script.js")
    embedded, is_whole = _embedded(report)
    return _environment().get_template("page.html.j2").render(
        report=report,
        incident=incident,
        voice=voice,
        said=voice.answer(incident) if incident else None,
        facts=voice.facts(incident) if incident else [],
        coverage=voice.coverage(report),
        actions=answer.actions(incident) if incident else [],
        others=[other for other in report.incidents if other is not incident],
        summary_text=terminal.render(report, color=False, width=100, language=language),
        postmortem=markdown.postmortem(report),
        grid=drawings.grid(incident.views.grid, incident.views.hosts) if incident else None,
        timeline=_timeline(incident) if incident else None,
        graph=drawings.graph(incident.views.nodes, incident.views.edges) if incident else None,
        anchors=_Anchors(incident),
        policy=_policy(style, script),
        style=Markup(style),
        script=Markup(script),
        embedded=embedded,
        is_whole=is_whole,
        generated=generated,
    )  # fmt: skip


def _timeline(incident: Incident) -> drawings.Timeline | None:
    return drawings.timeline(incident.views.timeline, incident.verdict.first_anomaly.time_utc)


class _Anchors:
    """Ids made from content, so that a link in a chat survives a new rendering."""

    def __init__(self, incident: Incident | None) -> None:
        self._ids: dict[int, str] = {}
        taken: set[str] = set()
        if incident is None:
            return
        for item in incident.evidence:  # its own id only counts, and changes with what stands before it
            self._ids[id(item)] = self._free("ev", (item.direction, item.claim, item.refs), taken)
        for stack in incident.views.stacks:
            self._ids[id(stack)] = self._free("class", stack.frames or stack.top, taken)

    def __call__(self, item: object) -> str:
        return self._ids[id(item)]

    @staticmethod
    def _free(prefix: str, content: object, taken: set[str]) -> str:
        digest = sha256(msgspec.json.encode(content)).hexdigest()[:8]
        name, number = f"{prefix}-{digest}", 1
        while name in taken:
            number += 1
            name = f"{prefix}-{digest}-{number}"
        taken.add(name)
        return name


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    environment.filters |= {
        "block": _block,
        "phrase": ranks_phrase,
        "size": size,
        "place": summary.place,
        "rank_count": count,
    }
    environment.globals |= {
        "ledger": ledger,
        "words": words, "sites": SITE, "states": drawings.STATES, "shape": drawings.shape,
        "box": (drawings.BOX_WIDTH, drawings.BOX_HEIGHT),
        "ROWS": _ROWS, "evidence": summary.evidence, "is_undecided": answer.is_undecided, "todo": answer.todo, "missing": summary.missing,
        "nobody_missing": summary.nobody_missing,
        "numbers": _numbers,
    }  # fmt: skip
    return environment


def _asset(name: str) -> str:
    return resources.files("reports.html").joinpath(name).read_text("utf-8")


def _finalize(value: Any) -> Any:
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _block(text: str) -> Markup:
    """Text of several lines: cleaned and escaped, line ends kept."""
    return escape(clean(text, "keep"))


def _numbers(rows: Sequence[Sequence[int]]) -> str:
    return ";".join(",".join(map(str, row)) for row in rows)


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; script-src 'sha256-{_digest(script)}'; style-src 'sha256-{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )


def _digest(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode()


def _embedded(report: Report) -> tuple[Markup, bool]:
    """incident.json for a script element: `<`, `>` and `&` as \\u escapes, so that no text can end it. Of a very large
    report the list of files is left out, and the page says so."""
    raw = json.compact(report)
    is_whole = len(raw) <= _EMBEDDED_BYTES
    if not is_whole:
        raw = json.compact(msgspec.structs.replace(report, files=[]))
    text = raw.decode().replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return Markup(text), is_whole
