"""C++ stacks and collective stacks that PyTorch prints into a log.

    Exception raised from query at ../aten/src/ATen/cuda/CUDAEvent.h:95 (most recent call first):
    frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x42 (0x1518a06137d2 in /lib/libc10.so)
    frame #1: <unknown function> + 0x814a (0x15191c77d14a in /lib64/libpthread.so.0)
    C++ CapturedTraceback:
    #4 std::_Function_handler<…>::_M_invoke(std::_Any_data const&) from Logging.cpp:0
    [rank3]:[E… ProcessGroupNCCL.cpp:632] Stack trace of the failed collective:
    #0 all_reduce from /site-packages/torch/distributed/distributed_c10d.py:2501
    #1 main from /job/train.py:15

Table `stacks`, a row per block, `line` = its head, frames innermost first: source `c10` for where an exception was
raised (its first frame is the place in the head), source `failed collective` for where an operation was *called* that
failed later (from the flight recorder, status `called`). Which thread it was is not said: is_main null. Lines after the
head often carry no prefix: they belong to the head above them. `claimed`: the frames.

Printed by: PyTorch (c10::Error, ProcessGroupNCCL).
Versions: 1.8 to 2.9.
Source: c10/util/Backtrace.cpp, Exception.cpp, ProcessGroupNCCL.cpp.
"""

from typing import Any

import polars as pl

from parsers.schema.lines import Row, claimed, reporter
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, tables_of
from parsers.stacks.thread_lines import LINE_CHARACTERS
from parsers.text.patterns import regex

MAX_FRAMES = 200
_RAISED = regex(
    r"Exception raised from (?P<function>\S+) at (?P<file>\S+?):(?P<line>\d{1,9}) "
    r"\(most recent call first\):"
)
_CAPTURED = regex(r"C\+\+ CapturedTraceback:\s*$")
_COLLECTIVE = regex(r"Stack trace of the failed collective:\s*$")
_FRAME = regex(r"\s*frame #\d{1,6}: (?P<function>.+?)(?: \+ 0x[0-9a-f]+)? \(0x[0-9a-f]+ in (?P<file>.+)\)$")
_NEXT = regex(r"\s*frame #\d{1,6}: (?P<function>.+?)(?: \+ 0x[0-9a-f]+)? \((?P<file>[^()]+)\)$")
_NUMBERED = regex(r"\s*#\d{1,6} (?P<function>\S.*?) from (?P<file>.+?):(?P<line>\d{1,9})$")


def parse(lines: pl.DataFrame) -> Tables:
    """stacks and claimed."""
    stacks: list[dict[str, Any]] = []
    places: list[tuple[str, int]] = []
    open_blocks: dict[tuple[Any, ...], dict[str, Any]] = {}
    last: dict[str, Any] | None = None
    for row in lines.iter_rows(named=True):
        who = (row["file"], row["rank"], row["local_rank"], row["task"], row["host"])
        if block := _head(row):
            stacks.append(block)
            open_blocks[who] = last = block
            places.append((row["file"], row["line"]))
            continue
        text = row["text"][:LINE_CHARACTERS]
        found = _FRAME.match(text) or _NEXT.match(text) or _NUMBERED.match(text)
        owner = open_blocks.get(who)
        if owner is None and all(part is None for part in who[1:]):
            owner = last  # no prefix of its own
        if found is None or owner is None or owner["file"] != row["file"]:
            open_blocks.pop(who, None)
            if owner is last:
                last = None
            continue
        places.append((row["file"], row["line"]))
        if len(owner["frames"]) < MAX_FRAMES:
            line = found.groupdict().get("line")
            frame = {"function": found["function"], "file": found["file"], "line": int(line) if line else None}
            owner["frames"].append(frame)
    whole = [block for block in stacks if block["frames"]]
    return tables_of(stacks=whole, claimed=claimed(dict.fromkeys(places)))


def _head(row: Row) -> dict[str, Any] | None:
    """A new block, or None."""
    text = row["text"][:LINE_CHARACTERS]
    made = reporter(row) | {"snapshot": 0, "source": "c10", "frames": []}
    if found := _RAISED.search(text):
        frame = {"function": found["function"], "file": found["file"], "line": int(found["line"])}
        return made | {"frames": [frame]}
    if _CAPTURED.search(text):
        return made
    if _COLLECTIVE.search(text):
        return made | {"source": "failed collective", "status": "called"}
    return None


PARSER = LineParser(
    name="torch_cpp",
    anchors=(b"Exception raised from ", b"C++ CapturedTraceback:", b"Stack trace of the failed collective:"),
    parse=parse,
    after=100,
)
