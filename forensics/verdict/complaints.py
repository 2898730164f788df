"""Failure lines that no rule explains: what an `unknown` shows, the gravest first, verbatim. They never enter the choice."""

import polars as pl

from forensics.assemble.identity import short_host
from forensics.case import Case
from forensics.facts.event_rows import Row, reference
from forensics.model.commands import pci_state
from forensics.model.finding import Claim
from forensics.model.incident import Action
from forensics.model.taxonomy import EVENTS
from forensics.model.texts import cut_middle
from forensics.words import verdict as words

_SHOWN, _WORDS, _LOST = 12, 200, 3
_HINTS = ("stalled", "timed_out", "bad_number")
_GRAVITY = {"fatal": 0, "error": 1}


def hints(case: Case) -> list[Claim]:
    """Warnings in plain words that something stood still or timed out, and figures that are NaN: where no line says error, they are
    all there is."""
    rows = case.events.filter((pl.col("kind") == "other") & pl.col("code").is_in(_HINTS))
    ordered = rows.sort("file", "line", nulls_last=True).head(_SHOWN).iter_rows(named=True)
    found = {str(row["text"]): Claim(_short(row), "for", (reference(row),)) for row in ordered}
    return list(found.values())


def _short(row: Row) -> str:
    return cut_middle(" ".join(str(row["text"] or row["code"] or row["kind"]).split()), _WORDS)


def complaints(case: Case) -> list[Claim]:
    """Lines of the job's own processes and hosts that say error or worse and that their printers did not outlive."""
    rows = case.events.filter(pl.col("severity").is_in(list(_GRAVITY)))
    known = case.job_hosts
    found: dict[str, Claim] = {}
    ordered = rows.with_columns(pl.col("severity").replace_strict(_GRAVITY).alias("_gravity"))
    for row in ordered.sort("_gravity", "file", "line", nulls_last=True).iter_rows(named=True):
        host = short_host(row["host"]) if row["host"] else None
        printer = EVENTS[row["kind"]].printer if row["kind"] in EVENTS else "process"
        if printer == "kernel" and known and host is not None and host not in known:
            continue
        text = _short(row)
        found.setdefault(text, Claim(text, "for", (reference(row),)))
        if len(found) == _SHOWN:
            break
    return list(found.values())


def lost_devices(case: Case) -> list[tuple[Claim, Action]]:
    """Devices that compute nothing more, by their driver, though no failure of the job is shown to be theirs: they are looked at first."""
    found: dict[str, tuple[Claim, Action]] = {}
    for one in case.hardware:
        row = one.row
        if not (one.ends_device and one.counts and not one.follows) or one.on_job is False or not row["pci"]:
            continue
        text = _short(row)
        where = one.host or words.HOST_OF_LOG(file=row["file"])
        action = Action(
            kind="inspect_hardware",
            target=words.GPU_THERE(pci=row["pci"], where=where),
            command=None if one.host else pci_state(row["pci"]),
            reason=words.IT_IS_GONE(line=text),
        )
        found.setdefault(row["pci"], (Claim(text, "for", (reference(row),)), action))
    return list(found.values())[:_LOST]
