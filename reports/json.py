"""The report as incident.json: exactly one JSON document, keys sorted, no NaN, a newline at the end."""

import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from forensics.model.incident import Document
from forensics.model.said import encoded

# Legal in JSON, yet they steer a terminal or reorder a line: C1 and DEL, bidi controls, zero width, line separators.
_ACTING = re.compile("[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")


def render(report: Document) -> bytes:
    """UTF-8. A float that is NaN or infinite is written as null: it was not observed."""
    return msgspec.json.format(compact(report), indent=2) + b"\n"


def line(document: Mapping[str, Any]) -> bytes:
    """Another document on one line, its keys in their order, with a line end."""
    return _written(document, None) + b"\n"


def compact(report: Document) -> bytes:
    """The same document on one line, for embedding."""
    return _written(report, "sorted")


def _written(document: object, order: Literal["sorted"] | None) -> bytes:
    try:
        raw = msgspec.json.encode(document, enc_hook=encoded, order=order)
    except UnicodeEncodeError:  # a file name with bytes that are no text
        raw = msgspec.json.encode(_encodable(msgspec.to_builtins(document, enc_hook=encoded)), order=order)
    return _ACTING.sub(lambda match: f"\\u{ord(match[0]):04x}", raw.decode()).encode()


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    return [_encodable(item) for item in value] if isinstance(value, list) else value
