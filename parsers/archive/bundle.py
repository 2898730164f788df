"""A bundle, whatever it is packed in → its members as parser.Source streams, sorted by path.

Read: a folder, a single file, tar, tar compressed by gzip, zstd, bzip2 or xz, zip, a URL of such (remote.py), and ``-``
(any of these on standard input). Members are read in place; of what cannot be (a compressed tar, standard input), logs are
scanned as they pass (ahead.py), and all else goes to members.Spill. A compressed single member (``x.log.gz``) opens unfolded
under its own name (unfolded.py); an archive inside becomes a folder of its name, limits.nesting deep. What all of it may cost together is
in limits.py.

Never: written into the bundle, a link followed out of it, a pipe, device or socket opened, a name used as a path.
"""

import io
import os
import re
import stat
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Protocol, cast

import msgspec
from msgspec.structs import replace

from parsers.archive import appended, archives, exports, figure_tables, gathered, grepped, remote, titled, undecorated
from parsers.archive.members import (
    Going,
    Passing,
    Replayed,
    Spill,
    open_file,
    open_kept,
    open_slice,
    open_unfolded,
    open_zipped,
)
from parsers.archive.rewritten import Form, rewritten
from parsers.schema.evidence import BundleError
from parsers.schema.limits import Budget, Limits, Share
from parsers.schema.parser import HEAD_BYTES, STREAM_ERRORS, Passed, Source
from parsers.text.path_hints import hints
from parsers.text.patterns import regex
from parsers.text.stamps import YEAR_BYTES

# Forms of several files in one: of the first that a file has, the outer parts.
_PARTED = ((gathered, titled), (figure_tables,), (appended,))
_ARCHIVE_ERRORS = (archives.TarError, OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError)

_PLAIN = regex(r"(?:\w[\w.-]*/)*\w[\w.-]*", re.ASCII)  # a name that is a path inside the bundle as it stands
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # a file of a folder may have become a link since it was listed


class Scanning(Protocol):
    """Who scans logs while they go by (parsers/engine/ahead.py). `least`: bytes of a log that may be seen."""

    @property
    def least(self) -> int: ...

    def see(self, source: Source, stream: Passing) -> Passed | None: ...


class Bundle(msgspec.Struct):
    """An opened bundle. Close it after the last stream was read; opening a member later fails."""

    name: str
    sources: list[Source] = msgspec.field(default_factory=list)
    unread: list[dict[str, object]] = msgspec.field(default_factory=list)  # rows of the table `unread`
    budget: Budget = msgspec.field(default_factory=Budget)
    ahead: Scanning | None = None
    folded: set[str] = msgspec.field(default_factory=set)  # paths that came compressed one by one
    _paths: set[str] = msgspec.field(default_factory=set)
    _spill: Spill = msgspec.field(default_factory=Spill)

    @property
    def is_full(self) -> bool:
        """Whether as many members were met as the limit allows."""
        return len(self.sources) + len(self.unread) >= self.budget.limits.members

    def add(self, source: Source) -> None:
        self.sources.append(source)
        self._paths.add(source.path)

    def has(self, path: str) -> bool:
        """Whether a member was called that before."""
        return path in self._paths

    def close(self) -> None:
        self._spill.close()

    def __enter__(self) -> "Bundle":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_bundle(path: str | os.PathLike[str], limits: Limits | None = None, ahead: Scanning | None = None) -> Bundle:
    """The bundle at `path`, "-" for standard input. `ahead`: who scans logs that go by. Raises BundleError."""
    text = os.fspath(path)
    name = "stdin" if text == "-" else Path(os.path.abspath(text)).name
    bundle = Bundle(name, budget=Budget(limits or Limits()), ahead=ahead)
    try:
        _fill(bundle, text)
    except OSError as error:
        bundle.close()
        raise BundleError(f"{text}: {error.strerror or error}") from error
    except BundleError:
        bundle.close()
        raise
    bundle.sources = _unique(bundle.sources)
    if not bundle.sources:
        bundle.close()
        why = "; ".join(dict.fromkeys(str(row["reason"]) for row in bundle.unread[:3]))
        raise BundleError(f"{text}: nothing in it{f': {why}' if why else ''}")
    return bundle


