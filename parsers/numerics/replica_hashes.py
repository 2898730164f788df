"""Megatron's check that data-parallel replicas hold the same weights: who differs, and in which parameter.

    INFO:megatron.core.utils:[Rank 5] Hash not matching for module.decoder.layers.3.mlp.linear_fc2.weight in model chunk0
    AssertionError: Parameter hashes not matching across DP replicas
    >>> Weight hashes match after 1980 iterations...

Each rank compares its own hashes with those of the first rank of its data-parallel group, so a rank that is named
differs from that one, and either may be wrong. Afterwards every rank of the job raises the same error.
Events `replica_mismatch`: names_ranks and `parameter` in `detail` of the first kind of line; code = raised of the second.

Printed by: Megatron-LM with --check-weight-hash-across-dp-replicas-interval.
Versions: Megatron-LM of 2024 and later.
Source: check_param_hashes_across_dp_replicas in megatron/core/utils.py, megatron/training/training.py.
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
    Rule(regex(r"Weight hashes match after \d{1,15} iterations"), None),
)  # fmt: skip


def parse(lines: pl.DataFrame) -> Tables:
    """events replica_mismatch; claimed: checks that went well."""
    return read_rules(lines, RULES)


PARSER = LineParser(
    name="replica_hashes",
    anchors=(b"Hash not matching for ", b"Parameter hashes not matching", b"Weight hashes match after "),
    parse=parse,
)
