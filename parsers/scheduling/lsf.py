"""LSF's report of a job, which it writes behind the output: how the job ended, and which limit ended it.

    TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.
    Exited with exit code 130.
    Exited by signal 11.

The code is that of the job's script, above 128 that of a signal: an `exit` of no rank. Whom a limit of memory killed was killed for memory
(`host_oom`, code LSF); other limits of what processes may use kill, too (`exit`, code SIGKILL, `limit` in `detail`). Limits of time, and ends by
a person, are told in preemption.py.

Printed by: LSF's sbatchd, in the job's output file or mail.
Versions: LSF 9 and 10, OpenLava 2.
Source: IBM Spectrum LSF, reference: bjobs and bacct (exit reasons); the lines as users print them.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from parsers.schema.parser import LineParser
from parsers.schema.rules import Rule, read_rules
from parsers.schema.tables import Tables
from parsers.text.patterns import regex
from parsers.text.signals import SIGNALS

_HEAD = r"\A\s{0,8}"


def _ended(groups: Mapping[str, str]) -> Mapping[str, Any]:
    code = groups.get("status") or SIGNALS.get(int(groups["number"]), groups["number"])
    return {"code": code, "severity": "error", "detail": {"status": None, "number": None, "by": "lsf"}}


RULES = (
    Rule(regex(rf"{_HEAD}TERM_(?:MEMLIMIT|SWAP): job killed\b"), "host_oom", "error", "LSF"),
    Rule(regex(rf"{_HEAD}TERM_(?P<limit>THREADLIMIT|PROCESSLIMIT|SLURM|CPULIMIT): job killed\b"), "exit", "error", "SIGKILL"),
    Rule(regex(rf"{_HEAD}Exited with exit code (?P<status>[1-9]\d{{0,2}})\.\s*\Z"), "exit", refine=_ended),
    Rule(regex(rf"{_HEAD}Exited by signal (?P<number>[1-9]\d?)\."), "exit", refine=_ended),
)  # fmt: skip


def parse(lines: pl.DataFrame) -> Tables:
    """events host_oom, exit."""
    return read_rules(lines, RULES)


PARSER = LineParser(name="lsf", anchors=(b"TERM_", b"Exited with exit code", b"Exited by signal"), parse=parse)
