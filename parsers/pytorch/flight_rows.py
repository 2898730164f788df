"""Entries of a flight recorder pickle that repeat a form, taken by one regular expression each.

A ring of 2,000 entries holds a few distinct calls; what differs from entry to entry are numbers. PyTorch's pickler writes
every text and frame once and then refers to its memo slot, so an entry that brings no new text has the bytes of an
earlier one but for its numbers. Entries with new texts are read by `safe_pickle.Machine`, opcode by opcode; the keys and
slots of each make a form, and what follows is matched against the forms seen so far: numbers are captured one by one,
all else as runs of bytes, each distinct run decoded once.

Safe for the same reasons as the machine: a form's grammar knows only numbers, None, bool, slots, lists of those, lists of
lists of numbers and pairs of slots, so a match is an exact parse of plain data that refers to nothing new. Whatever is
out of the ordinary (cut or damaged data, entries that are shared, a new form in every entry) raises Unfit: then the whole
dump goes the general way, and nothing of this one's counts.
"""

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from parsers.pytorch.flight_cycles import FEW, Cycle
from parsers.pytorch.safe_pickle import MAX_BYTES, Machine, Refused

# Keys whose values differ from entry to entry; whatever is neither here nor in `told` is passed over.
NUMBERS = (
    "collective_seq_id", "p2p_seq_id", "seq_id", "op_id", "time_created_ns", "time_discovered_started_ns",
    "time_discovered_completed_ns", "duration_ms",
)  # fmt: skip
FORMS = 16  # grammars of entries in one dump
FREE_ENTRIES = 16  # read opcode by opcode or decoded anew, …
SHARE = 8  # … or one in so many
_DEPTH = 2  # open marks between two entries: of the root's items, of the list of entries

_INT = rb"(?:K.|M..|\x8a\x08.{8}|J.{4})"
_GET = rb"(?:h.|j.{4})"
_ONE = rb"(?:h.|K.|M..|[N\x88\x89]|\x8a\x08.{8}|J.{4}|j.{4}|G.{8})"
_NUMBER = rb"(?:K.|M..|N|\x8a\x08.{8}|J.{4}|G.{8})"
# What a value of a type may become in the next entry; of a list, by the type of its first item.
_VALUES: Mapping[type, bytes] = {
    str: rb"(?:h.|j.{4}|N)",
    dict: _GET,
    bool: rb"[N\x88\x89]",
    int: _NUMBER,
    float: _NUMBER,
    tuple: _GET + rb"{2}\x86",
    type(None): _ONE,
}
_LISTS: Mapping[type, bytes] = {
    str: rb"\]\((?:h.|j.{4})*+e",
    dict: rb"\]\((?:h.|j.{4})*+e",
    list: rb"\]\((?:\]\(" + _INT + rb"*+e|\](?!\())*+e",
    int: rb"\]\(" + _INT + rb"*+e",
}
_EMPTY = rb"\](?:\(e)?"
_SET_ITEMS, _PUTS = b"u"[0], b"qr\x94"


class Unfit(ValueError):
    """The dump is not one that this way of reading pays or holds for."""


class Rows(msgspec.Struct):
    """`document`: the dump without its entries. `forms`: distinct entries without NUMBERS, in order of their first.
    `picks`: form of each entry. `numbers`: values per key, None where an entry has none."""

    document: dict[str, Any]
    forms: list[dict[str, Any]] = msgspec.field(default_factory=list)
    picks: list[int] = msgspec.field(default_factory=list)
    numbers: dict[str, list[Any]] = msgspec.field(default_factory=lambda: {key: [] for key in NUMBERS})


def read(data: bytes, told: Sequence[str], most: int) -> Rows:
    """A dump → its rows. `told`: the keys that forms keep. `most`: entries. Raises Unfit."""
    if len(data) > MAX_BYTES or data[:2] != b"\x80\x02":
        raise Unfit
    try:
        return _Reader(data, frozenset(told), most).read()
    except (Refused, ArithmeticError, LookupError, ValueError, TypeError, struct.error) as error:
        raise Unfit from error


def apart(entries: Sequence[dict[str, Any]]) -> Rows:
    """Entries that were decoded one by one: each a form of its own."""
    numbers = {key: [entry.get(key) for entry in entries] for key in NUMBERS}
    return Rows({}, list(entries), list(range(len(entries))), numbers)


