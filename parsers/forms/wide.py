"""Tables with a column for each process, as spreadsheets and panels of dashboards are exported: each cell is a record.

    step,A1,A2,B1                                                     in `week 24 - compute ms.csv`: of what, the path says
    "Time","{instance=""10.4.3.21:9101"", local_rank=""0""}", …       a panel of Grafana; cells may hold their unit: 211 ms
    Time;compute_ms{rank="0"};compute_ms{rank="1"}                    Prometheus' own name of a series
    step<TAB>fwd gn01/gpu0<TAB>fwd gn01/gpu1                          what all columns begin or end with, is what they are of

Of what they are: a loss, a norm, or a time of a part of a step; the second are records of `phase` and `ms`. Who a column is, its labels tell, a word for a rank
and its number, or a name, which the bundle may join to a rank (framings.rows). Where no column counts steps, a record is of the later quarter of the rows, the median of its cells:
gauges of a moment are of no step, and who exports a panel has the trouble at its end.

Printed by: Grafana ("Inspect: data"), Prometheus, spreadsheets, scripts.
Source: Grafana's manual, "Export data from a panel"; Prometheus: data model.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain, islice
from math import isfinite
from statistics import median
from typing import Any, NamedTuple

from parsers.forms.reading import HEADER, Row, cells_of, real, text_lines
from parsers.schema.parser import Source
from parsers.text import vocabulary
from parsers.text.durations import UNIT, UNITS, figure, sort_of
from parsers.text.patterns import regex
from parsers.text.vocabulary import meant

_MARKS = ("\t", ";", ",")
_PLACES = ("step", "time", "epoch")
_CURVES = ("loss", "grad_norm", "own_grad_norm")
_SERIES = regex(r"(?P<metric>[\w:.]{0,100})\{(?P<labels>[^{}]{1,2000})\}")
_LABEL = regex(r"(\w{1,60})\s{0,2}(?:=~?|:)\s{0,2}\"?([^\",}]{1,200})\"?")
_PORT = regex(r"(?<=[\w\]]):\d{2,5}\Z")
_OF_RANK = regex(r"(?P<word>[A-Za-z]{1,16})[ _.#:-]{0,2}(?P<rank>\d{1,7})")
_CELL = regex(
    rf"(?P<value>[+-]?(?:\d{{1,15}}(?:\.\d{{0,15}})?(?:[eE][+-]?\d{{1,3}})?|(?i:nan|inf)))(?: ?(?P<unit>µs|min|{UNIT}))?"
)
_PIECES = regex(r" - |-data-|_{2,}|/")
_WHOSE = regex(r"(?i)[ _.-](?:per|by|each|of)[ _.-].*")
_SUFFIX = regex(r"\.(?:csv|tsv|txt)\Z")
_NUMBERED = regex(r"\d|(?<=[-_.])[A-Za-z]\Z")
_DIGITS = regex(r"\d+")
# Marks within heads, and whether the longest name is asked first.
_WITHIN = ((regex(r"[ /|:\[({<]+"), False), (regex(r"[_.=-]+"), True))
_SEATS = ("host", "pod", "rank", "local_rank", "node_rank", "device")
_NOT_WORD = regex(r"[\W_]+")
_EDGES = regex(r"\A[\W_]+|[^\w)]+\Z|_+\Z")
_FEWEST = 2
_LATER = 4  # the last quarter
_UNITS = {**UNITS, "µs": 1e-3, "min": 6e4}


class Wide(NamedTuple):
    """`what`: of the figure in all columns; `factor`: of a time, to milliseconds, null where its name has no unit. `phase`: null of what is no time.
    `places`, `members`: column → what it means, who it is."""

    what: str
    phase: str | None
    factor: float | None
    places: Mapping[int, str]
    members: Mapping[int, dict[str, str]]


def wide_names(path: str, lines: Sequence[str]) -> list[str]:
    """The names of the records of a file that begins so; none where it is no such table."""
    if (found := _table(path, tuple(lines[:2]))) is None:
        return []
    wide = found[1]
    who = dict.fromkeys(name for own in wide.members.values() for name in own)
    return [*wide.places.values(), *((wide.what,) if wide.phase is None else ("phase", "ms")), *who]


def wide_rows(source: Source) -> Iterator[Row]:
    """Its records, of each line one for each column that holds a number there."""
    filled = ((number, text) for number, text in text_lines(source) if text.strip())
    head = [*islice(filled, 2)]
    if (found := _table(source.path, tuple(text for _, text in head))) is None:
        yield from ((number, text, None) for number, text in chain(head, filled))
        return
    mark, wide = found
    yield *head[0], HEADER
    rows = ((number, text, cells_of(text, mark)) for number, text in chain(head[1:], filled))
    if "step" in wide.places.values():
        for number, text, cells in rows:
            made: list[dict[str, Any] | None] = [*_records(cells, wide)]
            yield from ((number, text, one) for one in made or [None])
        return
    held = [*rows]
    late = held[len(held) - max(1, len(held) // _LATER) :]
    yield from ((number, text, HEADER) for number, text, _ in held[:-1])
    number, text, _ = held[-1]
    for column, who in wide.members.items():
        values = [value for _, _, cells in late if (value := _value(cells, column, wide)) is not None]
        yield number, text, who | _told(wide, median(values)) if values else None


def _records(cells: Sequence[str], wide: Wide) -> Iterator[dict[str, Any]]:
    place = {name: cells[column] for column, name in wide.places.items() if column < len(cells)}
    for column, who in wide.members.items():
        if (value := _value(cells, column, wide)) is not None:
            yield place | who | _told(wide, value)


def _told(wide: Wide, value: float) -> dict[str, Any]:
    return {wide.what: value} if wide.phase is None else {"phase": wide.phase, "ms": value}


def _value(cells: Sequence[str], column: int, wide: Wide) -> float | None:
    """What a cell holds, of a time in milliseconds: its own unit, that of the name, or seconds."""
    found = _CELL.fullmatch(cells[column].strip()) if column < len(cells) else None
    value = real(found["value"]) if found else None
    if found is None or value is None or wide.phase is None:
        return value
    factor = _UNITS[found["unit"]] if found["unit"] else wide.factor or 1e3
    return value * factor if isfinite(value) else None


@lru_cache(maxsize=256)  # of one head, which a dozen parsers ask for
def _table(path: str, lines: tuple[str, ...]) -> tuple[str, Wide] | None:
    """(the mark between its cells, what its columns are)."""
    if len(lines) < 2:
        return None
    for mark in _MARKS:
        heads, first = ([cell.strip().strip('"') for cell in cells_of(line, mark)] for line in lines)
        if len(heads) == len(first) > _FEWEST and (found := _wide(path, heads, first)) is not None:
            return mark, found
    return None


def _wide(path: str, heads: Sequence[str], first: Sequence[str]) -> Wide | None:
    told = {at: meaning for at, head in enumerate(heads) if (meaning := meant(head))}
    places = {at: meaning for at, meaning in told.items() if meaning in _PLACES}
    own = {at: heads[at] for at, cell in enumerate(first) if at not in places and _CELL.fullmatch(cell)}
    if not places or len(own) + len(places) < len(heads):
        return None  # a column of words
    if series := {at: one for at, head in own.items() if (one := _SERIES.fullmatch(head)) is not None}:
        ways, cuts = [_labelled(series)], list[_Way]()
    else:
        of_all = {at: head for at, head in own.items() if not _is_derived(head)}
        ways, cuts = [_by_words(of_all)], [*_by_marks(of_all)]
    is_told = any(at in told for at in own)  # figures of one process, unless all are the same one's
    ways = [] if is_told else ways
    whole = [one for one in ways if _are_members(one[1])]
    seats = partial(_is_seat, is_told=is_told)
    whole += [one for one in cuts if _are_members(one[1]) and all(map(seats, one[1].values()))]
    whole += [(title, whole[0][1]) for title in titles(path) if ways and whole[:1] == ways]
    for name, members in whole:
        if meant(name) in _CURVES:
            return Wide(name, None, None, places, members)
        timed = figure(name) if name and not meant(name) else None
        if timed is not None and sort_of(timed.phase) is not None:
            return Wide(name, timed.phase, timed.factor, places, members)
    return None


_Members = Mapping[int, dict[str, str]]
_Way = tuple[str, _Members]


def _are_members(members: _Members) -> bool:
    is_apart = len({tuple(who.items()) for who in members.values()}) == len(members) >= _FEWEST
    return is_apart and all(map(_is_name, members.values()))


def _labelled(series: "Mapping[int, re.Match[str]]") -> tuple[str, _Members]:
    metrics = {one["metric"] for one in series.values()}
    return metrics.pop() if len(metrics) == 1 else "", {at: _labels(one["labels"]) for at, one in series.items()}


def _by_words(heads: Mapping[int, str]) -> _Way:
    """What heads are of, by the words that they share, and who each is."""
    shared, bare = _bare(heads)
    return shared, {at: who_of_head(head) for at, head in bare.items()}


def _by_marks(heads: Mapping[int, str]) -> Iterator[_Way]:
    """The same by what they begin or end with, up to a mark: `loss_local/g5-a/gpu0`; a figure's whole name goes before its parts."""
    turned = {at: head[::-1] for at, head in heads.items()}
    for marks, is_longest_first in _WITHIN:
        for own, is_turned in ((heads, False), (turned, True)):
            for lead in sorted(_leads([*own.values()], marks), key=len, reverse=is_longest_first):
                name, rest = lead, {at: head.removeprefix(lead) for at, head in own.items()}
                if is_turned:
                    name, rest = lead[::-1], {at: head[::-1] for at, head in rest.items()}
                name = _EDGES.sub("", name).rpartition(" - ")[2]
                yield name, {at: who_of_head(_EDGES.sub("", one)) for at, one in rest.items()}


