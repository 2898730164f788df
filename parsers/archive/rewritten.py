"""A file as what it was before somebody put something around its lines: the one way in which exports.py and undecorated.py are asked."""

from typing import Protocol

from parsers.archive import archives
from parsers.schema.parser import STREAM_ERRORS, Source


class Form(Protocol):
    """`may_be`: is it worth reading the whole file, by its first HEAD bytes? `lines_of`: the whole file → its lines; None where it has not that form."""

    HEAD: int
    MOST_BYTES: int

    def may_be(self, head: bytes, /) -> bool: ...
    def lines_of(self, data: bytes, /) -> bytes | None: ...


def rewritten(source: Source, form: Form) -> tuple[bytes, str | None] | None:
    """A file's lines, and what of it could not be read; None where it stays as it is."""
    if source.size > form.MOST_BYTES:
        return None
    try:
        with source.open() as stream:
            head = stream.read(form.HEAD)
            lines = form.lines_of(head + stream.read(form.MOST_BYTES)) if form.may_be(head) else None
            return None if lines is None or stream.read(1) else (lines, archives.loss_of(stream))
    except STREAM_ERRORS:  # whoever reads it will say so
        return None
