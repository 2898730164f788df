"""The command line, as the contract has it. Only this module and __main__ print, exit or read the environment.

Imports are made where they are used: `forensics --help` must not pay for polars and networkx.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from forensics import __version__

if TYPE_CHECKING:
    import polars as pl

    from forensics.case import Case
    from forensics.incident import Incident, Report
    from parsers import Evidence

EXIT_INTERNAL, EXIT_USAGE, EXIT_UNREADABLE, EXIT_INTERRUPTED = 1, 2, 3, 130
_DETAILED = {"established": 10, "supported": 10, "hypothesis": 11, "unknown": 12}
_AXES = ("tp", "cp", "ep", "dp", "pp")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="forensics")
def cli() -> None:
    """Offline postmortem of hangs and NaNs of large training jobs: which rank, which operation, and the proof."""


def main() -> NoReturn:
    """Entry point: click's own errors exit with 2, an unreadable bundle with 3, an interrupt with 130."""
    try:
        cli.main(standalone_mode=False)
    except click.exceptions.Exit as leave:
        sys.exit(leave.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    sys.exit(0)


class Unreadable(click.ClickException):
    """Nothing readable in the bundle."""

    exit_code = EXIT_UNREADABLE


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None] | None]:
    """A bar on standard error while a person looks at it."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _read(bundle: str, limits: tuple[str, ...] = ()) -> "Evidence":
    from parsers import BundleError, Limits, read

    try:
        bounds = Limits.of(dict(limit.partition("=")[::2] for limit in limits))
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--limit") from error
    with _progress() as progress:
        try:
            return read(bundle, progress=progress, limits=bounds)
        except BundleError as error:
            raise Unreadable(str(error)) from error


def _analyze(bundle: str) -> "Report":
    from forensics.analyze import conclude_evidence

    return conclude_evidence(_read(bundle))


def _cases(bundle: str) -> "list[Case]":
    from forensics.analyze import case_of
    from forensics.attempts import split_attempts

    return [case_of(tables, attempt) for attempt, tables in split_attempts(_read(bundle).tables).items()]


def _write(target: str, content: bytes) -> None:
    """To standard output for "-"; else the file appears whole or not at all."""
    if target == "-":
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    path = Path(target)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except OSError as error:
        raise click.ClickException(f"cannot write {target}: {error.strerror}") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _parse_topology(context: click.Context, option: click.Parameter, text: str | None) -> dict[str, int] | None:
    """tp=8,pp=4,dp=16[,order=tp-cp-ep-dp-pp] → sizes, in order of rank numbering (the first runs fastest)."""
    if text is None:
        return None
    pairs = dict(part.partition("=")[::2] for part in text.split(","))
    order = pairs.pop("order", "-".join(_AXES)).split("-")
    if set(pairs) - set(_AXES) or set(order) - set(_AXES) or not set(pairs) <= set(order):
        raise click.BadParameter(f"use {', '.join(f'{axis}=N' for axis in _AXES)} and order=tp-cp-ep-dp-pp")
    try:
        sizes = {axis: int(pairs.get(axis, 1)) for axis in order}
    except ValueError as error:
        raise click.BadParameter(f"sizes are whole numbers: {text}") from error
    if min(sizes.values()) < 1:
        raise click.BadParameter(f"sizes are at least 1: {text}")
    _of_bearable_size(context, option, prod(size for axis, size in sizes.items() if axis != "ep"))
    return sizes


def _of_bearable_size(_: click.Context, __: click.Parameter, ranks: int | None) -> int | None:
    if ranks is None:
        return None
    from parsers.rank_list import RANKS

    if ranks > RANKS:
        raise click.BadParameter(f"a job has at most {RANKS:,} ranks")
    return ranks


def _stamp() -> str | None:
    """Time of generation for the page's footer, fixed by SOURCE_DATE_EPOCH."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    moment = datetime.fromtimestamp(int(epoch), UTC) if epoch and epoch.isdigit() else datetime.now(UTC)
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def _primary(report: "Report") -> "Incident":
    return report.incidents[report.primary]


