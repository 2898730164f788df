"""Stacks of programs on a Java virtual machine, as jstack, jcmd and the machine itself on SIGQUIT print them.

    "main" #1 prio=5 os_prio=0 cpu=8120.40ms elapsed=1184.63s tid=0x00007f11a4025800 nid=0x89d waiting for monitor entry  [0x00007f11aad1c000]
       java.lang.Thread.State: BLOCKED (on object monitor)
        at house.feed.Cache.pin(Cache.java:88)
        - waiting to lock <0x00000004c31088a0> (a house.feed.Cache)
        at house.Main.main(Main.java:59)

Table `stacks`, a row per thread, frames innermost first; the main thread is the one of that name. What the machine's own library does for a wait (the poller, a parked
queue) is left off, so that all who wait at one line of the program stand there; who waits for a monitor stands in `monitorenter`.

Printed by: programs in Java, Scala and Kotlin.
Versions: JDK 8 and later; modules stand before files since 9.
Source: not read: HotSpot's runtime/vmThread and javaVFrame; the form is as tools print it.
"""

from collections import defaultdict
from itertools import count
from typing import Any

import polars as pl

from parsers.schema.lines import claimed, reporter, streams
from parsers.schema.parser import LineParser
from parsers.schema.rules import LINE_CHARACTERS
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

AFTER = 200
_MOST = 500  # frames
_HEADER = regex(
    r"\"(?P<name>[^\"]{1,200})\" (?:#\d{1,9} )?.{0,200}?\bnid=(?P<id>0x[0-9a-f]{1,16}|\d{1,10})\b(?P<status>[^\[]{0,80})"
)
_STATE = regex(r"\s*java\.lang\.Thread\.State: (?P<state>[A-Z_]{3,20})")
_FRAME = regex(
    r"\s*at (?P<function>[\w$.<>/@-]{1,500})\((?:[\w.]{1,100}@[\w.+-]{1,60}/)?(?P<file>[^():]{1,200})(?::(?P<line>\d{1,9}))?\)$"
)
_HOLDS = regex(r"\s*- (?P<what>waiting to lock|waiting to re-lock|locked|waiting on|parking to wait for|eliminated) ")
_OF_MACHINE = regex(r"(?:java|javax|jdk|sun|com\.sun)\.")
_MONITOR = {"function": "monitorenter", "file": None, "line": None}


def parse(lines: pl.DataFrame) -> Tables:
    """stacks, claimed."""
    rows: list[dict[str, Any]] = []
    places: list[tuple[str, int]] = []
    for said in streams(lines):
        one: dict[str, Any] | None = None
        seen: defaultdict[str, count[int]] = defaultdict(count)
        for row in said:
            text = row["text"][:LINE_CHARACTERS].rstrip()
            if found := _HEADER.match(text):
                thread = str(int(found["id"], 0))
                one = reporter(row) | {
                    "thread": thread, "thread_name": found["name"], "status": found["status"].strip() or None, "frames": [],
                    "time_ns": row["time_ns"], "is_main": found["name"] == "main", "source": "jvm", "snapshot": next(seen[thread]),
                }  # fmt: skip
                rows.append(one)
            elif one is not None and len(one["frames"]) < _MOST and (frame := _FRAME.match(text)):
                line = int(frame["line"]) if frame["line"] else None
                one["frames"].append({"function": frame["function"], "file": frame["file"], "line": line})
            elif one is not None and (holds := _HOLDS.match(text)):
                if holds["what"] == "waiting to lock" and len(one["frames"]) == 1:
                    one["frames"].insert(0, _MONITOR)
            elif one is None or _STATE.match(text) is None:
                one = None
                continue
            places.append((row["file"], row["line"]))
    told = [one | {"frames": _of_program(one["frames"])} for one in rows if one["frames"]]
    return tables_of(stacks=told, claimed=claimed(places))


def _of_program(frames: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without what the machine's library does for the innermost frame of the program."""
    inside = next((at for at, one in enumerate(frames) if _OF_MACHINE.match(one["function"]) is None), 0)
    return frames[inside:]


PARSER = LineParser(name="jvm", anchors=(b" nid=",), parse=parse, after=AFTER)
