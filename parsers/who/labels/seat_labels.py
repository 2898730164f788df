"""Which process of a place the number at the head of a line is, whatever the word before it.

    gn02: [lr1] Traceback …        [pod/lm-1-0/trainer] proc2| it 20        local 3 |   File "…"        [gpu1] loss 2.3

The word is known to count the processes of a place (`local 3`, `lr1`, `gpu1`), or a script that computes ranks puts it before the number there
(`RANK=$((N*4+i)) … | sed "s/^/[p$i] /"`: p). The ranks are those of the place, which must have that many processes; a form that stands with another
word as well (`worker 3 |`, of a loader), or whose line tells another rank, is none.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

from msgspec.structs import replace

from parsers.forms.seated import columns_here, columns_of
from parsers.schema.labels import Join
from parsers.schema.names import Names
from parsers.schema.parser import Source
from parsers.text.patterns import regex
from parsers.text.unanimous import sole
from parsers.who.lines.beginnings import Begun
from parsers.who.lines.collected import pairs_of
from parsers.who.scripts.formulas import Formula
from parsers.who.scripts.loops import INSTANCE, unquoted
from parsers.who.told.counted_columns import first_records

_LINES, _CHARACTERS, _FIELDS = 400, 1000, 3
_NUMBER = regex(r"(?<!\d)\d{1,4}\Z")
_OF_PLACE = regex(
    r"(?i)(?<![A-Za-z])(?:local(?:[ _-]?(?:rank|id|index|proc(?:ess)?|worker|task))?|l[ _-]?r(?:ank)?|localid|slot)[ _.#:=-]{0,2}\Z"
)
_DEVICE = regex(r"(?i)(?<![A-Za-z])(?:gpu|cuda|npu|dcu|mlu|hpu|xpu|musa|device)[ _.#:=-]{0,2}\Z")
_WORD = regex(r"(?P<word>[A-Za-z]+)[ _.#:=-]{0,2}\Z")
_UNIT = regex(r"(?P<word>[A-Za-z]+)@\.[a-z]{4,7}\Z")  # a template of systemd's
_BEHIND = r"[ _.#:-]?"  # a word, before a variable of a script


_TOLD = regex(r"(?<![\w.])\d{1,3}(?![\w%:/]|\.\d)|(?<=[A-Za-z])\d{1,3}(?![\w%:/]|\.\d)")
_TELLS = 200  # characters
_LOCAL = regex(r"(?:本地|局部)(?:进程|序号|编号|rank)?\W{0,3}\Z")


def place_told(text: str) -> int | None:
    """The one number of a process at its place that a line tells in words."""
    return sole(
        int(number[0])
        for number in _TOLD.finditer(text[:_TELLS])
        if _OF_PLACE.search(before := text[: number.start()]) or _LOCAL.search(before)
    )


class Label(NamedTuple):
    """A head of a line behind a place: its form, what stands there up to the end of the number, the value, the rank that its line is known to be
    of. `place`: null where the file has one."""

    slot: str | None
    place: str | None
    form: str
    before: str
    value: str
    rank: int | None


def words_of_scripts(said: Begun, formulas: Iterable[Formula]) -> frozenset[str]:
    """What scripts put before the number of a process at its place, where they compute ranks by it."""
    found: set[str] = set()
    for one in formulas:
        if one.what != "rank" or one.node is one.base is None or one.local is None:
            continue
        lines = said.get(one.file, ())[:_LINES]
        if (unit := _UNIT.search(one.file)) is not None:
            instances = (given["name"] for line in lines for given in INSTANCE.finditer(line.raw))
            found |= {unit["word"].lower()} if one.local in ("i", "I", *instances) else set()
        name = re.compile(rf"(?P<word>[A-Za-z]+){_BEHIND}(?:[\"']?\$\{{?|\{{)(?:env:)?{re.escape(one.local)}(?!\w)")
        for line in lines:
            found |= {own["word"].lower() for own in name.finditer(unquoted(line.raw))}
    return frozenset(found)


def fields_of_places(said: Begun, names: Names, sources: Iterable[Source]) -> frozenset[str]:
    """The fields of lines of `key=value`, or of the records of a file that is called after a place, that hold the number of their process at its
    place, in every file that has them."""
    found: set[str] = set()
    for own in said.values() if names.places else ():
        records = [record for one in own if len(record := pairs_of(one.raw[:_CHARACTERS])) >= _FIELDS]
        if records and 2 * len(records) > len(own) and (columns := columns_of(records, names)) is not None:
            found.add(columns[1])
    for source in sources if names.places else ():
        if source.path not in said and (here := names.place_of(source.path)) is not None:
            first = [*islice(first_records(source), _LINES)]
            if (columns := columns_here(first, replace(names, here=here))) is not None:
                found.add(columns[1])
    return frozenset(found)


class Seats(NamedTuple):
    """`ranks`: (place, number there) → rank; `here`: number → rank, of the place that a file is of; `words` of scripts; `are_devices`: nothing
    hides devices from processes, so that they are counted alike; `devices`: (place, device) → rank, where each place shows its own."""

    ranks: Mapping[tuple[str, int], int]
    here: Mapping[int, int]
    words: frozenset[str]
    are_devices: bool
    devices: Mapping[tuple[str, int], int] = MappingProxyType({})


def seated(labels: Sequence[Label], seats: Seats) -> tuple[Join, ...]:
    """Labels of lines → the joins of the forms that tell who speaks."""
    forms: defaultdict[tuple[str | None, str], list[Label]] = defaultdict(list)
    for one in labels:
        forms[one.slot, one.form].append(one)
    found = (_of_form(slot, form, own, seats) for (slot, form), own in forms.items())
    return tuple(join for join in found if join is not None)


def _of_form(slot: str | None, form: str, own: Sequence[Label], seats: Seats) -> Join | None:
    if slot is None or not seats.devices or seats.are_devices or not all(is_device(one.before) for one in own):
        return _counted_so(slot, form, own, seats)
    shown = {place for place, _ in seats.devices}  # by their numbers or in their order, whichever all lines tell of
    if not all(one.place in shown for one in own):
        return None
    ways = (seats.devices, seats.ranks)
    found = [_counted_so(slot, form, own, seats._replace(ranks=one, are_devices=True)) for one in ways]
    made = [join for join in found if join is not None]
    return made[0] if len(made) == 1 else None


def _counted_so(slot: str | None, form: str, own: Sequence[Label], seats: Seats) -> Join | None:
    of_places: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for (place, number), of_seat in seats.ranks.items():
        of_places[place][number] = of_seat
    shapes: set[tuple[str, str]] = set()
    for one in own:
        known = seats.here if one.place is None else of_places.get(one.place, {})
        numbers = _NUMBER.search(one.before)
        if numbers is None or not known:
            continue
        digits = numbers[0]
        rank = known.get(int(digits))
        is_other = str(int(digits)) != digits or rank is None or one.rank not in (None, rank)
        if is_other or not _counts(one.before[: numbers.start()], seats):
            return None
        at = one.value.rfind(digits)
        shapes.add((one.value[:at], one.value[at + len(digits) :]))
    ranks: dict[tuple[str, ...], int] = {}
    for before, behind in shapes:
        if slot is None:
            ranks |= {(f"{before}{number}{behind}",): own_rank for number, own_rank in seats.here.items()}
        else:
            ranks |= {(place, f"{before}{number}{behind}"): told for (place, number), told in seats.ranks.items()}
    return Join((form,) if slot is None else (slot, form), ranks) if len({*ranks.values()}) > 1 else None


def is_device(text: str) -> bool:
    """Does a text end in the number of a device?"""
    number = _NUMBER.search(text)
    return number is not None and _DEVICE.search(text[: number.start()]) is not None


def _counts(before: str, seats: Seats) -> bool:
    """Does what stands before a number say that it counts the processes of a place?"""
    word = _WORD.search(before)
    is_told = word is not None and word["word"].lower() in seats.words
    return is_told or _OF_PLACE.search(before) is not None or (seats.are_devices and _DEVICE.search(before) is not None)
