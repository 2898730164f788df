"""Who came to a start that never came about, counted in whatever words: lines that say again and again that so many of as many as the job has
are there.

    rank 0: hall: 5 present, 6 wanted            rank 2: no route to the hall, try 7
            hall: 5 present, 6 wanted                    no route to the hall, try 8

What a line counts its words do not tell. What does: it holds the size of the job beside a smaller number, says the same twice and more, and never
that all are there; and the job had not begun. Who is inside is told where just as many ranks as were counted repeat that number: then the others
are outside. Each of them is named where its own log repeats what none of those inside repeats, or where a line with the count holds, of
all numbers below the size, just theirs beside it, or whose host shows their processes held alone; else they are suspects. Where nobody tells who is inside, two things that know nothing of each
other must agree: the numbers that stand beside a count that stands still, as many as it leaves, are those of just the ranks that left no record, or whose
logs went another way than those of all others (apart.py).
So after the first steps too, or where all had come before, where the log that counts then gave up waiting: there it is the word of a barrier. Then
the size need not be told: as many left a record as were counted, and the rest stands beside the count.

Events `missing_members`, a row for each log that counts, with the code ROLL_CALL where names_ranks is who did not come, and ROLL_COUNT where it is whom the
count leaves, or nobody; detail.joined and detail.expected; with the code barrier and detail.again where it is no start. Where a library has counted, nothing is added: its words are known.

Fooled by: a count of something else that there is as much of as ranks, that stands still before a first step, and that just as many ranks print.
"""

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import msgspec
import polars as pl

from forensics.assemble.starts.apart import first_line, is_apart, own_logs
from forensics.model.told import values
from parsers.schema.event_kinds import STILL
from parsers.schema.tables import TableName, Tables, table
from parsers.text.patterns import regex
from parsers.text.whole_numbers import whole_numbers
from parsers.who.lines.prefixes import strip

ROLL_CALL, ROLL_COUNT = "roll_call", "roll_count"
_FEWEST = 3  # of a job, and 2 of them inside: of two, neither is most
_LABEL, _WORDS = 0.8, 3  # of the lines of a log, and lines of so many kinds, hold what stands before its words
_LOGS = 4096  # more are not read line by line
_HELD = ("disk sleep", "stopped", "zombie", "dead")  # `stacks.status`
_BEGUN: tuple[TableName, ...] = ("steps", "operations", "tensors", "timings", "progress")

_ALONE = regex(r"(?<![\w.:/-])\d{1,7}(?![\w:/-]|\.\d)")  # a number that is no part of a name, a time or a fraction
_NAMED = regex(r"(?<![\w.:/-])[^\W\d_]{1,12}[_-]?(\d{1,7})(?![\w:/-]|\.\d)")  # that ends a name, `w17`
# Two numbers with little between them, neither part of a name, a date or a process's brackets; ~ is a time.
_PAIR = regex(
    r"(?<![A-Za-z0-9_./-])(\d{1,7})(?=[^\d~\[\]]{1,24}?(?<![A-Za-z_-])(\d{1,7})(?![A-Za-z0-9_-]|[/:.]\d))", re.ASCII
)

_TIME = regex(r"~(?=\D)")
_DIGITS = regex(r"\d+")


class _Line(msgspec.Struct, frozen=True):
    """`pairs`: the numbers that stand beside each other, as (smaller, larger); `leads`: the form of what stands before each."""

    text: str
    template: str
    numbers: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]
    leads: tuple[str, ...]


class _Log(msgspec.Struct, frozen=True, dict=True):
    """`first`: the number of the first of its lines that are kept."""

    file: str
    rank: int | None
    first: int
    lines: Sequence[_Line]

    def repeated(self) -> Iterator[tuple[_Line, _Line]]:
        """The last two lines of each template of several."""
        said: defaultdict[str, list[_Line]] = defaultdict(list)
        for one in self.lines:
            said[one.template].append(one)
        yield from ((own[-2], own[-1]) for own in said.values() if len(own) > 1 and own[0].template.strip("#~ "))

    @cached_property
    def stands(self) -> frozenset[tuple[str, tuple[tuple[int, int] | None, ...]]]:
        """Templates of several lines, with the pairs that stay the same in the last two."""
        return frozenset(
            (
                last.template,
                tuple(one if one == other else None for one, other in zip(before.pairs, last.pairs, strict=False)),
            )
            for before, last in self.repeated()
        )


def has_begun(tables: Tables) -> bool:
    """Does a record show that the job did anything of a step?"""
    return any(tables[name].height for name in _BEGUN) or bool(tables["values"]["step"].count())


