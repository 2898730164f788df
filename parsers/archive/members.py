"""How members are opened, and where those are kept that cannot be read in place.

Openers are top-level functions with plain arguments, so that a Source travels to another process. Spill keeps
KEPT_BYTES of all members in memory and beyond that one temporary file, SPILL_BYTES long.
"""

import errno
import io
import os
import stat
import struct
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any, BinaryIO, NamedTuple, Protocol, cast

from parsers.archive import archives
from parsers.schema.limits import Budget, Share

KEPT_BYTES = 64 << 20
SPILL_BYTES = 64 << 30
SMALL = 4096  # bytes: to open a file again costs more than to keep so many
PIECE = 16 << 20  # of a member of known size: most come whole, and are not put together


HOLE = 16 << 20  # of shorter ones in a file nobody asks


class Hole(NamedTuple):
    """A stretch of a file that nobody wrote, its end excluded."""

    begin: int
    end: int


class Readable(Protocol):
    """Anything that gives its next bytes."""

    def read(self, size: int, /) -> bytes | None: ...


class Going(Protocol):
    """What gives its next bytes, all that are asked for unless it ends."""

    def read(self, size: int, /) -> bytes: ...
    def readinto(self, buffer: memoryview, /) -> int: ...


def open_file(path: str, size: int | None = None, flags: int = 0) -> BinaryIO:
    """A file that was listed with that size; `flags`: more of os.open. No waiting on what became a pipe meanwhile."""
    handle = os.open(path, flags | os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError("not a plain file")
    return cast(BinaryIO, io.BufferedReader(Plain(io.FileIO(handle), size)))


class Over(archives.Raw):
    """A stream over another one, in which it goes about, and which it closes."""

    _inner: Any

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        if not self.closed:
            self._inner.close()
        super().close()


class Plain(Over):
    """A file as it lies there; `loss` says what could not be read behind its first byte, an end before its size included."""

    def __init__(self, inner: io.FileIO, size: int | None) -> None:
        super().__init__()
        self._inner, self._size = inner, size
        self.loss: str | None = None

    def tell(self) -> int:
        return int(self._inner.tell())

    def seek(self, offset: int, whence: int = 0) -> int:
        return int(self._inner.seek(offset, whence))

    def readinto(self, buffer: "memoryview | bytearray") -> int:  # type: ignore[override]
        try:
            got = self._inner.readinto(buffer)
        except OSError as error:
            if not self.tell():
                raise
            self.loss = f"not read beyond byte {self.tell()}: {error.strerror or error}"
            return 0
        if not got and self._size is not None and len(buffer) and self.tell() < self._size:
            self.loss = f"cut short while it was read: {self.tell()} of {self._size} bytes"
        return got or 0

    def readall(self) -> bytes:
        return b"".join(iter(partial(self.read, archives.BLOCK), b""))

    def next_hole(self, at: int) -> Hole | None:
        """The first hole of HOLE bytes or more at `at` or behind it; None where no more is, or the system tells of none."""
        handle, here = self._inner.fileno(), self.tell()
        try:
            while True:
                begin = os.lseek(handle, at, os.SEEK_HOLE)
                size = os.fstat(handle).st_size
                if begin >= size:  # each file ends in one of no length
                    return None
                at = self._data_behind(begin, size)
                if at - begin >= HOLE:
                    return Hole(begin, at)
        except (OSError, AttributeError):
            return None
        finally:
            self.seek(here)

    def _data_behind(self, begin: int, size: int) -> int:
        try:
            return os.lseek(self._inner.fileno(), begin, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            return size  # the file ends in the hole


def open_unfolded(kind: str, opener: Callable[[], BinaryIO], share: Share) -> BinaryIO:
    return cast(BinaryIO, archives.unfold(kind, opener(), share))


def open_slice(opener: Callable[[], BinaryIO], offset: int, size: int) -> BinaryIO:
    return cast(BinaryIO, io.BufferedReader(_Slice(opener(), offset, size), min(1 << 16, max(size, 512))))


def open_kept(data: bytes) -> BinaryIO:
    return io.BytesIO(data)


def open_zipped(opener: Callable[[], BinaryIO], info: zipfile.ZipInfo) -> BinaryIO:
    """A member of a zip, by its entry in the directory: of many members, none pays for the directory again."""
    return cast(BinaryIO, io.BufferedReader(_Zipped(opener(), info), 1 << 16))


class _Zipped(archives.Raw):
    """A zip member; `loss` says what could not be read."""

    def __init__(self, inner: BinaryIO, info: zipfile.ZipInfo) -> None:
        super().__init__()
        self._inner = inner
        self.loss: str | None = None
        try:
            inner.seek(info.header_offset)
            header = inner.read(archives.ZIP_HEADER)
            if len(header) < archives.ZIP_HEADER or not header.startswith(b"PK\x03\x04"):
                raise zipfile.BadZipFile("no header where the directory says")
            name, extra = struct.unpack_from("<HH", header, 26)
            inner.seek(name + extra, io.SEEK_CUR)
            self._member = zipfile.ZipExtFile(inner, "r", info)
        except BaseException:
            inner.close()
            raise

    def readinto(self, buffer: "memoryview | bytearray") -> int:  # type: ignore[override]
        try:
            data = self._member.read(len(buffer)) if self.loss is None else b""
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
            self.loss = archives.loss_of(self._inner) or f"damaged or cut short: {error or type(error).__name__}"
            data = b""
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed and hasattr(self, "_member"):
            self._member.close()
            self._inner.close()
        super().close()


class _Slice(Over):
    """A stretch of a seekable stream."""

    def __init__(self, inner: BinaryIO, offset: int, size: int) -> None:
        super().__init__()
        self._inner, self._offset, self._size, self._at = inner, offset, size, 0
        inner.seek(offset)

    @property
    def loss(self) -> str | None:
        return archives.loss_of(self._inner)

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = max(0, offset + (0, self._at, self._size)[whence])
        self._inner.seek(self._offset + min(self._at, self._size))
        return self._at

    def readinto(self, buffer: "memoryview | bytearray") -> int:  # type: ignore[override]
        with memoryview(buffer) as view:
            got = cast(io.BufferedReader, self._inner).readinto(view[: max(0, self._size - self._at)])
        self._at += got
        return got


class Replayed(archives.Raw):
    """A stream whose first bytes can be looked at before they are read; what comes counts as stored."""

    def __init__(self, inner: BinaryIO, budget: Budget) -> None:
        super().__init__()
        self._inner, self._seen, self._budget = inner, b"", budget

    def peek(self, size: int) -> bytes:
        while len(self._seen) < size and (data := self._inner.read(size - len(self._seen))):
            self._seen += data
        return self._seen[:size]

    def readinto(self, buffer: "memoryview | bytearray") -> int:  # type: ignore[override]
        data, self._seen = (self._seen[: len(buffer)], self._seen[len(buffer) :])
        data = data or self._inner.read(len(buffer))
        buffer[: len(data)] = data
        self._budget.stored += len(data)
        return len(data)


class Passing(archives.Raw):
    """The next `size` bytes of what can be read only once, all of them where None; the first can be looked at before they
    are read. `count`: how many were read."""

    def __init__(self, inner: Going, size: int | None) -> None:
        super().__init__()
        self._inner, self._left, self._seen = inner, sys.maxsize if size is None else size, b""
        self.count = 0

    def peek(self, size: int) -> bytes:
        if len(self._seen) < size:
            self._seen += self._inner.read(min(size, self._left) - len(self._seen))
        return self._seen[:size]

    def readinto(self, buffer: "memoryview | bytearray") -> int:  # type: ignore[override]
        seen, self._seen = self._seen[: len(buffer)], self._seen[len(buffer) :]
        buffer[: len(seen)] = seen
        with memoryview(buffer) as view:
            got = len(seen) + self._inner.readinto(view[len(seen) : self._left])
        self._left -= got
        self.count += got
        return got

    def read(self, size: int = -1) -> bytes:
        seen, self._seen = self._seen[:size], self._seen[size:]
        data = self._inner.read(min(size, self._left) - len(seen))
        data = seen + data if seen else data
        self._left -= len(data)
        self.count += len(data)
        return data

    def drain(self) -> None:
        """Read the rest, for nobody."""
        while self.read(archives.BLOCK):
            pass


class Spill:
    """Where members go that cannot be read in place: memory first, then one temporary file."""

    def __init__(self) -> None:
        self._kept = 0
        self._file: tempfile._TemporaryFileWrapper[bytes] | None = None
        self._written = 0

    def has_room(self, size: int) -> bool:
        """Whether a member that could be read in place is better kept: small, and there is memory."""
        return size <= SMALL and self._kept < KEPT_BYTES // 4

    def keep(self, stream: Readable, size: int | None) -> tuple[int, Callable[[], BinaryIO]]:
        """`size` bytes of the stream, all of it where None → how many came, and how to open them."""
        parts: list[bytes] = []
        got = 0
        room = KEPT_BYTES - self._kept
        while got <= room and (size is None or got < size):
            data = stream.read(archives.BLOCK if size is None else min(PIECE, size - got))
            if not data:
                self._kept += got
                return got, partial(open_kept, b"".join(parts))
            parts.append(data)
            got += len(data)
        if got <= room:
            self._kept += got
            return got, partial(open_kept, b"".join(parts))
        return self._spill(stream, size, parts)

    def _spill(self, stream: Readable, size: int | None, parts: list[bytes]) -> tuple[int, Callable[[], BinaryIO]]:
        if self._file is None:
            self._file = tempfile.NamedTemporaryFile(prefix="forensics-")  # noqa: SIM115  (closed by close)
        begin = self._written
        for data in parts:
            self._write(data)
        while size is None or self._written - begin < size:
            wanted = archives.BLOCK if size is None else min(PIECE, size - (self._written - begin))
            data = stream.read(wanted) or b""
            if not data:
                break
            self._write(data)
        self._file.flush()
        got = self._written - begin
        return got, partial(open_slice, partial(open_file, self._file.name), begin, got)

    def _write(self, data: bytes) -> None:
        assert self._file is not None
        if self._written + len(data) > SPILL_BYTES:
            raise archives.TarError(f"more than {SPILL_BYTES} bytes unfolded: the rest was not read")
        self._file.write(data)
        self._written += len(data)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
