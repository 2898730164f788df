"""Who is who by one line: a process says its rank and its number as `key=value`, or a launcher writes both before its words.

    2026-05-04 10:00:01 [rank6] INFO loop: init done rank=6 world_size=8 pid=4006
    start: host=n2 pid: 4006, global_rank: 6, local_rank: 2
    rank 6 of 8 started, host n2 pid 4006                                      (rank 6/8)
    [rank6] starting pid=4006 host=n2 local_rank=2 cuda:2 bus 0000:b9:00.0      (the rank by its prefix or its file; its device)
    setup: process 6 of 8, pid 4006, ready  |  world_rank=6, world_size=8, pid=4006       (in any words, beside the size of the world)
    launched RANK=6 LOCAL_RANK=2 as pid 70 (on node: 4006)                     (the number that its host counts: as `name`)
    (Worker pid=4006, ip=10.0.0.7) [rank6]:[W1120 …                            (any words: Ray's prefix, then PyTorch's)
    engine-1 pid=7701 host=n5 port=9101                                        (no rank: a process of the job, of another program)

    spawned: 'ddp_03' with pid 4006  |  trainer.3 started (pid=4006)       (a launcher that knows a name and no rank)

It joins stack dumps, which know processes by number, to ranks. A line that tells of another process (`killed`,
`waiting`, an exit code) is not read, nor one whose rank differs from that of its prefix; who prints
another process's number gives it no rank.

Ray prints the number of the process whose words follow, PyTorch the rank of the process that speaks. A number that comes
with several ranks is that of a program that prints for others.

Printed by: training programs and their launchers, in words of their own; Ray's driver.
Versions: none; in words, rank and pid must stand in one line beside a word of start-up or the size of the world. Ray 1.0 to 2.60.
Source: the forms above are ours; Ray's python/ray/_private/worker.py (print_worker_logs).
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import polars as pl

from parsers.schema.event_kinds import NO_RANK
from parsers.schema.lines import claimed, reporter
from parsers.schema.parser import LineParser
from parsers.schema.rules import integer
from parsers.schema.tables import Tables, table
from parsers.text.patterns import regex
from parsers.text.unanimous import unanimous
from parsers.who.lines.introductions import Introduction, bus_in, introduction

BEFORE_WORDS = "prefixes"  # both stand before the words
_CHARACTERS = 2000
_RANK = regex(r"(?<![\w-])(?:global[_ ]?)?rank ?[=:] ?(\d{1,7})\b", re.I)
_OF = regex(r"(?<![\w-])rank ?[=:]? ?(\d{1,7}) ?(?:of|/) ?(\d{1,7})\b", re.I)
_PID = regex(r"(?<![\w-])pid ?[=: ] ?(\d{1,10})\b", re.I)
_LOCAL = regex(r"(?<![\w-])local[_ ]?rank ?[=: ] ?(\d{1,4})\b", re.I)
_WORLD = regex(r"(?<![\w-])world[_ ]?size ?[=:] ?(\d{1,7})\b", re.I)
_HOST = regex(r"(?<![\w-])(?:host|hostname|node) ?[=: ] ?(?!pid\b)([A-Za-z][\w.-]{0,252})", re.I)
_STARTS = regex(r"\b(?:world[_ ]?size|local[_ ]?rank|init\w*|start(?:ed|ing|s)?|launch\w*|spawn\w*)\b", re.I)
_NUMBER = regex(r"(?<![\w.:/=-])(\d{4,10})(?![\w.:/-])")
_OTHERS = regex(r"kill|wait|exit|fail|died|dead|lost|timed? ?out|signal|clos|peer|terminat|error", re.I)


# What a launcher calls a process: quoted, or right beside the word for its start. A word of a language is no name.
_NAME = regex(
    r"(?i)\b(?:started|spawned|launched|starting|spawning|launching):? ['\"\[]?(?P<after>[\w.@+-]{2,100})(?=['\"\]]?[ ,:(])"
    r"|(?P<before>[\w.@+-]{2,100})['\"\]]?:? (?:was |has )?(?:started|spawned|launched|running)\b"
)


def _name(text: str) -> str | None:
    """What the line calls the process that it says has begun."""
    found = [match["after"] or match["before"] for match in _NAME.finditer(text)]
    names = {word for word in found if not word.isalpha() and not word.isdecimal()}
    return names.pop() if len(names) == 1 else None


def parse(lines: pl.DataFrame) -> Tables:
    """ranks: rank, pid, local_rank, host, pci; without a rank, name and pid of what a launcher starts, and host and pid of a process that tells
    no rank (how = `process of no rank`)."""
    rows: list[dict[str, Any]] = []
    introduced: list[tuple[Introduction, dict[str, Any]]] = []
    for row in lines.iter_rows(named=True):
        text = row["text"][:_CHARACTERS]
        of = _OF.search(text)
        ranks, pids = set(_RANK.findall(text)) | ({of[1]} if of else set()), set(_PID.findall(text))
        who = reporter(row)
        is_own = who["rank"] is not None and row["process"] in (None, *map(int, pids))
        ranks = ranks or ({str(who["rank"])} if is_own else set())
        if len(ranks) > 1 or len(pids) != 1 or _OTHERS.search(text):
            continue
        told = None if ranks and _STARTS.search(text) else introduction(text)
        if told is not None and told.world is not None and told.pid is not None:
            introduced.append((told, row))
            continue
        host = _HOST.search(text)
        name = None if ranks else _name(text)
        if not ranks and told is None and (name or host):
            own = {"pid": integer(pids.pop()), "file": row["file"], "line": row["line"]}
            process = {"host": host[1] if host else None, "how": NO_RANK}
            rows.append(own | ({"host": who["host"], "name": name, "how": "process line"} if name else process))
            continue
        if not ranks or not _STARTS.search(text):
            continue
        rank, local, pid = int(ranks.pop()), _LOCAL.search(text), integer(pids.pop())
        world = int(of[2]) if of else int(size[1]) if (size := _WORLD.search(text)) else None
        if who["rank"] not in (None, rank) or (world is not None and rank > world):
            continue
        own = {"rank": rank, "pid": pid, "how": "process line", "file": row["file"], "line": row["line"]}
        own |= {"local_rank": int(local[1]) if local else who["local_rank"], "host": host[1] if host else who["host"]}
        rows.append(own | {"pci": bus_in(text), "world_size": world, "name": _second(text, pid)})
    rows = [*_from_zero(rows), *_of_the_job(introduced)]
    read = claimed((row["file"], row["line"]) for row in rows)
    return {"ranks": pl.concat([table("ranks", rows), _prefixed(lines)]), "claimed": read}


def _from_zero(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows, in a file in which somebody is the last by number (8 of 8) with ranks counted from 0 if nobody is 0, else without him."""
    last = {row["file"] for row in rows if "rank" in row and row["rank"] == row["world_size"]}
    first = {row["file"] for row in rows if row.get("rank") == 0}
    for row in rows:
        if "rank" in row and row["file"] in last - first:
            yield row | {"rank": row["rank"] - 1}
        elif "rank" not in row or row["rank"] != row["world_size"]:
            yield row


