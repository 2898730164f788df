"""Tracebacks that a logger or a handler printed in a form of its own, brought into that of the interpreter, line by line.

    ╭──── Traceback (most recent call last) ────╮         rich, in a box of any characters, also behind a logger's columns
    │ /job/train.py:40 in step                  │         (older: `│ in step:40`)
    │ ❱ 40 │   loss = model(batch)              │         a frame too long for its line goes on in the next
    ╰───────────────────────────────────────────╯
    ValueError: no tokens
    {"level": "error", "exc_info": "Traceback (most recent call last):\\n  File …"}        JSON: a text, or a list of lines, under any name
    {"exception": [{"exc_type": "ValueError", "exc_value": "…", "frames": [{"filename": …, "lineno": …, "name": …}]}]}      structlog
    ts=… level=error err="Traceback (most recent call last):\\n  File …"                  logfmt, and other texts with \\n

Lines out of one line have its number. Who speaks is whom the fields of its record tell, a rank, a place on a host or a pid, where the line has no
other.

Printed by: rich, structlog, loguru, python-json-logger and what else logs JSON or logfmt.
Versions: rich 9 to 14, structlog 22 to 25 (tracebacks as dictionaries).
Source: rich/traceback.py (Traceback._render_stack), structlog/tracebacks.py.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from parsers.forms import framings
from parsers.forms.reading import json_object, whole
from parsers.schema.lines import Row
from parsers.text import vocabulary
from parsers.text.patterns import regex
from parsers.training.step_figures import time_of

_TITLE = "Traceback (most recent call last)"
_RULE = regex(r"\W{2,400}")
_SIDE = regex(r"[^\w\s\"'({\[]")
_BOTTOM = regex(r"^\s*[^\w\s\"'({\[][─━═=-]{8,}")
_FRAME = regex(r"^ ?(?P<file>\S.{0,1000}?):(?P<line>\d{1,9}) in (?P<function>\S.{0,200}?)\s*$")
_OLD_FRAME = regex(r"^ ?in (?P<function>\S{1,200}):(?P<line>\d{1,9})\s*$")
_BEGINS = regex(r"^ ?(?:/|[A-Za-z]:\\)\S{1,1000}(?: in)?\s*$")  # of a frame that goes on in the next line
_BOXED = regex(
    r"^\s*[│┃║](?P<inner> (?:/|[A-Za-z]:\\)\S{1,1000}:\d{1,9}(?: in(?: \S{1,200})?)?\s*)[│┃║]?\s*$"
)  # below a head that is lost
_MARKED = regex(r"^ ?[❱>»] {0,8}\d{1,9} (?P<source>.*)$")
_GUIDES = regex(r"^(?:\W\s{3})+")  # what rich draws in place of an indentation
_BOX_LINES = 2000
_DEPTH = 4
_TYPES = ("exc_type", "exc_value")


def unfolded(stream: Sequence[Row]) -> Iterator[Row]:
    """Lines of one printer → the same, where those that hold a traceback in a form of its own are the lines that the interpreter
    prints."""
    until = 0  # of a box
    behind = False  # the line behind it says what was raised
    begun = ""  # a frame that goes on
    for row in stream:
        text = row["text"]
        if row["line"] < until:
            if _BOTTOM.match(text):
                until, behind = 0, True
                yield {**row, "text": ""}
                continue
            bare = text.strip()
            if side := _SIDE.match(bare):
                inner = _joined(begun, bare[1:].removesuffix(side[0]))
                begun = inner.rstrip() if _BEGINS.match(inner) else ""
                yield {**row, "text": _inner(inner)}
                continue
            until = 0
        if _TITLE in text and _is_head(text):
            begun = ""
            until, behind = row["line"] + _BOX_LINES, False
            yield {**row, "text": f"{_TITLE}:"}
        elif found := _BOXED.match(text):
            until, behind, inner = row["line"] + _BOX_LINES, False, found["inner"].rstrip()
            begun = inner if _BEGINS.match(inner) else ""
            yield {**row, "text": f"{_TITLE}:"}
            yield {**row, "text": _inner(inner)}
        elif behind:
            behind = False
            yield {**row, "text": text.strip()}
        elif (folded := _folded(row["raw"])) is not None:
            yield from _lines(row, folded)
        else:
            yield row


def _is_head(text: str) -> bool:
    """Does the title stand between two rules, `╭──── Traceback (most recent call last) ────╮`, with decoration at most before them?"""
    before, _, after = text.partition(_TITLE)
    rules = before.split()[-1:] + after.split()
    return len(rules) == 2 and before[-1:] == after[:1] == " " and all(map(_RULE.fullmatch, rules))


def _joined(begun: str, text: str) -> str:
    """A line of a box with the one before it, where that was the beginning of a frame."""
    if not begun:
        return text
    is_whole = begun.endswith(" in") or begun.rpartition(":")[2].isdigit()
    joined = f"{begun}{' ' if is_whole else ''}{text.strip()}"
    return joined if _FRAME.match(joined) or (_BEGINS.match(joined) and text.strip()) else text


def _inner(text: str) -> str:
    """A line of a box as one of the interpreter's; empty for what has none there."""
    if found := _FRAME.match(text):
        return f'  File "{found["file"]}", line {found["line"]}, in {found["function"]}'
    if found := _OLD_FRAME.match(text):
        return f'  File "<unknown>", line {found["line"]}, in {found["function"]}'
    found = _MARKED.match(text)
    return f"    {_GUIDES.sub('', found['source']).strip()}" if found else ""