def _fill(bundle: Bundle, path: str) -> None:
    if path == "-":
        if sys.stdin is None:
            raise BundleError("standard input is closed")
        _fill_from_stream(bundle, sys.stdin.buffer)
        return
    if remote.is_url(path):
        _fill_from_url(bundle, path)
        return
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        _fill_from_files(bundle, _walk(bundle, path))
        return
    if not stat.S_ISREG(mode):
        raise BundleError(f"{path}: neither a file nor a folder")
    size = os.path.getsize(path)
    source = _source(os.path.basename(path), size, partial(open_file, path, size))
    bundle.budget.stored = source.size
    with source.open() as stream:  # the bundle itself must be readable: an error here is an error of the call
        stream.read(1)
    _expand(bundle, source, 0)


def _fill_from_files(bundle: Bundle, files: Iterator[Source]) -> None:
    found = list(islice(files, bundle.budget.limits.members))
    bundle.budget.stored = sum(source.size for source in found)
    if bundle.is_full or len(found) == bundle.budget.limits.members:
        _list(bundle, ".", f"more than {bundle.budget.limits.members} members: the rest was not read")
    for source in found:
        _expand(bundle, source, 1)


def _fill_from_url(bundle: Bundle, url: str) -> None:
    files = [_source(_clean(path), size, opener) for path, size, opener in remote.listed(url)]
    if len(files) == 1 and url.endswith(files[0].path):
        bundle.budget.stored = files[0].size
        _expand(bundle, files[0], 0)
    else:
        _fill_from_files(bundle, iter(files))


def _fill_from_stream(bundle: Bundle, stream: BinaryIO) -> None:
    head = Replayed(stream, bundle.budget)
    if archives.kind(head.peek(512)) == "zip":
        size, opener = bundle._spill.keep(head, None)
        _expand(bundle, _source("stdin", size, opener), 0)
        return
    _stream_members(bundle, "", "stdin", io.BufferedReader(head, archives.BLOCK), 0)


def _stream_members(bundle: Bundle, prefix: str, name: str, stream: io.BufferedReader, depth: int) -> None:
    """A stream that can be read only once: a tar, perhaps compressed, or a single file."""
    kind = archives.kind(stream.peek(512)[:512])
    if kind in archives.COMPRESSED:
        unfolded = archives.unfold(kind, cast(BinaryIO, stream), Share(bundle.budget))
        _stream_members(bundle, prefix, name, unfolded, depth)
        return
    if kind == "tar":
        _stream_tar(bundle, prefix, name, stream, depth)
    else:
        source = _passed(bundle, name, stream, None)
        if source.size:
            _add(bundle, source)
    if loss := archives.loss_of(cast(BinaryIO, stream)):
        _list(bundle, prefix.rstrip("/") or name, loss)


def _expand(bundle: Bundle, source: Source, depth: int) -> None:
    """A member: itself, or the members of the archive that it is."""
    if source.seen is not None:
        bundle.add(source)
        return
    head = _head(bundle, source)
    if head is None:
        return
    kind = archives.kind(head) or _unpacks_itself(source)
    prefix = "" if depth == 0 else source.path + "/"
    if depth > bundle.budget.limits.nesting or kind is None:
        (_add if kind is None else Bundle.add)(bundle, source)
        return
    try:
        if kind in archives.COMPRESSED:
            _compressed(bundle, prefix, source, kind, depth)
        else:
            source = _in_place(bundle, source)
            (_zip_members if kind == "zip" else _tar_members)(bundle, prefix, source, depth)
    except _ARCHIVE_ERRORS as error:
        _list(bundle, source.path, str(error) or type(error).__name__, source.size)


