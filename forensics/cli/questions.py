"""Commands that ask a bundle: show, events, stacks, diff, explain."""

from collections.abc import Callable, Iterable
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from forensics.cli.reading import LANGUAGE, cases_of, loading, read_bundle, report_of
from reports import outputs

if TYPE_CHECKING:
    import polars as pl

    from forensics.case import Case
    from forensics.model.incident import Report
    from forensics.views.compare import Compared
    from forensics.views.records import Wanted
    from parsers import Evidence
    from reports.language import Language

EXIT_DIFFERENT = 10
_FORMATS = ("table", "csv", "jsonl", "parquet")


def _filters(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that `show` and `events` share."""
    options = (
        click.option("--since", metavar="TIME", help="From then on: HH:MM[:SS] of any day, or 2026-11-20T10:05 (UTC)."),
        click.option("--until", metavar="TIME", help="Up to then."),
        click.option("--source", metavar="NAME", help="Of one source or parser only, e.g. nccl, xid, flight, stack."),
        click.option(
            "--level", type=click.Choice(["info", "warn", "warning", "error", "fatal"]), help="At least so grave."
        ),
        click.option("--last", type=click.IntRange(1), metavar="N", help="The last N with a time."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _wanted(options: dict[str, Any], **subject: Any) -> "Wanted":
    from forensics.views.records import Wanted

    level = options["level"]
    return Wanted(**{**options, "level": "warning" if level == "warn" else level}, **subject)


def _chosen(frame: "pl.DataFrame", wanted: "Wanted", evidence: "Evidence") -> "pl.DataFrame":
    from forensics.views.records import NoSuch, narrowed, of_parsers

    try:
        return narrowed(frame, wanted, of_parsers(evidence.tables["files"]))
    except NoSuch as error:
        raise click.UsageError(str(error)) from error


_Known = Callable[["Case", "pl.DataFrame"], Iterable[Any]]  # a case and its records → the subjects that it knows


def _ask(bundle: str, options: dict[str, Any], known: _Known, **subject: Any) -> None:
    """The records of one rank, group or host, attempt by attempt. Exit 2 where the bundle knows no such subject."""
    with loading():
        from forensics.views.records import SHOWN, records, stamped

    evidence = read_bundle(bundle)
    [(name, value)] = subject.items()
    alone = subject.get("rank") if options["source"] is None else None  # what is no source, those of all ranks tell
    told = [(case, records(case, alone)) for case in cases_of(evidence)]
    there = sorted({item for case, rows in told for item in known(case, rows)})
    if value not in there:
        raise click.UsageError(f"{name} {value} is not in this bundle; it has {_listed(name, there)}")
    for case, rows in told:
        frame = stamped(_chosen(rows, _wanted(options, **subject), evidence))
        if len(told) > 1:
            click.echo(f"attempt {case.attempt}")
        _print_table(frame.select([column for column in SHOWN if column not in (name, "level")]))


def _in_column(name: str) -> _Known:
    return lambda _, rows: rows[name].drop_nulls().unique().to_list()


def _listed(name: str, there: list[Any]) -> str:
    from forensics.model.texts import ranks_text

    if name == "rank":
        return ranks_text(there) if there else "no rank"
    return ", ".join(there[:12]) + (f", … ({len(there)} in all)" if len(there) > 12 else "") or f"no {name}"


@click.group()
def show() -> None:
    """Show what the bundle says of one rank, group or host, in order of time."""


@show.command("rank", epilog="Example: forensics show rank 5 bundle/ --since 10:05 --until 10:06 --level warn")
@click.argument("rank", type=int)
@click.argument("bundle")
@_filters
def show_rank(rank: int, bundle: str, **options: Any) -> None:
    """The merged timeline of RANK from every source in BUNDLE."""
    _ask(bundle, options, lambda case, _: case.expected | case.seen, rank=rank)


@show.command("group", epilog="Example: forensics show group default_pg bundle/ --last 20")
@click.argument("group")
@click.argument("bundle")
@_filters
def show_group(group: str, bundle: str, **options: Any) -> None:
    """What ranks did in process group GROUP."""
    _ask(bundle, options, _in_column("group"), group=group)


@show.command("host", epilog="Example: forensics show host node0024 bundle/ --level error")
@click.argument("host")
@click.argument("bundle")
@_filters
def show_host(host: str, bundle: str, **options: Any) -> None:
    """What was said on HOST, by its kernel and by its ranks."""
    _ask(bundle, options, _in_column("host"), host=host)


@click.command(epilog="Example: forensics stacks bundle/")
@click.argument("bundle")
def stacks(bundle: str) -> None:
    """Stacks of all ranks, merged: equal ones together, then as one tree."""
    with loading():
        from forensics.graph.hang.prefix_tree import lines
        from reports.sanitize import clean

    for case in cases_of(read_bundle(bundle)):
        for line in lines(case.stacks):
            click.echo(clean(line))


@click.command(epilog="Example: forensics who bundle/ --rank 3")
@click.argument("bundle")
@click.option("--rank", type=int, metavar="R", help="This rank only.")
def who(bundle: str, rank: int | None) -> None:
    """Every process with all its names (host, pid, device, file …), and where each was said."""
    with loading():
        import polars as pl

        from forensics.assemble.register import register

    evidence = read_bundle(bundle)
    cases = list(cases_of(evidence))
    for case in cases:
        if len(cases) > 1:
            click.echo(f"attempt {case.attempt}")
        told = register(case.tables)
        told = told if rank is None else told.filter(pl.col("rank") == rank)
        where = pl.concat_str("file", pl.format(":{}", "line").fill_null(""))
        _print_table(told.select(pl.col("rank"), "name", "value", "times", "how", where.alias("where")))


@click.command(epilog='Example: forensics events bundle/ --level error --where "rank = 5" -o errors.csv')
@click.argument("bundle")
@click.option("--where", metavar="EXPR", help="SQL condition over the columns, e.g. \"rank = 5 and kind = 'exit'\".")
@click.option("--rank", type=int, metavar="R", help="Of this rank only.")
@click.option("--host", metavar="HOST", help="Of this host only.")
@_filters
@click.option("--format", "form", type=click.Choice(_FORMATS), help="Else by the ending of FILE, or a table.")
@click.option("-o", "--output", metavar="FILE", default="-", help="Write to FILE.")
def events(bundle: str, where: str | None, form: str | None, output: str, **options: Any) -> None:
    """Everything that happened, as rows in order of time."""
    with loading():
        import polars as pl

    if output != "-" and (refused := outputs.refusal(bundle, [output])):
        raise click.UsageError(refused)
    outputs.check([output] if output != "-" else [])
    evidence = read_bundle(bundle)
    frame = pl.concat([case.tables["events"] for case in cases_of(evidence)]).drop("detail")
    frame = _chosen(frame.sort("time_ns", "file", "line", nulls_last=True), _wanted(options), evidence)
    frame = frame.insert_column(
        0, pl.from_epoch(frame["time_ns"], time_unit="ns").dt.replace_time_zone("UTC").alias("time")
    )
    if where:
        try:
            frame = pl.SQLContext(events=frame).execute(f"SELECT * FROM events WHERE {where}", eager=True)
        except pl.exceptions.PolarsError as error:
            reason = str(error).partition("\n")[0]
            raise click.UsageError(f"--where is no condition over {', '.join(frame.columns)}: {reason}") from error
    ending = Path(output).suffix[1:]
    outputs.write(output, _as(form or (ending if ending in _FORMATS else "table"), frame))


def _as(form: str, frame: "pl.DataFrame") -> bytes:
    import polars as pl

    if form == "table":
        from reports.inspection import columns

        shown = frame.select("time", "rank", "host", "kind", "code", "file", "line", "text")
        shown = shown.with_columns(pl.col("time").dt.strftime("%Y-%m-%d %H:%M:%S%.3f"))
        return columns(shown.columns, shown.rows()).encode()
    if form == "csv":
        flat = frame.with_columns(pl.col(pl.List).cast(pl.List(pl.String)).list.join(" "))
        acts = pl.col(pl.String).str.contains(r"^[=+\-@\t\r]")  # in a spreadsheet
        safe = flat.with_columns(pl.when(acts).then("'" + pl.col(pl.String)).otherwise(pl.col(pl.String)).name.keep())
        return safe.write_csv().encode()
    if form == "jsonl":
        return frame.write_ndjson().encode()
    whole = BytesIO()
    frame.write_parquet(whole)
    return whole.getvalue()


def _print_table(frame: "pl.DataFrame") -> None:
    """Columns as aligned text."""
    from reports.inspection import columns

    if not frame.height:
        click.echo("no record matches")
        return
    click.echo(columns(frame.columns, frame.rows()), nl=False)


@click.command(epilog="Example: forensics diff monday.tar.gz tuesday.tar.gz wednesday/incident.json --exit-code")
@click.argument("sources", nargs=-1, required=True, metavar="A B [C …]")
@click.option(
    "--exit-code", is_flag=True, help=f"Exit 0 where the signatures are the same, {EXIT_DIFFERENT} where not."
)
@click.pass_context
def diff(context: click.Context, sources: tuple[str, ...], exit_code: bool) -> None:
    """Whether incidents (bundles, or incident.json files) have the same signature, and what else differs."""
    from forensics.views.compare import compare
    from reports.sanitize import clean

    if len(sources) < 2:
        raise click.UsageError("diff compares at least two bundles, or incident.json files")
    lines, same = compare([_compared(source) for source in sources])
    click.echo("same signature" if same else "different signatures")
    for line in lines:
        click.echo(clean(line, "keep"))  # a report may be anybody's
    if exit_code and not same:
        context.exit(EXIT_DIFFERENT)


def _compared(source: str) -> "Compared":
    import msgspec

    from forensics.analyze import conclude_evidence
    from forensics.model.said import encoded
    from forensics.views.compare import NotAnIncident, compared
    from forensics.views.environment import settings_of

    try:
        if source.endswith(".json"):
            return compared(msgspec.json.decode(Path(source).read_bytes(), type=dict), None)
        evidence = read_bundle(source)
        report = msgspec.to_builtins(conclude_evidence(evidence), enc_hook=encoded)
        return compared(report, settings_of(evidence.tables["settings"]))
    except (OSError, NotAnIncident) as error:
        raise click.UsageError(f"{source}: {getattr(error, 'strerror', None) or error}") from error
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise click.UsageError(f"{source}: not an incident.json") from error


@click.command(epilog="Examples: forensics explain rank 5 bundle/ · forensics explain rank_absent")
@click.argument("topic", nargs=-1, required=True, metavar="WORD | rank R BUNDLE")
@LANGUAGE
def explain(topic: tuple[str, ...], language: "Language") -> None:
    """What a word of the verdict means, and what looks alike; or why rank R is, or is not, at fault."""
    from reports import explanations

    if len(topic) == 3 and topic[0] == "rank" and topic[1].isascii() and topic[1].isdigit():
        report = report_of(topic[2])
        rank = int(topic[1])
        if not _has(report, rank):
            seen = ", ".join(report.coverage.ranks_seen)
            raise click.UsageError(f"rank {rank} is not in this bundle; it has ranks {seen or 'of no number'}")
        click.echo(explanations.of_rank(report, rank, language), nl=False)
        return
    word = topic[0].replace("-", "_").lower()
    if len(topic) > 1 or (text := explanations.of_word(word, language)) is None:
        raise click.UsageError(f"no such word: {' '.join(topic)}; known are {', '.join(explanations.WORDS)}")
    click.echo(text, nl=False)


def _has(report: "Report", rank: int) -> bool:
    from reports.layout import spans

    whole = (*report.coverage.ranks_seen, *report.coverage.ranks_missing)
    return any(first <= rank <= last for first, last in spans(",".join(whole)))
