"""Incidents side by side: signature, where they ran, when, and what was set. What all have alike is not shown twice."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from forensics.verdict.past.signature import signature_of

_SHOWN, _TEXT = 40, 60  # settings that differ, and characters of a value


class NotAnIncident(ValueError):
    """A document that is no incident.json."""


class Compared(NamedTuple):
    """What is compared of an incident, section by section: name → text. `settings`: None where only the document is there."""

    signature: Mapping[str, str | None]
    ran: Mapping[str, str | None]
    timing: Mapping[str, str | None]
    settings: Mapping[str, str | None] | None


def compared(whole: Mapping[str, Any], settings: Mapping[str, str | None] | None) -> Compared:
    """The document as plain values → what is compared. Raises NotAnIncident."""
    try:
        incident, seen = whole["incidents"][whole["primary"]], whole["coverage"]
        verdict, lost = incident["verdict"], incident["lost"]
        where = {
            "analyzed by": whole["tool"]["version"],
            "hosts": ", ".join(sorted(seen["hosts_seen"])),
            "ranks": ", ".join(seen["ranks_seen"]),
            "named ranks": ", ".join(map(str, verdict["ranks"])),
            "named hosts": ", ".join(verdict["hosts"]),
        }
        timing = {
            "first anomaly": verdict["first_anomaly"]["time_utc"],
            "step": verdict["first_anomaly"]["step"],
            "last step": lost["last_completed_step"],
            "stalled, s": lost["stalled_s"],
        }
        return Compared(signature_of(verdict), _texts(where), _texts(timing), settings)
    except (LookupError, TypeError, AttributeError) as error:
        raise NotAnIncident("not an incident.json") from error


def _texts(values: Mapping[str, Any]) -> dict[str, str | None]:
    return {name: None if value in (None, "") else str(value) for name, value in values.items()}


def compare(all_of: Sequence[Compared]) -> tuple[list[str], bool]:
    """(a heading per section and a line per field that any has, "=" where all agree; whether the signatures agree)."""
    lines = ["signature", *_section([one.signature for one in all_of])]
    lines += ["where", *_section([one.ran for one in all_of]), "timing", *_section([one.timing for one in all_of])]
    known = [one.settings for one in all_of if one.settings is not None]
    if len(known) == len(all_of):
        differ = [line for line in _section(known) if line.lstrip().startswith("≠")]
        lines += ["settings and versions that differ", *(differ[:_SHOWN] or ["  none"])]
        lines += [f"  … {len(differ) - _SHOWN} more"] if len(differ) > _SHOWN else []
    first = all_of[0].signature
    return lines, all(one.signature == first for one in all_of)


def _section(columns: Sequence[Mapping[str, str | None]]) -> list[str]:
    names = list(dict.fromkeys(name for column in columns for name in column))
    width = max((len(name) for name in names), default=0)
    lines = []
    for name in names:
        values = [column.get(name) for column in columns]
        if any(values):
            mark = "=" if len(set(values)) == 1 else "≠"
            lines.append(f"  {mark} {name:<{width}}  {'  |  '.join(_cut(value or '-') for value in values)}")
    return lines


def _cut(value: str) -> str:
    return value if len(value) <= _TEXT else value[:_TEXT] + "…"
