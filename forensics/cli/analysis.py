"""The commands that give the whole report: analyze, inspect, and the schema of what they say."""

import os
import shutil
import sys
import tempfile
from datetime import UTC, datetime
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

import click

from forensics.cli import batch, keeping
from forensics.cli.answering import OUTPUT, Asked, put, ready
from forensics.cli.reading import (
    ENGINE,
    EXPECT,
    HISTORY,
    KNOWLEDGE,
    LANGUAGE,
    LIMIT,
    TOLERANCE,
    Told,
    expected_of,
    loading,
    read_bundle,
    report_of,
    tolerances_of,
)
from forensics.model.errors import NotALayout
from reports import outputs

if TYPE_CHECKING:
    from forensics.model.incident import Verdict
    from forensics.report import Report
    from parsers import Evidence
    from reports.language import Language

_DETAILED = {"established": 10, "supported": 10, "hypothesis": 11, "unknown": 12}
_AXES = ("tp", "cp", "ep", "dp", "pp")


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
    from parsers.text.rank_list import RANKS

    if ranks > RANKS:
        raise click.BadParameter(f"a job has at most {RANKS:,} ranks")
    return ranks


def _stamp() -> str | None:
    """Time of generation for the page's footer, fixed by SOURCE_DATE_EPOCH."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    is_time = epoch.isascii() and epoch.isdigit() and len(epoch) < 12  # a year of four digits
    moment = datetime.fromtimestamp(int(epoch), UTC) if is_time else datetime.now(UTC)
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def detailed_code(verdict: "Verdict") -> int:
    """What `--detailed-exitcode` says: 12 where nothing was found, or nobody could be named for a stated reason."""
    if verdict.kind == "healthy":
        return 0
    is_open = verdict.kind == "unknown" or (verdict.undecided and not (verdict.ranks or verdict.cycle or verdict.hosts))
    return _DETAILED["unknown" if is_open else verdict.status]


@click.command(
    cls=Asked,
    examples=(
        "forensics analyze bundle/ -o incident.html --open",
        "forensics analyze bundle/ --hung --known-bad node7",
        "forensics analyze job.tar.gz --json -",
        "forensics analyze job.tar.gz --compact",
        "forensics analyze --each monday/ tuesday.tar.gz",
        "forensics analyze --each-in incidents/ --compact",
    ),
    groups={
        "What is written": ("html", "json_file", "markdown", "trace", "tables", "compact", "opened", "redact"),
        "What you know of the job": (
            "expected_ranks", "topology", "known_bad", "kept", "hung", "tolerances", "expectations",
        ),
        "What is read": ("each", "each_in", "taught", "limits", "engine"),
        "How it is shown": ("verbose", "language", "profile", "detailed_exitcode"),
    },
)  # fmt: skip
@click.argument("bundles", metavar="BUNDLE...", nargs=-1)
@click.option("-o", "--html", "html", metavar="FILE", help="Write the incident page.")
@click.option(
    "--json", "json_file", metavar="FILE", help='Write incident.json; "-" = standard output, and nothing else there.'
)
@click.option(
    "--markdown", metavar="FILE", help='Write the report as Markdown; "-" = standard output, and nothing else there.'
)
@click.option(
    "--trace", metavar="FILE", help='Write the timeline for Perfetto or chrome://tracing; "-" = standard output alone.'
)
@click.option("--compact", is_flag=True, help="The answer as one line of JSON, 4 kB at most, and nothing else.")
@click.option("--each", is_flag=True, help="Several BUNDLEs are not one job: judge each by itself, a line each.")
@click.option("--each-in", metavar="DIR", help="The same for everything that lies in DIR.")
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
    "--history",
    "kept",
    metavar="FILE",
    envvar=HISTORY,
    help="What earlier incidents say of who is accused now; not with --redact.",
)
@click.option("--hung", is_flag=True, help="You know that the job made no progress when this was taken.")
@TOLERANCE
@EXPECT
@LIMIT
@ENGINE
@KNOWLEDGE
@click.option("--open", "opened", is_flag=True, help="Show the page in a browser; without -o in a temporary file.")
@click.option(
    "--redact", is_flag=True, help="Replace host names, addresses, users, folders and projects in all outputs."
)
@LANGUAGE
@click.option("-v", "--verbose", is_flag=True, help="The whole answer, not twelve lines of it.")
@click.option("--profile", is_flag=True, help="Say on standard error what each step took, in time and memory.")
@click.option("--tables", metavar="DIR", help="Write every evidence table there as Parquet.")
@click.option(
    "--detailed-exitcode",
    is_flag=True,
    help="Exit 0 healthy, 10 established or supported, 11 hypothesis, 12 undecided; of several the highest.",
)
@click.pass_context
def analyze(
    context: click.Context,
    bundles: tuple[str, ...],
    html: str | None,
    json_file: str | None,
    markdown: str | None,
    trace: str | None,
    compact: bool,
    each: bool,
    each_in: str | None,
    expected_ranks: int | None,
    topology: dict[str, int] | None,
    known_bad: tuple[str, ...],
    kept: str | None,
    hung: bool,
    tolerances: tuple[str, ...],
    expectations: tuple[str, ...],
    limits: tuple[str, ...],
    engine: str | None,
    taught: tuple[str, ...],
    opened: bool,
    language: "Language",
    redact: bool,
    verbose: bool,
    profile: bool,
    tables: str | None,
    detailed_exitcode: bool,
) -> None:
    """Name the culprit of BUNDLE (folder, tar, tar.gz, tar.zst, zip, one file, URL, or "-") and show why.

    Several are read as one job, the files of each below its name: what every node has kept with `parse`. With --each they
    are incidents of their own.
    """
    if not bundles and each_in is None:
        raise click.MissingParameter(ctx=context, param_type="argument", param_hint="'BUNDLE...'")
    if opened and html == "-":
        raise click.UsageError("--open needs a file: it cannot show standard output")
    if redact and len(bundles) > 1:
        raise click.UsageError("--redact takes one bundle: `forensics redact` each, then analyze what it wrote")
    if redact and "-" in bundles:
        once = "standard input can be read once: save it to a file"
        raise click.UsageError(f"--redact reads the bundle twice, and {once}")
    first = "`forensics redact` first, then analyze what it wrote"
    if redact and taught:
        raise click.UsageError(f"--redact does not ask --knowledge: {first}")
    if redact and tables:
        raise click.UsageError(f"--tables are not redacted: {first}")
    if (each or each_in is not None) and (html or json_file or markdown or trace or tables or opened or redact):
        raise click.UsageError("--each says a line of each bundle: analyze one alone to write files of it")
    if opened and html is None:
        html = str(Path(tempfile.mkdtemp(prefix="forensics-")) / "incident.html")
    targets = [target for target in (html, json_file, markdown, trace, "-" if compact else None) if target]
    if targets.count("-") > 1:
        several = "--html -, --json -, --markdown -, --trace - and --compact"
        raise click.UsageError(f"only one of {several} can have standard output")
    files = [target for target in targets if target != "-"]
    for bundle in bundles:
        if why := outputs.refusal(bundle, files) or keeping.refused(bundle, tables):
            raise click.UsageError(why)
    allowed, wanted = tolerances_of(tolerances), expected_of(expectations)
    outputs.check(files)
    with loading():
        from forensics.analyze import again, conclude_evidence
        from forensics.model.past import Past
        from forensics.model.steps import Steps

    past = Past()
    if kept and not redact:  # names of other bundles are not redacted
        from forensics.cli.history import past_of

        past = past_of(kept)
    steps = Steps()
    telling = Told(steps)

    def judged(*read: str) -> "tuple[Evidence, Report]":
        with steps("read"):
            evidence = read_bundle(*read, limits=limits, engine=engine, taught=taught)
        try:
            return evidence, conclude_evidence(
                evidence,
                expected=expected_ranks,
                known_bad=frozenset(known_bad),
                topology=topology,
                hung=hung,
                tolerances=allowed,
                wanted=wanted,
                past=past,
                step=telling,
                counted=telling.counted,
            )
        except NotALayout as error:
            raise click.BadParameter(str(error), param_hint="--topology") from error

    if each or each_in is not None:
        every = [*bundles, *(batch.inside(each_in) if each_in is not None else ())]
        status = batch.run(
            every,
            lambda bundle: judged(bundle)[1],
            lambda report: detailed_code(report.verdict) if detailed_exitcode else 0,
            as_json=compact,
            say=lambda line: outputs.write(outputs.STANDARD, line),
        )
        context.exit(status)
    evidence, report = judged(*bundles)
    if redact:
        from forensics.cli import redaction

        with steps("redact"):
            report = redaction.redacted_report(bundles[0], evidence, report)
    else:
        report.__dict__.update(again(*bundles))
    with telling("outputs"):
        wrote = _outputs(report, html, json_file, markdown, trace, language)
        if tables:
            wrote += keeping.write_tables(evidence, tables)
    if compact:
        from reports import compact as short

        outputs.write(outputs.STANDARD, short.render(report, bundles[0]))
    if "-" not in targets:
        from reports import terminal

        shown = terminal.render(
            report,
            color=_has_color(),
            width=_width(),
            language=language,
            links=_links(report, bundles[-1]),
            is_brief=not (verbose or context.find_root().params["verbose"]),
        )
        click.echo(shown, nl=False)
    if opened and html:
        _open_page(html)
    if wrote and not context.find_root().params["quiet"]:
        click.echo("wrote " + " · ".join(wrote), err=True)
    for line in steps.lines if profile else ():
        click.echo(line, err=True)
    if detailed_exitcode:
        context.exit(detailed_code(report.verdict))


def _width() -> int | None:
    """Columns of the terminal; none where nobody looks at one: what reads a pipe breaks lines itself."""
    return max(40, shutil.get_terminal_size().columns) if sys.stdout.isatty() else None


def _has_color() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _links(report: "Report", bundle: str) -> dict[str, str]:
    """Of a folder that lies here, in a terminal that shows links."""
    from reports import links

    is_shown = sys.stdout.isatty() and os.environ.get("TERM") != "dumb" and links.can(os.environ)
    return links.of_evidence(report, Path(bundle)) if is_shown and Path(bundle).is_dir() else {}


def _outputs(
    report: "Report",
    html: str | None,
    json_file: str | None,
    markdown: str | None,
    trace: str | None,
    language: "Language",
) -> list[str]:
    """Write what was asked for; the names of the files written."""
    wrote = []
    if html:
        from reports import html as page

        outputs.write(html, page.render(report, generated=_stamp(), language=language).encode())
        wrote.append(html)
    if json_file:
        from reports import json

        outputs.write(json_file, json.render(report))
        wrote.append(json_file)
    if markdown:
        from reports import markdown as text

        outputs.write(markdown, text.render(report, language).encode())
        wrote.append(markdown)
    if trace:
        from reports import trace as events

        outputs.write(trace, events.render(report))
        wrote.append(trace)
    return [name for name in wrote if name != "-"]


@click.command(cls=Asked, examples=("forensics inspect bundle/",))
@click.argument("bundle")
@OUTPUT
def inspect(bundle: str, output: str) -> None:
    """Say what is in BUNDLE and how it was read; no verdict."""
    from reports import inspection

    ready(output, bundle)
    put(inspection.render(report_of(bundle)), output)


@click.command(cls=Asked, examples=("forensics schema -o incident.schema.json",))
@OUTPUT
def schema(output: str) -> None:
    """Print the JSON Schema of incident.json."""
    import json

    from forensics.report import schema as incident_schema

    ready(output)
    put(json.dumps(incident_schema(), indent=2, sort_keys=True) + "\n", output)


def _open_page(place: str) -> None:
    """In the browser of whoever sits here."""
    import webbrowser

    if not webbrowser.open(Path(place).resolve().as_uri()):
        click.echo(f"no browser could be started; the page is {place}", err=True)
