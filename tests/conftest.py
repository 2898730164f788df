"""The switch `--update-golden`, no deadlines, for a busy machine fails no test, and a thread of polars' for each process of tests: there are as
many of these as cores. That threads change nothing is what test_threads.py holds."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

os.environ.setdefault("POLARS_MAX_THREADS", "1")  # before anything imports it
CHROMIUM = Path("/usr/bin/chromium")

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite samples/*/expected.json from today's output")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-dev-shm-usage", "--headless"]
        )
        yield chromium
        chromium.close()
