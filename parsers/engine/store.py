"""Evidence tables kept in a folder: a Parquet file per table, and a manifest that says of what they were made.

Whoever wants to ask again reads them in place of the bundle, and gets the same answers. The manifest is written last and
taken away first, so a folder is kept evidence whole or not at all. Tables of another layout are refused, and so are those
that hold what no parser delivers: whoever hands on a folder may have written anything into it.
"""

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import BinaryIO

import msgspec
import polars as pl

from parsers.archive.bundle import open_bundle
from parsers.engine.secrets import mask, mask_paths, mask_tables
from parsers.schema.bounds import bounded
from parsers.schema.evidence import BundleError, Evidence
from parsers.schema.limits import Limits, kept_rows
from parsers.schema.literals import slim
from parsers.schema.parser import STREAM_ERRORS
from parsers.schema.tables import SCHEMAS, TABLE_NAMES, TableName, stack_frames
from parsers.text.rank_list import RANKS

MANIFEST = "evidence.json"
FORMAT = "forensics evidence 1"
_CHUNK = 1 << 20
_MANIFEST_BYTES = 1 << 28  # a file beyond is no manifest: it has some hundred bytes per member


class Read(msgspec.Struct):
    """A member of the bundle that was read; `sha256` null where it could not be read to its end, or only once."""

    file: str
    bytes: int
    sha256: str | None


class Manifest(msgspec.Struct, omit_defaults=True):
    """`layout`: a digest of the declared columns. `version`: of the program that wrote it."""

    format: str
    version: str
    layout: str
    bundle: str
    read: list[Read]


def layout() -> str:
    """Changes whenever a declared column does."""
    text = repr([(name, [(column, str(kind)) for column, kind in SCHEMAS[name].items()]) for name in TABLE_NAMES])
    return hashlib.sha256(text.encode()).hexdigest()


def manifest(evidence: Evidence, path: str, version: str, limits: Limits | None) -> bytes:
    """The manifest of evidence that was read from `path`, whose bytes are read once more for their digests."""
    digests = dict(_digests(path, limits)) if path != "-" else {}
    files = evidence.tables["files"].select("file", "bytes").iter_rows()
    read = [Read(file, size, digests.get(file)) for file, size in files]
    return msgspec.json.format(msgspec.json.encode(Manifest(FORMAT, version, layout(), evidence.name, read))) + b"\n"


def _digests(path: str, limits: Limits | None) -> Iterator[tuple[str, str]]:
    with open_bundle(path, limits) as bundle:
        shown = mask_paths(source.path for source in bundle.sources)
        for source in bundle.sources:
            digest = hashlib.sha256()
            try:
                with source.open() as stream:
                    while chunk := stream.read(_CHUNK):
                        digest.update(chunk)
            except STREAM_ERRORS:
                continue
            yield shown[source.path], digest.hexdigest()


def file_of(name: TableName) -> str:
    """The name of a table's file."""
    return f"{name}.parquet"


def is_kept(folder: str) -> bool:
    """Does a manifest lie there?"""
    return os.path.isfile(os.path.join(folder, MANIFEST))


def kept(folder: str) -> Evidence | None:
    """The evidence kept in `folder`; None where none is. Raises BundleError where it cannot be used."""
    try:
        with _plain(os.path.join(folder, MANIFEST)) as stream:
            said = msgspec.json.decode(stream.read(_MANIFEST_BYTES), type=Manifest)
    except (OSError, msgspec.DecodeError):
        return None
    if said.format != FORMAT:
        return None
    if said.layout != layout():
        raise BundleError(f"{folder}: its tables were written by version {said.version}, which had others: parse again")
    return Evidence(mask(said.bundle), mask_tables({name: _table(folder, name) for name in TABLE_NAMES}))


@contextmanager
def _plain(path: str) -> Iterator[BinaryIO]:
    """A file, opened; a pipe, for which one would wait, and a device, which need not end, are OSError."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise OSError("not a plain file")
        yield stream


def _table(folder: str, name: TableName) -> pl.DataFrame:
    try:
        with _plain(os.path.join(folder, file_of(name))) as stream:
            most = kept_rows(name, os.fstat(stream.fileno()).st_size)
            frame = pl.read_parquet(stream, n_rows=most + 1, glob=False, hive_partitioning=False)
            if frame.height > most:
                raise BundleError(f"{folder}: the table {name} cannot be used, {_without_measure(stream)}: parse again")
    except (OSError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise BundleError(f"{folder}: the table {name} cannot be read: {str(error).splitlines()[0]}") from error
    if dict(frame.schema) != dict(SCHEMAS[name]):
        raise BundleError(f"{folder}: the table {name} has not the declared columns: parse again")
    if (why := _forged(name, frame)) is not None:
        raise BundleError(f"{folder}: the table {name} cannot be used, {why}: parse again")
    return slim(frame)


def _without_measure(stream: BinaryIO) -> str:
    """Why no more of a table is read: some hundred kilobytes may hold millions of equal rows."""
    stream.seek(0)
    rows = int(pl.scan_parquet(stream, glob=False, hive_partitioning=False).select(pl.len()).collect().item())
    return f"it has {rows} rows in {os.fstat(stream.fileno()).st_size} bytes"


def _forged(name: TableName, frame: pl.DataFrame) -> str | None:
    """What the table holds that no parser delivers; None where it is as one was written."""
    if not frame.height:
        return None
    if bounded({name: frame})[name] is not frame:
        return "it has ranks, sizes or times beyond all measure"
    if name != "unread" and any(frame[column].null_count() for column in ("file", *_ALWAYS.get(name, ()))):
        return "it has rows that say not where they stand, or what they are"
    if name == "files" and not frame["file"].is_unique().all():
        return "it has a file more than once"
    for column, kind in frame.schema.items():
        if isinstance(kind, pl.List):
            lengths, gaps = pl.col(column).list.len().max(), pl.col(column).list.eval(pl.element().is_null()).list.any()
            longest, is_gapped = frame.select(lengths, gaps.any().alias("_gaps")).row(0)
            if is_gapped or (longest or 0) > RANKS:
                return f"its column {column} has lists beyond all measure, or with gaps"
        elif (reads := _FORMS.get(column)) is not None:
            texts = frame[column].drop_nulls().unique().cast(pl.String)
            if not all(_is_read(reads, text) for text in texts):
                return f"its column {column} is not as it is written"
    return None


def _is_read(reads: Callable[[str], object], text: str) -> bool:
    try:
        return bool(reads(text))
    except (ValueError, RecursionError, msgspec.DecodeError):
        return False


_ALWAYS: Mapping[TableName, tuple[str, ...]] = {"events": ("kind",), "settings": ("name",), "ranks": ("how",)}
# Texts of a form that is read again without asking whether it is one.
_FORMS: Mapping[str, Callable[[str], object]] = {
    "stack": lambda text: isinstance(stack_frames(text), list),
    "detail": lambda text: isinstance(json.loads(text), dict),
    **dict.fromkeys(
        ("shape", "input_sizes", "output_sizes", "input_dtypes", "output_dtypes"),
        lambda text: isinstance(json.loads(text), list),
    ),
}
