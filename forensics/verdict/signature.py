"""The signature of an incident: what stays the same when the same fault comes again on other ranks."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from forensics.model.incident import Report, Verdict

_FIELDS = ("kind", "cause", "site", "op", "group", "module", "phase", "tensor", "value", "code")


class NotAnIncident(ValueError):
    """A document that is no incident.json."""


def _fields(verdict: Mapping[str, Any]) -> dict[str, str | None]:
    anomaly = verdict.get("first_anomaly") or {}
    code = verdict.get("code")
    values = {
        **{name: verdict.get(name) for name in ("kind", "cause", "site")},
        **{name: anomaly.get(name) for name in ("op", "group", "module", "phase", "tensor", "value")},
        "code": f"{code['file']}:{code['line']}" if code else None,
    }
    return {name: None if values[name] is None else str(values[name]) for name in _FIELDS}


def words_of(verdict: Verdict) -> str:
    """The signature in one text: what is known of it, in fixed order."""
    found = _fields(msgspec.to_builtins(verdict))
    return ", ".join(f"{name} {value}" for name, value in found.items() if value is not None)


def signature_of(document: bytes | None, analyze: Callable[[], Report]) -> dict[str, str | None]:
    """incident.json as bytes, or a call that makes the report → field → value of its primary incident.

    Raises NotAnIncident."""
    if document is None:
        report = analyze()
        return _fields(msgspec.to_builtins(report.incidents[report.primary].verdict))
    try:
        whole = msgspec.json.decode(document)
        return _fields(whole["incidents"][whole["primary"]]["verdict"])
    except (msgspec.DecodeError, RecursionError, UnicodeError, LookupError, TypeError, AttributeError) as error:
        raise NotAnIncident("not an incident.json") from error