def _is_seat(who: Mapping[str, str], *, is_told: bool) -> bool:
    """Is it numbered, and no part of a model or of a step? `is_told`: its head is known to be a figure's, as one of a run or of a part may be; then it has to
    say what its number counts."""
    name = who.get("worker")
    if name is None:
        return True
    words = [one for one in _NOT_WORD.split(name) if one]
    kinds = {meant(bare) for word in words if len(bare := _DIGITS.sub("", word)) > 1} - {""}
    # Cut within what it is of; and a bare number may be of a head, a task, a layer.
    is_cut = " - " in name or "".join(words).isdigit()
    return kinds <= {*_SEATS} and any(map(str.isdigit, name)) and not is_cut and (bool(kinds) or not is_told)


def _leads(heads: Sequence[str], marks: "re.Pattern[str]") -> list[str]:
    """What all heads begin with, up to each of these marks; the shortest first."""
    first, last = min(heads, default=""), max(heads, default="")
    same = next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), 0)
    return [first[: one.end()] for one in marks.finditer(first[:same])]


def _labels(text: str) -> dict[str, str]:
    """The labels of a series. Figures of a process are asked for at a port of its host; a device is told with its host."""
    said = {name: _PORT.sub("", value) for name, value in _LABEL.findall(text)}
    if "host" not in vocabulary.meanings(tuple(said)) and "instance" in said:
        said["host"] = said.pop("instance")
    told = vocabulary.told(said)
    return said | ({"at": f"{told['host']}/gpu{told['device']}"} if {"host", "device"} <= told.keys() else {})


