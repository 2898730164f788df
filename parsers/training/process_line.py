"""Who is who by one line: a process says its rank and its number as `key=value`, or a launcher writes both before its words.

    2026-05-04 10:00:01 [rank6] INFO loop: init done rank=6 world_size=8 pid=4006
    start: host=n2 pid: 4006, global_rank: 6, local_rank: 2
    rank 6 of 8 started, host n2 pid 4006                                      (rank 6/8)
    [rank6] starting pid=4006 host=n2 local_rank=2                             (the rank by its prefix or its file)
    (Worker pid=4006, ip=10.0.0.7) [rank6]:[W1120 …                            (any words: Ray's prefix, then PyTorch's)

It joins stack dumps, which know processes by number, to ranks. A line that tells of another process (`killed`,
`waiting`, an exit code) is not read, nor one whose rank differs from that of its prefix.

Ray prints the number of the process whose words follow, PyTorch the rank of the process that speaks. A number that comes
with several ranks is that of a program that prints for others.

Printed by: training programs and their launchers, in words of their own; Ray's driver.
Versions: none; in words, rank and pid must stand in one line beside a word of start-up. Ray 1.0 to 2.60.
Source: the forms above are ours; Ray's python/ray/_private/worker.py (print_worker_logs).
"""

import re
from typing import Any

import polars as pl

from parsers.lines import claimed, reporter
from parsers.parser import LineParser
from parsers.patterns import regex
from parsers.rules import integer
from parsers.tables import Tables, table

_CHARACTERS = 2000
_RANK = regex(r"(?<![\w-])(?:global[_ ]?)?rank ?[=:] ?(\d{1,7})\b", re.I)
_OF = regex(r"(?<![\w-])rank ?[=:]? ?(\d{1,7}) ?(?:of|/) ?(\d{1,7})\b", re.I)
_PID = regex(r"(?<![\w-])pid ?[=: ] ?(\d{1,10})\b", re.I)
_LOCAL = regex(r"(?<![\w-])local[_ ]?rank ?[=:] ?(\d{1,4})\b", re.I)
_WORLD = regex(r"(?<![\w-])world[_ ]?size ?[=:] ?(\d{1,7})\b", re.I)
_HOST = regex(r"(?<![\w-])(?:host|hostname|node) ?[=: ] ?([A-Za-z][\w.-]{0,252})", re.I)
_STARTS = regex(r"\b(?:world[_ ]?size|local[_ ]?rank|init\w*|start(?:ed|ing|s)?|launch\w*|spawn\w*)\b", re.I)
_OTHERS = regex(r"kill|wait|exit|fail|died|dead|lost|timed? ?out|signal|clos|peer|terminat|error", re.I)


def parse(lines: pl.DataFrame) -> Tables:
    """ranks: rank, pid, local_rank, host."""
    rows: list[dict[str, Any]] = []
    for row in lines.iter_rows(named=True):
        text = row["text"][:_CHARACTERS]
        of = _OF.search(text)
        ranks, pids = set(_RANK.findall(text)) | ({of[1]} if of else set()), set(_PID.findall(text))
        who = reporter(row)
        ranks = ranks or ({str(who["rank"])} if who["rank"] is not None else set())
        if len(ranks) != 1 or len(pids) != 1 or not _STARTS.search(text) or _OTHERS.search(text):
            continue
        rank, local, host = int(ranks.pop()), _LOCAL.search(text), _HOST.search(text)
        if who["rank"] not in (None, rank):
            continue
        own = {
            "rank": rank,
            "pid": integer(pids.pop()),
            "how": "process line",
            "file": row["file"],
            "line": row["line"],
        }
        own["local_rank"] = int(local[1]) if local else who["local_rank"]
        own["host"] = host[1] if host else who["host"]
        world = int(of[2]) if of else int(size[1]) if (size := _WORLD.search(text)) else None
        if world is not None and rank >= world:
            continue
        own["world_size"] = world
        rows.append(own)
    read = claimed((row["file"], row["line"]) for row in rows)
    return {"ranks": pl.concat([table("ranks", rows), _prefixed(lines)]), "claimed": read}


def _prefixed(lines: pl.DataFrame) -> pl.DataFrame:
    """Table `ranks` of what stands before the words: each process once, where its number comes with one rank."""
    both = lines.filter(pl.col("process").is_not_null() & pl.col("rank").is_not_null())
    both = both.with_columns(pl.coalesce("host", "path_host").alias("host"), pl.col("process").alias("pid"))
    both = both.filter(pl.col("rank").n_unique().over("file", "host", "pid") == 1)
    own = both.unique(["file", "host", "pid"], keep="first", maintain_order=True)
    named = own.select("rank", "host", "pid", "file", "line", pl.lit("prefixes").alias("how"))
    return table("ranks", named.iter_rows(named=True))


PARSER = LineParser(
    name="process_line",
    anchors=(b"pid=", b"pid: ", b"pid:", b"pid = ", b" pid "),
    parse=parse,
)
