"""The page in a real browser: it opens from a file, asks for nothing, breaks no policy, and hostile text stays text."""

from pathlib import Path
from typing import Any

import pytest

from reports import html
from tests import report_examples
from tests.conftest import CHROMIUM

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.is_file(), reason="no Chromium"),
]
EXAMPLES = report_examples.EXAMPLES
WATCH = (
    "document.addEventListener('securitypolicyviolation', event => console.error('policy: ' + event.violatedDirective))"
)


class Opened:
    """One page, with everything it said, asked for or asked of the reader."""

    def __init__(self, browser: Any, folder: Path, name: str, address: str = "", **context: Any) -> None:
        file = folder / f"{name}.html"
        file.write_text(html.render(EXAMPLES[name]()), encoding="utf-8")
        self.context = browser.new_context(viewport={"width": 1280, "height": 720}, **context)
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.said.append("dialog"), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.add_init_script(WATCH)
        self.url = file.as_uri()
        self.page.goto(self.url + address)


@pytest.mark.parametrize("name", EXAMPLES)
def test_page_opens_quietly(browser: Any, tmp_path: Path, name: str) -> None:
    opened = Opened(browser, tmp_path, name)
    assert opened.said == []
    assert opened.requests == [opened.url]
    assert opened.page.evaluate("document.querySelectorAll('script').length") == 2
    assert opened.page.evaluate("document.querySelectorAll('img, iframe, object, embed, link').length") == 0
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 1280
    opened.context.close()


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
@pytest.mark.parametrize("name", ["hang", "undecided", "numerics", "hostile"])
def test_verdict_and_coverage_show_without_scrolling(browser: Any, tmp_path: Path, name: str, scripts: bool) -> None:
    opened = Opened(browser, tmp_path, name, java_script_enabled=scripts)
    for selector in ("h1", ".kind", ".status", ".figures", ".chips", ".coverage", ".do"):
        box = opened.page.locator(selector).first.bounding_box()
        assert box is not None and box["y"] + box["height"] <= 720, selector
    opened.context.close()


def test_injected_script_style_and_markup_are_refused(browser: Any, tmp_path: Path) -> None:
    """The policy works: what would get past the escaping is stopped by it."""
    opened = Opened(browser, tmp_path, "hang")
    blocked = opened.page.evaluate(
        """async () => {
          const refused = new Promise((done) => addEventListener('securitypolicyviolation', (event) => done(event)));
          try { document.body.innerHTML = '<b>x</b>'; return 'written' } catch {}
          const first = (await refused).violatedDirective;
          const next = new Promise((done) => addEventListener('securitypolicyviolation', (event) => done(event)));
          const style = document.createElement('style');
          style.textContent = 'body { display: none }';
          document.head.append(style);
          return [first, (await next).violatedDirective];
        }"""
    )
    assert blocked == ["require-trusted-types-for", "style-src-elem"]
    opened.context.close()


def test_a_rank_opens_by_address_click_and_key(browser: Any, tmp_path: Path) -> None:
    opened = Opened(browser, tmp_path, "hang", "#rank=17")
    drawer = opened.page.locator("#rank-drawer")
    assert drawer.inner_text().startswith("Rank 17 on node0002: at fault")
    box = opened.page.locator(".rank-grid").bounding_box()
    places = opened.page.locator(".rank-grid").get_attribute("data-places").split(";")
    x, y, first, *_ = map(int, places[0].split(","))
    scale = box["width"] / int(opened.page.locator(".rank-grid").get_attribute("width"))  # fitted to the width
    opened.page.mouse.click(box["x"] + (x + 4) * scale, box["y"] + (y + 4) * scale)
    assert drawer.inner_text().startswith(f"Rank {first} on node0000: waiting")
    opened.page.locator("#ranks .scroll").first.press("ArrowRight")
    assert drawer.inner_text().startswith(f"Rank {first + 1} on node0000")
    assert opened.said == []
    opened.context.close()


def test_copy_takes_the_whole_command(browser: Any, tmp_path: Path) -> None:
    opened = Opened(browser, tmp_path, "hang", permissions=["clipboard-read", "clipboard-write"])
    opened.page.locator(".command .copy").first.click()
    text = opened.page.evaluate("navigator.clipboard.readText()")
    assert text == EXAMPLES["hang"]().incidents[0].actions[0].command
    opened.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(browser: Any, tmp_path: Path, scheme: str) -> None:
    """WCAG AA, 4.5 to 1, for every colour of text against the ground it stands on."""
    opened = Opened(browser, tmp_path, "hang", color_scheme=scheme)
    weak = opened.page.evaluate(
        """() => {
          const parse = (text) => text.match(/[\\d.]+/g).map(Number);
          const light = (rgb) => rgb.slice(0, 3).map((part) => part / 255)
            .map((part) => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
            .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
          const ground = (node) => {
            for (; node; node = node.parentElement) {
              const rgb = parse(getComputedStyle(node).backgroundColor);
              if (rgb.length === 3 || rgb[3] > 0) return rgb;
            }
            return [255, 255, 255];
          };
          const found = [];
          for (const node of document.querySelectorAll('body *:not(script):not(svg *)')) {
            if (![...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim())) continue;
            const [a, b] = [light(parse(getComputedStyle(node).color)), light(ground(node))];
            const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            if (ratio < 4.5) found.push(node.tagName + '.' + node.className + ' ' + ratio.toFixed(2));
          }
          return [...new Set(found)];
        }"""
    )
    assert weak == []
    opened.context.close()


def test_a_page_of_tables_fills_the_width_and_sorts(browser: Any, tmp_path: Path) -> None:
    rows = [[f"2026-11-{day:02}", html.Link("bundle", "a.html"), str(99 - day)] for day in range(1, 13)]
    file = tmp_path / "index.html"
    file.write_text(
        html.render_tables("12 incidents", [html.Table("Incidents", ("time", "bundle", "hours"), rows, "None.")])
    )
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(file.as_uri())
    assert page.locator("table").bounding_box()["width"] > 900
    page.locator("th button", has_text="hours").click()
    assert page.locator("tbody tr").first.inner_text().split()[-1] == "87"
    page.locator(".filter input").fill("2026-11-03")
    assert page.locator("tbody tr:visible").count() == 1
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert said == []
    page.close()


def test_print_is_short(browser: Any, tmp_path: Path) -> None:
    opened = Opened(browser, tmp_path, "hang")
    printed = opened.page.pdf(prefer_css_page_size=True)
    assert printed.count(b"/Type /Page\n") <= 6
    opened.context.close()
