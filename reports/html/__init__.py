"""The report as one page: a single file that opens offline, asks for nothing and runs only its own script.

Every text passes the sanitiser (as Jinja's `finalize`) and then autoescaping; the templates know no `safe`. Styles and
script are allowed by their hashes alone. The same report gives the same bytes.
"""

from base64 import b64encode
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import sha256
from importlib import resources
from typing import Any, NamedTuple

import msgspec
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape
from msgspec.structs import replace

from forensics.model.drawn import Views
from forensics.model.incident import Document, Incident
from forensics.model.said import Said, encoded, zh
from forensics.model.texts import SITE
from reports import answer, json, ledger, markdown, summary, terminal, words
from reports.html import excerpts, first_screen, folding, links
from reports.html.byte_code import ByteCode
from reports.html.drawings import graph, labels, numbers, phases, place, ranks, stacks, steps, timeline, when
from reports.html.drawings.shapes import STATES, shape
from reports.language import Language
from reports.layout import count, cut_left, duration, size
from reports.sanitize import clean
from reports.tongue import Voice
from reports.voice import voice_of

_ROWS, _CLAIMS, _FACTS, _ACTIONS, _FRAMES, _FILES = 200, 3, 20, 8, 40, 60  # of each list on the page
_SHOWN_ACTIONS = 2  # on the first screen; the others are a click away
_EMBEDDED_BYTES = 300_000


def render(report: Document, *, generated: str | None = None, language: Language = "en") -> str:
    """The page. `generated` is printed in the footer as it is; without it the page tells no time of its own."""
    incident, voice = summary.primary(report), voice_of(language)
    anchors = _Anchors(incident)
    embedded, left_out = _embedded(report)
    return _environment(language).get_template("page.html.j2").render(
        report=report,
        incident=incident,
        voice=voice,
        said=voice.answer(incident) if incident else None,
        facts=first_screen.rows(incident, voice.facts(incident)) if incident else [],
        bar=first_screen.status_bar(report, incident),
        chips=first_screen.chips(incident) if incident else [],
        passages=excerpts.passages(report, incident),
        coverage=voice.coverage(report),
        actions=answer.actions(incident) if incident else [],
        others=[other for other in report.incidents if other is not incident],
        summary_text=terminal.render(report, color=False, width=100, language=language),
        postmortem=markdown.postmortem(report, language),
        files=folding.file_classes(report.files),
        anchors=anchors,
        links=links.Links(incident, anchors, voice.spoken),
        embedded=embedded,
        left_out=left_out,
        generated=generated,
        **_assets(),
        **(_pictures(incident, voice) if incident else {}),
    )  # fmt: skip


class Link(NamedTuple):
    """`address`: relative, quoted as part of a URL."""

    text: str
    address: str


class Table(NamedTuple):
    """A table of a plain page; `nothing`: what stands there where it has no rows."""

    title: str
    names: Sequence[str]
    rows: Sequence[Sequence[str | Link]]
    nothing: str


def render_tables(title: str, tables: Sequence[Table]) -> str:
    """A page of tables alone, which sort and filter; nothing else is asked for."""
    page = _environment().get_template("history.html.j2")
    return page.render(title=title, tables=tables, **_assets())


def _pictures(incident: Incident, voice: Voice) -> dict[str, Any]:
    """Everything that is drawn or folded, by its name in the templates."""
    views, stopped = incident.views, place.has_stopped(incident)
    return {
        "place": place.place(incident),
        "when": when.when(incident),
        "has_stopped": stopped,
        "timeline": timeline.timeline(views.timeline, views.tracks, place.zero(incident), has_stopped=stopped),
        "grid": ranks.by_host(views.grid, views.hosts),
        "mesh": ranks.by_axes(views.grid, views.mesh),
        "graph": graph.graph(views.nodes, views.edges, voice.spoken),
        "tree": stacks.tree(views.stacks),
        "curves": numbers.curves(views.series),
        "phases": phases.phases(views.votes),
        "step": steps.step(views.one_step),
        "shares": steps.shares(incident),
        "first_bad": numbers.first_bad(views.first_bad),
        "collectives": folding.collectives(views.collectives, incident.verdict.first_anomaly.group),
        "hardware": folding.hardware(views.hardware),
        "choices": folding.choices(incident, voice),
    }


class _Anchors:
    """Ids made from content, so that a link in a chat survives a new rendering."""

    def __init__(self, incident: Incident | None) -> None:
        self._ids: dict[int, str] = {}
        taken: set[str] = set()
        if incident is None:
            return
        for item in incident.evidence:  # its own id only counts, and changes with what stands before it
            self._ids[id(item)] = self._free("ev", (item.direction, item.claim, item.refs), taken)
        views = incident.views
        for stack in views.stacks:
            self._ids[id(stack)] = self._free("class", stack.frames or stack.top, taken)
        for node in views.nodes:
            self._ids[id(node)] = self._free("node", (node.label, node.ranks), taken)
        for event in views.timeline:
            self._ids[id(event)] = self._free("at", (event.time_utc, event.label, event.ranks), taken)

    def __call__(self, item: object) -> str:
        return self._ids[id(item)]

    @staticmethod
    def _free(prefix: str, content: object, taken: set[str]) -> str:
        digest = sha256(msgspec.json.encode(content, enc_hook=encoded)).hexdigest()[:8]
        name, number = f"{prefix}-{digest}", 1
        while name in taken:
            number += 1
            name = f"{prefix}-{digest}-{number}"
        taken.add(name)
        return name


