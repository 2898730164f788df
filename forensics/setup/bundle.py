"""What a bundle lacked: which kinds of evidence are in it, what that left undecided, and what its own verdict asks for."""

from collections import defaultdict
from collections.abc import Mapping

import msgspec
import polars as pl

from forensics.facts.hosts.surroundings import surroundings
from forensics.model.names import EvidenceKind
from forensics.report import Report
from forensics.setup.rows import Question, Row, open_questions, rows_for, settings
from parsers.registry import PARSERS
from parsers.schema.tables import TableName

_VENDORS = {"huawei": "ascend"}  # as the table calls it
_LAUNCHERS = {"dlrover": "kubernetes"}  # whose pods it starts


class Lacked(msgspec.Struct, frozen=True, kw_only=True):
    """`kept`: kind → number of files that hold it. `undecided`: what no bundle like this one tells. `asked`: kinds that the
    verdict asks to collect. `rows`: what leaves the kinds that are asked for or missing, for the bundle's launcher and vendor
    where it shows them."""

    launcher: str | None
    vendor: str | None
    kept: dict[EvidenceKind, int]
    undecided: tuple[Question, ...]
    asked: tuple[EvidenceKind, ...]
    rows: tuple[Row, ...]


def lacked(tables: Mapping[TableName, pl.DataFrame], report: Report) -> Lacked:
    """Evidence tables and the report on them → what was missing."""
    kept = kinds_in(tables["files"])
    around = surroundings(tables)
    launcher = _LAUNCHERS.get(around.launcher or "", around.launcher)
    vendor = _VENDORS.get(around.vendor or "", around.vendor)
    undecided = tuple(open_questions(set(kept)))
    asked = tuple(dict.fromkeys(kind for action in report.incident.actions for kind in action.setup))
    wanted = {*asked, *(kind for question in undecided for need in question.needs for kind in need - set(kept))}
    rows = tuple(row for row in rows_for(launcher, vendor) if wanted & set(row.evidence))
    return Lacked(launcher=launcher, vendor=vendor, kept=kept, undecided=undecided, asked=asked, rows=rows)


def kinds_in(files: pl.DataFrame) -> dict[EvidenceKind, int]:
    """Table `files` → kind of evidence → how many files hold it, in the order of the table of settings."""
    read = files.select("parsers").explode("parsers").drop_nulls().group_by("parsers").len()
    by_module: dict[str, int] = defaultdict(int)
    modules = {parser.name: parser.parse.__module__.removeprefix("parsers.") for parser in PARSERS}
    for name, number in read.iter_rows():
        by_module[modules.get(name, "")] += number
    found = {}
    for kind in settings().evidence:
        places = tuple(f"{place}." for place in kind.read_by)
        found[kind.name] = sum(number for module, number in by_module.items() if f"{module}.".startswith(places))
    return {name: number for name, number in found.items() if number}
