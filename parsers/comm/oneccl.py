"""oneCCL, Intel's library of collectives: a rank waited in vain for what another one publishes as they meet.

    2026:01:31-10:11:12:(4711) |CCL_ERROR| pmi_resizable_simple_internal.cpp:337 kvs_get_value: KVS get error: timeout limit: 61 > 60,
        prefix: CCL_POD_ADDR0, key: atl-mpi-rank_info-3                                                       (2021.6 and later)
    KVS get error: timeout limit (61 > 60), prefix: CCL_POD_ADDR0, key atl-ofi-4                                     (before that)

Event `store_timeout`, code oneccl_kvs, detail = key and prefix, and how many seconds it waited. Its other errors (`|CCL_ERROR|`)
are read as errors of a program.

Printed by: every process that uses oneCCL (PyTorch's backend ccl and xccl).
Versions: oneCCL 2021.1 to 2022.
Source: src/atl/util/pm/pmi_resizable_rt/pmi_resizable/pmi_resizable_simple_internal.cpp.
"""

import polars as pl

from parsers.schema.parser import LineParser
from parsers.schema.rules import Rule, read_rules
from parsers.schema.tables import Tables
from parsers.text.patterns import regex

RULES = (
    Rule(
        regex(
            r"KVS get error: timeout limit(?:: | \()(?P<waited_s>\d{1,9}) > \d{1,9}\)?,\s+prefix: (?P<prefix>\S{1,200}?),"
            r" key:? (?P<key>\S{1,200})"
        ),
        "store_timeout", code="oneccl_kvs",
    ),
)  # fmt: skip


def parse(lines: pl.DataFrame) -> Tables:
    """events store_timeout."""
    return read_rules(lines, RULES)


PARSER = LineParser(name="oneccl", anchors=(b"KVS get error: timeout limit",), parse=parse)
