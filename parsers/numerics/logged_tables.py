"""Tables of statistics among the lines of a log, as a program draws them: what it loaded, saved or holds, a part of the model a row.

    ┃ parameter            ┃ local shape ┃   absmax ┃ nonfinite ┃          parameter      absmax    nonfinite
    │ blocks.1.down.weight │        8x64 │ 1.33e+35 │         0 │          emb.weight     3.405     0

Rows of `values`, a row for each line under a line of names one of which is a statistic. Lines of several ranks may stand between each other's: each has its
own line of names. Whole files of such tables are parsers/timing/own_figures.py's.

Printed by: training scripts, with rich, tabulate or pandas.
Versions: any.
Source: this project's own samples.
"""

from collections.abc import Sequence
from typing import Any

import polars as pl

from parsers.forms.reading import RULE, cells_of, real, undrawn, whole
from parsers.numerics.tensor_names import STATISTICS
from parsers.schema.lines import claimed, reporter
from parsers.schema.parser import LineParser
from parsers.schema.rules import LINE_CHARACTERS
from parsers.schema.tables import Tables, table
from parsers.text import vocabulary
from parsers.text.patterns import regex
from parsers.training.told_values import of_record

_ROWS = 400  # lines below one of names
_APART = regex(r" {2,}|\t")
_HEAD = rb"(?i)(?:\||\xe2\x94[\x82\x83]|\xe2\x95\x91|  |\t) ?(?:abs[_ ]?max|max[_ ]?abs|amax|non[_ -]?fin(?:ite)?|(?:n|num)?_?nans?|infs?)(?:[_ ]count)? *(?:\||\xe2\x94[\x82\x83]|\xe2\x95\x91|  |\t|\r?$)"


def parse(lines: pl.DataFrame) -> Tables:
    """values."""
    names: dict[tuple[Any, ...], Sequence[str]] = {}
    rows: list[dict[str, Any]] = []
    heads: list[tuple[str, int]] = []
    for row in lines.iter_rows(named=True):
        text = undrawn(row["text"][:LINE_CHARACTERS]).strip()
        whose = row["file"], row["rank"], row["local_rank"], row["task"]
        cells = [] if not text or RULE.fullmatch(text) else _cells(text)
        if not cells:
            continue
        if _is_head(cells):
            names[whose] = cells
            heads.append((row["file"], row["line"]))
        elif (head := names.get(whose)) is not None and len(cells) == len(head):
            said = dict(zip(head, cells, strict=True))
            if (found := of_record(said)) is not None and found["of"]:
                told = vocabulary.told(said)
                place = {name: reporter(row)[name] for name in ("rank", "local_rank", "file", "line")}
                place |= {"step": whole(told.get("step")), "time_ns": row["time_ns"], "time_basis": row["time_basis"]}
                rows.append(place | found)
    return {
        "values": table("values", rows),
        "claimed": claimed([*heads, *((row["file"], row["line"]) for row in rows)]),
    }


def _cells(text: str) -> list[str]:
    """The cells of a line between marks, or between blanks; none where there are fewer than two. A bar that a logger sets before a line is no mark of the table's:
    behind it stand columns."""
    found = cells_of(text, "|") if "|" in text else _APART.split(text)
    if "|" in text and len(columns := _APART.split(found[-1])) > 2:
        found = columns
    return found if len(found) > 1 else []


def _is_head(cells: Sequence[str]) -> bool:
    """Words alone, one of them of a statistic."""
    is_statistic = any(cell.lower().replace(" ", "_") in STATISTICS for cell in cells)
    return is_statistic and len({*cells}) == len(cells) and all(cell and real(cell) is None for cell in cells)


PARSER = LineParser(
    name="logged_tables",
    anchors=(b"absmax", b"abs_max", b"abs max", b"max_abs", b"max abs", b"amax", b"nonfin", b"non_fin", b"non-fin", b"non fin", b"num_nan", b"n_nan", b"nans", b"infs",
        *(f"{mark} {name}".encode() for mark in ("|", "│", "┃", "║") for name in ("nan ", "inf ", "NaN ", "Inf "))),
    holds=regex(_HEAD),
    parse=parse,
    after=_ROWS,
    follows=regex(rb"(?:\||\xe2\x94[\x82\x83]|\xe2\x95\x91|  |\t)[ \t]*[+-]?(?:[0-9.]+(?:e[+-]?[0-9]+)?|nan|inf)[ \t\r]*(?:\||\xe2|  |$)"),
    leftover=True,
)  # fmt: skip
