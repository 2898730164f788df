"""What the catalogues in parsers/data say of a driver's code: severity and category, the only place that knows.

Source: parsers/data/xid.csv, sxid.csv, metax_eid.csv, mthreads_events.csv; each row there names its own.
"""

import csv
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

_CATALOGUES = {"xid": "xid.csv", "sxid": "sxid.csv", "eid": "metax_eid.csv"}
_FAMILIES = {"xid": "Xid", "sxid": "SXid", "eid": "EID"}  # as drivers print them
# What only somebody can do who takes the device from the job: the next start meets the same fault.
_LASTING = ("reset_gpu", "reboot_node", "drain_and_rma", "repair")
# What the catalogues say where the device is well, and the category of such a code where they name none.
_OF_PROGRAM: Mapping[str, str] = {"check_app": "application", "ignore": "informational"}
_SEVERITIES = {"critical": "fatal", "error": "error", "warning": "warning", "info": "info"}


class Code(NamedTuple):
    """severity: info | warning | error | fatal, null where the catalogue does not say. category: application, driver,
    hardware, informational, nvlink, thermal, …"""

    severity: str | None
    category: str | None
    is_consequence: bool


@cache
def rows(name: str) -> dict[str, dict[str, str]]:
    """A catalogue by its code."""
    return {row.pop("code", "") or row["eid"].lower(): row for row in listed(name)}


def listed(name: str) -> Iterator[dict[str, str]]:
    """The rows of a catalogue as it has them."""
    return csv.DictReader(files("parsers").joinpath("data", name).read_text(encoding="utf-8").splitlines())


def _row(code: str | None) -> dict[str, str]:
    """What the catalogue of its family says of a code; empty where it lists no such code."""
    family, _, number = (code or "").partition(":")
    return rows(_CATALOGUES[family]).get(number, {}) if family in _CATALOGUES else {}


def advice(code: str | None) -> str | None:
    """What the vendor's catalogue says to do first, in its words; null where it lists no such code."""
    return _row(code).get("first_action") or _row(code).get("advice")


def printed(code: str | None) -> str:
    """ "xid:79" → "Xid 79"; empty for names that are ours alone."""
    family, _, number = (code or "").partition(":")
    return f"{_FAMILIES[family]} {number}" if family in _FAMILIES and number[:1].isdigit() else ""


def is_of_program(code: str | None) -> bool:
    """Does the vendor's catalogue send the reader to the program, or nowhere at all, and not to the device?"""
    return _category_by_advice(code) is not None


def _category_by_advice(code: str | None) -> str | None:
    return _OF_PROGRAM.get((advice(code) or "").split(" ")[0])


def is_lasting(code: str | None) -> bool:
    """Does the vendor's catalogue ask for a reset, a reboot or a repair? What it does not list is not proven to last."""
    may_wait = _row(code).get("severity") in ("info", "warning", "watch")  # for the next pause: that is no reason
    return not may_wait and advice(code) in _LASTING


@cache
def described(code: str | None) -> Code:
    """`xid:79` → what the catalogue says; nothing known: all null. Of others than Xid only whether the device is well: their
    drivers print how grave it is."""
    row = _row(code) if (code or "").startswith("xid:") else {}
    category = row.get("category") or _category_by_advice(code)
    return Code(_SEVERITIES.get(row.get("severity", "")), category, row.get("is_consequence_of_other") == "yes")