@cli.command()
@click.argument("bundle")
@click.option("-o", "--html", "html", metavar="FILE", help="Write the incident page.")
@click.option(
    "--json", "json_file", metavar="FILE", help='Write incident.json; "-" = standard output, and nothing else there.'
)
@click.option(
    "--markdown", metavar="FILE", help='Write the report as Markdown; "-" = standard output, and nothing else there.'
)
@click.option(
    "--expected-ranks",
    type=click.IntRange(1),
    callback=_of_bearable_size,
    metavar="N",
    help="How many ranks the job has.",
)
@click.option("--topology", callback=_parse_topology, metavar="SPEC", help="tp=8,pp=4,dp=16[,order=tp-cp-ep-dp-pp]")
@click.option("--known-bad", multiple=True, metavar="HOST", help="A host already known to be bad; may be repeated.")
@click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="NAME=N",
    help="What the bundle may cost: unfolded, tables (bytes, as 64G), ratio, growth, members, nesting, seconds; may be repeated.",
)
@click.option("--tables", metavar="DIR", help="Write every evidence table there as Parquet.")
@click.option(
    "--detailed-exitcode",
    is_flag=True,
    help="Exit 0 healthy, 10 established or supported, 11 hypothesis, 12 undecided.",
)
@click.pass_context
def analyze(
    context: click.Context,
    bundle: str,
    html: str | None,
    json_file: str | None,
    markdown: str | None,
    expected_ranks: int | None,
    topology: dict[str, int] | None,
    known_bad: tuple[str, ...],
    limits: tuple[str, ...],
    tables: str | None,
    detailed_exitcode: bool,
) -> None:
    """Name the culprit of BUNDLE (folder, tar, tar.gz, tar.zst, zip, one file, or "-") and show why."""
    if json_file == "-" and markdown == "-":
        raise click.UsageError("only one of --json - and --markdown - can have standard output")
    from forensics.analyze import conclude_evidence

    evidence = _read(bundle, limits)
    report = conclude_evidence(evidence, expected=expected_ranks, known_bad=frozenset(known_bad), topology=topology)
    wrote = _outputs(report, html, json_file, markdown)
    if tables:
        wrote += _write_tables(evidence, tables)
    if "-" not in (json_file, markdown):
        from reports import terminal

        color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        click.echo(terminal.render(report, color=color), nl=False)
    if wrote:
        click.echo("wrote " + " · ".join(wrote), err=True)
    if detailed_exitcode:
        verdict = _primary(report).verdict
        undecided = verdict.kind == "unknown" or bool(
            verdict.undecided and not (verdict.ranks or verdict.cycle or verdict.hosts)
        )
        context.exit(0 if verdict.kind == "healthy" else 12 if undecided else _DETAILED[verdict.status])


def _outputs(report: "Report", html: str | None, json_file: str | None, markdown: str | None) -> list[str]:
    """Write what was asked for; the names of the files written."""
    wrote = []
    if html:
        from reports import html as page

        _write(html, page.render(report, generated=_stamp()).encode())
        wrote.append(html)
    if json_file:
        from reports import json

        _write(json_file, json.render(report))
        wrote.append(json_file)
    if markdown:
        from reports import markdown as text

        _write(markdown, text.render(report).encode())
        wrote.append(markdown)
    return [name for name in wrote if name != "-"]


def _write_tables(evidence: "Evidence", folder: str) -> list[str]:
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, frame in evidence.tables.items():
        frame.write_parquet(Path(folder) / f"{name}.parquet")
    return [folder]


@cli.command()
@click.argument("bundle")
def inspect(bundle: str) -> None:
    """Say what is in BUNDLE and how it was read; no verdict."""
    from reports import inspection

    click.echo(inspection.render(_analyze(bundle)), nl=False)


@cli.group()
def show() -> None:
    """Show one part of a bundle."""


@show.command("rank")
@click.argument("rank", type=int)
@click.argument("bundle")
def show_rank(rank: int, bundle: str) -> None:
    """The merged timeline of RANK from every source in BUNDLE."""
    from forensics.timeline import timeline

    for case in _cases(bundle):
        _print_table(timeline(case, rank))


@cli.command()
@click.argument("bundle")
def stacks(bundle: str) -> None:
    """Equivalence classes of the main threads' stacks in BUNDLE and their merged prefix tree."""
    from forensics.graph.prefix_tree import lines
    from reports.sanitize import clean

    for case in _cases(bundle):
        for line in lines(case.stacks):
            click.echo(clean(line))


@cli.command()
@click.argument("bundle")
@click.option("--where", metavar="EXPR", help="SQL condition over the columns, e.g. \"rank = 5 and kind = 'exit'\".")
@click.option(
    "--format", "form", type=click.Choice(["table", "csv", "jsonl", "parquet"]), default="table", show_default=True
)
def events(bundle: str, where: str | None, form: str) -> None:
    """Everything that happened, as rows."""
    import polars as pl

    frame = pl.concat([case.tables["events"] for case in _cases(bundle)]).drop("detail")
    if where:
        try:
            frame = pl.SQLContext(events=frame).execute(f"SELECT * FROM events WHERE {where}", eager=True)
        except pl.exceptions.PolarsError as error:
            raise click.UsageError(f"--where is no condition over {', '.join(frame.columns)}: {error}") from error
    if form == "table":
        _print_table(frame.select("time_ns", "rank", "host", "kind", "code", "file", "line", "text"))
    elif form == "csv":
        flat = frame.with_columns(pl.col(pl.List).cast(pl.List(pl.String)).list.join(" "))
        _write("-", flat.write_csv().encode())
    elif form == "jsonl":
        _write("-", frame.write_ndjson().encode())
    else:
        frame.write_parquet(sys.stdout.buffer)


def _print_table(frame: "pl.DataFrame") -> None:
    """Columns as aligned text; times as UTC."""
    from reports.inspection import columns

    click.echo(columns(frame.columns, frame.rows()), nl=False)


@cli.command()
@click.argument("a")
@click.argument("b")
def diff(a: str, b: str) -> None:
    """Whether two incidents (bundles, or incident.json files) have the same signature."""
    from forensics.signature import compare, signature_of

    def load(source: str) -> dict[str, str | None]:
        return signature_of(Path(source).read_bytes() if source.endswith(".json") else None, lambda: _analyze(source))

    rows, same = compare(load(a), load(b))
    for row in rows:
        click.echo(row)
    click.echo("same signature" if same else "different signatures")


@cli.command()
def schema() -> None:
    """Print the JSON Schema of incident.json."""
    import json

    from forensics.incident import schema as incident_schema

    click.echo(json.dumps(incident_schema(), indent=2, sort_keys=True))
