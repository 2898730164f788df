"""`forensics history`: incidents of months in one file, and who stands out in them."""

import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from forensics.cli.answering import OUTPUT, AskedGroup, put, ready
from forensics.cli.reading import HISTORY, report_of

if TYPE_CHECKING:
    from forensics.model.past import Past, PastIncident
    from forensics.report import Report

_TEXT, _HOSTS = 60, 12  # characters of a summary, hosts of a week


def default_file() -> str:
    """Where the history lies if nobody says so: XDG's folder for data of programs."""
    folder = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return str(Path(folder) / "forensics" / "history.sqlite")


def _file(command: Callable[..., Any]) -> Callable[..., Any]:
    where = f"The history; else ${HISTORY}, else {Path('~/.local/share/forensics/history.sqlite')}."
    return click.option(
        "--file", "--history", "file", metavar="FILE", envvar=HISTORY, default=default_file, help=where
    )(command)


def past_of(file: str) -> "Past":
    """What a history holds; a usage error where it cannot be read."""
    from forensics.history import NotAHistory, recall

    try:
        return recall(file)
    except NotAHistory as error:
        raise click.UsageError(f"no history: {error}") from error


@click.group(
    cls=AskedGroup, examples=("forensics history add monday.tar.gz tuesday/incident.json", "forensics history suspects")
)
def history() -> None:
    """Incidents over months: keep them, list them, and see which hosts come back in them."""


@history.command("add", examples=("forensics history add monday.tar.gz tuesday/incident.json --known-bad node7",))
@click.argument("sources", nargs=-1, metavar="SOURCE...")
@click.option("--known-bad", multiple=True, metavar="HOST", help="Keep that this host is bad; may be repeated.")
@_file
def add(sources: tuple[str, ...], known_bad: tuple[str, ...], file: str) -> None:
    """Keep the incidents of bundles or of incident.json files. What is there already is not kept twice."""
    from forensics import history as kept

    if not sources and not known_bad:
        raise click.UsageError("nothing to add: name a bundle, an incident.json, or --known-bad HOST")
    incidents = [one for source in sources for one in kept.entries_of(_report(source))]
    try:
        new = kept.add(file, incidents)
        if known_bad:
            kept.mark(file, known_bad)
    except kept.NotAHistory as error:
        raise click.UsageError(f"no history: {error}") from error
    marked = f", {len(known_bad)} host{'s' if len(known_bad) > 1 else ''} marked as bad" if known_bad else ""
    click.echo(f"{new} incident{'' if new == 1 else 's'} added, {len(incidents) - new} known already{marked}")


def _report(source: str) -> "Report":
    from forensics.history import NotAReport, report_from

    if not source.endswith(".json"):
        return report_of(source)
    try:
        return report_from(Path(source).read_bytes())
    except (OSError, NotAReport) as error:
        raise click.UsageError(f"{source}: {getattr(error, 'strerror', None) or error}") from error


@history.command("list", examples=("forensics history list --host node7",))
@click.option("--host", metavar="HOST", help="Only incidents that accuse or suspect this host.")
@_file
@OUTPUT
def list_(host: str | None, file: str, output: str) -> None:
    """The incidents, oldest first; the same number under "signature" is the same fault again."""
    ready(output)
    incidents = past_of(file).incidents
    about = [one for one in incidents if host is None or ("host", host) in (*one.accused, *one.suspected)]
    _print(_INCIDENTS, _incidents(about, _TEXT), "no incident", output)


def _who(one: "PastIncident") -> str:
    accused = [name for kind, name in one.accused if kind == "host"]
    suspected = [f"{name}?" for kind, name in one.suspected if kind == "host"]
    return " ".join([*accused[:4], *suspected[:4]])


@history.command("suspects", examples=("forensics history suspects",))
@_file
@OUTPUT
def suspects(file: str, output: str) -> None:
    """Hosts and devices that were accused, and whether chance would accuse them as often. A reason to suspect, no proof."""
    ready(output)
    _print(_SUSPECTS, _suspects(past_of(file)), "nobody was accused", output)


@history.command("faults", examples=("forensics history faults",))
@_file
@OUTPUT
def faults(file: str, output: str) -> None:
    """How often which fault came: kind, cause, place in the program or the model, and the hours that it cost."""
    ready(output)
    _print(_FAULTS, _faults(past_of(file).incidents), "no incident", output)


