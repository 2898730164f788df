"""Lines of a log with a step and what it took, or figures under names of which nothing is known; forensics/assemble/figures/unnamed_figures.py says
what of these counts.

    (step 16) L=1.2e+09 own, mean over all 2.4e+08
    epoch 0 | batch 12 | local objective = nan | |g| = nan
    step 16 time 41.9s gen 20.0 update 16.2
    it 16 update done                                 no figure: of phase `part`, whose count tells whether a step told all that others do

Asked last of all: it takes no line from anybody who knows what one means.

Printed by: training scripts.
Versions: any.
Source: this project's own samples.
"""

from collections.abc import Mapping
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
_COUNT = r"(?:global_|train_)?(?:step|iter(?:ation)?|it|update|batch)[\"]?[ =:#]{1,3}"
_WORDS = r"[^\s\d]{1,30}(?:\s{1,3}[^\s\d]{1,30}){0,5}"
_SHORT = 160
_OF_STEP = regex(
    rf"(?i)[\[({{\s|\"]{{0,4}}(?:{_WORDS}\s{{1,3}})?{_COUNT}(?P<step>\d{{1,15}})(?:/\d{{1,15}})?(?:[\])|,:-]{{1,3}}\s{{0,3}}|\s{{1,3}}){_WORDS}\s{{0,9}}|{_WORDS}\s{{1,3}}{_COUNT}(?P<last>\d{{1,15}})[\])}}.\s]{{0,3}}"
)
_AFTER = ("=", ":", " ", '"', "'", "]")


def parse(lines: pl.DataFrame) -> Tables:
    """steps: a row for each, of phase `figures` where nothing of it is known; timings: what it took; values, by their words; events other, code
    bad_number, the first row of a file with NaN."""
    rows: list[dict[str, Any]] = []
    timings: list[dict[str, Any]] = []
    values: list[dict[str, Any]] = []
    first: dict[str, dict[str, Any]] = {}
    parts = [one for row in lines.iter_rows(named=True) if (one := _part(row)) is not None]
    for row, said in counted(lines):
        found = figures(said, reporter(row) | {"time_ns": row["time_ns"], "time_basis": row["time_basis"]})
        if found is not None:
            rows += found.steps
            timings += found.timings
            is_prose = not row["text"].lstrip().startswith("{")
            values += value_rows([row]) if is_prose else found.values
            if is_unnamed(found) and row["file"] not in first and any(map(holds_nan, found.steps)):
                first[row["file"]] = event(row, "other", severity="warning", code="bad_number")
    return tables_of(steps=[*rows, *parts], timings=timings, values=values, events=first.values())


def _part(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """The row of a line that tells of a step in a few words, and no figure; without its place, for nobody has read it by that."""
    found = _OF_STEP.fullmatch(row["text"]) if len(row["text"]) < _SHORT else None
    if found is None:
        return None
    place = {name: one for name, one in reporter(row).items() if name in ("rank", "local_rank", "file")}
    return place | {"step": int(found["step"] or found["last"]), "phase": "part"}


PARSER = LineParser(
    name="figure_lines",
    anchors=(*(f"{word}{after}".encode() for word in _COUNTS for after in _AFTER), b'"it"', b"it ", b"it=", b"it:"),
    holds=regex(rb'tep|(?<![a-z])[iI]ter|batch|Batch|pdate|"it"|(?<![a-zA-Z])it[ =:]{1,3}\d'),  # and no writer
    parse=parse,
    leftover=True,
)
