"""Who was refused at a start for a value that it alone has, in whatever words.

    rank 2: meeting point up, protocol 9                      rank 5: meeting point up, protocol 7
            guest 5 speaks 7, this house 9, door closed               turned away: 7 spoken, 9 wanted

What a line calls its numbers its words do not tell. What does: a line that most ranks print at the start, or the beginning of one, holds one value in the
logs of all but a few, and another one in theirs; and then a line that few print holds both values, in a log of these few and in one of the others. Neither knows what the
other was given but by what it was told: two observers say what they differ in. So do one whose door was closed without a word, and whose log goes another way than
all others, and who closed it, where that line tells the rank beside both values. And so does a launcher's line that holds both beside the rank, or a last line in which
anybody says that versions differ, where the same few differ in whatever versions are told. A value that differs and that nobody speaks of is no fault.

Events `config_error` with the code REFUSED, of each of the few; names_ranks: these; detail.own and detail.usual. An exception that one of them raised with
both values in its words is that event. Nothing is said of a job that had begun.

Fooled by: a number that differs by chance in a line of the start, and two lines that hold both by chance, one in the very log that differs.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import polars as pl

from forensics.assemble.starts.apart import numbered_lines, own_logs
from forensics.assemble.starts.roll_calls import has_begun
from parsers.schema.tables import TableName, Tables, table
from parsers.text.patterns import regex
from parsers.who.lines.prefixes import strip

REFUSED = "refused"
_LOGS = 4096  # more are not read line by line
_FEWEST = 3  # ranks that tell the value: of two neither is usual
_NUMBERS = 6  # of a line that speaks of both; a record of figures holds any two by chance
_LATE = 8  # lines that follow in the log of who was refused: it has nothing left to do
_HOLE = "\N{NULL}"  # where a value stood, in templates: nobody prints it, and text may hold any other mark
_WORDS = regex(r"[^\W\d_]{2}")
_TOKEN = regex(r"\d+(?:\.\d+)*")
_VERSION = regex(r"(?i)(?<![a-z])(?:v|ver|version|protocol|proto|abi|revision|rev|版本|协议)\W{0,3}$")
_CALLED = regex(r"(?i)\b(?:rank|process|worker|member|task|node|trainer|replica)[ _#=:]{1,2}(\d{1,7})\b(?![./]\d)")
_KIND = r"(?:version|build|runtime|protocol|abi|fingerprint|driver|release|image|toolkit)s?"
_DIFFER = regex(
    rf"(?i)\b{_KIND}\b.{{0,40}}?\b(?:differ\w*|mismatch\w*|conflict\w*|incompatib\w*|(?:not|n't) (?:match|compatible|equal|the same|agree))"
    rf"|\b(?:mismatch\w*|differ\w*|incompatib\w*|inconsistent)\b.{{0,40}}?\b{_KIND}\b|版本.{{0,6}}(?:不一致|不匹配|不同|冲突)"
)


class _Line(msgspec.Struct, frozen=True):
    number: int
    text: str
    template: str
    values: tuple[str, ...]


_Place = tuple[int | None, str, _Line]  # who speaks, in which file


class _Odd(msgspec.Struct, frozen=True):
    ranks: frozenset[int]
    own: str
    usual: str
    setting: str  # the template of the line that tells it
    is_version: bool  # of a program or a protocol, by what stands before it


def with_refused_values(tables: Tables) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global → the same with such events."""
    files = own_logs(tables).filter(pl.col("rank").is_not_null() & (pl.col("last_lines").list.len() > 0))
    if has_begun(tables) or not _FEWEST <= files.height <= _LOGS or files["rank"].n_unique() < files.height:
        return dict(tables)
    logs = {row["rank"]: (row["file"], _lines(row)) for row in files.sort("file").iter_rows(named=True)}
    found = [*_odd(logs)]
    told: dict[_Odd, Sequence[_Place]] = {odd: places for odd in found if (places := _refusals(logs, odd))}
    told = told or _by_others(found, _of_nobody(tables["files"], files), logs)
    if len({odd.ranks for odd in told}) != 1:
        return dict(tables)
    odd = min(told, key=_order)
    said = {logs[rank][0] for rank in odd.ranks}
    both = pl.all_horizontal(
        pl.col("text").str.contains(rf"(?:^|\D){value.replace('.', '[.]')}(?:\D|$)") for value in (odd.own, odd.usual)
    )
    is_it = ((pl.col("kind") == "exception") & pl.col("file").is_in(list(said)) & both).fill_null(False)
    rows = [_row(rank, file, line, odd) for rank, file, line in told[odd]]
    return {**tables, "events": pl.concat([tables["events"].filter(~is_it), table("events", rows)])}


def _order(odd: _Odd) -> tuple[str, str, str]:
    """Of several, which is told: a set has no order of its own."""
    return odd.setting, odd.own, odd.usual


def _lines(row: Mapping[str, Any]) -> list[_Line]:
    return [
        _Line(number, line, _TOKEN.sub(_HOLE, text.replace(_HOLE, " ")), tuple(_TOKEN.findall(text)))
        for number, line in numbered_lines(row)
        if (text := strip(line).text)
    ]


