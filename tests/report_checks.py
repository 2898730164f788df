"""Examples rendered once, and what must hold of any text for people."""

from functools import cache

import pytest

from forensics.report import Report
from reports import html, sanitize
from tests import report_examples

EXAMPLES = report_examples.EXAMPLES


@cache
def example(name: str) -> Report:
    return EXAMPLES[name]()


@cache
def page_of(name: str) -> str:
    return html.render(example(name))


every_example = pytest.mark.parametrize("name", EXAMPLES)


def assert_harmless(text: str) -> None:
    """Nothing in the text acts on a terminal or hides, apart from line ends."""
    assert [hex(ord(character)) for character in set(text) - {"\n"} if sanitize.is_hidden(character)] == []
