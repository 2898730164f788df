"""What a rank's batch held in a step, as a table below a line that says so: pandas' describe() and its kin, with a row for each statistic or for each feature.

    [part 3] batch of step 58, describe():                      step 40 batch check:
                   hour  price_log1p                            feature  count  mean   min   max
    count   4096.000000  4096.000000                            price     1024   inf   0.0   inf
    mean      11.477783         -inf                            age       1024  3.22   0.0   9.1

Rows of `values`: of = batch, a figure for each cell, by the names of its row and its column. Whose it is, who prints the line says.

Printed by: training scripts; DataFrame.describe of pandas.
Versions: pandas 1 and 2.
Source: this project's own samples.
"""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import polars as pl

from parsers.forms.reading import RULE, cells_of, real
from parsers.schema.lines import claimed
from parsers.schema.parser import LineParser
from parsers.schema.rules import LINE_CHARACTERS
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex
from parsers.text.step_marks import GIVEN, IN_LINE
from parsers.training.told_values import place_of

_HEADING = regex(rb"(?i)(?:batch|input|features|sample)[^\n]{0,200}:\s*$")
_LINES = 40  # of a table
_FEWEST = 2


def parse(lines: pl.DataFrame) -> Tables:
    """values, claimed."""
    rows = lines.sort("file", "line").to_dicts()
    values: list[dict[str, Any]] = []
    read: list[tuple[str, int]] = []
    for at, row in enumerate(rows):
        text = row["text"][:LINE_CHARACTERS].rstrip()
        step, given = IN_LINE.search(text), GIVEN.search(text)
        if not text.endswith(":") or step is None or given is None:
            continue
        below = _below(rows, at)
        told = _table([one["text"][:LINE_CHARACTERS] for one in below])
        if not told:
            continue
        fine = " ".join(name for name, number in told if isfinite(number)) or None
        bad = " ".join(f"{name}={number:g}" for name, number in told if not isfinite(number)) or None
        values.append(place_of(row) | {"step": int(step["step"]), "of": "batch", "fine": fine, "bad": bad})
        read += [(one["file"], one["line"]) for one in (row, *below)]
    return tables_of(values=values, claimed=claimed(read))


def _below(rows: Sequence[Mapping[str, Any]], at: int) -> list[Mapping[str, Any]]:
    """The lines of the table under a heading: of names and figures, without one between."""
    found: list[Mapping[str, Any]] = []
    for nth, row in enumerate(rows[at + 1 : at + 1 + _LINES], 1):
        if row["file"] != rows[at]["file"] or row["line"] != rows[at]["line"] + nth:
            break
        cells = _cells(row["text"])
        is_row = len(cells) > 1 and all(real(cell) is not None for cell in cells[1:])
        if found and not is_row and RULE.fullmatch(row["text"]) is None:
            break
        found.append(row)
    return found


def _cells(text: str) -> list[str]:
    return cells_of(text, "|" if "|" in text else " ")


def _table(texts: Sequence[str]) -> list[tuple[str, float]]:
    """(name, number) of each cell; none where rows are not as wide as the names say."""
    lines = [_cells(text) for text in texts if text.strip() and RULE.fullmatch(text) is None]
    if len(lines) < 1 + _FEWEST:
        return []
    names, *rows = lines
    width = len(rows[0])
    names = names[1:] if len(names) == width else names
    is_even = len(names) == width - 1 and all(len(row) == width for row in rows)
    if not is_even or any(real(name) is not None for name in names):
        return []
    return [
        (f"{row[0]}_{name}", number)
        for row in rows
        for name, cell in zip(names, row[1:], strict=True)
        if (number := real(cell)) is not None
    ]


PARSER = LineParser(
    name="batch_tables",
    anchors=(b"atch", b"nput", b"eatures", b"ample"),
    parse=parse,
    after=_LINES,
    leads=_HEADING,
    holds=regex(rb":\s*$"),
)
