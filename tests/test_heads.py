"""The first bytes of a file: how often it is opened for them, and what readers of tables see in them."""

from io import BytesIO

import pytest

from parsers import PARSERS
from parsers.engine.ledger import read_unit
from parsers.forms.framings import names as first_names
from parsers.schema.parser import HEAD_BYTES, Source
from parsers.text.stamps import NO_YEAR


@pytest.mark.parametrize(("text", "opened"), [("Thread 1 (idle)\n", 1), ("x" * HEAD_BYTES, 2)])
def test_a_member_whose_head_is_all_of_it_is_opened_once(text: str, opened: int) -> None:
    openings: list[int] = []

    def opener() -> BytesIO:
        openings.append(1)
        return BytesIO(text.encode())

    read_unit((Source("pyspy_1.txt", len(text), opener),), PARSERS, NO_YEAR)
    assert len(openings) == opened


@pytest.mark.parametrize(
    ("head", "names"),
    [
        (b"\n \r\n step, loss \n1,2\n", {"step", "loss"}),
        (" \n\u3000\nstep,loss".encode(), {"step", "loss"}),
        (b'{"step": 1}\n{"other": 2}', {"step"}),
        (b'{"step": 1', set()),
        (b"", set()),
    ],
)
def test_the_first_line_of_a_table_names_its_columns(head: bytes, names: set[str]) -> None:
    assert first_names("x.csv", head) == names