class _Reader(Machine):
    def __init__(self, data: bytes, told: frozenset[str], most: int) -> None:
        super().__init__(data)
        self.told, self.most = told, most
        self.rows = Rows({})
        self.known: dict[tuple[tuple[str, bytes], ...], _Form] = {}
        self.list: list[Any] | None = None  # which the entries belong to
        self.slow = 0
        self.most_slow = FREE_ENTRIES

    def text(self, count: int) -> None:
        self.stack.append(self.take(count).decode("utf-8", "surrogatepass"))

    def put(self, slot: int) -> None:
        if slot in self.memo:
            raise Unfit
        super().put(slot)

    def read(self) -> Rows:
        document = self.run()
        self.known.clear()  # each holds this reader: a cycle, which would keep the data until the collector comes
        if type(document) is not dict or self.list is None or document.get("entries") is not self.list or self.list:
            raise Unfit
        self.rows.document = document
        return self.rows

    def done(self, opcode: int) -> None:
        """After each opcode: takes an entry that just ended, and all that follow in a known form."""
        if opcode != _SET_ITEMS or len(self.open) != _DEPTH or len(self.open[1]) < _DEPTH:
            return
        key, found = self.open[1][-2:]
        if key != "entries" or type(found) is not list or self.list not in (None, found):
            return
        if self.data[self.position] in _PUTS or len(self.stack) != 1:
            raise Unfit
        self.list = found
        self._take(self.stack.pop())
        self._follow()

    def _take(self, entry: dict[str, Any]) -> None:
        """An entry that was read opcode by opcode."""
        if "profiling_name" not in entry and "state" not in entry:
            raise Unfit
        self._count()
        for key, values in self.rows.numbers.items():
            values.append(entry.get(key))
        self.rows.picks.append(len(self.rows.forms))
        self.rows.forms.append({key: value for key, value in entry.items() if key in self.told})
        grammar = tuple((key, _NUMBER if key in NUMBERS else _grammar(value)) for key, value in entry.items())
        if grammar not in self.known and len(self.known) < FORMS:
            slots = {text: slot for slot, text in self.memo.items() if type(text) is str}
            if not self.known:
                self._expect(b"}(" + _get(slots[grammar[0][0]]))
            self.known[grammar] = _Form(self, [(key, _get(slots[key]), value) for key, value in grammar])

    def _expect(self, begin: bytes) -> None:
        """How many entries may have this form, by the bytes that it begins with."""
        count = self.data.count(begin, self.position)
        if not count:
            raise Unfit
        self.most_slow = max(FREE_ENTRIES, count // SHARE)

    def _count(self) -> None:
        self.slow += 1
        if self.slow > self.most_slow:
            raise Unfit

    def _follow(self) -> None:
        taken = True
        while taken:
            taken = False
            for form in self.known.values():
                end = form.follow(self.data, self.position, self.most + 1 - len(self.rows.picks))
                taken = taken or end > self.position
                self.position = end
        if len(self.rows.picks) > self.most:
            raise Unfit

    def decoded(self, parts: tuple[bytes, ...]) -> int:
        """Runs of bytes of an entry → the number of a new form that they tell."""
        self._count()
        machine = Machine(b"}(" + b"".join(parts) + b"u.")
        machine.memo, machine.made = self.memo, self.made
        told = machine.run()
        self.made = machine.made
        self.rows.forms.append({key: value for key, value in told.items() if key in self.told})
        return len(self.rows.forms) - 1


def _grammar(value: object) -> bytes:
    """The bytes that a value like this one may have."""
    if type(value) is not list:
        return _VALUES[type(value)]
    return _LISTS[type(value[0])] if value else _EMPTY


def _get(slot: int) -> bytes:
    return b"h" + bytes([slot]) if slot < 256 else b"j" + struct.pack("<I", slot)


class _Form:
    """Entries of one grammar: how they are matched, and which runs of bytes are which form."""

    def __init__(self, reader: _Reader, grammar: Sequence[tuple[str, bytes, bytes]]) -> None:
        """`grammar`: key, its bytes, and those of its values."""
        self._rows = reader.rows
        self._known = _Known(reader.decoded)
        self._groups: list[str | None] = []  # the number that a group captures; None: a run
        pattern, is_open = [rb"\}\("], False
        for key, get, value in grammar:
            is_run = key in reader.told and key not in NUMBERS
            is_number = key in NUMBERS or (value is _NUMBER and not is_run)
            if is_open and not is_run:
                pattern.append(b")")
            if is_run and not is_open:
                pattern.append(b"(")
            if is_number or (is_run and not is_open):
                self._groups.append(key if is_number else None)
            pattern += [re.escape(get), b"(" + value + b")" if is_number else value]
            is_open = is_run
        pattern.append(b")u" if is_open else b"u")
        self._match = _compiled(b"".join(pattern)).match

    def follow(self, data: bytes, position: int, most: int) -> int:
        """Takes the entries of this form that follow one another from here → where they end."""
        at_once = FEW
        while matches := self._matches(data, position, min(most, at_once)):
            picks = self._take(matches)
            position, most, at_once = matches[-1].end(), most - len(matches), 2 * at_once
            if cycle := Cycle.of(matches, picks, self._groups):
                for run in cycle.follow(data, position, most):
                    self._add(run.picks, run.numbers)
                    position, most = run.end, most - len(run.picks)
                    at_once = FEW if run.picks else at_once
        return position

    def _matches(self, data: bytes, position: int, most: int) -> "list[re.Match[bytes]]":
        found: list[re.Match[bytes]] = []
        while len(found) < most and (one := self._match(data, position)):
            found.append(one)
            position = one.end()
        return found

    def _take(self, matches: "list[re.Match[bytes]]") -> list[int]:
        """The form of each."""
        columns = list(zip(*(found.groups() for found in matches), strict=True))
        runs = [column for name, column in zip(self._groups, columns, strict=True) if name is None]
        picks = list(map(self._known.__getitem__, zip(*runs, strict=True)))
        captured = {name: column for name, column in zip(self._groups, columns, strict=True) if name in NUMBERS}
        self._add(picks, {name: _numbers(column) for name, column in captured.items()})
        return picks

    def _add(self, picks: Sequence[int], numbers: Mapping[str, Sequence[Any]]) -> None:
        self._rows.picks.extend(picks)
        for name, values in self._rows.numbers.items():
            values.extend(numbers[name] if name in numbers else [None] * len(picks))


@lru_cache(maxsize=64)
def _compiled(pattern: bytes) -> "re.Pattern[bytes]":
    return re.compile(pattern, re.DOTALL)


class _Known(dict[tuple[bytes, ...], int]):
    """Runs of bytes → number of their form."""

    def __init__(self, decode: Callable[[tuple[bytes, ...]], int]) -> None:
        super().__init__()
        self._decode = decode

    def __missing__(self, parts: tuple[bytes, ...]) -> int:
        self[parts] = number = self._decode(parts)
        return number


_WIDE = 10  # bytes of a number of 64 bits
_READERS: Mapping[int, Callable[[bytes], Any]] = {
    b"K"[0]: lambda raw: raw[1],
    b"M"[0]: lambda raw: raw[1] | raw[2] << 8,
    b"J"[0]: lambda raw: int.from_bytes(raw[1:], "little", signed=True),
    0x8A: lambda raw: int.from_bytes(raw[2:], "little", signed=True),
    b"G"[0]: lambda raw: struct.unpack(">d", raw[1:])[0],
    b"N"[0]: lambda raw: None,
}


class _Small(dict[bytes, Any]):
    """Opcodes that push a number → the number; short ones, of which there are few, are remembered."""

    def __missing__(self, raw: bytes) -> Any:
        value = _READERS[raw[0]](raw)
        if len(raw) <= _SMALL:
            self[raw] = value
        return value


_SMALL = 3
_SMALL_NUMBERS = _Small()
_NOTHING = bytes(_WIDE)


def _numbers(values: Sequence[bytes]) -> list[Any]:
    """Values of opcodes that push a number."""
    lengths = set(map(len, values))
    odd = [at for at, raw in enumerate(values) if len(raw) != _WIDE] if len(lengths) > 1 and _WIDE in lengths else []
    if _WIDE not in lengths or 2 * len(odd) > len(values):
        return list(map(_SMALL_NUMBERS.__getitem__, values))
    wide = list(values)
    for at in odd:
        wide[at] = _NOTHING
    numbers: list[Any] = list(struct.unpack("<" + "2xq" * len(wide), b"".join(wide)))
    for at in odd:
        numbers[at] = _SMALL_NUMBERS[values[at]]
    return numbers
