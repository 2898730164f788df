"""The page: one file that asks for nothing, runs only our script, and shows hostile text as it was written."""

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from importlib import resources
from typing import get_args

import msgspec

from forensics.model.incident import Evidence, Report
from forensics.model.names import ActionKind, Cause, Domain, Kind, Reason, Site, Status
from forensics.model.ref import Ref
from forensics.model.texts import SITE
from reports import html, json, markdown, notebook, summary, words
from reports.html import drawings
from tests.report_checks import EXAMPLES, assert_harmless, every_example, example, page_of

# --- the page --------------------------------------------------------------------------------------------------------

VOID = {"meta", "br", "img", "link", "input", "hr"}
TAGS = frozenset(
    [
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "a",
        "header",
        "div",
        "p",
        "span",
        "h1",
        "h2",
        "h3",
        "dl",
        "dt",
        "dd",
        "ul",
        "ol",
        "li",
        "details",
        "summary",
        "button",
        "pre",
        "nav",
        "main",
        "section",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "figure",
        "figcaption",
        "code",
        "strong",
        "svg",
        "path",
        "text",
        "line",
        "g",
        "circle",
        "rect",
        "defs",
        "marker",
        "footer",
        "script",
        "br",
    ]
)


class _Reader(HTMLParser):
    """Collects tags and attributes, and checks that tags close in order."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        else:
            self.texts.append(data)


def _read(page: str) -> _Reader:
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def _values(page: _Reader, name: str) -> list[str]:
    return [value for _, attribute, value in page.attributes if attribute == name]


@every_example
def test_page_has_only_our_tags_and_no_handlers(name: str) -> None:
    page = _read(page_of(name))
    assert set(page.tags) <= TAGS
    assert page.tags.count("script") == 2 and page.tags.count("style") == 1 and page.tags.count("h1") == 1
    names = {attribute for _, attribute, _ in page.attributes}
    assert not [attribute for attribute in names if attribute.startswith("on")]
    assert "style" not in names and "src" not in names
    assert ("html", "lang", "en") in page.attributes


@every_example
def test_page_asks_for_nothing(name: str) -> None:
    page = _read(page_of(name))
    for attribute in ("href", "xlink:href", "action", "srcset", "data", "poster", "background"):
        assert all(value.startswith("#") for value in _values(page, attribute))
    for asset in ("style.css", "script.js"):
        text = resources.files("reports.html").joinpath(asset).read_text("utf-8")
        assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|innerHTML|eval\(|import\(", text)


@every_example
def test_page_policy_allows_our_script_and_style_by_hash_only(name: str) -> None:
    page = page_of(name)
    policy = next(value for value in _values(_read(page), "content") if "default-src" in value)
    assert policy.startswith("default-src 'none';") and "unsafe" not in policy
    for tag in ("script", "style"):
        inner = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        assert inner
        digest = b64encode(sha256(inner[1].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


@every_example
def test_page_text_is_harmless(name: str) -> None:
    text = page_of(name)
    assert_harmless(text)


def test_hostile_text_is_shown_as_it_was_written() -> None:
    page = _read(page_of("hostile"))
    text = " ".join(page.texts)
    for piece in (
        "<script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "</script><!-- </style> ]]>",
        "{{7*7}}",
    ):
        assert piece in text
    assert "␛[31mred" in text and "[red]rich[/red]" in text and " 49 " not in text


@every_example
def test_page_holds_the_report(name: str) -> None:
    report = example(name)
    page = html.render(report)
    embedded = _read(page).scripts[0]
    assert not re.search("[<>&]", embedded)
    document = msgspec.json.decode(embedded, type=Report)
    if name == "crowded":
        document = msgspec.structs.replace(document, files=report.files)
    assert document == report


def test_page_ids_are_unique_stable_and_linked() -> None:
    page = _read(page_of("hostile"))
    ids = _values(page, "id")
    assert len(set(ids)) == len(ids)
    assert {value[1:] for value in _values(page, "href")} <= set(ids)
    assert set(_values(page, "data-copy-from")) <= set(ids)


def test_an_anchor_survives_other_evidence_around_it() -> None:
    report = EXAMPLES["hang"]()
    incident = report.incidents[0]
    more = Evidence(id="e0", claim="another fact", direction="for", refs=[])
    changed = msgspec.structs.replace(
        incident, evidence=[more, *incident.evidence, msgspec.structs.replace(incident.evidence[0])]
    )
    before = {value for value in _values(_read(html.render(report)), "id") if value.startswith("ev-")}
    after = _values(_read(html.render(msgspec.structs.replace(report, incidents=[changed]))), "id")
    assert before <= set(after) and len(set(after)) == len(after)


@every_example
def test_same_report_same_bytes(name: str) -> None:
    first, second = EXAMPLES[name](), EXAMPLES[name]()
    assert html.render(first) == html.render(second)
    assert markdown.render(first) == markdown.render(second)
    assert json.render(first) == json.render(second)


def test_page_tells_a_time_only_if_given_one() -> None:
    report = EXAMPLES["hang"]()
    assert "generated" not in html.render(report)
    assert "generated 2026-11-20T00:00:00Z" in html.render(report, generated="2026-11-20T00:00:00Z")


def test_page_of_many_ranks_stays_small_and_says_what_it_leaves_out() -> None:
    page = page_of("crowded")
    assert len(page) < 5_000_000
    assert page.count('<path class="state-waiting"') == 2  # the drawing and the legend, never a node per rank
    text = " ".join(_read(page).texts)
    for piece in ("Showing 500 of 12,800 files", "Showing 40 of 100 events", "30 more nodes are not drawn"):
        assert piece in text


def test_templates_never_switch_escaping_off() -> None:
    folder = resources.files("reports.html")
    templates = [folder.joinpath("page.html.j2"), *folder.joinpath("parts").iterdir()]
    assert len(templates) > 10
    for template in templates:
        text = template.read_text("utf-8")
        assert not re.search(r"\|\s*safe|autoescape|\sstyle=|\son\w+=", text), template.name


@every_example
def test_verdict_and_coverage_come_before_all_else(name: str) -> None:
    report = example(name)
    page = html.render(report)
    assert page.index('class="coverage"') < page.index("<main>")
    if report.incidents:
        assert page.index("<h1>") < page.index('class="facts"') < page.index('class="coverage"')


# --- drawings --------------------------------------------------------------------------------------------------------


def test_grid_draws_each_rank_once_by_its_state() -> None:
    views = EXAMPLES["hang"]().incidents[0].views
    grid = drawings.grid(views.grid, views.hosts)
    assert grid is not None
    assert {mark.state: mark.total for mark in grid.marks} == {"waiting": 30, "culprit": 1, "no_data": 1}
    assert sum(length for *_, length in grid.places) == 32
    assert [label.text for label in grid.labels] == ["node0000", "node0001", "node0002", "node0003"]


def test_every_state_has_a_shape_of_its_own() -> None:
    assert len({drawings.shape(state) for state in drawings.STATES}) == len(drawings.STATES) == len(words.STATE)


def test_graph_puts_the_culprit_at_the_right_end() -> None:
    views = EXAMPLES["hang"]().incidents[0].views
    graph = drawings.graph(views.nodes, views.edges)
    assert graph is not None
    assert max(graph.boxes, key=lambda item: item.x).node.state == "culprit"


def test_graph_of_a_circle_ends() -> None:
    views = EXAMPLES["cycle"]().incidents[0].views
    graph = drawings.graph(views.nodes, views.edges)
    assert graph is not None
    assert len(graph.arrows) == 4 and len({item.x for item in graph.boxes}) == 4


def test_timeline_measures_from_the_first_anomaly_and_takes_any_time() -> None:
    items = EXAMPLES["hang"]().incidents[0].views.timeline
    broken = msgspec.structs.replace(items[0], time_utc="yesterday")
    timeline = drawings.timeline([*items, broken], "2026-11-19T18:42:07.113Z")
    assert timeline is not None
    assert [moment.relative for moment in timeline.moments][:4] == ["+0.0 s", "+1.9 s", "+2.8 s", "+30 min 03 s"]
    assert timeline.moments[-1].relative == ""
    assert [gap.text for gap in timeline.gaps] == ["30 min 00 s"]


# --- notebook --------------------------------------------------------------------------------------------------------


@every_example
def test_notebook_is_plain_tags_and_text(name: str) -> None:
    page = _read(notebook.repr_html(example(name)))
    assert set(page.tags) <= {
        "div",
        "p",
        "strong",
        "br",
        "table",
        "tbody",
        "tr",
        "th",
        "td",
        "small",
        "em",
        "ul",
        "li",
        "code",
    }
    assert {attribute for _, attribute, _ in page.attributes} <= {"scope"}
    assert_harmless(" ".join(page.texts))


# --- words -----------------------------------------------------------------------------------------------------------


def test_place_names_the_line_if_there_is_one() -> None:
    assert summary.place(Ref(file="a.log", line=3, text="")) == "a.log:3"
    assert summary.place(Ref(file="a.log", line=None, text="")) == "a.log"


def test_every_word_of_the_contract_has_a_plain_one() -> None:
    tables = (words.KIND, words.CAUSE, SITE, words.STATUS, words.REASON, words.ACTION, words.DOMAIN)
    for values, table in zip((Kind, Cause, Site, Status, Reason, ActionKind, Domain), tables, strict=True):
        assert set(get_args(values)) == set(table)
