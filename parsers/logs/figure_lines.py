"""Lines of a log with a step and what it took, or figures under names of which nothing is known; forensics/assemble/unnamed_figures.py says
what of these counts.

    (step 16) L=1.2e+09 own, mean over all 2.4e+08
    epoch 0 | batch 12 | local objective = nan | |g| = nan
    step 16 time 41.9s gen 20.0 update 16.2

Asked last of all: it takes no line from anybody who knows what one means.

Printed by: training scripts.
Versions: any.
Source: this project's own samples.
"""

from typing import Any

import polars as pl

from parsers.schema.lines import event, reporter
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex
from parsers.training.counted_lines import counted
from parsers.training.step_figures import figures, holds_nan, is_unnamed
from parsers.training.told_values import rows_of_lines as value_rows

_COUNTS = ("tep", "iter", "Iter", "teration", "batch", "Batch", "pdate")
_AFTER = ("=", ":", " ", '"', "'", "]")


def parse(lines: pl.DataFrame) -> Tables:
    """steps: a row for each, of phase `figures` where nothing of it is known; timings: what it took; values, by their words; events other, code
    bad_number, the first row of a file with NaN."""
    rows: list[dict[str, Any]] = []
    timings: list[dict[str, Any]] = []
    values: list[dict[str, Any]] = []
    first: dict[str, dict[str, Any]] = {}
    for row, said in counted(lines):
        found = figures(said, reporter(row) | {"time_ns": row["time_ns"], "time_basis": row["time_basis"]})
        if found is not None:
            rows += found.steps
            timings += found.timings
            is_prose = not row["text"].lstrip().startswith("{")
            values += value_rows([row]) if is_prose else found.values
            if is_unnamed(found) and row["file"] not in first and any(map(holds_nan, found.steps)):
                first[row["file"]] = event(row, "other", severity="warning", code="bad_number")
    return tables_of(steps=rows, timings=timings, values=values, events=first.values())


PARSER = LineParser(
    name="figure_lines",
    anchors=(*(f"{word}{after}".encode() for word in _COUNTS for after in _AFTER), b'"it"', b"it ", b"it=", b"it:"),
    holds=regex(rb'tep|(?<![a-z])[iI]ter|batch|Batch|pdate|"it"|(?<![a-zA-Z])it[ =:]{1,3}\d'),  # and no writer
    parse=parse,
    leftover=True,
)
