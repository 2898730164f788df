"""How unevenly tokens are routed to the experts of a mixture, where a training program prints it.

    2026-01-31 10:11:12.689 [rank6] INFO moe: step 5 tokens per expert max 90000 mean 30000 recompute enabled (threshold 60000)
    step=5 tokens_per_expert: max=90000, avg=30000
    layer 3 tokens per expert: mean 4096, max 9000

More tokens mean more work and more memory by design: such a rank is loaded, not slow. `value` = the busiest expert's tokens
as a multiple of the mean. That activations are computed again is read by recompute.py.

Printed by: training programs with a mixture of experts; there is no common form.
Versions: any; the words must stand in one line.
Source: this project's own samples of such logs.
"""

import json
from typing import Any

import polars as pl

from parsers.schema.lines import event
from parsers.schema.parser import LineParser
from parsers.schema.rules import LINE_CHARACTERS, integer
from parsers.schema.tables import Tables, table
from parsers.text.patterns import regex

_SUBJECT = regex(r"(?i)\btokens[ _]per[ _]expert\b")
_MOST = regex(r"(?i)\bmax(?:imum)?[ :=]{1,3}(\d{1,15})\b")
_MEAN = regex(r"(?i)\b(?:mean|avg|average)[ :=]{1,3}(\d{1,15})(?:\.\d{1,15})?\b")
_STEP = regex(r"(?i)\b(?:step|iteration|iter)[ :=]{1,3}(\d{1,15})\b")


def parse(lines: pl.DataFrame) -> Tables:
    """events expert_load: value = max / mean; detail: max, mean."""
    rows: list[dict[str, Any]] = []
    for row in lines.iter_rows(named=True):
        text = row["text"][:LINE_CHARACTERS]
        subject = _SUBJECT.search(text)
        most, mean = (one.search(text, subject.end()) if subject else None for one in (_MOST, _MEAN))
        if most is None or mean is None or not int(mean[1]):
            continue
        step = _STEP.search(text)
        told = {"max": int(most[1]), "mean": int(mean[1])}
        rows.append(
            event(
                row, "expert_load", severity="info", step=integer(step[1]) if step else None,
                value=told["max"] / told["mean"], detail=json.dumps(told, sort_keys=True),
            )
        )  # fmt: skip
    return {"events": table("events", rows)}


PARSER = LineParser(name="expert_load", anchors=(b"okens per expert", b"okens_per_expert"), parse=parse)
