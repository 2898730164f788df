"""Checks that data-parallel replicas hold the same: Megatron's of weights, with who differs and in which parameter, and fairseq's of gradients.

    INFO:megatron.core.utils:[Rank 5] Hash not matching for module.decoder.layers.3.mlp.linear_fc2.weight in model chunk0
    AssertionError: Parameter hashes not matching across DP replicas
    >>> Weight hashes match after 1980 iterations...
    FloatingPointError: Fatal error: gradients are inconsistent between workers. Try --ddp-backend=legacy_ddp. …     of fairseq

Each rank compares its own hashes with those of the first rank of its data-parallel group, so a rank that is named
differs from that one, and either may be wrong. Afterwards every rank of the job raises the same error.
Events `replica_mismatch`: names_ranks and `parameter` in `detail` of the first kind of line; code = raised of the second.

Printed by: Megatron-LM with --check-weight-hash-across-dp-replicas-interval; fairseq.
Versions: Megatron-LM of 2024 and later; fairseq 0.9 to 0.12.
Source: check_param_hashes_across_dp_replicas in megatron/core/utils.py, megatron/training/training.py; _check_grad_norms in fairseq/trainer.py.
"""

import polars as pl

from parsers.schema.parser import LineParser
from parsers.schema.rules import Rule, read_rules
from parsers.schema.tables import Tables
from parsers.text.patterns import regex

RULES = (
    Rule(
        regex(r"\[Rank (?P<named>\d{1,7})\] Hash not matching for (?P<parameter>\S{1,300}) in model chunk ?(?P<chunk>\d{1,6})"),
        "replica_mismatch",
        code="differs",
        refine=lambda groups: {"names_ranks": [int(groups["named"])], "detail": {"named": None}},
    ),
    Rule(regex(r"AssertionError: Parameter hashes not matching across DP replicas"), "replica_mismatch", code="raised"),
    Rule(regex(r"FloatingPointError: Fatal error: gradients are inconsistent between workers"), "replica_mismatch", code="raised"),
    Rule(regex(r"Weight hashes match after \d{1,15} iterations"), None),
)  # fmt: skip


def parse(lines: pl.DataFrame) -> Tables:
    """events replica_mismatch; claimed: checks that went well."""
    return read_rules(lines, RULES)


PARSER = LineParser(
    name="replica_hashes",
    anchors=(
        b"Hash not matching for ",
        b"Parameter hashes not matching",
        b"gradients are inconsistent between workers",
        b"Weight hashes match after ",
    ),
    parse=parse,
)
