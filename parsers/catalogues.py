"""What the catalogues in parsers/data say of a driver's code: severity and category, the only place that knows.

Source: parsers/data/xid.csv, sxid.csv, metax_eid.csv, mthreads_events.csv; each row there names its own.
"""

import csv
from functools import cache
from importlib.resources import files
from typing import NamedTuple

_CATALOGUES = {"xid": "xid.csv", "sxid": "sxid.csv", "eid": "metax_eid.csv"}
# What only somebody can do who takes the device from the job: the next start meets the same fault.
_LASTING = ("reset_gpu", "reboot_node", "drain_and_rma", "repair")
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
    text = files("parsers").joinpath("data", name).read_text(encoding="utf-8")
    return {row.pop("code", "") or row["eid"].lower(): row for row in csv.DictReader(text.splitlines())}


def advice(code: str | None) -> str | None:
    """What the vendor's catalogue says to do first, in its words; null where it lists no such code."""
    family, _, number = (code or "").partition(":")
    row = rows(_CATALOGUES[family]).get(number, {}) if family in _CATALOGUES else {}
    return row.get("first_action") or row.get("advice")


def is_lasting(code: str | None) -> bool:
    """Does the vendor's catalogue ask for a reset, a reboot or a repair? What it does not list is not proven to last."""
    family, _, number = (code or "").partition(":")
    row = rows(_CATALOGUES[family]).get(number, {}) if family in _CATALOGUES else {}
    grave = row.get("severity") not in ("info", "warning", "watch")  # what can wait for the next pause is no reason
    return grave and advice(code) in _LASTING


@cache
def described(code: str | None) -> Code:
    """`xid:79` → what the catalogue says; nothing known: all null."""
    family, _, number = (code or "").partition(":")
    row = rows("xid.csv").get(number, {}) if family == "xid" else {}
    return Code(
        _SEVERITIES.get(row.get("severity", "")), row.get("category"), row.get("is_consequence_of_other") == "yes"
    )