def _add(bundle: Bundle, source: Source, depth: int = 0) -> None:
    """A file that is no archive, in whatever it came: itself, its parts, or the lines that it is an export of."""
    if source.seen is None:
        source = _rewritten(bundle, source, undecorated)
        if _taken_apart(bundle, source, depth):
            return
        source = _rewritten(bundle, source, exports)
    bundle.add(source)


def _rewritten(bundle: Bundle, source: Source, form: Form) -> Source:
    found = rewritten(source, form)
    if found is None:
        return source
    lines, loss = found
    if loss:
        _list(bundle, source.path, loss)
    size, opener = bundle._spill.keep(io.BytesIO(lines), None)
    return replace(source, size=size, open=opener)


def _taken_apart(bundle: Bundle, source: Source, depth: int) -> bool:
    """Was it of several places or files, and has become as many members?"""
    if source.size > gathered.MOST_BYTES or source.rank is not None or depth > bundle.budget.limits.nesting:
        return False
    try:
        with source.open() as stream:
            head = stream.read(gathered.HEAD)
            may = [one for forms in _PARTED for one in forms if source.size <= one.MOST_BYTES and one.may_be(head)]
            is_grepped = grepped.may_be(head)
            if not (may or is_grepped):
                return False
            data = head + stream.read(gathered.MOST_BYTES)
            is_whole, is_seekable, loss = not stream.read(1), stream.seekable(), archives.loss_of(stream)
    except STREAM_ERRORS:  # whoever reads it will say so
        return False
    if not is_whole:
        return False
    if is_grepped and _of_grep(bundle, source, data):
        if loss:
            _list(bundle, source.path, loss)
        return True
    found = ([one.parts_of(data) for one in forms if one in may] for forms in _PARTED)
    outer = (min(filter(None, ways), key=lambda own: own[0].begin) for ways in found if any(ways))
    parts: list[gathered.Part] = next(outer, [])
    if not parts or len(bundle.sources) + len(parts) > bundle.budget.limits.members:
        return False
    whole = source.open if is_seekable else bundle._spill.keep(io.BytesIO(data), None)[1]
    size, opener = bundle._spill.keep(io.BytesIO(gathered.rest_of(data, parts)), None)
    bundle.add(replace(source, size=size, open=opener))
    if loss:
        _list(bundle, source.path, loss)
    for part in parts:
        size = part.end - part.begin
        own = _source(f"{source.path}/{_clean(part.name)}", size, partial(open_slice, whole, part.begin, size))
        _add(bundle, replace(own, host=part.host or own.host or source.host), depth + 1)
    return True


def _of_grep(bundle: Bundle, source: Source, data: bytes) -> bool:
    """Is it what a search printed of several logs?"""
    logs, rest = grepped.parts_of(data)
    if not logs or len(bundle.sources) + len(logs) > bundle.budget.limits.members:
        return False
    for name, lines in (("", rest), *logs.items()):
        size, opener = bundle._spill.keep(io.BytesIO(lines), None)
        path = f"{source.path}/{_clean(name)}"
        bundle.add(_source(path, size, opener) if name else replace(source, size=size, open=opener))
    return True


def _unpacks_itself(source: Source) -> str | None:
    """zip, where a file of that name begins as something else and ends as one."""
    if not source.path.lower().endswith(".zip"):
        return None
    try:
        with source.open() as stream:
            return "zip" if stream.seekable() and archives.ends_as_zip(stream) else None
    except STREAM_ERRORS:  # whoever reads it will say so
        return None


def _in_place(bundle: Bundle, source: Source) -> Source:
    """An archive inside an archive that can be read only forward is kept, to be read in any order."""
    with source.open() as stream:
        if stream.seekable():
            return source
        size, opener = bundle._spill.keep(stream, None)
    return replace(source, size=size, open=opener)