@cache
def _environment(language: Language = "en") -> Environment:
    environment = Environment(
        loader=FunctionLoader(_asset if language == "en" else _in_chinese),
        bytecode_cache=ByteCode(language),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize if language == "en" else _finalize_in_chinese,
    )
    environment.filters |= {
        "block": _block,
        "size": size,
        "place": summary.place,
        "rank_count": count,
        "clock": _clock,
        "shortened": cut_left,
        "milliseconds": _milliseconds,
    }
    environment.globals |= {
        "ledger": ledger, "words": words, "votes": labels.VOTES, "files_by_kind": labels.FILES, "whole_model": labels.WHOLE_MODEL, "no_evidence": labels.NO_EVIDENCE,
        "all_ranks": labels.ALL_RANKS, "all_ranks_by": labels.ALL_RANKS_BY, "sites": SITE, "states": STATES, "shape": shape, "short": stacks.short, "box_width": graph.BOX_WIDTH, "state_word": graph.word,
        "curve_size": numbers.SIZE, "ROWS": _ROWS, "CLAIMS": _CLAIMS, "FACTS": _FACTS, "ACTIONS": _ACTIONS, "SHOWN_ACTIONS": _SHOWN_ACTIONS, "FRAMES": _FRAMES,
        "FILES": _FILES, "STACKS": links.STACKS, "evidence": summary.evidence, "checked": summary.checked, "is_undecided": answer.is_undecided, "todo": answer.todo,
        "numbers": _numbers, "excerpt": excerpts.excerpt, "runs": stacks.runs, "own_first": stacks.own_first,
    }  # fmt: skip
    if language == "zh":
        from reports import chinese, ledger_zh, words_zh

        environment.globals |= {
            "words": words_zh, "sites": words_zh.SITE, "ledger": ledger_zh, "todo": chinese.todo,
        }  # fmt: skip
    return environment


def _in_chinese(name: str) -> str:
    from reports.html.page_zh import translated
    from reports.words_zh import HEADING

    return translated(_asset(name), HEADING)


def _asset(name: str) -> str:
    return resources.files("reports.html").joinpath(name).read_text("utf-8")


def _assets() -> dict[str, str]:
    """Style and script with the policy that allows these two; of two files one script: what a picture does, and what keys do."""
    style, script = _asset("style.css"), _asset("script.js") + _asset("keys.js")
    policy = (
        f"default-src 'none'; script-src 'sha256-{_digest(script)}'; style-src 'sha256-{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
    return {"policy": policy, "style": Markup(style), "script": Markup(script)}


def _finalize(value: Any) -> Any:
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _finalize_in_chinese(value: Any) -> Any:
    return _finalize(zh(value) if isinstance(value, Said) else value)


def _block(text: str) -> Markup:
    """Text of several lines: cleaned and escaped, line ends kept."""
    return escape(clean(text, "keep"))


def _numbers(rows: Sequence[Sequence[int]]) -> str:
    return ";".join(",".join(map(str, row)) for row in rows)


def _clock(time: str, day: str = "") -> str:
    """2026-11-20T21:25:33.575567Z → 2026-11-20 21:25:33.575, without the day `day`; what is no such text stays as it is."""
    date, _, clock = time.partition("T")
    if not (time.endswith("Z") and len(clock) > 8):
        return time
    return clock[:12].rstrip("Z") if date == day else f"{date} {clock[:12].rstrip('Z')}"


def _milliseconds(value: float) -> str:
    """350.4 → "350 ms", 7.25 → "7.25 ms", 21500 → "21.5 s"."""
    return (duration(value / 1000) if abs(value) >= 10_000 else f"{value:.3g} ms").replace("-", "−")


def _digest(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode()


def _embedded(report: Document) -> tuple[Markup, list[str]]:
    """incident.json for a script element: `<`, `>` and `&` as \\u escapes, so that no text can end it. Of a large report
    the longest parts are left out, one after the other, and the page says which."""
    left_out = []
    raw = json.compact(report)
    for name, without in _LESS:
        if len(raw) <= _EMBEDDED_BYTES:
            break
        report = without(report)
        left_out.append(name)
        raw = json.compact(report)
    text = raw.decode().replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return Markup(text), left_out


def _every(report: Document, change: Callable[[int, Incident], Incident]) -> Document:
    return replace(report, incidents=[change(at, one) for at, one in enumerate(report.incidents)])


def _without_others(report: Document) -> Document:
    return _every(report, lambda at, one: one if at == report.primary else replace(one, views=Views(), evidence=[]))


def _without_views(*names: str) -> Callable[[Document], Document]:
    nothing: dict[str, list[Any]] = {name: [] for name in names}
    return lambda report: _every(report, lambda _, one: replace(one, views=replace(one.views, **nothing)))


_LESS: tuple[tuple[str, Callable[[Document], Document]], ...] = (
    ("the list of files", lambda report: replace(report, files=[])),
    ("evidence and drawings of other incidents", _without_others),
    ("the graph and the operations of tracks", _without_views("nodes", "edges", "tracks")),
    ("records of hardware", _without_views("hardware")),
    ("tensors", _without_views("tensors", "first_bad", "series")),
)
