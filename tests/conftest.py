"""The switch `--update-golden`, no deadlines, for a busy machine fails no test, and a thread of polars' for each process of tests: there are as
many of these as cores. That threads change nothing is what test_threads.py holds."""

import gc
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import settings

os.environ.setdefault("POLARS_MAX_THREADS", "1")  # before anything imports it
CHROMIUM = Path("/usr/bin/chromium")

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite samples/*/expected.json from today's output")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Who reads reports of samples and situations comes first: then one process makes most of these, and the others take what is left."""
    items.sort(key=lambda item: not _shares_reports(item.module))  # type: ignore[attr-defined]


def pytest_collection_finish() -> None:
    """Tests are many, and none of them goes: the collector need not look at them again and again, and seldom at what they make."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@cache
def _shares_reports(module: ModuleType) -> bool:
    homes = {
        getattr(one, "__name__" if isinstance(one, ModuleType) else "__module__", None) for one in vars(module).values()
    }
    return not homes.isdisjoint(("tests.analysed", "tests.numeric_relations", "tests.relations"))


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
