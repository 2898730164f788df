"""What `torch.distributed.elastic`'s `record` writes of a worker's exception: JSON, in the log or in a file of its own.

    ERROR:torch.distributed.elastic.multiprocessing.errors.error_handler:{
      "message": {
        "message": "KeyError: 'length'",
        "extraInfo": {
          "py_callstack": "Traceback (most recent call last):\\n  File \\"/job/x.py\\", line 3, in f\\n    g()\\n",
          "timestamp": "1767225600"

    {"message": {"message": "KeyError: 'length'", "extraInfo": {"py_callstack": "Traceback …", "timestamp": "1767225600"}}}

Printed by: workers whose main function is decorated with torch.distributed.elastic's `record`.
Versions: PyTorch 1.9 to 2.15.
Source: torch/distributed/elastic/multiprocessing/errors/error_handler.py.
"""

import json
import re
from typing import Any

import polars as pl

from parsers.pytorch.raised import raised
from parsers.schema.lines import Row, claimed, streams
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

_TEXT = r'"((?:[^"\\]|\\.){0,16000})'  # may be cut
_MESSAGE = regex(rf'"message": {_TEXT}')
_STACK = regex(rf'"py_callstack": (?="Traceback){_TEXT}')
_CLASS = regex(r"(?P<code>(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(?:: (?P<message>.*))?\Z", re.DOTALL)
_FRAME = regex(r'File "(?P<file>[^"\n]*)", line (?P<line>\d{1,9})(?:, in (?P<function>[^\n]*))?')
_HEAD = regex(r"error_handler: ?\{\s*$")
_NEAR = 4  # lines between the message and its call stack


def parse(lines: pl.DataFrame) -> Tables:
    """events exception and what its message means for the device, at the line of the message; claimed. Also where the file ends before the stack."""
    events: list[dict[str, Any]] = []
    places: list[tuple[str, int]] = []
    for stream in streams(lines):
        said: tuple[Row, str] | None = None
        head: int | None = None
        for row in stream:
            head = row["line"] if _HEAD.search(row["text"]) else head
            if message := _MESSAGE.search(row["text"]):
                said = (row, _plain(message[1]))
            stack = _STACK.search(row["text"])
            if stack is None or said is None or row["line"] - said[0]["line"] > _NEAR:
                continue
            if exception := _CLASS.match(said[1]):
                first = said[0]
                detail = {"frames": _frames(_plain(stack[1])), "by": "record"}
                events += raised(first, exception["code"], exception["message"] or "", detail, said[1])
                places += [(first["file"], line) for line in range(first["line"], row["line"] + 1)]
            said = None
        is_cut = said is not None and head is not None and 0 < said[0]["line"] - head <= _NEAR
        if said is not None and is_cut and (exception := _CLASS.match(said[1])) and exception["message"]:
            detail = {"frames": [], "by": "record"}
            events += raised(said[0], exception["code"], exception["message"], detail, said[1])
    return tables_of(events=events, claimed=claimed(places))


def _plain(text: str) -> str:
    """The text that a JSON string stands for; as it is where its end is cut."""
    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:
        return text


def _frames(stack: str) -> list[list[Any]]:
    """function, file, line; innermost first."""
    found = [[frame["function"], frame["file"], int(frame["line"])] for frame in _FRAME.finditer(stack)]
    return found[::-1][:64]


PARSER = LineParser(
    name="error_json",
    anchors=(b'"py_callstack": "', b'    "message": "', b'"message": {"message": "', b"error_handler: {", b"error_handler:{"),
    parse=parse,
)  # fmt: skip
