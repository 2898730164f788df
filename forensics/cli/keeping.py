"""Tables that stay: `analyze --tables DIR`, and `parse`, whose folder further questions read in place of the bundle."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from forensics import __version__
from forensics.cli.answering import Asked
from forensics.cli.reading import ENGINE, KNOWLEDGE, LIMIT, Unreadable, limits_of, loading, read_bundle
from reports import outputs

if TYPE_CHECKING:
    from parsers import Evidence


def refused(bundle: str, folder: str | None) -> str | None:
    """Why the tables must not be written there."""
    return outputs.refusal(bundle, [str(Path(folder) / "events.parquet")]) if folder else None


def write_tables(evidence: "Evidence", folder: str) -> list[str]:
    """A Parquet file per table; a folder that was kept evidence before is so no longer."""
    from parsers.engine.store import MANIFEST, file_of

    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            (Path(folder) / MANIFEST).unlink()
    except OSError as error:
        raise outputs.CannotWrite(f"cannot write {folder}: {error.strerror}") from error
    for name, frame in evidence.tables.items():
        with outputs.replacing(str(Path(folder) / file_of(name))) as stream:
            frame.write_parquet(stream)
    return [folder]


@click.command(cls=Asked, examples=("forensics parse bundle/ -o kept", "forensics analyze kept -o incident.html"))
@click.argument("bundle")
@click.option("-o", "--out", metavar="DIR", required=True, help="Where the tables and their manifest go.")
@LIMIT
@ENGINE
@KNOWLEDGE
@click.option(
    "--year",
    type=click.IntRange(1970, 2261),
    metavar="YYYY",
    help="Year of stamps that print none, where no other stamp of the bundle tells it.",
)
@click.pass_context
def parse(
    context: click.Context,
    bundle: str,
    out: str,
    limits: tuple[str, ...],
    engine: str | None,
    taught: tuple[str, ...],
    year: int | None,
) -> None:
    """Keep what BUNDLE says as Parquet tables in DIR; every command reads DIR in place of BUNDLE, and at once.

    Where each node parses its own logs, `analyze DIR1 DIR2 …` joins what they kept; give --year to all of them.
    """
    if inside := refused(bundle, out):
        raise click.UsageError(inside)
    with loading():
        from parsers import BundleError
        from parsers.engine.store import MANIFEST, manifest

    evidence = read_bundle(bundle, limits=limits, engine=engine, year=year, taught=taught)
    try:
        kept = manifest(evidence, bundle, __version__, limits_of(limits))
    except BundleError as error:  # gone since it was read
        raise Unreadable(str(error)) from error
    write_tables(evidence, out)
    outputs.write(str(Path(out) / MANIFEST), kept)
    if not context.find_root().params["quiet"]:
        click.echo(f"wrote {out}", err=True)
