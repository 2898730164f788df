"""Archives and compressed files as streams: told by their first bytes, never by their name; nothing is written out.

Reads tar (ustar, GNU, pax), gzip, zstd, bzip2, xz. What is damaged is read up to the damage, and the reader's `loss`
says what is missing. A stream that unfolds beyond all measure is cut the same way.
"""

import bz2
import io
import lzma
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from functools import partial
from typing import BinaryIO, Protocol, cast
from zipfile import ZipInfo

import msgspec
import zstandard

from parsers.archive.zstd_blocks import LONGEST_HEADER, ZSTD, Parts, Straight, engine
from parsers.schema.limits import Share

BLOCK = 1 << 20
RATIO = 1000  # unfolded : folded bytes …
RATIO_FREE = 1 << 30  # … looked at only beyond this many unfolded bytes
HEADER_LIMIT = 1 << 20  # bytes of a long name or a pax header
BEHIND = 64 << 20  # bytes behind a tar's end marker that are looked at
MEMBER_LIMIT = 1 << 50  # bytes a header may claim: a sum of a few is still an offset in a file

_MAGIC = (
    (b"\x1f\x8b\x08", "gzip"),
    (ZSTD, "zstd"),
    *((bytes((number, 0x2A, 0x4D, 0x18)), "zstd") for number in range(0x50, 0x60)),  # a frame to skip (RFC 8878, 3.1.2)
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
)
_MAGICS = tuple(magic for magic, _ in _MAGIC)
ZIP_HEADER = 30  # bytes before the name and the data of a zip's member
ZIP_END = 22  # bytes of the end record before its comment
_DAMAGE = (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError, zstandard.ZstdError)
_BODILESS = (tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE)
COMPRESSED = ("gzip", "zstd", "bzip2", "xz")


class Inflate(Protocol):
    """One member of a compressed stream, as zlib, bz2 and lzma have it."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes: ...


def kind(head: bytes) -> str | None:
    """gzip, zstd, bzip2, xz, zip, tar or None, by the first 512 bytes."""
    if head.startswith(_MAGICS):
        return next(name for magic, name in _MAGIC if head.startswith(magic))
    return "tar" if is_tar(head) else None


def is_tar(head: bytes) -> bool:
    """A tar header with a right checksum; its name may be empty."""
    if len(head) < 512:
        return False
    try:
        _header(head[:512])
    except ValueError:
        return False
    return True


def loss_of(stream: BinaryIO) -> str | None:
    """What a buffered reader's raw stream could not read; None where all is there, so far."""
    found = getattr(getattr(stream, "raw", None), "loss", None)
    return str(found) if found else None


