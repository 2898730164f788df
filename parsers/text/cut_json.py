"""Reads JSON objects that may be cut: whole documents by msgspec, cut ones as far as they are complete."""

import json
from typing import Any

import msgspec

from parsers.text.patterns import regex

MAX_BYTES = 256 << 20
MAX_CONTAINERS = 8_000_000  # "[]," costs three bytes in the file and 64 in memory
_SPACE = regex(r"[ \t\r\n]*")


class Refused(ValueError):
    """Not a JSON object, or one that would take too much memory; the message says which."""


def load_object(data: bytes, split: str) -> tuple[dict[str, Any], str | None]:
    """(object, None), or (what is complete of it, why it is not whole). Raises Refused.

    Of a cut document the complete values at top level are kept, and of the array under the key `split` its complete
    elements.
    """
    if len(data) > MAX_BYTES or data.count(b"[") + data.count(b"{") > MAX_CONTAINERS:
        raise Refused("too large or too many containers")
    try:
        whole = msgspec.json.decode(data)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return _salvage(data.decode("utf-8", "replace"), split)
    if not isinstance(whole, dict):
        raise Refused("not a JSON object")
    return whole, None


def _salvage(text: str, split: str) -> tuple[dict[str, Any], str]:
    found: dict[str, Any] = {}
    place = skipped(text, 0)
    if text[place : place + 1] != "{":
        raise Refused("not a JSON object")
    decode = json.JSONDecoder().raw_decode
    place += 1
    try:
        while text[place := skipped(text, place)] != "}":
            key, place = decode(text, place)
            place = skipped(text, place)
            if not isinstance(key, str) or text[place] != ":":
                break
            place = skipped(text, place + 1)
            if key == split and text[place] == "[":
                found[key] = []
                place = _elements(text, place + 1, found[key])
            else:
                found[key], place = decode(text, place)
            place = skipped(text, place)
            if text[place] == ",":
                place += 1
    except (ValueError, RecursionError, IndexError):
        pass  # the cut, or broken text: what stands before it is kept
    return found, f"JSON is not whole: of {len(text)} characters the first {place} were read"


def _elements(text: str, place: int, into: list[Any]) -> int:
    """Appends complete elements; the place after the closing bracket. Raises where the text ends or breaks."""
    decode = json.JSONDecoder().raw_decode
    while text[place := skipped(text, place)] != "]":
        value, place = decode(text, place)
        into.append(value)
        place = skipped(text, place)
        if text[place] == ",":
            place += 1
        elif text[place] != "]":
            raise ValueError("no comma")
    return place + 1


def skipped(text: str, place: int) -> int:
    """The place behind the blanks that stand at one."""
    space = _SPACE.match(text, place)
    return space.end() if space else place
