"""Stacks of Go programs, as the runtime prints them on SIGQUIT and `net/http/pprof` on demand (`debug=2`).

    goroutine 1 [sync.Mutex.Lock, 36 minutes]:
    sync.(*Mutex).Lock(...)
        /usr/local/go/src/sync/mutex.go:90
    house/feed.(*Cache).Pin(0xc0004a2180, {0xc00b1e4000, 0x1000, 0x1000})
        /src/house/feed/cache.go:142 +0x8a
    main.main()
        /src/house/cmd/main.go:83 +0x5a9

Table `stacks`, a row per goroutine, frames innermost first without their arguments; the main thread is the goroutine that `main.main` began. How it is parked, its
state tells: what stands inside for that alone (the poller, a connection's read, the scheduler) is left off, so that all who wait at one line of the program stand there. For how
long it has been parked the runtime tells as well, from a minute on: so it has stood there in an earlier look, too, and is two rows. What runs was not seen to
stand, and is no row; after a panic, or a fatal error, the others show where a process ended (source traceback).

Printed by: programs in Go.
Versions: Go 1.9 and later; 1.23 and later print gp= and m= behind the number.
Source: not read: Go's runtime/traceback.go and runtime/pprof; the forms are as programs print them.
"""

from collections import Counter
from typing import Any

import polars as pl

from parsers.schema.lines import claimed, reporter, streams
from parsers.schema.parser import LineParser
from parsers.schema.rules import LINE_CHARACTERS
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

AFTER = 200
_MOST = 500  # frames
_MINUTE_NS = 60_000_000_000
_HEADER = regex(
    r"goroutine (?P<id>\d{1,12})(?: gp=\S{1,20})?(?: m=\S{1,20})?(?: mp=\S{1,20})? \[(?P<state>[^\],]{1,60})(?:, (?P<minutes>\d{1,7}) minutes)?(?:, [^\]]{1,40})?\]:$"
)
_CALL = regex(
    r"(?P<path>(?:[^\s/()]{1,200}/){0,20})(?P<name>[^\s/()][^\s/]{0,300}?)\((?P<given>[^()]{0,2000}(?:\([^()]{0,200}\))?[^()]{0,200})\)$"
)
_TYPE = regex(r"\(\*?(?P<type>[^()]{1,100})\)")
_PLACE = regex(r"\s*(?P<file>\S{1,1000}\.(?:go|s|c)):(?P<line>\d{1,9})(?: \+0x[0-9a-f]+)?$")
_DIED = regex(r"(?:panic|fatal error): ")
_PARKED = regex(
    r"(?:^|/)src/(?:(?:runtime|internal/poll|internal/runtime/\w{1,20}|net|syscall|io|bufio|time)/\w{1,60}|sync/(?:waitgroup|cond))\.(?:go|s)$"
)
_RUNS = ("running", "runnable", "copystack")


def parse(lines: pl.DataFrame) -> Tables:
    """stacks, claimed."""
    rows: list[dict[str, Any]] = []
    places: list[tuple[str, int]] = []
    for said in streams(lines):
        one: dict[str, Any] | None = None
        call: str | None = None
        died = False
        seen: Counter[str] = Counter()
        for row in said:
            text = row["text"][:LINE_CHARACTERS].rstrip()
            if found := _HEADER.match(text.strip()):
                minutes = int(found["minutes"] or 0)
                one = reporter(row) | {
                    "thread": found["id"], "status": found["state"], "frames": [], "time_ns": row["time_ns"], "is_main": False,
                    "source": "traceback" if died else "goroutines", "snapshot": seen[found["id"]], "minutes": minutes,
                }  # fmt: skip
                seen[found["id"]] += 1 + (minutes > 0)
                rows.append(one)
            elif one is not None and call is not None and (place := _PLACE.match(text)):
                one["frames"].append({"function": call, "file": place["file"], "line": int(place["line"])})
                one["is_main"] |= call == "main.main"
                call = None
            elif one is not None and len(one["frames"]) < _MOST and (called := _CALL.match(text.strip())):
                call = _TYPE.sub(lambda part: part["type"], called["name"])
            elif one is not None and text.startswith("created by "):
                call = None
            else:
                died |= _DIED.match(text.strip()) is not None
                one = call = None
                continue
            places.append((row["file"], row["line"]))
    told = [one for one in rows if one["frames"] and one["status"] not in _RUNS]
    return tables_of(stacks=[row for one in told for row in _looks(one)], claimed=claimed(places))


def _looks(one: dict[str, Any]) -> list[dict[str, Any]]:
    """A row, or two of one that has been parked for long."""
    minutes, frames = one.pop("minutes"), one["frames"]
    inside = next((at for at, frame in enumerate(frames) if not _PARKED.search(frame["file"])), 0)
    one["frames"] = frames[inside:]
    if not minutes or one["source"] == "traceback":
        return [one]
    before = None if one["time_ns"] is None else one["time_ns"] - minutes * _MINUTE_NS
    return [one | {"time_ns": before}, one | {"snapshot": one["snapshot"] + 1}]


PARSER = LineParser(name="goroutines", anchors=(b"goroutine ", b"panic: ", b"fatal error: "), parse=parse, after=AFTER)
