"""That a process computes activations a second time in its backward pass, where its log says so.

    2026-01-31 10:11:12.689 [rank6] INFO moe: step 5 tokens per expert max 90000 mean 30000 recompute enabled (threshold 60000)
    [rank3]: activation recomputation is on for layers 0-7
    [rank3]: gradient checkpointing: true | recompute_granularity=full | recomputing activations of 4 layers

It takes longer by design, by a forward pass at most. What is switched off is no such word.

Printed by: training programs and frameworks; there is no common form.
Versions: any; the words must stand in one line.
Source: this project's own samples of such logs.
"""

import polars as pl

from parsers.schema.lines import event
from parsers.schema.parser import LineParser
from parsers.schema.rules import LINE_CHARACTERS
from parsers.schema.tables import Tables, table
from parsers.text.patterns import regex

_ON = regex(
    r"(?i)(?<!not )(?<!no )\b(?:recomputing activations\b"
    r"|(?:recompute(?:d|s)?|recomputation|(?:activation|gradient)[ _]checkpointing)(?:[ _](?:granularity|method))?"
    r"(?:[ :=]{1,3}|[ :=]is )(?:enabled|on|true|yes|full|selective)\b)"
)


def parse(lines: pl.DataFrame) -> Tables:
    """events recompute."""
    said = (row for row in lines.iter_rows(named=True) if _ON.search(row["text"][:LINE_CHARACTERS]))
    return {"events": table("events", [event(row, "recompute", severity="info") for row in said])}


PARSER = LineParser(
    name="recompute",
    anchors=(b"ecompute", b"ecomputation", b"ecomputing act", b"ctivation checkpointing", b"radient checkpointing",
             b"activation_checkpointing", b"gradient_checkpointing"),
    parse=parse,
)  # fmt: skip
