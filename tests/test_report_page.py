"""The page: one file that asks for nothing, runs only our script, and shows hostile text as it was written."""

import random
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from importlib import resources
from itertools import combinations
from typing import get_args

import msgspec
import pytest

from forensics.model.drawn import GraphEdge, GraphNode, GridCell, MeshAxis, Span, Track
from forensics.model.incident import Evidence
from forensics.model.names import ActionKind, Cause, Domain, Kind, Reason, Site, Status
from forensics.model.ref import Ref
from forensics.model.texts import SITE
from forensics.report import Report
from reports import html, json, markdown, notebook, summary, words
from reports.html.drawings import graph, labels, place, ranks, shapes, timeline
from reports.layout import seconds
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
        "mark",
        "svg",
        "path",
        "text",
        "line",
        "g",
        "circle",
        "rect",
        "defs",
        "marker",
        "pattern",
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
    for asset in ("style.css", "script.js", "keys.js"):
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
        assert document.files == [] and document.incidents[0].verdict == report.incidents[0].verdict
        assert "without the list of files, evidence and drawings of other incidents, the graph" in page
    else:
        assert document == report


def test_page_ids_are_unique_stable_and_linked() -> None:
    page = _read(page_of("hostile"))
    ids = _values(page, "id")
    assert len(set(ids)) == len(ids)
    assert {value[1:] for value in _values(page, "href") if not value.startswith(("#rank=", "#host="))} <= set(ids)
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
    assert len(page) < 1_000_000
    assert page.count('class="ranks-waiting"') == 1  # one path, never a node per rank
    text = " ".join(_read(page).texts)
    for piece in (
        "Files by kind of name: 1 for 12,800 files",
        "Showing 40 of 100 events",
        "30 more nodes are not drawn",
    ):
        assert piece in text


def test_templates_never_switch_escaping_off() -> None:
    folder = resources.files("reports.html")
    templates = [
        folder.joinpath("page.html.j2"),
        *(part for part in folder.joinpath("parts").iterdir() if part.is_file()),
    ]
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
        assert (
            page.index("<h1") < page.index('class="coverage"') < page.index('id="actions"') < page.index('class="rest"')
        )


# --- drawings --------------------------------------------------------------------------------------------------------


def test_grid_draws_each_rank_once_by_its_state() -> None:
    views = EXAMPLES["hang"]().incidents[0].views
    grid = ranks.by_host(views.grid, views.hosts)
    assert grid is not None
    assert {mark.state: mark.total for mark in grid.marks} == {"waiting": 30, "culprit": 1, "no_data": 1}
    assert sum(run.length for run in grid.runs) == 32
    assert [label.text for label in grid.labels] == ["node0000", "node0001", "node0002", "node0003"]


def test_ranks_by_axes_keep_their_neighbours() -> None:
    """tp 2, dp 4, pp 2: the longest from left to right, a block for each stage."""
    axes = [
        MeshAxis(name="tp", size=2, stride=1),
        MeshAxis(name="dp", size=4, stride=2),
        MeshAxis(name="pp", size=2, stride=8),
    ]
    grid = ranks.by_axes([GridCell(state="ok", ranks="0-4,6-15"), GridCell(state="culprit", ranks="5")], axes)
    assert grid is not None
    assert [(run.first, run.length, run.stride) for run in grid.runs] == [(0, 4, 2), (1, 4, 2), (8, 4, 2), (9, 4, 2)]
    assert [label.text for label in grid.labels] == ["pp 0", "pp 1"]


def test_every_state_has_a_shape_of_its_own() -> None:
    assert len({shapes.shape(state) for state in shapes.STATES}) == len(shapes.STATES) == len(words.STATE)


def test_graph_puts_the_culprit_at_the_left_end() -> None:
    views = EXAMPLES["hang"]().incidents[0].views
    drawn = graph.graph(views.nodes, views.edges)
    assert drawn is not None
    assert min(drawn.boxes, key=lambda item: item.x).node.state == "culprit"


def test_graph_of_a_circle_ends() -> None:
    views = EXAMPLES["cycle"]().incidents[0].views
    drawn = graph.graph(views.nodes, views.edges)
    assert drawn is not None
    assert len(drawn.arrows) == 4 and len({item.x for item in drawn.boxes}) == 4


