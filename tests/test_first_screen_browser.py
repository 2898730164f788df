"""The first screen in a real browser: who is at fault is in every picture at every width, and keys and pointer do what `?` says."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forensics import analyze
from reports import html
from tests.conftest import CHROMIUM
from tests.report_example_sizes import sized

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.is_file(), reason="no Chromium"),
]
WIDTHS = (360, 390, 768, 1280, 1440, 2560)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    made = {f"{kind}-{ranks}": html.render(sized(kind, ranks)) for kind, ranks in (("hang", 512), ("hang", 10_240))}
    made["wide"] = html.render(_deep())
    made["killed"] = html.render(analyze("samples/rank_killed/bundle"))
    for name, text in made.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in made}


def _deep() -> Any:
    """A chain of ten classes, each waiting for the next: 2,600 pixels, if nothing were fitted."""
    import msgspec

    from forensics.model.drawn import GraphEdge, GraphNode

    report = sized("hang", 512)
    nodes = [
        GraphNode(id=f"n{at}", kind="ranks", label=f"ranks {at}", ranks=str(at), state="waiting" if at else "culprit", detail="")
        for at in range(10)
    ]  # fmt: skip
    edges = [GraphEdge(source=f"n{at}", target=f"n{at - 1}", label="enqueued", certain=True) for at in range(1, 10)]
    incident = report.incidents[0]
    views = msgspec.structs.replace(incident.views, nodes=nodes, edges=edges)
    return msgspec.structs.replace(report, incidents=[msgspec.structs.replace(incident, views=views)])


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    one = context.new_page()
    one.said = []
    one.on("console", lambda message: one.said.append(message.text))
    one.on("pageerror", lambda error: one.said.append(str(error)))
    yield one
    assert one.said == []
    context.close()


IN_FRAME = """(mark) => {
  const [inner, outer] = [mark, mark.closest('section')].map((node) => node.getBoundingClientRect());
  return inner.width + inner.height > 0 && inner.left >= outer.left && inner.right <= outer.right && inner.right <= innerWidth;
}"""


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
@pytest.mark.parametrize("name", ["hang-512", "hang-10240", "wide"])
def test_who_is_at_fault_is_in_every_picture(browser: Any, pages: dict[str, Path], name: str, scripts: bool) -> None:
    """In the graph, on the time axis, among all ranks: without scrolling to the side, whatever the width."""
    context = browser.new_context(java_script_enabled=scripts)
    opened = context.new_page()
    for width in WIDTHS:
        opened.set_viewport_size({"width": width, "height": 900})
        opened.goto(pages[name].as_uri())
        for mark in (".graph .state-culprit rect", ".when .lane-culprit .stopped", ".rank-grid .ring"):
            assert opened.locator(mark).first.evaluate(IN_FRAME), (width, mark)
        assert opened.evaluate("document.documentElement.scrollWidth") <= width
    context.close()


def test_the_graph_shows_all_of_itself_where_there_is_room(page: Any, pages: dict[str, Path]) -> None:
    page.goto(pages["wide"].as_uri())
    boxes = page.locator(".graph .node rect")
    assert boxes.count() == 10
    assert all(boxes.nth(at).evaluate(IN_FRAME) for at in range(10))


@pytest.mark.parametrize("name", ["hang-512", "hang-10240"])
def test_drawings_use_a_wide_screen(page: Any, pages: dict[str, Path], name: str) -> None:
    page.set_viewport_size({"width": 2560, "height": 1300})
    page.goto(pages[name].as_uri())
    assert page.locator("svg.timeline").bounding_box()["width"] > 1800
    tops = [page.locator(card).bounding_box()["y"] for card in ("#actions", "#when", "#ranks")]
    assert tops[0] == tops[1] == tops[2]


def test_all_of_the_first_screen_begins_on_it(page: Any, pages: dict[str, Path]) -> None:
    """Bar, sentence, chips, what to do, when, why and where, at 1440 by 900."""
    page.goto(pages["hang-512"].as_uri())
    for part in (".status-bar", "h1", ".chips", ".coverage", "#actions", "#when"):
        box = page.locator(part).first.bounding_box()
        assert box["y"] + box["height"] <= 900, part
    for part in ("#facts", "#ranks"):
        assert page.locator(part).bounding_box()["y"] < 700, part


def test_slash_finds_anything(page: Any, pages: dict[str, Path]) -> None:
    page.goto(pages["hang-512"].as_uri())
    found = page.locator(".palette li button")

    def ask(text: str) -> None:
        page.keyboard.press("/")
        page.locator(".palette input").fill(text)

    ask("100")
    page.keyboard.press("Enter")
    page.locator("#rank-drawer", has_text="Rank 100 on node0012").wait_for()
    ask("node0016")
    assert found.first.inner_text() == "node0016"
    page.keyboard.press("Enter")
    page.locator("#rank-drawer", has_text="node0016: 8 waiting").wait_for()
    ask("dataloader")
    assert "dataloader" in found.first.inner_text().lower()
    page.locator(".palette input").fill("no such thing <b>")
    assert page.locator("#found").inner_text() == "Nothing is called that."
    page.keyboard.press("Escape")
    assert not page.locator(".palette").first.is_visible()


def test_question_mark_lists_the_keys_and_they_work(page: Any, pages: dict[str, Path]) -> None:
    page.goto(pages["hang-512"].as_uri())
    page.keyboard.press("?")
    told = page.locator("dialog[open]").inner_text()
    assert all(what in told for what in ("find anything", "next, previous section", "a span of time", "zoom in"))
    page.keyboard.press("Escape")
    before = page.evaluate("scrollY")
    for _ in range(6):
        page.keyboard.press("j")
    below = page.evaluate("scrollY")
    assert below > before
    page.keyboard.press("k")
    assert page.evaluate("scrollY") < below
    page.keyboard.press("t")
    assert page.evaluate("scrollY") == 0
    page.keyboard.press("g")
    page.locator("#rank-drawer", has_text="Rank 17 on node0002").wait_for()
    page.locator("#rank-find input").fill("")
    page.locator("#rank-find input").press("j")
    assert page.locator("#rank-find input").input_value() == "j"  # a letter in a field is a letter


def test_dragging_selects_a_span_of_time(page: Any, pages: dict[str, Path]) -> None:
    page.goto(pages["hang-512"].as_uri())
    drawing = page.locator("svg.timeline")
    drawing.scroll_into_view_if_needed()
    box = drawing.bounding_box()
    names = 222

    def drag(first: float, last: float) -> None:
        page.mouse.move(box["x"] + first, box["y"] + 24)
        page.mouse.down()
        page.mouse.move(box["x"] + last, box["y"] + 40, steps=3)
        page.mouse.up()

    drag(names + 150, box["width"] - 20)
    told = page.locator(".picked").inner_text()
    assert " to +" in told and "events " in told and "reduce_scatter" in told
    assert drawing.locator(".selected").bounding_box()["width"] == pytest.approx(box["width"] - 20 - names - 150, abs=2)
    page.locator("#timeline .zoom button", has_text="+").click()
    assert drawing.locator(".selected").bounding_box()["width"] > box["width"]
    page.locator("#timeline .scroll").first.press("Escape")
    assert page.locator(".picked").inner_text() == "" and drawing.locator(".selected").count() == 0


def test_lines_before_and_after_open(page: Any, pages: dict[str, Path]) -> None:
    page.goto(pages["killed"].as_uri())
    first = page.locator("#why .claims > li").first
    assert first.locator("pre mark").first.inner_text() == "SIGKILL"
    first.locator("summary").first.click()
    lines = first.locator("pre.context").inner_text().splitlines()
    assert [line.split()[0] for line in lines if line.strip()] == ["47", "48", "49", "50", "51", "52", "53"]


def test_on_paper_nothing_of_keys_and_buttons_is_left(page: Any, pages: dict[str, Path]) -> None:
    page.goto(pages["hang-512"].as_uri())
    page.emulate_media(media="print")
    for part in (".copy", ".hint", ".zoom", "nav"):
        assert not page.locator(part).first.is_visible(), part
    assert page.locator(".when").is_visible() and page.locator(".rank-grid").first.is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
