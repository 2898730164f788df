"""The page of every kind of incident at 8, 512 and 10,240 ranks, in a real browser: small, short, quick, and never wider.

With axe-core (`npm ci`, as package-lock.json pins it) their accessibility is checked, too."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from reports import html
from tests.conftest import CHROMIUM
from tests.report_example_sizes import KINDS, sized

AXE = Path(__file__).resolve().parent.parent / "node_modules" / "axe-core" / "axe.min.js"
RANKS = (8, 512, 10_240)
every_page = pytest.mark.parametrize(("kind", "ranks"), [(kind, ranks) for kind in KINDS for ranks in RANKS])
in_browser = pytest.mark.skipif(not CHROMIUM.is_file(), reason="no Chromium")


@cache
def page_of(kind: str, ranks: int) -> str:
    return html.render(sized(kind, ranks))


@pytest.fixture
def opened(browser: Any, tmp_path: Path, kind: str, ranks: int) -> Iterator[Any]:
    file = tmp_path / "page.html"
    file.write_text(page_of(kind, ranks), encoding="utf-8")
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    page = context.new_page()
    page.said = []
    page.on("console", lambda message: page.said.append(message.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    start = monotonic()
    page.goto(file.as_uri())
    page.loaded_s = monotonic() - start
    yield page
    context.close()


@every_page
def test_page_is_small_and_the_same_each_time(kind: str, ranks: int) -> None:
    text = page_of(kind, ranks)
    assert len(text.encode()) <= 1_000_000
    assert text == html.render(sized(kind, ranks))


@pytest.mark.browser
@in_browser
@every_page
def test_page_is_short_quick_and_fits(opened: Any, kind: str, ranks: int) -> None:
    assert opened.said == []
    assert opened.loaded_s < 2
    assert opened.evaluate("document.querySelectorAll('*').length") < 50_000
    assert opened.evaluate("document.documentElement.scrollWidth") <= 1280
    assert opened.evaluate("document.documentElement.scrollHeight") <= 6 * 720
    printed = opened.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type /Page\b", printed)) <= 6
    card = [
        opened.locator(name).first
        for name in (".figures", "h1", ".chips", ".coverage", ".do", ".command", "#when-title", "#facts-title")
    ]
    boxes = [one.bounding_box() for one in card if one.count()]
    assert len(boxes) > 3 and all(box["y"] + box["height"] <= 720 for box in boxes)
    opened.set_viewport_size({"width": 390, "height": 844})
    assert opened.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.browser
@in_browser
@pytest.mark.parametrize(("kind", "ranks"), [("hang", 10_240)])
def test_a_rank_is_found_in_both_drawings(opened: Any) -> None:
    opened.locator("#rank-find input").fill("4711")
    drawer = opened.locator("#rank-drawer")
    assert drawer.inner_text().startswith("Rank 4711 on node0588: waiting")
    assert "tensor model parallel 1, data parallel 2355, pipeline model parallel 0" in drawer.inner_text()
    assert opened.locator(".rank-grid .chosen").count() == 2
    opened.locator("#rank-find input").fill("901")
    assert drawer.inner_text().startswith("Rank 901 on node0112: no record")
    opened.locator("#rank-find input").fill("node0112")
    assert drawer.inner_text().startswith("node0112: 6 waiting for others, 2 no record")
    opened.locator("#rank-find input").fill("99999")
    assert drawer.inner_text() == "There is no rank 99999."


@pytest.mark.browser
@in_browser
@pytest.mark.parametrize(("kind", "ranks"), [("hang", 512)])
def test_tables_sort_and_filter_and_frames_are_found(opened: Any) -> None:
    table = opened.locator("#collectives details table")
    opened.locator("#collectives details summary").click()
    opened.locator("#collectives .filter input").fill("(19)")
    assert table.locator("tbody tr:visible").count() == 1
    opened.locator("#collectives .filter input").fill("")
    ranks = table.locator("thead th").nth(2)
    ranks.locator("button").click()
    ranks.locator("button").click()
    assert ranks.get_attribute("aria-sort") == "descending"
    assert table.locator("tbody tr").first.locator("td").nth(2).inner_text() == "rank 199"
    opened.locator("#stack-find input").fill("dataloader")
    assert opened.locator(".chain.found").count() == 1 and opened.locator(".chain.missed").count() == 2


@pytest.mark.browser
@in_browser
@pytest.mark.parametrize(("kind", "ranks"), [("hang", 512)])
def test_links_lead_to_ranks_and_hosts_and_keys_move_on(opened: Any) -> None:
    opened.locator("h1 a").first.click()
    drawer = opened.locator("#rank-drawer")
    opened.locator("#rank-drawer", has_text="Rank 17 on node0002: no record").wait_for()
    opened.locator("#ranks .scroll").first.press("ArrowUp")
    assert drawer.inner_text().startswith("Rank 9 on node0001: waiting")
    opened.locator("#hardware a[href='#host=node0000']").first.click()
    opened.locator(
        "#rank-drawer", has_text=re.compile("node0000: 7 waiting for others, 1 at fault\\s+xid:94 NVRM")
    ).wait_for()
    opened.locator(".claim a", has_text="rank 2").first.click()
    opened.locator("#rank-drawer", has_text="Rank 2 on node0000: waiting for others").wait_for()
    box = opened.locator(".rank-grid").first.bounding_box()
    x, y, first, *_ = map(int, opened.locator(".rank-grid").first.get_attribute("data-places").split(";")[0].split(","))
    scale = box["width"] / int(opened.locator(".rank-grid").first.get_attribute("width"))  # fitted to the width
    opened.mouse.move(box["x"] + (x + 2) * scale, box["y"] + (y + 2) * scale)
    assert opened.locator("#rank-hover").inner_text() == f"Rank {first} on node0000: waiting for others"
    assert opened.said == []


@pytest.mark.browser
@in_browser
@pytest.mark.parametrize(("kind", "ranks"), [("hang", 512)])
def test_timeline_zooms_and_tells_what_is_under_the_pointer(opened: Any) -> None:
    svg = opened.locator("svg.timeline")
    wide, ticks = svg.bounding_box()["width"], svg.locator(".tick").count()
    bar = float(svg.locator(".bar").first.get_attribute("width"))
    zoom_in = opened.locator("#timeline .zoom button", has_text="+")
    zoom_in.click()
    zoom_in.click()
    assert svg.bounding_box()["width"] > 3 * wide and svg.locator(".tick").count() > 2 * ticks
    assert float(svg.locator(".bar").first.get_attribute("width")) == pytest.approx(4 * bar)
    assert svg.locator(".inside").first.text_content() == "reduce_scatter #19"
    names = svg.locator(".names").bounding_box()["x"]
    assert names == pytest.approx(opened.locator("#timeline .scroll").first.bounding_box()["x"], abs=2)
    svg.locator(".open").last.hover(position={"x": 400, "y": 10})
    told = opened.locator("#timeline .readout").inner_text()
    assert "min" in told and "reduce_scatter #19 of DATA_PARALLEL_GROUP: from" in told and "never completed" in told
    opened.locator("#timeline .scroll").first.press("0")
    assert svg.bounding_box()["width"] == wide and svg.locator(".tick").count() == ticks
    assert svg.locator(".inside").count() == 0
    opened.locator("svg.timeline a.moment").last.click()
    assert opened.locator("#timeline details tr:target").is_visible()


@pytest.mark.browser
@in_browser
@pytest.mark.parametrize(("kind", "ranks"), [("hang", 10_240)])
def test_a_click_on_a_class_tells_who_it_waits_for(opened: Any) -> None:
    opened.locator("svg.graph .node").nth(1).click()
    told = opened.locator("#graph-drawer").inner_text()
    assert told.startswith("10240 ranks in 64 × all_gather") and "lacks rank 5" in told
    assert opened.locator("svg.graph .node.far").count() > 0 and opened.locator("svg.graph .arrow.chosen").count() > 0
    wide = opened.locator("svg.graph").bounding_box()["width"]
    opened.locator("#graph .zoom button", has_text="+").click()
    assert opened.locator("svg.graph").bounding_box()["width"] == pytest.approx(2 * wide)


@pytest.mark.browser
@in_browser
@pytest.mark.parametrize(("kind", "ranks"), [("hang", 512)])
def test_a_phone_reads_tables_row_by_row(opened: Any) -> None:
    opened.set_viewport_size({"width": 390, "height": 844})
    wider = "(table) => table.scrollWidth > table.parentElement.clientWidth"
    shown = [table for table in opened.locator("main table.list").all() if table.is_visible()]
    assert shown and not any(table.evaluate(wider) for table in shown)


@pytest.mark.browser
@in_browser
@pytest.mark.skipif(not AXE.is_file(), reason="no axe-core")
@pytest.mark.parametrize(("ranks", "scheme"), [*((ranks, "light") for ranks in RANKS), (512, "dark")])
@pytest.mark.parametrize("kind", KINDS)
def test_axe_finds_nothing(browser: Any, kind: str, ranks: int, scheme: str, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(page_of(kind, ranks), encoding="utf-8")
    context = browser.new_context(viewport={"width": 1280, "height": 720}, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.goto(file.as_uri())
    page.evaluate(AXE.read_text())
    assert page.evaluate("axe.run().then((result) => result.violations.map((one) => one.id))") == []
    context.close()