def _of_the_job(introduced: list[tuple[Introduction, dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    """Lines that tell rank, world and pid in words of their own → rows of `ranks`, each process once: of the largest world of their file,
    for a smaller one may be a group's, where all of it introduce themselves, or what stands before a line, or the file's path, says the same rank. Where
    somebody is the last by number (8 of 8), ranks are counted from 1, if nobody is 0. A pid with two ranks is nobody's, and so is a rank
    with two pids on one host."""
    worlds: defaultdict[str, int] = defaultdict(int)
    ranks: defaultdict[str, set[int]] = defaultdict(set)
    for told, row in introduced:
        worlds[row["file"]] = max(worlds[row["file"]], told.world or 0)
    own = [(told, row) for told, row in introduced if told.world == worlds[row["file"]]]
    for told, row in own:
        ranks[row["file"]].add(told.rank)
    from_one = {file for file, world in worlds.items() if world in ranks[file] and 0 not in ranks[file]}
    whole = {file for file, world in worlds.items() if len(ranks[file]) >= world}
    found = [(told.rank - (row["file"] in from_one), told, row) for told, row in own]
    of_pid = unanimous(((row["file"], row["host"], told.pid), rank) for rank, told, row in found)
    of_rank = unanimous(((row["file"], row["host"], rank), told.pid or 0) for rank, told, row in found)
    for rank, told, row in found:
        is_own = reporter(row)["rank"] == rank or (row["rank"] is None and row["file"] in whole)
        alone = of_pid.get((row["file"], row["host"], told.pid)) == rank < worlds[row["file"]]
        if is_own and alone and of_rank.pop((row["file"], row["host"], rank), None) is not None:
            place = {"file": row["file"], "line": row["line"], "how": "process line"}
            place |= {"device_index": told.device, "pci": told.pci}
            yield {"rank": rank, "pid": told.pid, "world_size": told.world, "host": told.host or row["host"]} | place


def _second(text: str, pid: int | None) -> str | None:
    """The one other free number that may be of a process."""
    found = {number for number in _NUMBER.findall(text) if int(number) != pid}
    return found.pop() if len(found) == 1 else None


def _prefixed(lines: pl.DataFrame) -> pl.DataFrame:
    """Table `ranks` of what stands before the words: each process once, where its number comes with one rank."""
    both = lines.filter(pl.col("process").is_not_null() & pl.col("rank").is_not_null())
    both = both.with_columns(pl.coalesce("host", "path_host").alias("host"), pl.col("process").alias("pid"))
    both = both.filter(pl.col("rank").n_unique().over("file", "host", "pid") == 1)
    own = both.unique(["file", "host", "pid"], keep="first", maintain_order=True)
    named = own.select("rank", "host", "pid", "file", "line", pl.lit(BEFORE_WORDS).alias("how"))
    return table("ranks", named.iter_rows(named=True))


PARSER = LineParser(name="process_line", anchors=(b"pid=", b"pid: ", b"pid:", b"pid = ", b" pid "), parse=parse)
