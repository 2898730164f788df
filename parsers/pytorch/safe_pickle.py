"""Decoding of pickles that nobody vouches for: plain data only, in memory that the size of the input bounds.

Refusing classes is not enough. Ten bytes may claim memo slot 2**30 (the C unpickler then takes 16 GB), a string may
claim 2 GiB, nested tuples used as a dict key overflow the C stack or hash for ever, and so do numbers of one hash as
keys. So the opcodes are walked first:

- `_is_plain` walks with one regular expression over everything of fixed length and a little Python per string. It
  knows only what PyTorch's own C++ pickler writes (protocol 2, no opcode that could name a class, each length inside
  the data, memo slots no higher than the data allows, tuples only of two texts or memo slots). A slot is filled only
  where a tuple cannot lie on top (`_NO_TUPLE`), so no slot ever holds one, and tuples never nest. What passes goes to
  the C unpickler, whose `find_class` and `persistent_load` refuse anyway, and which has SECONDS.
- Everything else (other protocols, cut data, hostile data) goes to a small machine in Python that knows the opcodes of
  plain data, keeps the memo in a dict, and at a cut gives what it holds.

A process under a memory limit was the alternative: it costs a fork per file, does not exist on every platform, and
yields nothing of a cut file. Values may still be shared or cyclic: whoever walks them must bound what they expand to.
Source of the opcodes: the `pickletools` documentation of the standard library.
"""

import io
import pickle
import re
import struct
import time
from collections.abc import Callable
from typing import Any, NoReturn

from parsers.text.patterns import regex
from parsers.text.rank_list import RANKS

MAX_BYTES = 64 << 20  # a dump of 2,000 entries has about 1 MB
MAX_CONTAINERS = 4_000_000  # an empty list costs one byte in the file and 56 in memory
SECONDS = 10.0  # of processor time for the C unpickler, which takes one for MAX_BYTES


class Refused(ValueError):
    """The pickle is not plain data, or would take too much memory; the message says which."""


class Cut(Refused):
    """The data end before the pickle does. `segments`: what lies on the stack, one list per open mark."""

    def __init__(self, reason: str, segments: list[list[Any]]) -> None:
        super().__init__(reason)
        self.segments = segments


def loads(data: bytes) -> Any:
    """Plain data (None, bool, int, float, str, bytes, list, tuple, dict) of a pickle. Raises Refused or Cut."""
    if len(data) > MAX_BYTES:
        raise Refused(f"larger than {MAX_BYTES} bytes")
    if _is_plain(data):
        try:
            # peek() of a buffered reader lets the C unpickler read ahead; over BytesIO it is half as fast
            return _PlainUnpickler(io.BufferedReader(_Timed(data), 1 << 16)).load()
        except Refused:
            raise
        except Exception as error:  # the walk knows opcodes, not the stack: any failure in there is the content's
            raise Refused(f"broken pickle: {type(error).__name__}") from error
    return Machine(data).run()


