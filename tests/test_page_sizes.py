"""The page of every kind of incident at 8, 512 and 10,240 ranks, in a real browser: small, short, quick, and never wider.

With axe-core (`npm install --no-save axe-core`) their accessibility is checked, too."""

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

AXE = next((path for path in map(Path, ("node_modules/axe-core/axe.min.js",)) if path.is_file()), None)
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
    first = [opened.locator(name).first.bounding_box() for name in ("h1", ".do", ".coverage")]
    assert all(box["y"] + box["height"] <= 720 for box in first)
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
@pytest.mark.skipif(AXE is None, reason="no axe-core")
@pytest.mark.parametrize("ranks", [512])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", KINDS)
def test_axe_finds_nothing(browser: Any, kind: str, ranks: int, scheme: str, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(page_of(kind, ranks), encoding="utf-8")
    context = browser.new_context(viewport={"width": 1280, "height": 720}, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.goto(file.as_uri())
    assert AXE is not None
    page.evaluate(AXE.read_text())
    assert page.evaluate("axe.run().then((result) => result.violations.map((one) => one.id))") == []
    context.close()
