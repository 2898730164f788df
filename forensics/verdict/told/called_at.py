"""The line of the program that called what never ended, where the log names it and no finding has a place: a watchdog prints the stack of the
call that it gave up on, and whoever saw that calls differ a traceback. It names nobody and raises no status."""

import polars as pl
from msgspec.structs import replace

from forensics.case import Case
from forensics.facts.waits.stacks import own_line
from forensics.model.causes import CAUSES
from forensics.model.commands import COMMANDS, Target
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action
from forensics.model.ref import Ref
from forensics.model.said import joined
from forensics.words import advice as words

_PLACES = 3  # that are listed; where every rank has its own, none tells anything


def with_call(case: Case, finding: Finding) -> Finding:
    """The finding with the lines at which the calls stand that were given up, the job's own innermost ones."""
    is_hang = finding.cause is None or "hang" in CAUSES[finding.cause].kinds
    if not is_hang or finding.code is not None or finding.detector == "health":
        return finding
    rows = case.tables["stacks"].filter(pl.col("source") == "failed collective")
    form = words.CALLED_AT
    if rows.is_empty() and finding.cause == "collective_mismatch":
        is_end = (pl.col("source") == "traceback") & pl.col("is_main").fill_null(True)
        rows, form = case.tables["stacks"].filter(is_end), words.TRACEBACKS_AT
    at: dict[str, Ref] = {}
    for row in rows.sort("file", "line").iter_rows(named=True):
        if (own := own_line(row["frames"])) is not None:
            at.setdefault(f"{own.file}:{own.line}", Ref(file=row["file"], line=row["line"], text=own.text()))
    if not 0 < len(at) <= _PLACES:
        return finding
    told = form(places=joined((ref.text for ref in at.values()), ", "))
    looks = [
        Action(
            kind="check_code", target=place, command=_source(place), reason=told, look=words.WHO_COMES_THERE, then=words.SAME_CALLS,
            source="PyTorch: ProcessGroupNCCL, stack trace of the failed collective",
        )
        for place in at
    ]  # fmt: skip
    claim = Claim(told, "for", tuple(at.values()))
    return replace(finding, claims=(*finding.claims, claim), actions=(*finding.actions, *looks))


def _source(place: str) -> str | None:
    file, _, line = place.rpartition(":")
    return COMMANDS["source"](Target(file=file, line=int(line)))
