"""What every command does first: read the bundle, with a bar while a person looks at it."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from forensics.case import Case
    from forensics.model.incident import Report
    from parsers import Evidence, Limits

EXIT_UNREADABLE = 3
BUNDLE_HELP = (
    "BUNDLE is a folder, .tar, .tar.gz, .tar.zst, .zip, one file, - for a tar on standard input, or what `parse` kept."
)


LIMIT = click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="NAME=N",
    help="What the bundle may cost: unfolded, tables (bytes, as 64G), ratio, growth, members, nesting, seconds; may be repeated.",
)


class Unreadable(click.ClickException):
    """Nothing readable in the bundle."""

    exit_code = EXIT_UNREADABLE


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None] | None]:
    """A bar on standard error while a person looks at it and did not ask for quiet."""
    context = click.get_current_context(silent=True)
    quiet = bool(context and (context.find_root().params.get("quiet")))
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def read_bundle(bundle: str, limits: tuple[str, ...] = ()) -> "Evidence":
    """Evidence of the bundle; raises Unreadable, or click's error for a limit that is none."""
    from parsers import BundleError, read
    from parsers.pool import by_size

    bounds = limits_of(limits)
    with _progress() as progress:
        try:
            return read(bundle, progress=progress, limits=bounds, map=by_size)
        except BundleError as error:
            raise Unreadable(str(error)) from error


def limits_of(limits: tuple[str, ...]) -> "Limits":
    """What was asked for by --limit."""
    from parsers import Limits

    try:
        return Limits.of(dict(limit.partition("=")[::2] for limit in limits))
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--limit") from error


def report_of(bundle: str) -> "Report":
    """The whole report."""
    from forensics.analyze import conclude_evidence

    return conclude_evidence(read_bundle(bundle))


def cases_of(evidence: "Evidence") -> "list[Case]":
    """A case per attempt."""
    from forensics.analyze import case_of
    from forensics.assemble.attempts import split_attempts

    return [case_of(tables, attempt) for attempt, tables in split_attempts(evidence.tables).items()]
