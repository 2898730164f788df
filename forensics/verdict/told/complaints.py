"""Failure lines that no rule explains: what an `unknown` shows, the gravest first, verbatim. They never enter the choice."""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from forensics.case import Case
from forensics.facts.rows.event_rows import Row, reference
from forensics.model.commands import device_at, pci_state
from forensics.model.finding import Claim
from forensics.model.hosts import short_host
from forensics.model.incident import Action
from forensics.model.said import Said
from forensics.model.taxonomy import EVENTS
from forensics.model.texts import cut_middle
from forensics.words import hardware
from forensics.words import verdict as words
from parsers.catalogues import advice, described, printed

_SHOWN, _WORDS, _LOST = 12, 200, 3
_PROCESSES = 2  # that met the same error on one device
_HINTS = ("stalled", "timed_out", "bad_number")
_GRAVITY = {"fatal": 0, "error": 1}


def hints(case: Case) -> list[Claim]:
    """Warnings in plain words that something stood still or timed out, those of a scheduler, and figures that are NaN: where no line says error,
    they are all there is."""
    of_scheduler = (pl.col("kind") == "scheduler") & (pl.col("severity") == "warning")
    is_hint = (pl.col("kind") == "other") & pl.col("code").is_in(_HINTS)
    rows = case.events.filter(is_hint | of_scheduler.fill_null(False))
    ordered = rows.sort("file", "line", nulls_last=True).head(_SHOWN).iter_rows(named=True)
    found = {str(row["text"]): Claim(_short(row), "for", (reference(row),)) for row in ordered}
    return list(found.values())


def warned(case: Case) -> list[Claim]:
    """What libraries of communication warn of, each once: where nothing else is said, it may be what stands in the way, and tells its cure."""
    rows = case.events.filter((pl.col("kind") == "comm_warning") & (pl.col("severity") == "warning"))
    found: dict[str, Claim] = {}
    for row in rows.sort("file", "line", nulls_last=True).iter_rows(named=True):
        text = cut_middle(" ".join(str(row["text"] or "").rpartition(" WARN ")[2].split()), _WORDS)
        found.setdefault(text, Claim(text, "for", (reference(row),)))
    return list(found.values())[:_SHOWN]


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


class OnDevice(NamedTuple):
    """What a driver reported of one device, with a code that the vendor's catalogue lists: `rows`, the first first."""

    pci: str
    code: str
    rows: list[Row]

    @property
    def processes(self) -> int:
        return len({row["pid"] for row in self.rows} - {None})

    @property
    def said(self) -> Said:
        times = words.FOR_PROCESSES(max(self.processes, 1))
        return words.CODE_ON(code=printed(self.code), pci=self.pci, times=times)


def told_by_drivers(case: Case) -> list[OnDevice]:
    """Where nothing but drivers' words of devices is there, all of them known to the catalogue: those that follow from an error last."""
    grave = case.events.filter(pl.col("severity").is_in(list(_GRAVITY)))
    told: dict[tuple[str, str], list[Row]] = {}
    for row in grave.sort("file", "line", nulls_last=True).iter_rows(named=True):
        if row["kind"] != "gpu_error" or not row["pci"] or not printed(row["code"]):
            return []
        told.setdefault((row["pci"], row["code"]), []).append(row)
    found = [OnDevice(pci, code, rows) for (pci, code), rows in told.items()]
    return sorted(found, key=lambda one: described(one.code).is_consequence)


def repeated(case: Case, told: Sequence[OnDevice]) -> tuple[Action, ...]:
    """The device that several processes met the same error on: another program, and the same card."""
    one = next((one for one in told if one.processes >= _PROCESSES), None)
    if one is None:
        return ()
    host = one.rows[0]["host"]
    action = Action(
        kind="inspect_hardware",
        target=words.GPU_THERE(pci=one.pci, where=host or words.HOST_OF_LOG(file=one.rows[0]["file"])),
        command=device_at(host, one.pci, case.around),
        reason=words.AGAIN_ON_IT(code=printed(one.code), number=one.processes),
    )
    return (action,)


def lost_devices(case: Case) -> list[tuple[Claim, Action]]:
    """Devices that compute nothing more, by their driver, though no failure of the job is shown to be theirs: they are looked at first."""
    found: dict[str, tuple[Claim, Action]] = {}
    for one in case.hardware:
        row = one.row
        if not (one.ends_device and one.counts and not one.follows) or one.on_job is False or not row["pci"]:
            continue
        text = _short(row)
        where = one.host or words.HOST_OF_LOG(file=row["file"])
        is_reset = advice(row["code"]) == "reset_gpu"
        action = Action(
            kind="inspect_hardware",
            target=words.GPU_THERE(pci=row["pci"], where=where),
            command=None if one.host else pci_state(row["pci"]),
            reason=hardware.ASKS_FOR_RESET(code=printed(row["code"])) if is_reset else words.IT_IS_GONE(line=text),
            look=hardware.LOOK_AT_BUS,
            then=hardware.THEN_RESET if is_reset else hardware.THEN_OFF_BUS,
            source="lspci(8); NVIDIA Xid catalogue, immediate action",
        )
        found.setdefault(row["pci"], (Claim(text, "for", (reference(row),)), action))
    return list(found.values())[:_LOST]
