"""Whose exception is it that one process prints below a heading which tells another?

    07:32:46 fit raised in trainer 2          --- rank 2 ---          child with pid 4711 failed:
    Traceback (most recent call last):

Below headings of one file that are alike but for a number stand the failures of several: each number once, ranks of the job, behind a word for a
process that takes part; shards, requests and tests are counted alike. One heading alone must tell no other number, and not whose worker it is; a pid that
some rank has is enough. Headings that tell two such numbers tell nobody. Where most of the job failed so,
nobody outlived it because the one that prints it all goes on. Of errors that are all alike it does not matter whose each is.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import groupby
from typing import NamedTuple

import polars as pl

from forensics.assemble.who.identity import ENDS, given_rank
from forensics.model.told import CONSEQUENCE
from parsers.pytorch.raised import HEADED
from parsers.pytorch.traceback import HEADING
from parsers.schema.labels import OF_GROUP
from parsers.schema.tables import TableName, Tables
from parsers.text.patterns import regex
from parsers.text.unanimous import unanimous
from parsers.who.learnt.at_once import TRAINING
from parsers.who.learnt.counts import IS_OTHER

_PLACE = ["file", "line"]
_PADDED = regex(r"[A-Za-z]0\Z")  # `worker01` is the name of a host
_NUMBER = regex(
    r"(?<![\w.:/,-])(?P<word>[^\W\d]{1,30})[\W_]{0,3}(?P<number>\d{1,9})(?![\w%]|[.:/,-]\d)"
)  # no part of a stamp, an address, a figure
_OF_PRINTER = r'"(went_on|introduced|later)"'
_DIGITS, _ERROR = regex(r"\d+"), regex(r"(?<![a-z])[A-Z]\w{0,60}(?:Error|Exception): ")
_LAST = regex(r"[^\W\d_]+\Z")  # of a name as `train_worker`; nothing where the number is one of a group or of a loader
_QUALIFIED = regex(
    r"(?i)(?<![a-z])(?!(?:in|by|of|on|from|the|at|for|with|with|raised|failed|error|exception|task|driver)\b)[a-z]{3,}[ _-]worker\b|# of the\b"
)  # whose worker, or of what
_SPAWNED = regex(r"-- Process # terminated")
_NO_RANKS = regex(r"(?i)(?:local|node|host|gpu|cuda|device|line|port|code|status|signal|errno|epoch|global_step|pid)")


class _Heading(NamedTuple):
    """`where`: file, and the line without its numbers, with how far above it stands; `numbers`: word and number of each slot."""

    place: tuple[str, int]
    where: tuple[str, int, str]
    numbers: tuple[tuple[str, int], ...]


def with_headed_errors(tables: Tables, job: Set[int]) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global, and the job's → the same, with the rank of such exceptions and of what else their lines tell."""
    events = tables["events"]
    rest = {**tables, "events": events.filter((pl.col("kind") != "other") | (pl.col("code") != HEADED).fill_null(True))}
    nobodys = (pl.col("kind") == "exception") & pl.col("rank").is_null() & pl.col("line").is_not_null()
    is_headed = pl.col("detail").str.contains('"headed"', literal=True)
    is_own = ~pl.col("kind").is_in(ENDS) & ~pl.col("detail").str.contains(CONSEQUENCE, literal=True)  # no launcher's
    at = events.filter(pl.col("rank").is_null() & is_headed & is_own)
    said = at["text"].str.replace_all(r"\d+", "#")
    are_alike = at.height > 1 and said.n_unique() == 1  # then no name tells one of them from the others
    if len(job) < 2 or are_alike or not at.filter(nobodys).height:
        return rest
    pids: dict[int, int] = unanimous(tables["ranks"].select("pid", "rank").drop_nulls().unique().iter_rows())
    named = events.filter(pl.col("rank").is_not_null())
    records = set(named.select("file", pl.col("text").str.head(HEADING)).iter_rows())
    rows = at.select(*_PLACE, "detail").unique().sort(*_PLACE).iter_rows()
    headings = [one for file, line, told in rows for one in _headings(file, line, told, records)]
    alike: defaultdict[tuple[str, int, str], list[_Heading]] = defaultdict(list)
    for one in headings:
        alike[one.where].append(one)
    told: defaultdict[tuple[str, int], set[int]] = defaultdict(set)
    printers: defaultdict[tuple[int, str], set[str]] = defaultdict(set)
    for file, above, text in alike:
        printers[above, text].add(file)
    # What several print, each counts for itself, as torch's spawn counts the processes of its node.
    alone = [
        own for (_, above, text), own in alike.items() if len(printers[above, text]) == 1 and not _SPAWNED.search(text)
    ]
    for own in alone:
        for place, rank in _whose(own, pids, job):
            told[place].add(rank)
    given = [(*place, min(ranks)) for place, ranks in sorted(told.items()) if len(ranks) == 1]
    if not given:
        return rest
    schema = {"file": events.schema["file"], "line": pl.Int64(), "_rank": pl.Int64()}
    events = rest["events"]
    joined = events.join(pl.DataFrame(given, schema, orient="row"), on=_PLACE, how="left", maintain_order="left")
    is_open = pl.col("_rank").is_not_null() & pl.col("rank").is_null()
    files = {file for file, *_ in given}
    most = [file for file in files if 2 * len({who for at, _, who in given if at == file}) > len(job)]
    # Then that its printer goes on tells of that one alone.
    is_over = is_open & pl.col("file").cast(pl.String).is_in(most)
    detail = pl.when(is_over).then(pl.col("detail").str.replace_all(_OF_PRINTER, '"printer_$1"')).otherwise("detail")
    filled = joined.with_columns(*given_rank(pl.when(is_open).then("_rank")), detail.alias("detail"))
    return {**rest, "events": filled.select(events.columns).cast(events.schema)}


