"""Where results go: files that appear whole or not at all, never into the evidence; standard streams that may be closed;
devices and pipes, which are written to as they stand."""

import codecs
import errno
import fcntl
import io
import os
import stat
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

STANDARD = "-"
_TYPED = {"\u201c": '"', "\u201d": '"', "\u2018": "'", "\u2019": "'", "\u2013": "-", "\u2014": "--", "\u2212": "-", "\u00b7": "*",
          "\u2192": "->", "\u2190": "<-"}  # what a typewriter has for it; of the rest Unicode itself knows some (… → ...)  # fmt: skip
_PLAINLY = "forensics.plainly"


class CannotWrite(Exception):
    """One line for a person: which output, and why not."""


def reopen_closed() -> None:
    """Standard streams that the caller closed lead nowhere, and no file that is opened later takes their numbers. A shell
    whose own script took the number of one hands on what can only be read."""
    handle = os.open(os.devnull, os.O_RDWR)
    while handle <= 2:
        handle = os.dup(handle)
    for number in (1, 2):
        if fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            os.dup2(handle, number)
    os.close(handle)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  (open as long as the process)


def write_plainly() -> None:
    """Standard streams write what their encoding lacks as a typewriter would, and the rest as its number: a quotation mark
    is no reason to say nothing."""
    codecs.register_error(_PLAINLY, _plainly)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors=_PLAINLY)


def _plainly(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(map(_typed, lacking)), error.end


def _typed(character: str) -> str:
    plain = _TYPED.get(character) or unicodedata.normalize("NFKD", character)
    return plain if plain.isascii() else f"\\u{ord(character):04x}"


def silence() -> None:
    """Whoever read standard output has gone: what is still in the buffer goes nowhere, without a word."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def refusal(bundle: str, targets: Iterable[str]) -> str | None:
    """Why one of the outputs must not be written: it is the evidence, would lie in it or leads into it; a folder stands
    there; one name was given to two."""
    evidence = os.path.realpath(bundle)
    taken: set[str] = set()
    for target in targets:
        place = _place(target)
        for reached in (place, os.path.realpath(target)):
            if bundle != STANDARD and os.path.commonpath((evidence, reached)) == evidence:
                return f"{target} lies in the bundle, which is never written to"
        if os.path.isdir(place):
            return f"{target} is a folder"
        if place in taken and not _stands(target):
            return f"{target} is named for two outputs"
        taken.add(place)
    return None


def check(targets: Iterable[str]) -> None:
    """Raises CannotWrite before hours of work: no such folder, a closed one."""
    for target in targets:
        folder = os.path.dirname(target) or "."  # as it is named: folders above it may be closed to whoever runs this
        if _stands(target):
            if not os.access(target, os.W_OK):
                raise CannotWrite(f"cannot write {target}: it may not be written to")
            continue
        if not os.path.isdir(folder):
            raise CannotWrite(f"cannot write {target}: there is no folder {os.path.dirname(target)}")
        if not os.access(folder, os.W_OK):
            raise CannotWrite(f"cannot write {target}: its folder may not be written to")


def _place(target: str) -> str:
    """Where a file of that name comes to stand; a link there is replaced, not followed."""
    folder, name = os.path.split(os.path.abspath(target))
    return os.path.join(os.path.realpath(folder), name)


def write(target: str, content: bytes) -> None:
    """To standard output for "-", else to a file. Raises CannotWrite; a closed pipe is BrokenPipeError."""
    if target != STANDARD:
        with replacing(target) as stream:
            stream.write(content)
        return
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CannotWrite(f"cannot write to standard output: {error.strerror}") from error


def _stands(target: str) -> bool:
    """Whether a device, a pipe or a standard stream of this process goes by that name: no file may take its place."""
    try:
        there = os.stat(target)
    except OSError:
        return False
    return not (stat.S_ISREG(there.st_mode) or stat.S_ISDIR(there.st_mode)) or _stream_of(there) is not None


def _stream_of(there: os.stat_result) -> int | None:
    """The number of the standard stream that leads to the same place: /dev/stdout is one, also where it is a file."""
    for number in (1, 2):
        with suppress(OSError):  # a stream that is closed leads nowhere
            if os.path.samestat(there, os.fstat(number)):
                return number
    return None


@contextmanager
def replacing(target: str) -> Iterator[BinaryIO]:
    """A stream whose content becomes the file `target` at the end; whatever fails, nothing of it is left. A device or a
    pipe gets the content as it comes."""
    try:
        with _straight(target) if _stands(target) else _fresh(target) as stream:
            yield stream
    except OSError as error:
        raise CannotWrite(f"cannot write {target}: {error.strerror or error}") from error


def _straight(target: str) -> BinaryIO:
    """What stands there, opened; a pipe that nobody reads is an error, as opening it would wait for a reader."""
    if (number := _stream_of(os.stat(target))) is not None:
        sys.stdout.flush()
        return os.fdopen(os.dup(number), "wb")
    try:
        handle = os.open(target, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        raise OSError(error.errno, "nobody reads it") from error
    os.set_blocking(handle, True)
    return os.fdopen(handle, "wb")


@contextmanager
def _fresh(target: str) -> Iterator[BinaryIO]:
    name = None
    try:
        # As the target is named, not by its whole path: folders above it may be closed to whoever runs this.
        fresh = os.path.join(os.path.dirname(target), f".forensics-{os.urandom(8).hex()}")
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        name = fresh
        with os.fdopen(handle, "wb") as stream:
            yield stream
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, target)
        name = None
    finally:
        if name is not None:
            with suppress(OSError):
                os.unlink(name)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
