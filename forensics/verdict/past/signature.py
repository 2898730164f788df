"""The signature of an incident: what stays the same when the same fault comes again on other ranks."""

from collections.abc import Mapping
from typing import Any

import msgspec

from forensics.model.incident import Verdict
from forensics.model.said import encoded

_FIELDS = ("kind", "cause", "site", "op", "group", "module", "phase", "tensor", "value", "code")


def signature_of(verdict: Mapping[str, Any]) -> dict[str, str | None]:
    """A verdict as plain values → field → text; None where it is not known."""
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
    found = signature_of(msgspec.to_builtins(verdict, enc_hook=encoded))
    return ", ".join(f"{name} {value}" for name, value in found.items() if value is not None)
