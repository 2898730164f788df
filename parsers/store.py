"""Evidence tables kept in a folder: a Parquet file per table, and a manifest that says of what they were made.

Whoever wants to ask again reads them in place of the bundle, and gets the same answers. The manifest is written last and
taken away first, so a folder is kept evidence whole or not at all. Tables of another layout are refused.
"""

import hashlib
import os
from collections.abc import Iterator

import msgspec
import polars as pl

from parsers.bundle import STREAM_ERRORS, BundleError, open_bundle
from parsers.evidence import Evidence
from parsers.limits import Limits
from parsers.literals import slim
from parsers.secrets import mask, mask_paths, mask_tables
from parsers.tables import SCHEMAS, TABLE_NAMES, TableName

MANIFEST = "evidence.json"
FORMAT = "forensics evidence 1"
_CHUNK = 1 << 20


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


def manifest(evidence: Evidence, path: str, version: str, limits: Limits | None = None) -> bytes:
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


def kept(folder: str) -> Evidence | None:
    """The evidence kept in `folder`; None where none is. Raises BundleError where it cannot be used."""
    try:
        with open(os.path.join(folder, MANIFEST), "rb") as stream:
            said = msgspec.json.decode(stream.read(), type=Manifest)
    except (OSError, msgspec.DecodeError):
        return None
    if said.format != FORMAT:
        return None
    if said.layout != layout():
        raise BundleError(f"{folder}: its tables were written by version {said.version}, which had others: parse again")
    return Evidence(mask(said.bundle), mask_tables({name: _table(folder, name) for name in TABLE_NAMES}))


def _table(folder: str, name: TableName) -> pl.DataFrame:
    try:
        frame = pl.read_parquet(os.path.join(folder, file_of(name)), glob=False, hive_partitioning=False)
    except (OSError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise BundleError(f"{folder}: the table {name} cannot be read: {str(error).splitlines()[0]}") from error
    if dict(frame.schema) != dict(SCHEMAS[name]):
        raise BundleError(f"{folder}: the table {name} has not the declared columns: parse again")
    return slim(frame)
