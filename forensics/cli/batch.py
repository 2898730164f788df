"""`analyze --each`: bundles one after the other, a line each. One that cannot be read says so in its line, and the others go on."""

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from forensics.cli.reading import EXIT_UNREADABLE, Unreadable

if TYPE_CHECKING:
    from forensics.report import Report

EXIT_INTERNAL = 1


def inside(folder: str) -> list[str]:
    """What lies in a folder of bundles, by name; what is hidden is none."""
    try:
        names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except OSError as error:
        raise click.UsageError(f"--each-in {folder}: {error.strerror}") from error
    if not names:
        raise click.UsageError(f"--each-in {folder}: nothing lies in it")
    return [os.path.join(folder, name) for name in names]


def run(
    bundles: Sequence[str],
    conclude: Callable[[str], "Report"],
    code_of: Callable[["Report"], int],
    *,
    as_json: bool,
    say: Callable[[bytes], None],
) -> int:
    """A line for each, as soon as it is known → the exit status: 1 where the program failed over one, 3 where none could be
    read, else the highest that `code_of` gives."""
    from reports import compact

    codes, failed = [], False
    for bundle in bundles:
        try:
            report = conclude(bundle)
        except Exception as error:
            reason = error.message if isinstance(error, Unreadable) else f"internal error, {_first_line(error)}"
            failed |= not isinstance(error, Unreadable)
            say(compact.failed(bundle, reason) if as_json else _line(bundle, f"NOT READ  {reason}"))
            continue
        codes.append(code_of(report))
        say(compact.render(report, bundle) if as_json else _line(bundle, compact.headline(report)))
    return EXIT_INTERNAL if failed else max(codes, default=EXIT_UNREADABLE)


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


def _line(bundle: str, text: str) -> bytes:
    from reports.sanitize import clean

    return f"{clean(bundle)}  {clean(text, 'space')}\n".encode("utf-8", "backslashreplace")
