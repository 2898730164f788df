"""`forensics redact` and `analyze --redact`: what can be shown to others."""

from typing import TYPE_CHECKING

import click

from forensics.cli.answering import Asked
from forensics.cli.reading import Unreadable, read_bundle
from reports import outputs

if TYPE_CHECKING:
    from forensics.report import Report
    from parsers import Evidence


@click.command(cls=Asked, examples=("forensics redact bundle/ -o shareable.tar.zst --names names.json",))
@click.argument("bundle")
@click.option("-o", "--out", metavar="FILE", required=True, help="The new bundle, a .tar.zst.")
@click.option("--names", metavar="FILE", help="Write what each name became, as JSON. For you alone.")
def redact(bundle: str, out: str, names: str | None) -> None:
    """Write BUNDLE again without host names, addresses, users, folders, projects and secrets; the verdict stays."""
    if "-" in (bundle, out):
        raise click.UsageError("redact reads the bundle twice and writes a file: neither can be a standard stream")
    if refused := outputs.refusal(bundle, [target for target in (out, names) if target]):
        raise click.UsageError(refused)
    import msgspec

    from forensics.redact.bundles import renaming_of, rewrite
    from parsers import BundleError

    evidence = read_bundle(bundle)
    try:
        renaming = renaming_of(bundle, evidence)
        with outputs.replacing(out) as stream:
            written = rewrite(bundle, stream, renaming)
    except BundleError as error:  # gone since it was read
        raise Unreadable(str(error)) from error
    if names:
        outputs.write(names, msgspec.json.format(msgspec.json.encode(renaming)) + b"\n")
    click.echo(f"{written.files} files written to {out}")
    for kind, count in renaming.counts():
        if count:
            click.echo(f"  {count:>6} {kind} replaced")
    for name in renaming.kept:
        click.echo(f"  kept: {name} is a host, and a word of log lines: it cannot be told apart")
    for path, reason in written.left_out.items():
        click.echo(f"  left out: {path}: {reason}")
    click.echo("Look through it before you hand it on: names that stand in no known place cannot be found.")


def redacted_report(bundle: str, evidence: "Evidence", report: "Report") -> "Report":
    """The report as it may be shown; raises click's error where the bundle cannot be read again."""
    from forensics.redact.bundles import renaming_of
    from forensics.redact.reports import redacted
    from parsers import BundleError

    try:
        return redacted(report, renaming_of(bundle, evidence))
    except BundleError as error:
        raise Unreadable(str(error)) from error
