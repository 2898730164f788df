"""Lines that tell a step and a hash of what a rank holds then, and no loss: a program's own watch over its replicas.

    [rank 3] step 120: weights sha256=9f86d081884c7d65
    2026-01-31 10:11:12 rank 5 iteration 40 param_norm 1234.56789012
    [rank 3] step 120: xxh64(params)=7ab1c237146257f5

Rows of `steps`: rank, step, `checksum`. Only lines come here that no other parser has read (parsers/training/replica_values.py says
which pairs count).

Printed by: training scripts.
Versions: none.
Source: this project's own samples.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from parsers.forms import framings
from parsers.schema.lines import reporter
from parsers.schema.parser import LineParser
from parsers.schema.rules import LINE_CHARACTERS
from parsers.schema.tables import Tables, conform
from parsers.text.patterns import regex
from parsers.training.progress import rows, whole, with_reporter
from parsers.training.replica_values import pairs
from parsers.training.step_figures import figures

_STEP = r"(?i)(?:^|[\s\]:,|])(?:global_|train_)?(?:step|iter(?:ation)?)[ =:]{1,2}([0-9]{1,15})\b"


def parse(lines: pl.DataFrame) -> Tables:
    """steps; claimed: those lines. Who can be read as a record tells more that way (parsers/logs/figure_lines.py)."""
    lines = lines.filter(pl.Series([not _is_record(row) for row in lines.iter_rows(named=True)], dtype=pl.Boolean))
    steps = rows(with_reporter(lines), None, step=whole(_STEP)).filter(pl.col("checksum").is_not_null())
    return {"steps": steps, "claimed": conform("claimed", steps.select("file", "line"))}


def _is_record(row: Mapping[str, Any]) -> bool:
    said = framings.record(row["text"][:LINE_CHARACTERS])
    found = None if said is None else figures(said, reporter(row) | {"time_ns": None, "time_basis": None})
    if found is None:
        return False
    told = sum(len(one["checksum"].split(" ")) for one in found.steps if one["checksum"] is not None)
    # `crc(a)=… crc(b)=…` is one field to whoever reads names
    return told >= max(1, pairs(row["text"][:LINE_CHARACTERS]))


PARSER = LineParser(
    name="replica_lines",
    anchors=(b"tep", b"iter", b"Iter", b"STEP", b"ITER"),
    parse=parse,
    leftover=True,
    holds=regex(
        rb"(?i)hash|crc|checksum|sha[125=]|md5|digest|fingerprint|norm|[=:] ?(?:0x)?(?:[a-f]+\d|\d+[a-f])[0-9a-f]{6,126}(?![\w.-])"
    ),
)
