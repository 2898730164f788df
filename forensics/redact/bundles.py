"""A bundle → the same one without its owner's names, as a tar.zst in which every member has the place that it had.

Text is renamed line by line, pickles opcode by opcode (nothing of them is executed), Parquet by its text columns.
Archives inside become folders of their name, compressed members are written unfolded, and both are read alike. What can
be none of these is left out: nobody knows what it holds.
"""

import csv
import errno
import io
import os
import pickletools
import re
import struct
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import resources
from typing import BinaryIO, Literal

import msgspec
import polars as pl
import zstandard
from msgspec.structs import replace

from forensics.redact.names import Found, Renaming, find
from parsers import PARSERS, Evidence
from parsers.archive.archives import loss_of
from parsers.archive.bundle import open_bundle
from parsers.engine.secrets import MASK, has_text, mask, mask_paths, replaced, texts_of
from parsers.schema.parser import STREAM_ERRORS, LineParser, Source
from parsers.schema.tables import TableName

PIECE = 1 << 20  # bytes of text looked at together, whole lines
MEMBER = 256 << 20  # bytes of a member that can be rewritten only whole
_PEM_BEGIN, _PEM_END = b"-----BEGIN ", b"-----END "
_PEM_KEY = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----\s*\Z")
_PROTOCOL_0 = re.compile(rb"\([dl]p\d\n")  # a pickle in ASCII: a letter stands right before each text
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # what is written has no place: no damage of what is read
_UNICODE = frozenset({"BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "UNICODE"})
# The opcode that a text gets, and the form of its length; pickles of Python 2 do not tell texts from bytes
_WRITTEN = {
    **dict.fromkeys(_UNICODE, (b"X", "<I")),
    **dict.fromkeys(("BINBYTES", "SHORT_BINBYTES", "BINBYTES8"), (b"B", "<I")),
    **dict.fromkeys(("STRING", "BINSTRING", "SHORT_BINSTRING"), (b"T", "<i")),
    "BYTEARRAY8": (b"\x96", "<Q"),
}


Form = Literal["pickle", "parquet", "text", "binary"]


class Written(msgspec.Struct):
    """What became of the members."""

    files: int = 0
    left_out: dict[str, str] = msgspec.field(default_factory=dict)  # path → reason


def hosts_of(tables: Mapping[TableName, pl.DataFrame]) -> frozenset[str]:
    """Every host that the evidence tables know."""
    columns = [frame["host"] for frame in tables.values() if "host" in frame.columns and frame.height]
    named = tables["events"]["names_hosts"].explode() if tables["events"].height else pl.Series([], dtype=pl.String)
    return frozenset(name for column in (*columns, named) for name in column.cast(pl.String).drop_nulls().unique())


def names_in(path: str, keep: frozenset[str]) -> Iterator[Found]:
    """What the texts and the member paths of a bundle tell, hosts aside. Raises parsers.BundleError."""
    with open_bundle(path) as bundle:
        for source in bundle.sources:
            yield find(source.path, keep)
            try:
                for text in _texts(source):
                    yield find(text, keep)
            except STREAM_ERRORS:
                continue


@cache
def words_of_formats() -> frozenset[str]:
    """Words that parsers look for and the table of sites knows: a name like these cannot be told from them."""
    found = (anchor for parser in PARSERS if isinstance(parser, LineParser) for anchor in parser.anchors)
    anchors = [anchor.decode("utf-8", "replace") for anchor in found]
    table = resources.files("forensics.data").joinpath("stack_sites.csv").read_text()
    cells = [cell for row in csv.reader(table.splitlines()) for cell in row]
    return frozenset(word.lower() for text in (*anchors, *cells) for word in re.findall("[A-Za-z]{2,}", text))


def renaming_of(path: str, evidence: Evidence) -> Renaming:
    """The renaming of a bundle, from its tables and from its texts. Raises parsers.BundleError."""
    keep = words_of_formats()
    found = Found.of([Found(hosts=hosts_of(evidence.tables)), *names_in(path, keep)])
    return Renaming.of(found, keep)


def rewrite(path: str, out: BinaryIO, renaming: Renaming) -> Written:
    """Write the renamed bundle to `out`. Same bundle, same bytes. Raises parsers.BundleError."""
    written = Written()
    packer = zstandard.ZstdCompressor(level=10)
    with open_bundle(path) as bundle, packer.stream_writer(out, closefd=False) as folded:
        with tarfile.open(fileobj=folded, mode="w|", format=tarfile.PAX_FORMAT) as archive:
            shown = mask_paths(source.path for source in bundle.sources)
            for source in bundle.sources:
                _write(archive, source, shown[source.path], renaming, written)
        for row in bundle.unread:
            written.left_out[mask(str(row["file"]))] = mask(str(row["reason"]))
    return written


def _write(archive: tarfile.TarFile, source: Source, shown: str, renaming: Renaming, written: Written) -> None:
    streams: list[BinaryIO] = []

    def opened() -> BinaryIO:
        streams.append(source.open())
        return streams[-1]

    with tempfile.TemporaryFile() as kept:
        try:
            _REWRITERS[_form(source)](replace(source, open=opened), kept, renaming)
        except _Unknown as error:
            written.left_out[shown] = str(error)
            return
        except STREAM_ERRORS as error:  # what stands before the damage is kept, as a reader of the original has it
            if getattr(error, "errno", None) in _NO_ROOM:
                raise
            written.left_out[shown] = f"from byte {kept.tell()} on: {error or type(error).__name__}"
        for loss in filter(None, map(loss_of, streams)):
            written.left_out[shown] = loss
        info = tarfile.TarInfo(renaming.text(shown))
        info.size = kept.tell()
        kept.seek(0)
        archive.addfile(info, kept)
        written.files += 1


class _Unknown(ValueError):
    """Neither text nor a form that can be rewritten."""


def _form(source: Source) -> Form:
    """By the first bytes of a member."""
    with source.open() as stream:
        head = stream.read(512)
    if (head[:1] == b"\x80" and head[1:2] <= b"\x05") or _PROTOCOL_0.match(head):
        return "pickle"
    if head[:4] == b"PAR1":
        return "parquet"
    return "binary" if b"\x00" in head else "text"


def _texts(source: Source) -> Iterator[str]:
    """What a member says, to look for names in; of a structured one each text once, a line per text."""
    form = _form(source)
    if form == "pickle":
        yield "\n".join({text for name, text, _, _ in _opcodes(_whole(source)) if name in _WRITTEN})
    elif form == "parquet":
        for column in _frame(source):
            for texts in texts_of(column):
                yield "\n".join(texts)
    elif form == "text":
        for piece in _pieces(source):
            yield piece.decode("utf-8", "surrogateescape")


def _pieces(source: Source) -> Iterator[bytes]:
    with source.open() as stream:
        while piece := stream.read(PIECE):
            yield piece + stream.readline(PIECE)


def _whole(source: Source) -> bytes:
    with source.open() as stream:
        data = stream.read(MEMBER + 1)
    if len(data) > MEMBER:
        raise _Unknown(f"larger than {MEMBER} bytes, and it cannot be rewritten in pieces")
    return data


def _text(source: Source, out: BinaryIO, renaming: Renaming) -> None:
    in_key = False
    for piece in _pieces(source):
        if b"\x00" in piece:
            raise _Unknown("binary, and of no form that can be rewritten")
        if in_key or (_PEM_BEGIN in piece and b"PRIVATE KEY" in piece):
            piece, in_key = _without_keys(piece, in_key)
        out.write(renaming.text(piece.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape"))


def _without_keys(piece: bytes, in_key: bool) -> tuple[bytes, bool]:
    """The lines of private keys become a mask each, so that lines keep their numbers."""
    lines = []
    for line in piece.splitlines(keepends=True):
        if in_key and line.lstrip().startswith(_PEM_END):
            in_key = False
        if in_key:
            line = MASK.encode() + line[len(line.rstrip(b"\r\n")) :]
        in_key = in_key or bool(_PEM_KEY.search(line))
        lines.append(line)
    return b"".join(lines), in_key


def _opcodes(data: bytes) -> Iterator[tuple[str, str, int, int]]:
    """Name, text argument, first byte and end of each opcode, until the pickle ends or breaks. Nothing is executed."""
    before: tuple[str, str, int] | None = None
    try:
        for opcode, argument, position in pickletools.genops(data):
            if before is not None:
                yield *before, int(position or 0)
            before = (opcode.name, _said(argument), int(position or 0))
    except Exception:  # cut or no pickle at all: what stands before is given
        pass
    if before is not None and before[0] == "STOP":
        yield *before, before[2] + 1


def _said(argument: object) -> str:
    if isinstance(argument, bytes | bytearray):
        return argument.decode("utf-8", "surrogateescape")
    return argument if isinstance(argument, str) else ""


def _pickle(source: Source, out: BinaryIO, renaming: Renaming) -> None:
    data, known = _whole(source), {"": ""}
    for name, text, start, end in _opcodes(data):
        if name == "FRAME":
            continue  # its length would be wrong, and nobody needs it
        if text not in known:
            known[text] = renaming.text(text)
        if name not in _WRITTEN or (name not in _UNICODE and known[text] == text):
            out.write(data[start:end])
            continue
        opcode, length = _WRITTEN[name]
        encoded = known[text].encode("utf-8", "surrogatepass" if name in _UNICODE else "surrogateescape")
        out.write(opcode + struct.pack(length, len(encoded)) + encoded)


def _frame(source: Source) -> pl.DataFrame:
    try:
        frame = pl.read_parquet(io.BytesIO(_whole(source)))
        return frame.cast({name: _textual(kind) for name, kind in frame.schema.items()}, strict=False)
    except pl.exceptions.PolarsError as error:
        raise _Unknown(f"damaged Parquet: {error}") from error


def _textual(kind: pl.DataType) -> pl.DataType:
    """The type in which every text can be replaced; of bytes those that are text."""
    if isinstance(kind, pl.List | pl.Array):
        return pl.List(_textual(kind.inner))  # type: ignore[arg-type]
    if isinstance(kind, pl.Struct):
        return pl.Struct([pl.Field(mask(field.name), _textual(field.dtype)) for field in kind.fields])  # type: ignore[arg-type]
    return pl.String() if kind in (pl.Binary, pl.Categorical, pl.Enum) else kind


def _parquet(source: Source, out: BinaryIO, renaming: Renaming) -> None:
    frame = _frame(source)
    for name, kind in frame.schema.items():
        if has_text(kind):
            texts = {text: renaming.text(text) for part in texts_of(frame[name]) for text in part}
            frame = frame.with_columns(replaced(pl.col(name), kind, texts))
    frame.rename(mask_paths(frame.columns)).write_parquet(out)
    out.seek(0, os.SEEK_END)


_REWRITERS: Mapping[Form, Callable[[Source, BinaryIO, Renaming], None]] = {
    "pickle": _pickle,
    "parquet": _parquet,
    "text": _text,
    "binary": _text,  # which finds out, and says so
}