def _odd(logs: Mapping[int, tuple[str, Sequence[_Line]]]) -> Iterator[_Odd]:
    """What a few of all ranks tell otherwise than the rest, in the first line of a template that most print."""
    first: defaultdict[str, dict[int, str]] = defaultdict(dict)
    for rank, (_, lines) in logs.items():
        for line in lines:
            before = ""
            for words, value in zip(line.template.split(_HOLE), line.values, strict=False):
                before += words
                first[before].setdefault(rank, value)
                before += _HOLE
    found: set[_Odd] = set()
    for before, told in first.items():
        # a long log no longer holds its start; a number without words before it is of anything
        is_of_most = len(told) >= _FEWEST and 2 * len(told) > len(logs) and _WORDS.search(before) is not None
        (usual, most), *others = Counter(told.values()).most_common() if is_of_most else [("", 0)]
        if len(others) == 1 and 2 * others[0][1] < len(told) and most > others[0][1]:
            own = others[0][0]
            is_version = "." in own or _VERSION.search(before[-20:]) is not None
            ranks = frozenset(rank for rank, held in told.items() if held == own)
            found.add(_Odd(ranks, own, usual, before, is_version))
    yield from found


def _refusals(logs: Mapping[int, tuple[str, Sequence[_Line]]], odd: _Odd) -> list[tuple[int, str, _Line]]:
    """(its printer, file, the first line that holds both values, of templates that few print) of each of these logs, if another holds them as well; else of
    the one that closed its door on it by number."""
    printers: defaultdict[str, set[int]] = defaultdict(set)
    for rank, (_, lines) in logs.items():
        for line in lines:
            printers[line.template].add(rank)
    held: dict[int, _Line] = {}
    closed: list[tuple[int, str, _Line]] = []
    [one] = odd.ranks if len(odd.ranks) == 1 else [-1]
    for rank, (_, lines) in logs.items():
        for line in lines:
            is_late = rank not in odd.ranks or line.number >= lines[-1].number - _LATE
            is_said = {odd.own, odd.usual} <= {*line.values} and len(line.values) <= _NUMBERS and is_late
            if is_said and 2 * len(printers[line.template]) <= len(logs):
                held.setdefault(rank, line)
                is_told = Counter(line.values)[str(one)] > (odd.own, odd.usual).count(str(one))
                closed += [(rank, logs[rank][0], line)] if is_told and rank != one else []
    if odd.ranks <= held.keys() and held.keys() - odd.ranks:
        return [(rank, logs[rank][0], line) for rank, line in sorted(held.items()) if rank in odd.ranks]
    is_apart = one in logs and any(printers[line.template] == {one} for line in logs[one][1])
    return closed[:1] if is_apart and one not in held else []


def _of_nobody(files: pl.DataFrame, own: pl.DataFrame) -> list[tuple[str, list[_Line]]]:
    """Files of no rank, a launcher's perhaps, with their last lines."""
    others = files.filter(~pl.col("file").is_in(own["file"].implode()) & (pl.col("last_lines").list.len() > 0))
    return [(row["file"], _lines(row)) for row in others.sort("file").iter_rows(named=True)]


def _by_others(
    found: Sequence[_Odd], launchers: Sequence[tuple[str, list[_Line]]], logs: Mapping[int, tuple[str, Sequence[_Line]]]
) -> dict[_Odd, Sequence[_Place]]:
    """Versions in which the same few differ, with the lines that say so: a launcher's that holds both and calls the one rank by number, or the last ones of
    those few, or else of anybody, in which versions are said to differ. No other versions may differ among other ranks."""
    versions = sorted((odd for odd in found if odd.is_version), key=_order)
    if len({odd.ranks for odd in versions}) != 1:
        return {}
    ranks = versions[0].ranks
    for odd in versions:
        for file, lines in launchers:
            for line in lines:
                called = {int(number) for number in _CALLED.findall(line.text)}
                if {odd.own, odd.usual} <= {*line.values} and called == ranks:
                    return {odd: [(None, file, line)]}
    last = [(rank, file, line) for rank, (file, lines) in logs.items() for line in lines[-_LATE:]]
    said = {rank: (file, line) for rank, file, line in last if _DIFFER.search(line.text)}
    own: list[_Place] = [(rank, *said[rank]) for rank in sorted(ranks & said.keys())]
    anybody: list[_Place] = [(rank, *said[rank]) for rank in sorted(said)]
    anybody += [(None, file, line) for file, lines in launchers for line in lines if _DIFFER.search(line.text)]
    return {versions[0]: own or anybody[:1]} if anybody else {}


def _row(rank: int | None, file: str, line: _Line, odd: _Odd) -> dict[str, object]:
    return {
        "kind": "config_error",
        "code": REFUSED,
        "severity": "error",
        "rank": rank,
        "rank_space": None if rank is None else "global",
        "names_ranks": sorted(odd.ranks),
        "names_rank_space": "global",
        "text": line.text,
        "detail": json.dumps({"own": odd.own, "usual": odd.usual, "is_version": odd.is_version}),
        "file": file,
        "line": line.number,
    }
