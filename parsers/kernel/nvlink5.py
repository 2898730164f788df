"""Sub-codes of the Xids of NVLink 5 (144 to 150), which alone say little: the unit, its state, and what to do.

    NVRM: Xid (PCI:0000:5d:00): 149, NETIR_LINK_EVT Fatal   XC0 i0 Link 07 (0x00a00011 0x00000000 0x0 0x0 0x0 0x0)

Printed by: NVIDIA's kernel driver on Blackwell and later.
Versions: drivers before 575 and since 575 number the units differently; which form a word has shows in the word itself,
except for Xid 150, whose only unit is 0 in both.
Source: NVIDIA's Xid catalogue, section on NVLink 5; data/nvlink5.csv.

The first word holds the sub-code in bits 25:20 and the unit in bits 9:0 (before 575) or 6:0 (since); the second one is
the unit's error status, one bit per error, or a number where the catalogue has other values than single bits.
"""

import re
from functools import cache
from typing import Any

from parsers.catalogues import listed
from parsers.text.patterns import regex

CODES = range(144, 151)
_MESSAGE = regex(
    r"^(?P<unit>[A-Z][A-Z0-9_]{1,40})\s+(?P<class>Fatal|Non-?fatal)\s+XC(?P<engine>\d)\s+i(?P<instance>\d{1,3})\s+"
    r"Link (?P<link>-?\d{1,3})\s+\((?P<words>0x[0-9a-f]{1,8}(?: 0x[0-9a-f]{1,8}){0,5})",
    re.IGNORECASE,
)
_RANKING = ("nonfatal", "link_fatal", "fatal")
_SAID = ("first_action", "investigate", "fault_in", "local_effect", "remote_effect")
_FORMS = (("since 575", "word_since_575", 0x7F), ("before 575", "word_before_575", 0x3FF))


@cache
def catalogue() -> dict[int, list[dict[str, str]]]:
    """Rows of data/nvlink5.csv by Xid."""
    rows: dict[int, list[dict[str, str]]] = {}
    for row in listed("nvlink5.csv"):
        rows.setdefault(int(row["xid"]), []).append(row)
    return rows


def decoded(xid: int, message: str) -> dict[str, Any]:
    """What the text behind the number says; empty where it has another form.

    unit as printed, class, link, subcode, status; from the catalogue nvlink_unit, driver_form, first_action,
    investigate, fault_in, local_effect, remote_effect, and severity (fatal | error | warning). Of several errors at
    once the worst speaks. `consequence`: the device at the other end of the link is the source.
    """
    found = _MESSAGE.match(message) if xid in CODES else None
    if found is None:
        return {}
    words = [int(word, 16) for word in found["words"].split()]
    subcode, status = words[0] >> 20 & 0x3F, words[1] if len(words) > 1 else None
    link = int(found["link"])
    made: dict[str, Any] = {"unit": found["unit"], "class": found["class"].lower().replace("-", ""), "subcode": subcode}
    made |= {"link": link if link >= 0 else None, "status": None if status is None else f"0x{status:08x}"}
    form, rows = _rows(xid, words[0], subcode)
    if rows:
        units = sorted({row["unit"] for row in rows})
        made |= {"nvlink_unit": units[0] if len(units) == 1 else units[0].split("/")[0], "driver_form": form}
    if worst := _worst(rows, status):
        made |= {name: worst[name] for name in _SAID} | {"severity": _severity(worst)}
        made |= {"consequence": True} if worst["investigate"] == "peer_device" else {}
    elif made["class"] == "fatal":
        made["severity"] = "fatal"
    return made


def _rows(xid: int, word: int, subcode: int) -> tuple[str | None, list[dict[str, str]]]:
    """The unit's rows for a sub-code, and which drivers write the word so."""
    fits = {
        form: [row for row in catalogue()[xid] if int(row[column], 16) == word & mask] for form, column, mask in _FORMS
    }
    forms = [form for form, rows in fits.items() if rows]
    rows = [row for row in fits[forms[0]] if int(row["subcode"]) == subcode] if forms else []
    return (forms[0] if len(forms) == 1 else None), rows


def _worst(rows: list[dict[str, str]], status: int | None) -> dict[str, str] | None:
    """The row of the status; where the unit's states are single bits, the worst of those that are set."""
    if status is None:
        return None
    states = {int(row["status"], 16) for row in rows}
    is_mask = 0 not in states and all(state & state - 1 == 0 for state in states)
    own = [row for row in rows if (int(row["status"], 16) & status if is_mask else int(row["status"], 16) == status)]
    return max(own, key=lambda row: (_RANKING.index(row["severity"]), row["first_action"]), default=None)


def _severity(row: dict[str, str]) -> str:
    if row["first_action"] == "ignore":
        return "warning" if row["severity"] == "nonfatal" else "error"
    return "error" if row["severity"] == "nonfatal" else "fatal"