def _bare(heads: Mapping[int, str]) -> tuple[str, Mapping[int, str]]:
    """(the words that all heads begin or end with, what is left of each)."""
    words = [head.split(" ") for head in heads.values()]
    fewest = min(map(len, words), default=1)
    before = next((at for at in range(fewest) if len({tuple(own[: at + 1]) for own in words}) > 1), fewest - 1)
    ends = range(fewest - before)
    after = next((at for at in ends if len({tuple(own[len(own) - at - 1 :]) for own in words}) > 1), 0)
    if fewest < 2 or not before + after:
        return "", heads
    shared = " ".join([*words[0][:before], *words[0][len(words[0]) - after :]])
    left = (" ".join(own[before : len(own) - after]) for own in words)
    return shared, dict(zip(heads, left, strict=True))


def _is_derived(head: str) -> bool:
    """Is it a figure made of those of all: their mean, the whole?"""
    return not meant(head) and (figure(head) is None or not vocabulary.is_unknown(head))


def _is_name(who: Mapping[str, str]) -> bool:
    """May it be somebody's: with a number, or a plain word that is no part of a step? What names a figure of its own is none."""
    name = who.get("worker")
    if name is None:
        return True
    is_numbered = _NUMBERED.search(name) is not None and meant(_DIGITS.sub("", name)) not in _CURVES
    return is_numbered or (name.isalpha() and sort_of(name) is None)


def titles(path: str) -> list[str]:
    """What a file may be called after, the last first: `Train loss per rank-data-2026-01-05.csv`."""
    pieces = _PIECES.split(_SUFFIX.sub("", path))
    return [_WHOSE.sub("", piece).partition(" (")[0] for piece in reversed(pieces)]


def who_of_head(head: str) -> dict[str, str]:
    """Whose a column of that name is."""
    found = _OF_RANK.fullmatch(head)
    if found and vocabulary.of_process(found["word"]) == "rank":
        return {"rank": found["rank"]}
    return {"worker": head}