class _Timed(io.RawIOBase):
    """The data, block by block, for SECONDS: keys of a dict that were chosen to collide are found by the clock alone."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self._data, self._until = io.BytesIO(data), time.thread_time() + SECONDS

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview | bytearray") -> int:  # type: ignore[override]
        if time.thread_time() > self._until:
            raise Refused(f"more than {SECONDS:g} seconds of work")
        return self._data.readinto(buffer)


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str, /) -> NoReturn:
        raise Refused(f"pickle refers to a class: {module_name[:80]}.{global_name[:80]}")

    def persistent_load(self, pid: Any, /) -> NoReturn:
        raise Refused("pickle refers to a persistent object")


# What stands before a slot is filled: a list or dict was pushed, or got items. Only of nothing (`(e`) may a tuple be
# "extended", so something must stand between mark and end, or a container before the mark. An operand that looks like
# one of these belongs to what pushes a number or the content of a slot, and that is no tuple either.
_NO_TUPLE = rb"(?:(?<=[\]}as])|(?<=[^(][eu])|(?<=[\]}hK]\([eu]))"
_GET = rb"(?:h.|j.{4})"
_LONG1 = b"|".join(re.escape(bytes([n])) + b".{%d}" % n for n in range(1, 9))
_PLAIN = rb"[\](}ueasN\x88\x89][\](}ueasN\x88\x89]*+|K.|M..|\x8a\x08.{8}|J.{4}"
_FILLED = _NO_TUPLE.replace(b"])", b"]q)")  # the same, told behind the opcode
_RUN = regex(  # the commonest first: slots and what follows them; a pair of slots made a tuple before a slot alone
    (rb"(?:h.(?:h.){0,7}+(?:" + _PLAIN + rb"|(?=h.h))|" + _PLAIN + rb"|q" + _FILLED + rb".|")
    + (_GET + rb"{2}\x86|" + _GET + rb"(?![X\x86])|\x8a(?:" + _LONG1)
    + (rb")|G.{8})*+(" + _GET + rb")?"),
    re.DOTALL,
)
_MAY_FILL = regex(_NO_TUPLE)
_TEXT, _PUT, _LONG_PUT, _TUPLE2, _STOP = b"X"[0], b"q"[0], b"r"[0], 0x86, b"."[0]


def _is_plain(data: bytes) -> bool:
    """True if the C unpickler may have it: see the module's text. False means "not known to be harmless"."""
    if data[:2] != b"\x80\x02" or data.count(b"]") + data.count(b"}") > MAX_CONTAINERS:
        return False
    size, position, texts = len(data), 2, 0  # texts: how many were pushed just now, one after the other
    run, length_at = _RUN.match, struct.Struct("<I").unpack_from
    while True:
        found = run(data, position)
        if found is None:
            return False
        end = found.end()
        if end > position:
            start = found.start(1)
            texts = 0 if start < 0 else texts + 1 if start == position else 1
            position = end
        if position + 5 > size:
            return position < size and data[position] == _STOP
        opcode = data[position]
        if opcode == _TEXT:
            position += 5 + length_at(data, position + 1)[0]
            texts += 1
            if position < size and data[position] == _PUT:
                position += 2
        elif opcode == _LONG_PUT and length_at(data, position + 1)[0] <= position // 3:
            if not texts and _MAY_FILL.match(data, position) is None:
                return False
            position += 5  # a slot's text or container took bytes of its own
        elif opcode == _TUPLE2 and texts > 1:
            position += 1
            texts = 0
        else:
            return opcode == _STOP
        if position >= size:
            return False


