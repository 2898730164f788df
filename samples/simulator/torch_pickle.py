"""Plain data as PyTorch's own C++ pickler writes it: protocol 2, texts and the frames of stacks written once and then
referred to, numbers beyond 32 bits in eight bytes.

Source: torch/csrc/jit/serialization/pickler.cpp.
"""

import struct
from typing import Any


def pickled(value: Any) -> bytes:
    """The bytes that PyTorch's C++ pickler writes for plain data."""
    memo: dict[Any, int] = {}
    return b"\x80\x02" + _encoded(value, memo) + b"."


def _encoded(value: Any, memo: dict[Any, int]) -> bytes:
    if value is None or isinstance(value, bool):
        return {None: b"N", True: b"\x88", False: b"\x89"}[value]
    if isinstance(value, int):
        if 0 <= value < 256:
            return b"K" + bytes([value])
        if 0 <= value < 65536:
            return b"M" + struct.pack("<H", value)
        return b"J" + struct.pack("<i", value) if abs(value) < 1 << 31 else b"\x8a\x08" + struct.pack("<q", value)
    if isinstance(value, float):
        return b"G" + struct.pack(">d", value)
    if isinstance(value, str):
        return _text(value, memo)
    if isinstance(value, tuple):
        return b"".join(_encoded(item, memo) for item in value) + {2: b"\x86"}[len(value)]
    if isinstance(value, list):
        return b"](" + b"".join(_encoded(item, memo) for item in value) + b"e"
    return _dict(value, memo)


def _dict(value: dict[str, Any], memo: dict[Any, int]) -> bytes:
    """Frames are shared by all entries that show them, and so memoised when they are whole."""
    shared = tuple(value.items()) if "filename" in value else None
    if shared is not None and shared in memo:
        return _get(memo[shared])
    pairs = (_encoded(key, memo) + _encoded(item, memo) for key, item in value.items())
    raw = b"}(" + b"".join(pairs) + b"u"
    return raw if shared is None else raw + _put(memo.setdefault(shared, len(memo)))


def _text(value: str, memo: dict[Any, int]) -> bytes:
    if value in memo:
        return _get(memo[value])
    raw = value.encode()
    return b"X" + struct.pack("<I", len(raw)) + raw + _put(memo.setdefault(value, len(memo)))


def _get(slot: int) -> bytes:
    return b"h" + bytes([slot]) if slot < 256 else b"j" + struct.pack("<I", slot)


def _put(slot: int) -> bytes:
    return b"q" + bytes([slot]) if slot < 256 else b"r" + struct.pack("<I", slot)