def missing_row(
    rank: int | None, names: Collection[int], code: str, counted: Mapping[str, int], **place: Any
) -> dict[str, Any]:
    """What one log says: so many of as many are there. `names`: who is not, or may not be; `place`: file, line and text."""
    return {
        "kind": "missing_members",
        "code": code,
        "severity": "error",
        "rank": rank,
        "rank_space": "global" if rank is not None else None,
        "names_ranks": sorted(names),
        "names_rank_space": "global" if names else None,
        "detail": json.dumps(counted),
        **place,
    }


def with_roll_calls(tables: Tables, job: frozenset[int], seen: frozenset[int]) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global; `job`: its ranks if its size is told, else empty; `seen`: those that left rows →
    the same with such events."""
    gave_up = _gave_up(tables["events"])
    is_late = tables["steps"].height > 0 and bool(gave_up)
    is_counted = bool((tables["events"]["kind"] == "missing_members").any())
    begun = has_begun(tables)
    heard = seen | frozenset(values(tables["files"]["rank"]))
    is_open = len(job or (heard if gave_up else ())) >= _FEWEST
    if not is_open or (begun and not is_late) or is_counted or not _may_count(tables["files"], len(job)):
        return dict(tables)
    files = own_logs(tables)
    logs = [*_logs(files, _of_calls(tables["events"]) | _of_members(tables["ranks"]))]
    job = job or _as_counted(logs, heard)
    size = len(job)
    told = _told(logs, size)
    if not told:
        return dict(tables)
    begun = begun or any(_was_whole(one, size) for one in logs if one.file in told)
    most = max(count for count, _ in told.values())
    told = {file: found for file, found in told.items() if found[0] == most}
    unheard = job - seen - {one.rank for one in logs}
    if begun:
        first = {one.file: one.first for one in logs}
        told = {file: one for file, one in told.items() if first[file] + one[1] <= gave_up.get(file, 0)}
        rest = _beside_counts(logs, told, most, size)
        counted = {"reached": most, "expected": size, "again": True}
        rows = [_row(one, told[one.file][1], rest, "barrier", counted) for one in logs if one.file in told]
        return {**tables, "events": pl.concat([tables["events"], table("events", rows if rest == unheard else [])])}
    outside, is_named = _outside(logs, most, job, told)
    is_named = is_named or _are_held(tables["stacks"], outside, job.difference(outside))
    if not is_named and (rest := _beside_counts(logs, told, most, size)) >= unheard:
        counting = {one.rank for one in logs if one.file in told}
        if not rest - unheard or is_apart(files, rest - unheard, job - rest - counting):
            outside, is_named = (tuple(sorted(rest)), True) if rest else (outside, is_named)
    code, counted = ROLL_CALL if is_named else ROLL_COUNT, {"joined": most, "expected": size}
    rows = [_row(one, told[one.file][1], outside, code, counted) for one in logs if one.file in told]
    return {**tables, "events": pl.concat([tables["events"], table("events", rows)])}


def _as_counted(logs: Sequence[_Log], seen: frozenset[int]) -> frozenset[int]:
    """The job as a count that stands still tells it, where just as many left a record as it counts, and those beside it did not; else nobody."""
    pairs = {pair for log in logs for _, held in log.stands for pair in held if pair is not None}
    sizes = {of for count, of in pairs if count == len(seen) and max(seen) < of and 2 * (of - count) < of}
    fitting = [
        of for of in sizes if _beside_counts(logs, _told(logs, of), len(seen), of) == frozenset(range(of)) - seen
    ]
    return frozenset(range(fitting[0])) if len(fitting) == 1 else frozenset()


def _was_whole(log: _Log, size: int) -> bool:
    """Did a line of one kind count up to all of them, and then anew? Then this is not the first time that they come together."""
    counted: defaultdict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
    for line in log.lines:
        for place, pair in enumerate(line.pairs):
            counted[line.template, place].append(pair)
    return any(
        (size, size) in said and any(0 < count < of == size for count, of in said[said.index((size, size)) :])
        for said in counted.values()
    )


def _gave_up(events: pl.DataFrame) -> dict[str, int]:
    """File → the last line of it that says that a wait for others, or of nobody knows what, ended without them."""
    is_still = ((pl.col("kind") == "heartbeat_lost") & (pl.col("code") == STILL)).fill_null(False)
    is_end = (pl.col("kind") == "collective_timeout") | is_still
    ended = events.filter(is_end).group_by("file").agg(pl.col("line").max())
    return {file: line for file, line in ended.iter_rows() if file is not None and line is not None}


def _may_count(files: pl.DataFrame, size: int) -> bool:
    """Does any log hold the size in one of its last lines? Most bundles end here. `size`: 0 if nobody tells it."""
    if not size:
        return files.height <= _LOGS
    held = files.select(pl.col("last_lines").explode()).drop_nulls()["last_lines"]
    return files.height <= _LOGS and bool(held.str.contains(rf"(?:^|\D){size}(?:\D|$)").any())


def _of_calls(events: pl.DataFrame) -> frozenset[tuple[str, int]]:
    """Lines that tell of a numbered call: the numbers in it are of what it was to move."""
    called = events.filter((pl.col("kind") == "collective_timeout") & pl.col("seq").is_not_null())
    return frozenset(called.select("file", "line").drop_nulls().iter_rows())


def _of_members(ranks: pl.DataFrame) -> frozenset[tuple[str, int]]:
    """Lines in which a process says which of how many it is: who speaks is no count of who came."""
    said = ranks.filter(pl.col("rank").is_not_null() & pl.col("world_size").is_not_null())
    return frozenset(said.select("file", "line").drop_nulls().iter_rows())


def _logs(files: pl.DataFrame, known: frozenset[tuple[str, int]]) -> Iterator[_Log]:
    for row in files.sort("file").iter_rows(named=True):
        if texts := row["last_lines"]:
            first = first_line(row)
            lines = [_line("" if (row["file"], at) in known else text) for at, text in enumerate(texts, first)]
            yield _Log(row["file"], row["rank"], first, lines)


def _line(text: str) -> _Line:
    own, template, numbers = whole_numbers(strip(text).text)
    found = _pairs(own)
    pairs = ((int(one[1]), int(one[2])) for one in found)
    leads = (_DIGITS.sub("#", own[: one.start()]) for one in found)
    return _Line(text, template, numbers, tuple((min(pair), max(pair)) for pair in pairs), tuple(leads))


def _pairs(text: str) -> Sequence[re.Match[str]]:
    """Each number with the one that it stands nearest to, in their order."""
    near = sorted(_PAIR.finditer(text), key=lambda found: (found.start(2) - found.end(1), found.start()))
    taken: set[int] = set()
    kept: list[re.Match[str]] = []
    for found in near:
        if not taken & {found.start(1), found.start(2)}:
            taken |= {found.start(1), found.start(2)}
            kept.append(found)
    return sorted(kept, key=lambda found: found.start())


def _told(logs: Sequence[_Log], size: int) -> dict[str, tuple[int, int]]:
    """File → how many it last said that there are, again and again, of `size`, and at which of its lines. What differs from log to log, or is one's own
    number, counts whoever speaks."""
    found: defaultdict[tuple[str, int], dict[str, tuple[int, int]]] = defaultdict(dict)
    for log in logs:
        for key, count in _counts(log, size):
            found[key][log.file] = count
    ranks = {log.file: log.rank for log in logs}
    told: dict[str, tuple[int, int]] = {}
    for own in found.values():
        counts = {count for count, _ in own.values()}
        if len(counts) == 1 and any(ranks[file] != count for file, (count, _) in own.items()):
            told |= {file: max(told.get(file, one), one) for file, one in own.items()}
    return told


def _counts(log: _Log, size: int) -> Iterator[tuple[tuple[str, int], tuple[int, int]]]:
    """(template, place) → the count that its last two lines hold there, and the last of them; not what stands on most lines of the log, whatever they say."""
    held: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
    for line in log.lines:
        for pair in {*line.pairs}:
            held[pair].append(line.template)
    for before, last in log.repeated():
        own = [(at, one) for at, one in enumerate(log.lines) if one.template == last.template]
        for place, (count, of) in enumerate(last.pairs):
            is_still = before.pairs[place : place + 1] == ((count, of),)
            is_whole = any(one.pairs[place : place + 1] == ((size, size),) for _, one in own)
            lines = held[count, of]
            is_label = len({*lines}) >= _WORDS and len(lines) >= _LABEL * len(log.lines)
            is_still = is_still and 0 < count < of == size and not is_whole and not is_label
            if is_still and not _goes_about(log, last.leads[place], size):
                yield (last.template, place), (count, own[-1][0])


def _goes_about(log: _Log, lead: str, size: int) -> bool:
    """Do the numbers that stand behind the same words fall, to another one than the lowest, or over as many as there are ranks? Whoever comes is there, and a
    count begins anew from where it began: these tell who speaks, whatever that says."""
    told = [
        count
        for line in log.lines
        for own, (count, of) in zip(line.leads, line.pairs, strict=True)
        if (own, of) == (lead, size)
    ]
    falls = {after for before, after in pairwise(told) if after < before}
    return bool(falls) and (falls != {min(told)} or len({*told}) == size)


def _outside(
    logs: Sequence[_Log], count: int, job: frozenset[int], told: Mapping[str, tuple[int, int]]
) -> tuple[tuple[int, ...], bool]:
    """(who is left when just as many as were counted say the count themselves, whether they are shown to be outside)."""
    inside = frozenset(one.rank for one in logs if one.rank is not None and one.file in told)
    if len(inside) != count:  # who counts may be one alone, and the others repeat what it says
        by_line: defaultdict[tuple[str, int], set[int]] = defaultdict(set)
        for log in logs:
            for before, last in log.repeated() if log.rank is not None else ():
                for at, (one, other) in enumerate(zip(before.numbers, last.numbers, strict=True)):
                    if one == other == count and log.rank is not None:
                        by_line[last.template, at].add(log.rank)
        inside = _as_many(by_line.values(), count) or _waiting_alike(logs, count)
    rest = job - inside
    if len(inside) < 2 or not inside <= job or 2 * len(rest) >= len(job):
        return (), False
    within = {said for one in logs if one.rank in inside for said in one.stands}
    own = {rank: [one for one in logs if one.rank == rank] for rank in rest}
    waits_elsewhere = all(any(one.stands - within for one in ours) for ours in own.values())
    return tuple(sorted(rest)), waits_elsewhere or _are_told(logs, told, count, rest, len(job))


def _waiting_alike(logs: Sequence[_Log], count: int) -> frozenset[int]:
    """Just as many ranks as were counted, whose logs all repeat one and the same line, in which nothing counts; else nobody."""
    by_line: defaultdict[str, set[int]] = defaultdict(set)
    for log in logs:
        for before, last in log.repeated() if log.rank is not None else ():
            if before.numbers == last.numbers and log.rank is not None:
                by_line[last.template].add(log.rank)
    return _as_many(by_line.values(), count)


def _as_many(repeated: Iterable[set[int]], count: int) -> frozenset[int]:
    """Of the ranks that repeat a line each, the only ones that are just as many as were counted; else nobody."""
    alike = {frozenset(ranks) for ranks in repeated if len(ranks) == count}
    return alike.pop() if len(alike) == 1 else frozenset()


def _are_held(stacks: pl.DataFrame, rest: Collection[int], others: Collection[int]) -> bool:
    """Does their host show all of these dead, stopped or in a wait of the kernel that nothing ends, and none of the others?"""
    is_held = pl.col("status").is_in(_HELD).fill_null(False)
    held = set(stacks.filter(is_held & pl.col("rank").is_not_null())["rank"])
    return bool(rest) and held.issuperset(rest) and held.isdisjoint(others)


def _are_told(
    logs: Sequence[_Log], told: Mapping[str, tuple[int, int]], count: int, rest: frozenset[int], size: int
) -> bool:
    """Does a line that counts hold, beside the count and the size, the numbers of just these ranks, and no other such line other ones?"""
    lines = (one for log in logs if log.file in told for one in log.lines)
    named = {found for line in lines for found in _beside(line, count, size)}
    return named - {frozenset()} == {rest}


def _beside(line: _Line, count: int, size: int) -> Iterator[frozenset[int]]:
    """The numbers below the size that stand in a line beside the count and the size, for each place of these."""
    text, _, _ = whole_numbers(line.text)
    for found in _PAIR.finditer(text):
        if {int(found[1]), int(found[2])} == {count, size}:
            rest_of_it = f"{text[: found.start(1)]} {text[found.end(1) : found.start(2)]} {text[found.end(2) :]}"
            stamped = max((one.end() for one in _TIME.finditer(rest_of_it)), default=0)  # before it stands a date
            told = (map(int, form.findall(rest_of_it, stamped)) for form in (_ALONE, _NAMED))
            plain, named = (frozenset(number for number in own if number < size) for own in told)
            yield plain or named


def _beside_counts(logs: Sequence[_Log], told: Mapping[str, tuple[int, int]], count: int, size: int) -> frozenset[int]:
    """The numbers, as many as a count leaves, that stand beside it in the last two lines that repeat it, the same wherever any do; else none."""
    named = set[frozenset[int]]()
    for log in logs:
        for before, last in log.repeated() if log.file in told else ():
            if any(one == other == (count, size) for one, other in zip(before.pairs, last.pairs, strict=False)):
                named |= {*_beside(before, count, size), *_beside(last, count, size)} - {frozenset()}
    only = named.pop() if len(named) == 1 else frozenset()
    return only if len(only) == size - count and 2 * len(only) < size else frozenset()


def _row(log: _Log, at: int, outside: Collection[int], code: str, counted: Mapping[str, int]) -> dict[str, Any]:
    return missing_row(log.rank, outside, code, counted, file=log.file, line=log.first + at, text=log.lines[at].text)