def _headings(file: str, line: int, detail: str, records: Set[tuple[str, str]]) -> Iterator[_Heading]:
    """Of the nearest line that tells a number; not of those that a rank itself prints: such a record speaks of its printer, and so does an error."""
    for above, text in enumerate(reversed(json.loads(detail)["headed"].split("\n"))):
        found = tuple(
            ("" if OF_GROUP.search(text[: one.start("word")]) else one["word"], int(one["number"]))
            for one in _NUMBER.finditer(text)
            if not _PADDED.search(text, 0, one.start("number") + 1)
        )
        if (file, text) in records or _ERROR.search(text):
            return
        if found:
            form = _DIGITS.sub("#", text) + "\0" + " ".join(word for word, _ in found)
            yield _Heading((file, line), (file, above, form), found)
            return


def _whose(own: Sequence[_Heading], pids: Mapping[int, int], job: Set[int]) -> Iterator[tuple[tuple[str, int], int]]:
    """(place, rank) of what stands below headings that are alike, by each slot that tells one."""
    for slot, (word, _) in enumerate(own[0].numbers):
        numbers = [one.numbers[slot][1] for one in own]
        each = [number for number, _ in groupby(numbers)]  # what is raised again stands below the same heading
        if len({*each}) < len(each):
            continue
        if all(number in pids and number not in job for number in numbers):
            yield from ((one.place, pids[number]) for one, number in zip(own, numbers, strict=True))
            continue
        name = _LAST.search(word)
        if name is None or IS_OTHER.fullmatch(name[0]) or _NO_RANKS.search(word):
            continue
        base = int({*numbers} == {rank + 1 for rank in job})  # all of them, counted from 1
        # A heading alone may speak of anything: of one with several numbers nobody knows which is whose (`rank 3 of 64 layers`).
        is_said = len(own) > 1 or len({number for _, number in own[0].numbers} - pids.keys()) == 1
        is_said = is_said and not _QUALIFIED.search(own[0].where[2])
        is_process = is_said and name[0].lower() in TRAINING
        if {*numbers} <= {rank + base for rank in job} and is_process:  # shards, requests, tests are counted alike
            yield from ((one.place, number - base) for one, number in zip(own, numbers, strict=True))