@pytest.mark.parametrize("seed", range(20))
def test_no_two_boxes_of_a_graph_overlap(seed: int) -> None:
    rng = random.Random(seed)
    names = [f"n{number}" for number in range(30)]
    nodes = [
        GraphNode(
            id=name,
            kind=rng.choice(["ranks", "operation"]),
            label="all_gather of DATA_PARALLEL_GROUP (3) " * rng.choice([1, 2]),
            ranks="0-5,9",
            state="waiting",
            detail="",
        )
        for name in names
    ]
    edges = [
        GraphEdge(source=one, target=two, label="in", certain=True)
        for one, two in sorted({(rng.choice(names), rng.choice(names)) for _ in range(45)})
    ]
    drawn = graph.graph(nodes, edges)
    assert drawn is not None and len(drawn.boxes) + sum(box.held is not None for box in drawn.boxes) == 30
    for one, two in combinations(drawn.boxes, 2):
        assert one.x != two.x or one.y + one.height <= two.y or two.y + two.height <= one.y
    assert all(
        0 <= box.x <= drawn.width - graph.BOX_WIDTH and 0 <= box.y <= drawn.height - box.height for box in drawn.boxes
    )


def test_an_operation_that_one_class_waits_in_stands_in_its_box() -> None:
    nodes = [
        GraphNode(id="a", kind="ranks", label="7 ranks", ranks="1-7", state="waiting", detail=""),
        GraphNode(id="o", kind="operation", label="all_reduce #5", ranks="0-7", state="open", detail=""),
        GraphNode(id="b", kind="ranks", label="rank 0", ranks="0", state="culprit", detail=""),
    ]
    edges = [
        GraphEdge(source="a", target="o", label="in", certain=True),
        GraphEdge(source="o", target="b", label="absent", certain=True),
    ]
    drawn = graph.graph(nodes, edges)
    assert drawn is not None
    assert [box.lines for box in drawn.boxes] == [["Ranks 1-7", "wait in all_reduce #5"], ["Rank 0", "at fault"]]
    assert [(arrow.edge.source, arrow.text, arrow.edge.target) for arrow in drawn.arrows] == [("a", "lacks", "b")]


def test_timeline_measures_from_the_first_anomaly_and_takes_any_time() -> None:
    items = EXAMPLES["hang"]().incidents[0].views.timeline
    broken = msgspec.structs.replace(items[0], time_utc="yesterday")
    begin = seconds("2026-11-19T18:42:07.113Z")
    assert begin is not None
    drawn = timeline.timeline([*items, broken], [], place.Zero(begin, labels.FIRST_ANOMALY), has_stopped=True)
    assert drawn is not None
    assert [moment.relative for moment in drawn.moments][:4] == ["0", "+1.9 s", "+2.8 s", "+30 min 03 s"]
    assert drawn.moments[-1].relative == "" and not drawn.moments[-1].is_drawn
    assert "30 min 00 s" in [gap.text for gap in drawn.breaks]


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_all_times_of_a_page_count_from_one_moment(name: str) -> None:
    """An event that both the banner and the timeline show is as far from zero in both."""
    for one in EXAMPLES[name]().incidents:
        drawn = timeline.timeline(
            one.views.timeline, one.views.tracks, place.zero(one), has_stopped=place.has_stopped(one)
        )
        told = {step.text: step.relative for step in place.stop(one) if not step.is_stop}
        for moment in drawn.moments if drawn else ():
            assert told.get(moment.item.label, moment.relative) == moment.relative


def test_a_track_shows_operations_until_one_that_never_completed() -> None:
    def span(start: str, end: str | None = None, is_open: bool = False) -> Span:
        return Span(
            start_utc=f"2026-11-19T18:42:{start}Z",
            end_utc=end and f"2026-11-19T18:42:{end}Z",
            label="all_reduce",
            is_open=is_open,
        )

    track = Track(state="waiting", ranks="0-6", of=0, held="all_reduce of dp", stopped_utc=None,
                  spans=[span("01.0", "01.5"), span("02.0", "02.5"), span("03.0", is_open=True), span("03.1", is_open=True)])  # fmt: skip
    named = Track(state="culprit", ranks="7", of=7, held="", spans=[], stopped_utc="2026-11-19T18:42:02.5Z")
    drawn = timeline.timeline([], [named, track], None, has_stopped=True)
    assert drawn is not None and drawn.zero == "stop"
    assert [lane.first for lane in drawn.lanes] == ["rank 7", "ranks 0-6"]
    assert [bar.is_open for bar in drawn.lanes[1].bars] == [False, False, True]
    second = drawn.lanes[1].bars[1]
    assert drawn.lanes[0].stopped == pytest.approx(second.x + second.width)
    assert second.text == "all_reduce: from −500 ms, took 500 ms"


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
