"""Rows of figures that no other parser reads, where one of them is NaN: a table of a program's own with names that nobody knows.

    17,0.0031,nan,64
    17;0.0031;NaN
    {"it": 17, "act/absmax": NaN, "tokens": 64}

An event `other` with code bad_number for the first such row of a file. A row is cells between commas, semicolons or tabs of which at
least half are numbers, or an object of JSON; a sentence that mentions NaN is none.

Printed by: training scripts.
Versions: none.
Source: csv and json of Python's library, which write such numbers as nan and NaN.
"""

from typing import Any

import polars as pl

from parsers.forms.reading import json_object, real
from parsers.schema.lines import event
from parsers.schema.parser import LineParser
from parsers.schema.rules import LINE_CHARACTERS
from parsers.schema.tables import Tables, table
from parsers.text.patterns import regex

_CELLS = regex(r"[,;\t]")


def parse(lines: pl.DataFrame) -> Tables:
    """events other."""
    first: dict[str, dict[str, Any]] = {}
    for row in lines.iter_rows(named=True):
        if row["file"] not in first and _holds_nan(row["text"][:LINE_CHARACTERS]):
            first[row["file"]] = event(row, "other", severity="warning", code="bad_number")
    return {"events": table("events", list(first.values()))}


def _holds_nan(text: str) -> bool:
    if text.startswith("{"):
        cells = list((json_object(text) or {}).values())
    else:
        cells = [cell.strip().strip('"') for cell in _CELLS.split(text)]
    numbers = [number for cell in cells if (number := real(cell)) is not None and " " not in str(cell)]
    return len(cells) > 1 and 2 * len(numbers) >= len(cells) and any(number != number for number in numbers)


PARSER = LineParser(
    name="bad_numbers",
    anchors=tuple(
        before + value for before in (b",", b";", b"\t", b", ", b'"', b":", b": ") for value in (b"nan", b"NaN", b"NAN")
    ),
    parse=parse,
    leftover=True,
)