class _Folded:
    """zlib, bz2 and lzma behind one small face: bounded output, concatenated members."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._inflate: Inflate | None = None
        self._rest = b""
        self.begun = False  # inside a member: the end of input would be a loss

    def feed(self, data: bytes) -> bytes:
        """At most BLOCK bytes for these; call again with b"" until nothing comes."""
        self._rest += data
        while self._rest or self.begun:
            if self._inflate is None:
                self._rest = self._rest if self._name == "bzip2" else self._rest.lstrip(b"\x00")  # padding
                if not self._rest:
                    return b""
                self._inflate, self.begun = self._new(), True
            out = self._inflate.decompress(self._rest, BLOCK)
            if self._inflate.eof:
                self._rest, self._inflate, self.begun = self._inflate.unused_data, None, False
            else:
                self._rest = getattr(self._inflate, "unconsumed_tail", b"")
            if out:
                return out
            if self._inflate is not None and not self._rest:
                return b""
        return b""

    def _new(self) -> Inflate:
        if self._name == "gzip":
            return zlib.decompressobj(31)
        return bz2.BZ2Decompressor() if self._name == "bzip2" else lzma.LZMADecompressor()


class Raw(io.RawIOBase):
    """A stream that is read."""

    def readable(self) -> bool:
        return True


class Unfolded(Raw):
    """A compressed stream, read unfolded. After the end, `loss` says what could not be read, or is None.

    A library that meets damage gives nothing of the piece that it was fed with. So where the stream can be read again,
    it is, and what stands before the damage is fed byte by byte: a wrong sum at the end costs no line.
    """

    def __init__(self, name: str, folded: BinaryIO, share: Share | None = None) -> None:
        super().__init__()
        self._name, self._share = name, share
        self._start = folded.tell() if folded.seekable() else None
        self._source = _Counting(folded)
        self._chunks = _chunks(name, self._source)
        self._straight = Straight(self._source) if name == "zstd" and self._start is not None else None
        self._pending = memoryview(b"")
        self._out = 0
        self.loss: str | None = None

    def readinto(self, buffer: "memoryview | bytearray") -> int:  # type: ignore[override]
        if not self._pending and self._straight is not None and len(buffer) >= BLOCK:
            with memoryview(buffer) as view:
                got = self._unfolded(self._straight, view[:BLOCK])
            if got or self.loss is not None:
                return got
        if not self._pending:
            self._pending = memoryview(self._next())
        taken = self._pending[: len(buffer)]
        self._pending = self._pending[len(taken) :]
        buffer[: len(taken)] = taken
        return len(taken)

    def _next(self) -> bytes:
        if self._straight is not None:
            piece = bytearray(BLOCK)
            if got := self._unfolded(self._straight, memoryview(piece)):
                return bytes(memoryview(piece)[:got])
        if self.loss is not None:
            return b""
        try:
            chunk = next(self._chunks, b"")
        except _DAMAGE as error:
            return self._next() if self._begins_again(error) else b""
        return chunk if self._may_give(len(chunk)) else b""

    def _unfolded(self, straight: "Straight", view: memoryview) -> int:
        """How many bytes were unfolded to the beginning of `view`; 0 at the end, and where another way goes on."""
        if self.loss is not None:
            return 0
        try:
            got = straight.readinto(view)
        except _DAMAGE as error:
            self._straight = None
            self._begins_again(error)
            return 0
        return got if self._may_give(got) else 0

    def _begins_again(self, error: Exception) -> bool:
        """Whether what is damaged is read again with care; else that is the end."""
        if self._start is not None and not isinstance(error, EOFError):
            self._chunks, self._start = self._carefully(self._start), None
            return True
        why = loss_of(self._source.inner) or error or type(error).__name__
        self.loss = f"damaged or cut short after {self._out} bytes: {why}"
        return False

    def _may_give(self, size: int) -> bool:
        """Whether so many bytes more are within the limits; else that is the end."""
        self._out += size
        if self._out > RATIO_FREE and self._out > RATIO * self._source.count:
            self.loss = f"cut after {self._out - size} bytes: it unfolds to more than the limit"
        elif self._share is not None and not self._share.takes(self._out):
            self.loss = f"cut after {self._out - size} bytes: {self._share.budget.reason}"
        return self.loss is None

    def _carefully(self, start: int) -> Iterator[bytes]:
        """From the start again, and what was not given yet, in pieces of BLOCK bytes: whoever peeks sees a header whole."""
        self._source.inner.seek(start)
        self._source = _Counting(self._source.inner, fine_from=self._source.before - LONGEST_HEADER)
        skip, held, chunks = self._out, bytearray(), _chunks(self._name, self._source)
        problem: Exception | None = None
        while problem is None:
            try:
                chunk = next(chunks)
            except StopIteration:
                break
            except _DAMAGE as error:
                problem, chunk = error, b""
            held += chunk[skip:]
            skip = max(0, skip - len(chunk))
            if len(held) >= BLOCK:
                yield bytes(held)
                held.clear()
        if held:
            yield bytes(held)
        if problem is not None:
            raise problem

    def close(self) -> None:
        if not self.closed:
            self._source.inner.close()
        super().close()


class _Counting:
    """Counts what is read; from `fine_from` on, single bytes. `before`: the count before the latest piece."""

    def __init__(self, inner: BinaryIO, fine_from: int | None = None) -> None:
        self.inner = inner
        self.count = self.before = 0
        self._fine_from = fine_from

    @property
    def is_fine(self) -> bool:
        return self._fine_from is not None

    def read(self, size: int) -> bytes:
        if self._fine_from is not None:
            size = max(1, min(size, self._fine_from - self.count))
        data = self.inner.read(size)
        if data:
            self.before = self.count
        self.count += len(data)
        return data


def _chunks(name: str, source: _Counting) -> Iterator[bytes]:
    return _zstd(source) if name == "zstd" else _other(name, source)


def _zstd(source: _Counting) -> Iterator[bytes]:
    start = partial(engine().decompressobj, write_size=1 << 15)  # unfolded at a time: more is cleared for nothing
    frame, begun = start(), False
    for part in iter(partial(source.read, 1 << 12), b"") if source.is_fine else Parts(source):
        rest = part
        while rest:
            begun = True
            out = frame.decompress(rest)
            if out:
                yield out
            rest = b""
            if frame.eof:
                rest, frame, begun = frame.unused_data, start(), False
    if begun:
        raise EOFError("the end is missing")


def _other(name: str, source: _Counting) -> Iterator[bytes]:
    folded = _Folded(name)
    while data := source.read(1 << 16):
        while out := folded.feed(data):
            yield out
            data = b""
    if folded.begun:
        raise EOFError("the end is missing")


def unfold(name: str, folded: BinaryIO, share: Share | None = None) -> io.BufferedReader:
    """A buffered reader of the unfolded bytes; its `raw` is an Unfolded with `loss`."""
    return io.BufferedReader(Unfolded(name, folded, share), BLOCK)


def ends_as_zip(stream: BinaryIO) -> bool:
    """Whether a zip's end record ends this: what unpacks itself begins with its program. Looks at 64 KiB at most."""
    size = stream.seek(0, io.SEEK_END)
    stream.seek(max(0, size - ZIP_END - 0xFFFF))
    tail = stream.read(ZIP_END + 0xFFFF)
    at = tail.rfind(b"PK\x05\x06")
    comment = int.from_bytes(tail[at + ZIP_END - 2 : at + ZIP_END], "little")
    return at >= 0 and at + ZIP_END + comment == len(tail)


