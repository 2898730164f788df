"""Commands that ask a bundle: show, events, diff, explain. What they say is made by functions of their own, which others ask too."""

from collections.abc import Callable, Iterable
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from forensics.cli.answering import OUTPUT, Asked, AskedGroup, in_lines, put, ready
from forensics.cli.reading import LANGUAGE, cases_of, loading, read_bundle, report_of
from forensics.model.errors import NoSuch
from reports import outputs

if TYPE_CHECKING:
    import polars as pl

    from forensics.case import Case
    from forensics.views.compare import Compared
    from forensics.views.records import Wanted
    from parsers import Evidence
    from reports.language import Language

EXIT_DIFFERENT = 10
_FORMATS = ("table", "csv", "jsonl", "parquet")
_LEVELS = ("info", "warn", "warning", "error", "fatal")
_SINCE = "From then on: HH:MM[:SS] of any day, or 2026-11-20T10:05 (UTC)."


def _time(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    """As it is, if it is a time: an answer about no time must not look like one about a quiet time."""
    if text is not None:
        from forensics.views.records import nanoseconds

        try:
            nanoseconds(text)
        except NoSuch as error:
            raise click.BadParameter(str(error)) from error
    return text


def _filters(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that `show` and `events` share."""
    options = (
        click.option("--since", metavar="TIME", callback=_time, help=_SINCE),
        click.option("--until", metavar="TIME", callback=_time, help="Up to then."),
        click.option("--source", metavar="NAME", help="Of one source or parser only, e.g. nccl, xid, flight, stack."),
        click.option("--level", type=click.Choice(_LEVELS), help="At least so grave."),
        click.option("--last", type=click.IntRange(1), metavar="N", help="The last N with a time."),
    )
    for option in reversed(options):
        command = option(command)
    return command


_WHICH = {"Which records": ("since", "until", "source", "level", "last", "where", "rank", "host")}


def _wanted(options: dict[str, Any], **subject: Any) -> "Wanted":
    from forensics.views.records import Wanted

    level = options.get("level")
    return Wanted(**{**options, "level": "warning" if level == "warn" else level}, **subject)


_Known = Callable[["Case", "pl.DataFrame"], Iterable[Any]]  # a case and its records → the subjects that it knows


def shown(evidence: "Evidence", options: dict[str, Any], **subject: Any) -> str:
    """The records of one rank=, group= or host=, attempt by attempt, as a table. `options`: of records.Wanted. Raises NoSuch
    where the bundle knows no such subject."""
    with loading():
        from forensics.views.records import SHOWN, narrowed, of_parsers, records, stamped

    [(name, value)] = subject.items()
    alone = subject.get("rank") if options.get("source") is None else None  # what is no source, those of all ranks tell
    told = [(case, records(case, alone)) for case in cases_of(evidence)]
    there = sorted({item for case, rows in told for item in _KNOWN[name](case, rows)})
    if value not in there:
        raise NoSuch(f"{name} {value} is not in this bundle; it has {_listed(name, there)}")
    parts = []
    for case, rows in told:
        parts += [f"attempt {case.attempt}\n"] if len(told) > 1 else []
        frame = stamped(narrowed(rows, _wanted(options, **subject), of_parsers(evidence.tables["files"])))
        parts.append(as_table(frame.select([column for column in SHOWN if column not in (name, "level")])))
    return "".join(parts)


def _in_column(name: str) -> _Known:
    return lambda _, rows: rows[name].drop_nulls().unique().to_list()


_KNOWN: dict[str, _Known] = {
    "rank": lambda case, _: case.expected | case.seen,
    "group": _in_column("group"),
    "host": _in_column("host"),
}


def _listed(name: str, there: list[Any]) -> str:
    from forensics.model.texts import ranks_text

    if name == "rank":
        return ranks_text(there) if there else "no rank"
    return ", ".join(there[:12]) + (f", … ({len(there)} in all)" if len(there) > 12 else "") or f"no {name}"


@click.group(cls=AskedGroup, examples=("forensics show rank 5 bundle/ --last 20",))
def show() -> None:
    """Show what the bundle says of one rank, group or host, in order of time."""


def _show(name: str, kind: type, told: str, example: str) -> None:
    @show.command(name, help=told, examples=(f"forensics show {name} {example}",), groups=_WHICH)
    @click.argument(name, type=kind)
    @click.argument("bundle")
    @_filters
    @OUTPUT
    def asked(bundle: str, output: str, **options: Any) -> None:
        ready(output, bundle)
        try:
            put(shown(read_bundle(bundle), options, **{name: options.pop(name)}), output)
        except NoSuch as error:
            raise click.UsageError(str(error)) from error


_show(
    "rank",
    int,
    "The merged timeline of RANK from every source in BUNDLE.",
    "5 bundle/ --since 10:05 --until 10:06 --level warn",
)
_show("group", str, "What ranks did in process group GROUP.", "default_pg bundle/ --last 20")
_show("host", str, "What was said on HOST, by its kernel and by its ranks.", "node0024 bundle/ --level error")


@click.command(
    cls=Asked,
    examples=(
        "forensics events bundle/ --level error -o errors.csv",
        "forensics events bundle/ --where \"rank = 5 and kind = 'exit'\"",
    ),
    groups=_WHICH,
)
@click.argument("bundle")
@click.option("--where", metavar="EXPR", help="SQL condition over the columns, e.g. \"rank = 5 and kind = 'exit'\".")
@click.option("--rank", type=int, metavar="R", help="Of this rank only.")
@click.option("--host", metavar="HOST", help="Of this host only.")
@_filters
@click.option("--format", "form", type=click.Choice(_FORMATS), help="Else by the ending of FILE, or a table.")
@OUTPUT
def events(bundle: str, where: str | None, form: str | None, output: str, **options: Any) -> None:
    """Everything that happened, as rows in order of time."""
    with loading():
        import polars as pl

        from forensics.views.records import narrowed, of_parsers

    ready(output, bundle)
    evidence = read_bundle(bundle)
    frame = pl.concat([case.tables["events"] for case in cases_of(evidence)]).drop("detail")
    try:
        ordered = frame.sort("time_ns", "file", "line", nulls_last=True)
        frame = narrowed(ordered, _wanted(options), of_parsers(evidence.tables["files"]))
    except NoSuch as error:
        raise click.UsageError(str(error)) from error
    time = pl.from_epoch("time_ns", time_unit="ns").dt.replace_time_zone("UTC").alias("time")
    frame = frame.select(time, pl.all())
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


def as_table(frame: "pl.DataFrame") -> str:
    """Columns as aligned text."""
    from reports.inspection import columns

    return columns(frame.columns, frame.rows()) if frame.height else "no record matches\n"


@click.command(cls=Asked, examples=("forensics diff monday.tar.gz tuesday.tar.gz wednesday/incident.json --exit-code",))
@click.argument("sources", nargs=-1, required=True, metavar="A B [C …]")
@click.option(
    "--exit-code", is_flag=True, help=f"Exit 0 where the signatures are the same, {EXIT_DIFFERENT} where not."
)
@OUTPUT
@click.pass_context
def diff(context: click.Context, sources: tuple[str, ...], exit_code: bool, output: str) -> None:
    """Whether incidents (bundles, or incident.json files) have the same signature, and what else differs."""
    from forensics.views.compare import compare
    from reports.sanitize import clean

    if len(sources) < 2:
        raise click.UsageError("diff compares at least two bundles, or incident.json files")
    ready(output, *sources)
    lines, same = compare([_compared(source) for source in sources])
    told = ["same signature" if same else "different signatures", *lines]
    put(in_lines(clean(line, "keep") for line in told), output)  # a report may be anybody's
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


@click.command(
    cls=Asked, examples=("forensics explain rank 5 bundle/", "forensics explain rank_absent", "forensics explain words")
)
@click.argument("topic", nargs=-1, required=True, metavar="WORD | words | rank R BUNDLE")
@LANGUAGE
@OUTPUT
def explain(topic: tuple[str, ...], language: "Language", output: str) -> None:
    """What a word of the verdict means, and what looks alike; or why rank R is, or is not, at fault."""
    from reports import explanations

    ready(output, *topic[2:])
    if topic == ("words",):
        put(in_lines(explanations.WORDS), output)
        return
    try:
        if len(topic) == 3 and topic[0] == "rank" and topic[1].isascii() and topic[1].isdigit():
            text = explanations.of_rank(report_of(topic[2]), int(topic[1]), language)
        else:
            text = explanations.of_word(" ".join(topic), language)
    except NoSuch as error:
        raise click.UsageError(str(error)) from error
    put(text, output)
