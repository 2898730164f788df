"""Entries of a flight recorder pickle that come round with their numbers at the same places: records of one length.

A training step makes the same calls again and again. Once regular expressions have read two rounds, what follows is cut into
rounds of as many bytes; an entry is taken where all its bytes between the numbers are those of an entry that was read, so
its opcodes are the same and the numbers stand where they stood there. The first that differs goes back to the expressions: a
call with other sizes, a count that has outgrown its bytes.
"""

import re
import struct
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import msgspec

FEW = 16  # entries that teach, where a round is shorter
LONGEST = 64  # entries of a round
_FASTER = 2  # each look ahead takes so many times the rounds of the one before
_LETTERS = {2: "B", 3: "H", 5: "i", 10: "q"}  # length of an opcode and its number → how to unpack the number

Entry = re.Match[bytes]


class _Place(msgspec.Struct, frozen=True):
    """One entry of a round: its bytes, which fields of the record lie between its numbers, which are its numbers, and which
    bytes between them tell which form."""

    size: int
    between: list[int]
    numbers: dict[str, int]
    forms: dict[tuple[bytes, ...], int]


class Taken(msgspec.Struct, frozen=True):
    """Entries of a run: where they end, the form of each, and their numbers, None where an entry has none."""

    end: int
    picks: list[int]
    numbers: dict[str, Sequence[Any]]


class Cycle:
    def __init__(self, rounds: Sequence[Sequence[Entry]], picks: Sequence[int], groups: Sequence[str | None]) -> None:
        """`rounds`: entries in order, places alike. `picks`: their forms. `groups`: the number that each group captures."""
        code, self._places = "<", list[_Place]()
        count, width = 0, len(rounds[0])
        for at, entry in enumerate(rounds[0]):
            letters, names = _fields(entry, groups)
            between = [count + n for n, name in enumerate(names) if name is None]
            numbers = {name: count + n for n, name in enumerate(names) if name is not None}
            record, count, code = struct.Struct(f"<{letters}"), count + len(names), code + letters
            first = between[0]
            forms = {
                tuple(told[n - first] for n in between): picks[at + width * turn]
                for turn, one in enumerate(rounds)
                if (told := record.unpack(one[at][0]))
            }
            self._places.append(_Place(record.size, between, numbers, forms))
        self._record = struct.Struct(code)
        self._names = sorted({name for place in self._places for name in place.numbers})

    @classmethod
    def of(cls, entries: Sequence[Entry], picks: Sequence[int], groups: Sequence[str | None]) -> "Cycle | None":
        """The round that entries end with; None where they do not come round."""
        lengths = [entry.end() - entry.start() for entry in entries]
        most = min(LONGEST, len(lengths) // 2)
        width = next((n for n in range(1, most + 1) if lengths[n:] == lengths[:-n]), None)
        if width is None:
            return None
        last = max(2, FEW // width) * width
        rounds = [entries[at : at + width] for at in range(len(entries) - last, len(entries), width)]
        places = [list(map(_places, one)) for one in rounds]
        return cls(rounds, picks[-last:], groups) if all(one == places[0] for one in places) else None

    def follow(self, data: bytes, position: int, most: int) -> Iterator[Taken]:
        """The entries from here that are of the cycle, in runs."""
        turns = FEW // 2
        while turns:
            turns = min(_FASTER * turns, most // len(self._places), (len(data) - position) // self._record.size)
            part = data[position : position + turns * self._record.size]
            columns = list(zip(*self._record.iter_unpack(part), strict=True))
            if not columns:
                return
            told = ((place, zip(*map(columns.__getitem__, place.between), strict=True)) for place in self._places)
            forms = (map(place.forms.get, between) for place, between in told)
            picks = list(chain.from_iterable(zip(*forms, strict=True)))
            fits = picks.index(None) if None in picks else len(picks)
            whole, rest = divmod(fits, len(self._places))
            position += whole * self._record.size + sum(place.size for place in self._places[:rest])
            known = [pick for pick in picks[:fits] if pick is not None]
            yield Taken(position, known, {name: self._numbers(name, columns, turns)[:fits] for name in self._names})
            most -= fits
            turns = turns if fits == len(picks) else 0

    def _numbers(self, name: str, columns: Sequence[tuple[Any, ...]], turns: int) -> Sequence[Any]:
        """The values of one number, entry by entry."""
        nothing = (None,) * turns
        each = [columns[place.numbers[name]] if name in place.numbers else nothing for place in self._places]
        return each[0] if len(each) == 1 else list(chain.from_iterable(zip(*each, strict=True)))


def _fields(entry: Entry, groups: Sequence[str | None]) -> tuple[str, list[str | None]]:
    """How an entry with numbers at these places is unpacked, and what each field is: None for bytes between numbers."""
    letters, names, at = "", list[str | None](), entry.start()
    for group, name in enumerate(groups, 1):
        start, end = entry.span(group)
        if name is not None and (letter := _LETTERS.get(end - start)):
            letters += f"{end - struct.calcsize(letter) - at}s{letter}"
            names += [None, name]
            at = end
    return f"{letters}{entry.end() - at}s", [*names, None]


def _places(entry: Entry) -> list[int]:
    """Where its groups begin and end."""
    first = entry.start()
    return [place - first for span in entry.regs for place in span]