class Machine:
    """The pickle machine for plain data only, protocols 2 to 5."""

    def __init__(self, data: bytes) -> None:
        self.data, self.position = data, 0
        self.stack: list[Any] = []
        self.open: list[list[Any]] = []  # stacks below each mark
        self.memo: dict[int, Any] = {}
        self.made = 0  # containers, marks and memo slots

    def run(self) -> Any:
        try:
            while (opcode := self.byte()) != _STOP:
                handler = _HANDLERS.get(opcode)
                if handler is None:
                    raise Refused(f"opcode {bytes([opcode])!r} is not plain data")
                handler(self)
                self.done(opcode)
            return self.stack.pop()
        except Refused:
            raise
        except Exception as error:
            raise Refused(f"broken pickle: {type(error).__name__}") from error

    def done(self, opcode: int) -> None:
        """After each opcode, for whoever reads on in a way of its own."""

    def take(self, count: int) -> bytes:
        end = self.position + count
        if end > len(self.data):
            raise Cut(f"pickle ends at byte {len(self.data)}", [*self.open, self.stack])
        taken = self.data[self.position : end]
        self.position = end
        return taken

    def byte(self) -> int:
        position = self.position
        if position >= len(self.data):
            self.take(1)
        self.position = position + 1
        return self.data[position]

    def number(self, count: int) -> int:
        return int.from_bytes(self.take(count), "little")

    def count_made(self) -> None:
        self.made += 1
        if self.made > MAX_CONTAINERS:
            raise Refused(f"more than {MAX_CONTAINERS} containers, marks and memo slots")

    def push_new(self, value: Any) -> None:
        self.count_made()
        self.stack.append(value)

    def mark(self) -> None:
        self.count_made()
        self.open.append(self.stack)
        self.stack = []

    def pop_mark(self) -> list[Any]:
        items, self.stack = self.stack, self.open.pop()
        return items

    def put(self, slot: int) -> None:
        self.count_made()
        self.memo[slot] = self.stack[-1]

    def tuple_of(self, count: int) -> None:
        items = tuple(self.stack[-count:])
        if len(items) < count:
            raise Refused("tuple of missing items")
        del self.stack[-count:]
        self.push_new(items)

    def append(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is not list:
            raise Refused("append to something that is no list")
        target.extend(items)

    def set_items(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is not dict or len(items) % 2:
            raise Refused("items set on something that is no dict")
        for key, value in zip(items[::2], items[1::2], strict=True):
            if type(key) is not str and not (type(key) is int and 0 <= key < RANKS):  # hashing others may not end
                raise Refused(f"dict key that is neither a text nor a number below {RANKS}: {type(key).__name__}")
            target[key] = value

    def text(self, count: int) -> None:
        self.stack.append(self.take(count).decode("utf-8", "replace"))

    def last(self, count: int) -> list[Any]:
        items = self.stack[-count:]
        del self.stack[-count:]
        return items

    def protocol(self) -> None:
        if self.byte() > pickle.HIGHEST_PROTOCOL:
            raise Refused("unknown pickle protocol")


_HANDLERS: dict[int, Callable[[Machine], Any]] = {
    0x80: Machine.protocol,
    0x95: lambda m: m.take(8),  # FRAME
    0x28: Machine.mark,
    0x5D: lambda m: m.push_new([]),
    0x7D: lambda m: m.push_new({}),
    0x29: lambda m: m.stack.append(()),
    0x4E: lambda m: m.stack.append(None),
    0x88: lambda m: m.stack.append(True),
    0x89: lambda m: m.stack.append(False),
    0x4B: lambda m: m.stack.append(m.byte()),
    0x4D: lambda m: m.stack.append(m.number(2)),
    0x4A: lambda m: m.stack.append(int.from_bytes(m.take(4), "little", signed=True)),
    0x8A: lambda m: m.stack.append(int.from_bytes(m.take(m.byte()), "little", signed=True)),
    0x47: lambda m: m.stack.append(struct.unpack(">d", m.take(8))[0]),
    0x58: lambda m: m.text(m.number(4)),
    0x8C: lambda m: m.text(m.byte()),
    0x8D: lambda m: m.text(m.number(8)),
    0x43: lambda m: m.stack.append(m.take(m.byte())),
    0x42: lambda m: m.stack.append(m.take(m.number(4))),
    0x71: lambda m: m.put(m.byte()),
    0x72: lambda m: m.put(m.number(4)),
    0x94: lambda m: m.put(len(m.memo)),
    0x68: lambda m: m.stack.append(m.memo[m.byte()]),
    0x6A: lambda m: m.stack.append(m.memo[m.number(4)]),
    0x85: lambda m: m.tuple_of(1),
    0x86: lambda m: m.tuple_of(2),
    0x87: lambda m: m.tuple_of(3),
    0x74: lambda m: m.push_new(tuple(m.pop_mark())),
    0x61: lambda m: m.append(m.last(1)),
    0x65: lambda m: m.append(m.pop_mark()),
    0x73: lambda m: m.set_items(m.last(2)),
    0x75: lambda m: m.set_items(m.pop_mark()),
}