def overlapping(listed: Sequence[ZipInfo]) -> set[int]:
    """Which entries of a zip's directory point into the bytes of one that begins before: many may share one bomb."""
    order = sorted(range(len(listed)), key=lambda at: listed[at].header_offset)
    found: set[int] = set()
    end = 0
    for at in order:
        if listed[at].header_offset < end:
            found.add(at)
        else:
            end = listed[at].header_offset + ZIP_HEADER + listed[at].compress_size
    return found


class Entry(msgspec.Struct, frozen=True):
    """One tar member. `offset`: where its bytes begin, counted from the beginning of the stream."""

    name: str
    kind: str  # file | link | symlink | folder | special
    size: int
    offset: int
    target: str = ""


class TarError(Exception):
    """The tar stream cannot be followed any further; what came before is good."""


class Forward:
    """Goes forward in a stream, by seeking where that is possible; `at` counts from where it began."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._start = stream.tell() if stream.seekable() else None
        self.at = 0

    def go(self, to: int) -> None:
        """To an absolute place; TarError where the stream ends before."""
        if self._start is not None:
            self._stream.seek(self._start + to)
            self.at = to
        while self.at < to:
            if not self.read(min(to - self.at, BLOCK)):
                raise self.cut()

    def cut(self) -> "TarError":
        """What to raise where bytes are missing."""
        why = loss_of(self._stream)
        return TarError(f"the archive is cut short{f': {why}' if why else ''}")

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self.at += len(data)
        return data

    def readinto(self, buffer: memoryview) -> int:
        got = cast(io.BufferedReader, self._stream).readinto(buffer)
        self.at += got
        return got

    def behind(self) -> str:
        """How many bytes are left, zeros before them aside; "" where none are. Reads BEHIND bytes at most."""
        stop, begin = self.at + BEHIND, None
        while self.at < stop and (data := self.read(BLOCK)):
            if begin is None and (rest := data.lstrip(b"\x00")):
                begin = self.at - len(rest)
            if begin is not None and self._start is not None:
                break
        begin = self.at if begin is None else begin
        end = self.at if self._start is None else self._stream.seek(0, io.SEEK_END) - self._start
        more = "at least " if self._start is None and self.at >= stop else ""
        return f"{more}{end - begin} bytes" if more or end > begin else ""


def walk_tar(stream: Forward) -> Iterator[Entry]:
    """Headers in order. The caller may read the bytes of an entry through `stream` before asking for the next.

    Links, folders, pipes and devices have no bytes, whatever size they claim; GNU tar skips that much, libarchive does
    not. Here it is skipped where no header follows.

    Raises TarError where the stream is damaged or cut; what came before is good.
    """
    at = claimed = 0
    pax: dict[str, str] = {}
    while True:
        stream.go(at)
        block = stream.read(512)
        if len(block) == 512 and not any(block):
            if left := stream.behind():
                raise TarError(f"{left} behind its end marker are not read")
            return
        if len(block) < 512:
            raise stream.cut()
        try:
            info = _header(block)
        except ValueError as error:
            if claimed:
                at, claimed = at + claimed, 0
                continue
            raise TarError(f"damaged header at byte {at}: {error}") from error
        if not 0 <= info.size <= MEMBER_LIMIT:
            raise TarError(f"damaged header at byte {at}: a size of {info.size} bytes")
        at, claimed = at + 512, 0
        if info.type in (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE):
            _extend(pax, info, stream.read(min(info.size, HEADER_LIMIT)))
            at += _padded(info.size)
            continue
        entry = _entry(info, pax, at)
        pax = {key: value for key, value in pax.items() if key.startswith("global ")} if pax else pax
        yield entry
        if info.type in _BODILESS:
            claimed = _padded(entry.size)
        else:
            at += _padded(entry.size)


def _padded(size: int) -> int:
    return -(-size // 512) * 512


class _Header(msgspec.Struct):
    """What a tar header says."""

    name: str
    size: int
    type: bytes
    linkname: str


def _header(block: bytes) -> _Header:
    """What is needed of a header; ValueError where it is none. Its sum decides: owner, mode, time and device may be odd."""
    told, others = _number(block[148:156]), block[:148] + b" " * 8 + block[156:]
    signed = 256 * len(others.translate(None, bytes(range(128))))  # old ones add signed bytes
    if told not in (sum(others), sum(others) - signed):
        raise ValueError("bad checksum")
    info = _Header(_text(block[:100]), _number(block[124:136]), block[156:157], _text(block[157:257]))
    if info.type == tarfile.AREGTYPE and info.name.endswith("/"):  # as before there was a type for it
        info.type = tarfile.DIRTYPE
    if (prefix := _text(block[345:500])) and info.type not in tarfile.GNU_TYPES:
        info.name = f"{prefix}/{info.name}"
    return info


def _text(field: bytes) -> str:
    return field.partition(b"\x00")[0].decode("utf-8", "surrogateescape")


def _number(field: bytes) -> int:
    """Octal digits, or base 256 where the first byte says so. Raises ValueError."""
    if field[0] in (0x80, 0xFF):
        return int.from_bytes(field[1:] if field[0] == 0x80 else field, "big", signed=field[0] == 0xFF)
    return int(field.partition(b"\x00")[0].strip() or b"0", 8)


def _extend(pax: dict[str, str], info: _Header, data: bytes) -> None:
    if info.type == tarfile.GNUTYPE_LONGNAME:
        pax["path"] = data.rstrip(b"\x00").decode("utf-8", "surrogateescape")
    elif info.type == tarfile.GNUTYPE_LONGLINK:
        pax["linkpath"] = data.rstrip(b"\x00").decode("utf-8", "surrogateescape")
    else:
        prefix = "global " if info.type == tarfile.XGLTYPE else ""
        pax.update({prefix + key: value for key, value in _pax_records(data)})


def _pax_records(data: bytes) -> Iterator[tuple[str, str]]:
    while data:
        digits, space, _ = data.partition(b" ")
        if not space or not digits.isdigit() or not 0 < int(digits[:9]) <= len(data):
            return
        length = int(digits[:9])
        key, _, value = data[len(digits) + 1 : length - 1].partition(b"=")
        yield key.decode("utf-8", "replace"), value.decode("utf-8", "surrogateescape")
        data = data[length:]


def _entry(info: _Header, pax: dict[str, str], at: int) -> Entry:
    if not pax and info.type == tarfile.REGTYPE:  # most are
        return Entry(info.name, "file", info.size, at, info.linkname)
    size = pax.get("size", pax.get("global size", ""))
    length = int(size) if size.isascii() and size.isdigit() and len(size) < 16 else info.size
    sparse = info.type == tarfile.GNUTYPE_SPARSE or any(key.startswith("GNU.sparse") for key in pax)
    if info.type == tarfile.LNKTYPE:
        what = "link"
    elif info.type == tarfile.SYMTYPE:
        what = "symlink"
    elif info.type == tarfile.DIRTYPE:
        what = "folder"
    else:
        what = "file" if info.type in tarfile.REGULAR_TYPES and not sparse else "special"
    return Entry(pax.get("path", info.name), what, length, at, pax.get("linkpath", info.linkname))