def _compressed(bundle: Bundle, prefix: str, source: Source, kind: str, depth: int) -> None:
    opener = partial(open_unfolded, kind, source.open, Share(bundle.budget))
    with opener() as stream:
        inner = stream.read(512)
    if not archives.is_tar(inner):
        bundle.folded.add(source.path)
        _add(bundle, replace(source, open=opener))
        return
    with cast(io.BufferedReader, opener()) as stream:
        _stream_members(bundle, prefix, source.path, stream, depth)


def _tar_members(bundle: Bundle, prefix: str, source: Source, depth: int) -> None:
    """A tar that can be read in place."""
    with source.open() as stream:
        forward = archives.Forward(stream)
        for entry in archives.walk_tar(forward):
            path = prefix + _clean(entry.name)
            if _taken(bundle, entry, path):
                opener: Callable[[], BinaryIO] = partial(open_slice, source.open, entry.offset, entry.size)
                error = None
                if entry.offset + entry.size > source.size:
                    error = f"cut short: {max(0, source.size - entry.offset)} of {entry.size} bytes"
                elif bundle._spill.has_room(entry.size):
                    got, kept = bundle._spill.keep(forward, entry.size)
                    opener = kept if got == entry.size else opener
                _expand(bundle, _source(path, entry.size, opener, error), depth + 1)


def _stream_tar(bundle: Bundle, prefix: str, name: str, stream: io.BufferedReader, depth: int) -> None:
    forward = archives.Forward(cast(BinaryIO, stream))
    try:
        for entry in archives.walk_tar(forward):
            path = prefix + _clean(entry.name)
            if _taken(bundle, entry, path):
                _expand(bundle, _passed(bundle, path, forward, entry.size), depth + 1)
    except (archives.TarError, OSError) as error:
        _list(bundle, prefix.rstrip("/") or name, str(error))


def _passed(bundle: Bundle, path: str, stream: Going, size: int | None) -> Source:
    """A member that can be read only once, of `size` bytes, or up to the end where None: scanned now, or kept."""
    if bundle.ahead is not None and (size is None or size >= bundle.ahead.least) and not bundle.has(path):
        stream = Passing(stream, size)
        if (source := _seen(bundle.ahead, path, stream, size)) is not None:
            return source
    got, opener = bundle._spill.keep(stream, size)
    return _source(path, got, opener, _cut(got, size))


def _seen(scanning: Scanning, path: str, stream: Passing, size: int | None) -> Source | None:
    """A log that was scanned as it went by; None where it must be kept."""
    head = stream.peek(HEAD_BYTES)
    if len(head) < HEAD_BYTES or archives.kind(head[:512]) or path.lower().endswith(".zip"):
        return None
    seen = scanning.see(_source(path, 0, partial(open_kept, b"")), stream)
    if seen is None:
        return None
    stream.drain()
    opener = partial(open_kept, head[:YEAR_BYTES])
    return replace(_source(path, stream.count, opener, _cut(stream.count, size)), seen=seen)


def _cut(got: int, size: int | None) -> str | None:
    return None if size in (None, got) else f"cut short: {got} of {size} bytes"


def _taken(bundle: Bundle, entry: archives.Entry, path: str) -> bool:
    """Whether a tar entry is a file to read; what is not is listed, folders aside."""
    if bundle.is_full:
        raise archives.TarError(f"more than {bundle.budget.limits.members} members: the rest was not read")
    if entry.kind in ("file", "folder"):
        return entry.kind == "file"
    reason = {
        "link": f"a link to {entry.target}, which is read under its own name",
        "symlink": f"a symbolic link to {entry.target}",
        "special": "not a plain file",
    }
    _list(bundle, path, reason[entry.kind])
    return False


