"""Line ends between two places of a block, counted by vector operations: `bytes.count` stops at each of them, and takes eight
times as long.

The bytes are lent to polars where they lie, by Arrow's C data interface
(https://arrow.apache.org/docs/format/CDataInterface.html); what polars makes of them, a bit per byte, is its own.
"""

import ctypes
from typing import Any

import polars as pl

SHORT = 1 << 14  # bytes that `bytes.count` counts sooner than a vector operation begins

_VOID = ctypes.c_void_p
_Release = ctypes.CFUNCTYPE(None, _VOID)
_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, _VOID, ctypes.c_char_p, _VOID)(("PyCapsule_New", ctypes.pythonapi))


class _Schema(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_char_p) for name in ("format", "name", "metadata")),
        *((name, ctypes.c_int64) for name in ("flags", "n_children")),
        *(("children", _VOID), ("dictionary", _VOID), ("release", _Release), ("private_data", _VOID)),
    )


class _Array(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")),
        *(("buffers", _VOID), ("children", _VOID), ("dictionary", _VOID), ("release", _Release), ("private_data", _VOID)),
    )  # fmt: skip


_nothing = _Release(lambda _lent: None)  # what is lent belongs to the lender all the time


class _Lent:
    """The first `size` bytes of a block as an array of Arrow; alive as long as what was made of it is read."""

    def __init__(self, block: bytes | bytearray, size: int) -> None:
        begin = (ctypes.c_char * size).from_buffer(block) if isinstance(block, bytearray) else ctypes.c_char_p(block)
        self._buffers = (_VOID * 2)(None, ctypes.cast(begin, _VOID))
        self._keep = begin
        self._schema = _Schema(format=b"C", name=b"", release=_nothing)
        self._array = _Array(length=size, n_buffers=2, buffers=ctypes.addressof(self._buffers), release=_nothing)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[Any, Any]:
        schema = _capsule(ctypes.addressof(self._schema), b"arrow_schema", None)
        return schema, _capsule(ctypes.addressof(self._array), b"arrow_array", None)


class Newlines:
    """Of `block[:size]`, which stays as it is meanwhile."""

    def __init__(self, block: bytes | bytearray, size: int) -> None:
        self._block, self._size = block, size
        self._ends: pl.Series | None = None

    def count(self, begin: int, end: int) -> int:
        """How many line ends `block[begin:end]` holds."""
        if end - begin < SHORT:
            return self._block.count(b"\n", begin, end)
        if self._ends is None:
            self._ends = pl.Series(_Lent(self._block, self._size)) == ord("\n")
        return int(self._ends.slice(begin, end - begin).sum())