@history.command("render", examples=("forensics history render incidents/ -o index.html",))
@click.argument("folder", metavar="DIR")
@OUTPUT
def render(folder: str, output: str) -> None:
    """One page of all incident.json files below DIR: by week, by fault, by host, and who comes back. An incident whose page
    lies beside its document, x.html beside x.json, is linked."""
    ready(output)
    from forensics.history import NotAReport, entries_of, report_from
    from forensics.model.past import Past
    from reports import html, outputs

    found: dict[str, PastIncident] = {}
    pages: dict[str, str] = {}  # incident → the address of its page
    start = folder if output == "-" else Path(output).parent
    for path in sorted(Path(folder).rglob("*.json")):
        try:
            held = {one.id: one for one in entries_of(report_from(path.read_bytes()))}
        except (OSError, NotAReport):
            continue  # another document
        found |= held
        if (page := path.with_suffix(".html")).is_file():
            pages |= dict.fromkeys(held, quote(Path(os.path.relpath(page, start)).as_posix()))
    past = Past(incidents=sorted(found.values(), key=lambda one: (one.time_utc or "~", one.id)))
    rows: list[list[str | html.Link]] = [
        [html.Link(row[1], pages[one.id]) if at == 1 and one.id in pages else text for at, text in enumerate(row)]
        for one, row in zip(past.incidents, _texts(_incidents(past.incidents)), strict=True)
    ]
    tables = (
        html.Table("By week", _WEEKS, _texts(_weeks(past.incidents)), "No incident."),
        html.Table("By fault", _FAULTS, _texts(_faults(past.incidents)), "No incident."),
        html.Table("Who comes back", _SUSPECTS, _texts(_suspects(past)), "Nobody was accused."),
        html.Table("Incidents", _INCIDENTS, rows, "No incident."),
    )
    outputs.write(output, html.render_tables(f"{len(past.incidents)} incidents", tables).encode())


# --- rows ------------------------------------------------------------------------------------------------------------

Cells = list[tuple[Any, ...]]
_INCIDENTS = ("time", "bundle", "attempt", "kind", "cause", "status", "who", "signature", "GPU hours", "summary")
_SUSPECTS = ("what", "name", "accused", "suspected", "of", "by chance", "p", "last", "says")
_FAULTS = ("times", "first", "last", "hosts", "GPU hours", "fault")
_WEEKS = ("week", "incidents", "kinds", "hosts accused", "GPU hours")


def _incidents(incidents: "Sequence[PastIncident]", width: int | None = None) -> Cells:
    """`width`: of a summary, where a line is short."""
    numbers = {text: number for number, text in enumerate(dict.fromkeys(one.signature for one in incidents), 1)}
    return [
        (
            (one.time_utc or "")[:19], one.bundle, one.attempt, one.kind, one.cause, one.status, _who(one), numbers[one.signature],
            one.lost_gpu_hours, one.summary[:width],
        )
        for one in incidents
    ]  # fmt: skip


def _suspects(past: "Past") -> Cells:
    from forensics.verdict.past.offenders import offenders

    rows: Cells = []
    for one in offenders(past.incidents):
        last = max((past.time_utc or "" for past in one.times), default="")[:10]
        repeated = "the same ranks each time" if one.is_of_ranks and len(one.times) > 1 else "may be chance"
        says = ["not chance" if one.is_likely else repeated]
        says += ["the same fault again"] if one.signature else []
        says += ["known to be bad"] if one.kind == "host" and one.name in past.known_bad else []
        rows.append((
            one.kind, one.name, len(one.times) - one.suspected, one.suspected, one.of, f"{one.expected:.2g}",
            f"{one.chance:.2g}", last, ", ".join(says),
        ))  # fmt: skip
    listed = {row[1] for row in rows}
    unlisted = (host for host in past.known_bad if host not in listed)
    return rows + [("host", host, 0, 0, 0, "", "", "", "known to be bad") for host in unlisted]


def _faults(incidents: "Sequence[PastIncident]") -> Cells:
    found: dict[str, list[PastIncident]] = defaultdict(list)
    for one in incidents:
        found[one.signature].append(one)
    rows: Cells = []
    for signature, same in sorted(found.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        days = sorted((one.time_utc or "")[:10] for one in same)
        rows.append((len(same), days[0], days[-1], len(_hosts(same)), _hours(same), signature))
    return rows


def _weeks(incidents: "Sequence[PastIncident]") -> Cells:
    """By ISO week, the newest first; incidents without a time last."""
    found: dict[str, list[PastIncident]] = defaultdict(list)
    for one in incidents:
        found[_week(one.time_utc)].append(one)
    rows: Cells = []
    for week, same in sorted(found.items(), reverse=True):
        kinds = ", ".join(sorted({one.kind for one in same}))
        rows.append((week, len(same), kinds, " ".join(sorted(_hosts(same))[:_HOSTS]), _hours(same)))
    return rows


def _week(time_utc: str | None) -> str:
    try:
        year, week, _ = datetime.fromisoformat((time_utc or "").replace("Z", "+00:00")).isocalendar()
    except ValueError:
        return "–"
    return f"{year}-W{week:02}"


def _hosts(incidents: "Sequence[PastIncident]") -> set[str]:
    return {name for one in incidents for kind, name in one.accused if kind == "host"}


def _hours(incidents: "Sequence[PastIncident]") -> str:
    return f"{sum(one.lost_gpu_hours or 0 for one in incidents):.2f}"


def _texts(rows: Cells) -> list[list[str]]:
    return [["" if cell is None else str(cell) for cell in row] for row in rows]


def _print(names: Sequence[str], rows: Sequence[Sequence[Any]], nothing: str, output: str) -> None:
    from reports.inspection import columns

    put(columns(names, rows) if rows else f"{nothing}\n", output)