def _zip_members(bundle: Bundle, prefix: str, source: Source, depth: int) -> None:
    with source.open() as stream:
        try:
            listed = zipfile.ZipFile(stream).infolist()
        except _ARCHIVE_ERRORS as error:
            _list(bundle, source.path, f"damaged zip: {archives.loss_of(stream) or error}", source.size)
            return
    shared = archives.overlapping(listed)
    for at, info in enumerate(listed):
        path = prefix + _clean(info.filename)
        if info.is_dir():
            continue
        if bundle.is_full:
            _list(bundle, source.path, f"more than {bundle.budget.limits.members} members: the rest was not read")
            return
        if info.flag_bits & 1:
            _list(bundle, path, "encrypted", info.file_size)
        elif at in shared:
            _list(bundle, path, "it shares its bytes with another member", info.file_size)
        elif info.file_size > archives.RATIO_FREE and info.file_size > archives.RATIO * info.compress_size:
            _list(bundle, path, "it unfolds to more than the limit", info.file_size)
        elif stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG):
            _list(bundle, path, "not a plain file")
        elif not bundle.budget.takes(info.file_size):
            _list(bundle, path, bundle.budget.reason, info.file_size)
        else:
            _expand(bundle, _source(path, info.file_size, partial(open_zipped, source.open, info)), depth + 1)


def _walk(bundle: Bundle, root: str) -> Iterator[Source]:
    """Plain files below a folder, links only where they stay inside."""
    real_root = os.path.realpath(root)
    waiting = [(root, "")]
    while waiting:
        folder, prefix = waiting.pop()
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            _list(bundle, prefix.rstrip("/") or ".", f"folder: {error.strerror}")
            continue
        for entry in entries:
            path = prefix + _printable(entry.name)
            if entry.is_dir(follow_symlinks=False):
                waiting.append((entry.path, path + "/"))
            elif source := _plain(bundle, entry, path, real_root):
                yield source


def _plain(bundle: Bundle, entry: "os.DirEntry[str]", path: str, real_root: str) -> Source | None:
    try:
        if entry.is_symlink():
            target = os.path.realpath(entry.path)
            inside = os.path.commonpath((real_root, target)) == real_root
            where = "to what is read under its own name" if inside else "leading out of the bundle"
            _list(bundle, path, f"a symbolic link {where}")
            return None
        status = entry.stat(follow_symlinks=False)
    except (OSError, ValueError) as error:
        _list(bundle, path, str(error))
        return None
    if not stat.S_ISREG(status.st_mode):
        _list(bundle, path, "not a plain file")
        return None
    return _source(path, status.st_size, partial(open_file, entry.path, status.st_size, _NO_LINK))


def _head(bundle: Bundle, source: Source) -> bytes | None:
    try:
        with source.open() as stream:
            return stream.read(512)
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        _list(bundle, source.path, str(getattr(error, "strerror", None) or error), source.size)
        return None


def _source(path: str, size: int, opener: Callable[[], BinaryIO], read_error: str | None = None) -> Source:
    told = hints(path)
    return Source(path, size, opener, told.rank, told.local_rank, told.host, told.attempt, told.launch, read_error)


def _list(bundle: Bundle, path: str, reason: str, lost: int | None = None) -> None:
    bundle.unread.append({"file": path, "bytes": lost, "reason": reason})


def _clean(name: str) -> str:
    """A member's name as a path inside the bundle: no root, no way up."""
    if _PLAIN.fullmatch(name):
        return name
    parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".", "..")]
    return _printable("/".join(parts)) or "unnamed"


def _printable(name: str) -> str:
    return name.encode("utf-8", "backslashreplace").decode("utf-8").replace("\x00", "")


def _unique(sources: list[Source]) -> list[Source]:
    """Sorted by path; of equal paths the second is called ``path#2`` and so on, in the order of the archive."""
    seen: Counter[str] = Counter()
    named = []
    for source in sorted(sources, key=lambda source: source.path):
        seen[source.path] += 1
        again = seen[source.path]
        named.append(source if again == 1 else replace(source, path=f"{source.path}#{again}"))
    return sorted(named, key=lambda source: source.path)