def _lines(row: Row, folded: str) -> Iterator[Row]:
    told = vocabulary.told(_object(row["raw"]) or framings.record(row["raw"].strip()) or {})
    own = {**row, "rank": whole(told.get("rank")) if row["rank"] is None else row["rank"]}
    if own["rank"] is None and own["local_rank"] is None and own["process"] is None:
        own |= {"local_rank": whole(told.get("local_rank")), "process": whole(told.get("pid"))}
    if own["time_ns"] is None and "time" in told:
        own["time_ns"], own["time_basis"] = time_of(told["time"])
    boxed = [{**own, "text": line} for line in folded.splitlines()]
    yield from unfolded([{**one, "raw": ""} for one in boxed])


def _object(raw: str) -> Mapping[str, Any] | None:
    """The object of a line, also behind what a launcher puts before it."""
    at = raw.find("{")
    return json_object(raw[at:].strip()) if at >= 0 else None


def _folded(raw: str) -> str | None:
    """The traceback that one line holds as a text within it; null where it holds none."""
    if ("exc_type" in raw and "exc_value" in raw) or (_TITLE in raw and ("\\n" in raw or "{" in raw)):
        said = _object(raw)
        found = _within(said, 0) if said else None
        if found is not None or _TITLE not in raw:
            return found
        text = raw[raw.index(_TITLE) :]
        if "\\n" in text:
            return text.split('\\n"')[0].replace("\\n", "\n").replace('\\"', '"').rstrip('"}\n')
    return None


def _within(value: Any, depth: int) -> str | None:
    """The first traceback in the values of a document."""
    if isinstance(value, str):
        return value if _TITLE in value else None
    if depth > _DEPTH:
        return None
    if isinstance(value, dict):
        if all(isinstance(value.get(name), str) for name in _TYPES):
            return "\n".join([f"{_TITLE}:", *_frames(value.get("frames")), ": ".join(value[name] for name in _TYPES)])
        return next((found for one in value.values() if (found := _within(one, depth + 1)) is not None), None)
    if isinstance(value, list):
        lines = [one.rstrip("\n") for one in value if isinstance(one, str)]
        if any(_TITLE in line for line in lines):
            return "\n".join(lines)
        return next((found for one in value if (found := _within(one, depth + 1)) is not None), None)
    return None


def _frames(listed: Any) -> Iterator[str]:
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, dict):
            yield f'  File "{one.get("filename")}", line {whole(one.get("lineno")) or 0}, in {one.get("name")}'
