"""What shows of a rank that alone did not give up its wait that it was held up by itself: its driver's word of its device, or its own.

A device: in the time before the first rank gave up, drivers report errors of the device of this rank and of no other's; whether a program may
bring them about is not asked, for that it held this rank up is all that is said. Its own words: its log counts how long it waits for something
that is no operation of communication (parsers/logs/given_up.py), no other rank's log does, and what it names has a name that the
logs of all others tell in other words, a number aside (a lock of each rank), or that somebody else tells (who gives it out). A monitor of the whole job names no such thing. Or
it counts attempts at something over most of that time (parsers/logs/attempts.py), which no other rank does. Or the others' lines call it as the one that they
wait for, and it alone prints, in whatever words, a number that rises with the clock: how long it has waited by then.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import polars as pl

from forensics.assemble.starts.apart import numbered_lines, own_logs
from forensics.facts.hosts.anomaly_window import AnomalyWindow
from forensics.facts.hosts.hardware import Record
from forensics.facts.rows.event_rows import Row, detail, of_kinds
from forensics.facts.rows.line_templates import DAY_S, second_of_day
from forensics.model.ref import Ref
from parsers.catalogues import described
from parsers.schema.event_kinds import ATTEMPTS, STILL
from parsers.schema.tables import Tables
from parsers.text.patterns import regex
from parsers.text.whole_numbers import whole_numbers

_NAME = regex(r"(?<![\w./-])[A-Za-z_/][\w./-]{2,120}[\w]")
_DIGITS = regex(r"\d+")
_MS_NS, _MOSTLY = 1e6, 0.5
_WORDS = 500
_LINES, _LONG_S = 3, 60  # that tell it, and seconds that the last of them tells
_OFF, _OFF_S = 0.05, 2  # by which a number and the clock may part: of the time between two lines, and seconds


def device_errors(hardware: Iterable[Record], window: AnomalyWindow, rank: int) -> tuple[Record, ...]:
    """Errors of this rank's device, where no other rank's had one in that time."""
    found = [
        one
        for one in hardware
        if one.kind in ("gpu_error", "gpu_lost")
        and one.severity in ("error", "fatal")
        and one.rank is not None
        and one.on_job is not False
        and not (one.common or one.is_consequence or described(one.origin).category == "informational")
        and (one.when == "before" or window.is_during(one.row))
    ]
    return tuple(found) if {one.rank for one in found} == {rank} else ()


def counted_wait(events: pl.DataFrame, files: pl.DataFrame, rank: int) -> tuple[Row, ...]:
    """The last line in which this rank counts its own wait; nothing where another rank counts one, or what it waits for may be anything."""
    of_file = dict(files.select("file", "rank").drop_nulls().iter_rows())
    counts = of_kinds(events, "heartbeat_lost").filter(pl.col("code").eq_missing(pl.lit(STILL))).drop_nulls("value")
    told = [row for row in counts.sort("value").iter_rows(named=True) if row["file"] in of_file]
    if not told or {of_file[row["file"]] for row in told} != {rank}:
        return ()
    last = told[-1]
    logs: defaultdict[int | None, list[list[str]]] = defaultdict(list)
    for of, lines in files.select("rank", "last_lines").rows():
        logs[of].append(lines or [])
    names = _names(last["text"]) - _of_every_line(logs.pop(rank, []))
    return (last,) if names and _are_told_elsewhere(names, logs) else ()


def counted_attempts(events: pl.DataFrame, rank: int) -> tuple[Row, ...]:
    """The last of the attempts that this rank counted, over most of the time in which the first of the others waited; nothing where another rank
    counts any in that time."""
    waits = of_kinds(events, "collective_timeout").drop_nulls(["time_ns", "value"]).sort("time_ns")
    if not waits.height:
        return ()
    first = waits.row(0, named=True)
    wait_ns = first["value"] * _MS_NS
    begun = first["time_ns"] - wait_ns
    tried = of_kinds(events, "other").filter(
        (pl.col("code") == ATTEMPTS) & (pl.col("time_basis") == first["time_basis"]) & (pl.col("time_ns") > begun)
    )
    told = [row for row in tried.sort("time_ns").iter_rows(named=True) if detail(row)["first_ns"] < first["time_ns"]]
    if not told or {row["rank"] for row in told} != {rank}:
        return ()
    last = told[-1]
    held = min(last["time_ns"], first["time_ns"]) - max(detail(last)["first_ns"], begun)
    return (last,) if held > _MOSTLY * wait_ns else ()


def clocked_wait(tables: Tables, rank: int) -> tuple[Ref, ...]:
    """The last and the first of the lines in which this rank alone tells a number of seconds that rises as its stamps do; of the most such lines."""
    logs = own_logs(tables).filter(pl.col("rank").is_not_null() & (pl.col("last_lines").list.len() > 0))
    told: defaultdict[str, list[tuple[Ref, int, tuple[int, ...]]]] = defaultdict(list)
    others: set[str] = set()
    for row in logs.iter_rows(named=True):
        for number, text in numbered_lines(row):
            _, template, numbers = whole_numbers(text)
            if row["rank"] != rank:
                others.add(template)
            elif (at := second_of_day(text)) is not None and numbers:
                told[template].append((Ref(file=row["file"], line=number, text=text[:_WORDS]), at, numbers))
    found = [
        own for template, own in told.items() if template not in others and len(own) >= _LINES and _is_clocked(own)
    ]
    best = max(found, key=len, default=None)
    return (best[-1][0], best[0][0]) if best else ()


def _is_clocked(told: Sequence[tuple[Ref, int, tuple[int, ...]]]) -> bool:
    """Does one number of these lines rise with their stamps, in seconds or thousandths, for long?"""
    for scale in (1, 1000):
        for column in zip(*(numbers for _, _, numbers in told), strict=True):
            pairs = pairwise(zip((at for _, at, _ in told), column, strict=True))
            steps = [((after[0] - before[0]) % DAY_S, (after[1] - before[1]) / scale) for before, after in pairs]
            if column[-1] / scale >= _LONG_S and all(
                by > 0 and abs(by - took) <= max(_OFF_S, _OFF * took) for took, by in steps
            ):
                return True
    return False


def _names(text: str) -> frozenset[str]:
    """What looks like the name of one thing: a word with a number, an underscore or a slash in it."""
    found = (one[0] for one in _NAME.finditer(text))
    return frozenset(name for name in found if any(sign.isdigit() or sign in "_/" for sign in name))


def _of_every_line(logs: Iterable[Sequence[str]]) -> frozenset[str]:
    """Names that stand in all lines of a log name the one who writes."""
    own = [_names(line) for lines in logs for line in lines if line.strip()]
    return frozenset.intersection(*own) if own else frozenset()


def _are_told_elsewhere(names: Iterable[str], logs: Mapping[int | None, Sequence[Sequence[str]]]) -> bool:
    """Is one of these told by a log of nobody, or, a number aside, by the logs of all other ranks? `logs`: those of the others, by rank."""
    told = {of: _all_names(own) for of, own in logs.items()}
    beside = told.pop(None, frozenset())
    common = frozenset[str].intersection(*(_shapes(own) for own in told.values())) if len(told) > 1 else frozenset()
    numbered = {name for name in names if any(map(str.isdigit, name))}
    return not numbered.isdisjoint(beside) or not _shapes(names).isdisjoint(common)


def _all_names(logs: Iterable[Sequence[str]]) -> frozenset[str]:
    return frozenset(name for lines in logs for line in lines for name in _names(line))


def _shapes(names: Iterable[str]) -> frozenset[str]:
    return frozenset(_DIGITS.sub("#", name) for name in names)
