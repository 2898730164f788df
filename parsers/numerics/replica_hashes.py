"""Checks that data-parallel replicas hold the same: Megatron's of weights, with who differs and in which parameter, and fairseq's of gradients.

    INFO:megatron.core.utils:[Rank 5] Hash not matching for module.decoder.layers.3.mlp.linear_fc2.weight in model chunk0
    AssertionError: Parameter hashes not matching across DP replicas
    >>> Weight hashes match after 1980 iterations...
    FloatingPointError: Fatal error: gradients are inconsistent between workers. Try --ddp-backend=legacy_ddp. …     of fairseq
    grad_norm across the workers:                  and what each of them had
    rank   0 = 1.90412307
    rank   1 = 2.21870661                             or `[rank 1] 2.2`, `worker 1: 2.2`, `1 | 2.2`

Each rank compares its own hashes with those of the first rank of its data-parallel group, so a rank that is named
differs from that one, and either may be wrong. Afterwards every rank of the job raises the same error.
Events `replica_mismatch`: names_ranks and `parameter` in `detail` of the first kind of line; code = raised of the second, of gradients raised_of_gradients;
Events `other`, code ranks_compared: a list of figures, in `figures` of its `detail` by rank; whether it is of a check that failed, where it
stands tells.

Printed by: Megatron-LM with --check-weight-hash-across-dp-replicas-interval; fairseq.
Versions: Megatron-LM of 2024 and later; fairseq 0.9 to 0.12.
Source: check_param_hashes_across_dp_replicas in megatron/core/utils.py, megatron/training/training.py; _check_grad_norms in fairseq/trainer.py.
"""

import json
from typing import Any

import polars as pl

from parsers.schema.lines import Row, event
from parsers.schema.parser import LineParser
from parsers.schema.rules import Rule, read_rules
from parsers.schema.tables import Tables, table
from parsers.text.patterns import regex

RULES = (
    Rule(
        regex(r"\[Rank (?P<named>\d{1,7})\] Hash not matching for (?P<parameter>\S{1,300}) in model chunk ?(?P<chunk>\d{1,6})"),
        "replica_mismatch",
        code="differs",
        refine=lambda groups: {"names_ranks": [int(groups["named"])], "detail": {"named": None}},
    ),
    Rule(regex(r"AssertionError: Parameter hashes not matching across DP replicas"), "replica_mismatch", code="raised"),
    Rule(regex(r"FloatingPointError: Fatal error: gradients are inconsistent between workers"), "replica_mismatch", code="raised_of_gradients"),
    Rule(regex(r"Weight hashes match after \d{1,15} iterations"), None),
)  # fmt: skip


_HEADING = regex(
    r"\b(?P<what>[A-Za-z_][\w ]{1,60}?)\s(?:across|on|of|for|by|per|over)\s(?:the\s|all\s|each\s)?(?:worker|rank|replica|process)(?:e?s)?\s?:\s*$"
)
_ROW = (  # `rank 5 = 1.9`, `[rank5] 1.9`, `- worker 5: 1.9`, `5 | 1.9`
    r"\W{0,6}(?:(?:[Rr]ank|[Ww]orker|[Rr]eplica|[Pp]rocess)[ \t_#]{0,6})?%s[\])]?[ \t]{0,3}(?:[=:|]|[-=]>|→|\s|ha[sd]\s)[ \t]{0,4}%s\s*$"
)
_FIGURE = regex("^" + _ROW % (r"(?P<rank>\d{1,7})", r"(?P<value>[^\s=:|]{1,80})"))
_VALUE = regex(r"\s{0,4}[^\s=:|]{1,80}\s*")
COMPARED = "ranks_compared"
_MOST = 1024  # ranks of a list


def parse(lines: pl.DataFrame) -> Tables:
    """events replica_mismatch, other; claimed: checks that went well."""
    found = read_rules(lines, RULES)
    lists: list[dict[str, Any]] = []
    figures: dict[str, str] = {}
    last: tuple[str, int] | None = None
    for row in lines.iter_rows(named=True):
        if _HEADING.search(row["text"]):
            figures = {}
            lists.append(event(row, "other", severity="info", code=COMPARED) | {"figures": figures})
        elif lists and last == (row["file"], row["line"] - 1) and (one := _figure(row)) is not None:
            figures.setdefault(str(one[0]), one[1])
        else:
            continue
        last = (row["file"], row["line"])
    told = [
        one | {"detail": json.dumps({"figures": said}), "names_ranks": [*map(int, said)], "names_rank_space": "global"}
        for one in lists
        if len(said := one.pop("figures")) > 1
    ]
    return {**found, "events": pl.concat([found["events"], table("events", told)])}


def _figure(row: Row) -> tuple[int, str] | None:
    """A rank and its figure: in the text, or the one before it, taken for that of who speaks."""
    if (one := _FIGURE.match(row["text"])) is not None:
        return int(one["rank"]), one["value"]
    rank = row["rank"] if row["rank"] is not None else row["task"]
    return (rank, row["text"].strip()) if rank is not None and _VALUE.fullmatch(row["text"]) else None


PARSER = LineParser(
    name="replica_hashes",
    anchors=(
        b"Hash not matching for ",
        b"Parameter hashes not matching",
        b"gradients are inconsistent between workers",
        b"Weight hashes match after ",
        *(f"{whose}{many}:".encode() for whose in ("worker", "rank", "replica") for many in ("", "s")),
        b"processes:",
    ),
    parse=parse,
    after=_MOST,
    leads=regex(rb"(?:(?:worker|rank|replica)s?|processes):\s*$"),
    follows=regex((_ROW % (r"\d{1,7}", r"[^\s=:|]{1,80}")).replace("→", "->").encode()),
)
