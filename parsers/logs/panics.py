"""Panics of Rust: a thread that ends where its program gave up, and the words beside it.

    thread 'main' (33122) panicked at crates/data/src/shard.rs:88:31:⏎index out of bounds: the len is 4096 but the index is 4096
    thread 'main' panicked at 'called `Option::unwrap()` on a `None` value', src/main.rs:12:5

Events `exception`, code panic, pid = the number of the thread where it is the main one's; an error of another thread need not end its process.

Printed by: programs in Rust, on the standard error stream.
Versions: the place first since 1.73, the thread's number since 1.91.
Source: not read: library/std/src/panicking.rs of rust; the forms are as programs print them.
"""

import json
from itertools import zip_longest
from typing import Any

import polars as pl

from parsers.schema.lines import event
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

_PANIC = regex(
    r"^thread '(?P<thread>[^']{0,100})' (?:\((?P<pid>\d{1,10})\) )?panicked at (?:'(?P<said>.{0,1000})', )?(?P<place>[^\s:']{1,400}:\d{1,7}:\d{1,5}):?$"
)


def parse(lines: pl.DataFrame) -> Tables:
    """events exception; the line behind it is claimed as its words."""
    events: list[dict[str, Any]] = []
    claimed: list[dict[str, Any]] = []
    rows = list(lines.iter_rows(named=True))
    for row, behind in zip_longest(rows, rows[1:]):
        found = _PANIC.match(row["text"])
        if found is None:
            continue
        is_next = behind is not None and (behind["file"], behind["line"]) == (row["file"], row["line"] + 1)
        words = found["said"] or (behind["text"] if is_next and behind is not None else "")
        is_main = found["thread"] == "main"
        own = {"pid": int(found["pid"])} if found["pid"] and is_main else {}
        detail = json.dumps({"place": found["place"]} | ({} if is_main else {"thread": found["thread"]}))
        said = {"severity": "fatal" if is_main else "error", "text": f"panic: {words}"[:2000], "detail": detail}
        events.append(event(row, "exception", code="panic", **said, **own))
        if is_next and not found["said"] and behind is not None:
            claimed.append({"file": behind["file"], "line": behind["line"]})
    return tables_of(events=events, claimed=claimed)


PARSER = LineParser(name="panics", anchors=(b"panicked at ",), parse=parse, after=1)
