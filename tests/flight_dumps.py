"""Writes flight recorder dumps as PyTorch's own pickler does (protocol 2, texts memoised), for the tests."""

import struct
from typing import Any


def entry(number: int = 0, **changes: Any) -> dict[str, Any]:
    """One entry of schema 2.9, sent off and not finished."""
    return {
        "record_id": number,
        "pg_id": 1,
        "process_group": ("5", "TP"),
        "collective_seq_id": number + 1,
        "p2p_seq_id": 0,
        "op_id": number + 1,
        "profiling_name": "nccl:all_reduce",
        "time_created_ns": 1_700_000_000_000_000_000 + number,
        "input_sizes": [[4, 2 + number % 7]],
        "input_dtypes": ["Float"],
        "output_sizes": [[4, 2 + number % 7]],
        "output_dtypes": ["Float"],
        "state": "scheduled",
        "time_discovered_started_ns": None,
        "time_discovered_completed_ns": None,
        "retired": False,
        "timeout_ms": 600_000,
        "is_p2p": False,
        "thread_id": "139748020489088",
        "thread_name": "python3",
        **changes,
    }


def dump(entries: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    """A whole dump of group "5" of ranks 0 and 1."""
    status = {"last_enqueued_collective": 8, "last_started_collective": -1, "last_completed_collective": 7}
    return {
        "version": "2.9",
        "nccl_version": "2.27.3",
        "pg_config": {"5": {"name": "5", "desc": "TP", "ranks": "[0, 1]"}},
        "pg_status": {"1": status},
        "entries": entries,
        **changes,
    }


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
    """Frames are shared by all entries, and so memoised when they are whole."""
    if (shared := id(value)) in memo:
        return _get(memo[shared])
    pairs = (_encoded(key, memo) + _encoded(item, memo) for key, item in value.items())
    raw = b"}(" + b"".join(pairs) + b"u"
    return raw + _put(memo.setdefault(shared, len(memo))) if "filename" in value else raw


def _text(value: str, memo: dict[Any, int]) -> bytes:
    if value in memo:
        return _get(memo[value])
    raw = value.encode()
    return b"X" + struct.pack("<I", len(raw)) + raw + _put(memo.setdefault(value, len(memo)))


def _get(slot: int) -> bytes:
    return b"h" + bytes([slot]) if slot < 256 else b"j" + struct.pack("<I", slot)


def _put(slot: int) -> bytes:
    return b"q" + bytes([slot]) if slot < 256 else b"r" + struct.pack("<I", slot)
