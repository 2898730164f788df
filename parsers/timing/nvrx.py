"""Straggler reports of NVIDIA's resiliency extension (nvidia-resiliency-ext 0.2 to 0.5) and of NeMo, which prints them.

    STRAGGLER DETECTION WARNING: Some GPUs have worse relative performance. Affected ranks: [5, 13]
    STRAGGLER DETECTION WARNING: Some GPUs performance dropped. Affected ranks: {StragglerId(rank=5, node='gpu-017')}
    DETECTED RELATIVE STRAGGLER GPU RANK=5 NODE=gpu-017
    DETECTED INDIVIDUAL STRAGGLER SECTION=forward RANK=5 NODE=gpu-017
    GPU relative performance:
     Worst performing 2/16 ranks:
      Rank=5 Node=gpu-017 Score=0.61
     Best performing 2/16 ranks:
      Rank=0 Node=gpu-016 Score=0.99

A score is 1 at its best. The lists of worst and best ranks are printed for healthy runs, too: severity info; only a
line that says straggler names anyone. Relative = against the peers, individual = against its own past.

Printed by: nvidia-resiliency-ext, and NeMo, which prints its reports.
Versions: 0.2 to 0.5.
Source: nvidia-resiliency-ext, attribution and straggler reporting.
"""

import re
from collections.abc import Mapping
from typing import Any

import polars as pl

from parsers.schema.parser import LineParser
from parsers.schema.rules import Rule, integer, read_rules
from parsers.schema.tables import Tables
from parsers.text.patterns import regex


def _affected(groups: Mapping[str, str]) -> Mapping[str, Any]:
    told = groups["ranks"]
    found = re.findall(r"rank=(\d+)" if "rank=" in told else r"\d+", told)[:100_000]
    ranks = [rank for text in found if (rank := integer(text)) is not None]
    code = "individual" if "dropped" in groups["what"] else "relative"
    return {"code": code, "names_ranks": ranks, "severity": "warning" if ranks else "info", "detail": {"ranks": None}}


def _one(groups: Mapping[str, str]) -> Mapping[str, Any]:
    rank = integer(groups["who"])
    hosts = [groups["node"]] if groups.get("node") else None
    code = groups["kind_of"].lower() if groups.get("kind_of") else "score"
    said: dict[str, Any] = {"code": code, "names_hosts": hosts, "detail": {"who": None, "kind_of": None}}
    if rank is not None and groups.get("kind_of"):
        said["names_ranks"] = [rank]
    elif rank is not None:
        said["detail"] = {"of_rank": rank, "who": None}
    return said


RULES = (
    Rule(
        regex(r"STRAGGLER DETECTION WARNING: (?P<what>.{0,200}?) ?[Aa]ffected ranks: (?P<ranks>[\[({][\d, ]{0,20000}(?:StragglerId\(.{0,20000})?)"),
        "straggler", "warning", refine=_affected,
    ),
    Rule(
        regex(
            r"DETECTED (?P<kind_of>RELATIVE|INDIVIDUAL) STRAGGLER (?:GPU|SECTION=(?P<section>\S{1,80})) "
            r"RANK=(?P<who>\d{1,9})(?: NODE=(?P<node>[\w.-]{1,120}))?"
        ),
        "straggler", "warning", refine=_one,
    ),
    Rule(
        regex(r"Rank=(?P<who>\d{1,9}) Node=(?P<node>[\w.-]{1,120}) Score=(?P<value>\d{1,6}(?:\.\d{1,12})?)"),
        "straggler", "info", refine=_one,
    ),
    Rule(regex(r"(?:Worst|Best) performing \d+/\d+ ranks|GPU (?:relative|individual) performance"), None),
)  # fmt: skip


def parse(lines: pl.DataFrame) -> Tables:
    """events straggler: code relative | individual (names_ranks), or score (value; `detail.of_rank`)."""
    return read_rules(lines, RULES, rank=None, local_rank=None)


PARSER = LineParser(
    name="nvrx",
    anchors=(b"STRAGGLER", b"Score=", b" performing ", b"GPU relative performance", b"GPU individual performance"),
    parse=parse,
)
