"""`forensics setup`: before the incident."""

import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

import click

from forensics.cli.answering import OUTPUT, Asked, put, ready
from forensics.cli.reading import loading, read_bundle

if TYPE_CHECKING:
    from forensics.setup.rows import Question, Row

_USUAL = "nvidia"  # vendor
_FILES, _BYTES = 64, 1 << 20  # of what --check reads: files, bytes of each


@click.command(
    cls=Asked,
    examples=(
        "forensics setup torchrun -o launch.sh",
        "forensics setup slurm --vendor amd",
        "forensics setup dump",
        "forensics setup --check job.sbatch",
        "forensics setup --from bundle/",
        "forensics setup --gather --output gather.sh",
    ),
)
@click.argument("topics", nargs=-1, metavar="[LAUNCHER | NAME...]")
@click.option("--vendor", metavar="NAME", help="Whose devices; else NVIDIA's, or what is shown.")
@click.option("--launcher", metavar="NAME", help="Who starts the job, for --check; else what is shown.")
@click.option(
    "--check", "checked", metavar="PATH", help="Which incidents could not be decided with this script or spec."
)
@click.option("--from", "bundle", metavar="BUNDLE", help="What was missing in this bundle.")
@click.option("--gather", is_flag=True, help="Print a script that gathers a node's evidence while the job hangs.")
@OUTPUT
def setup(
    topics: tuple[str, ...],
    vendor: str | None,
    launcher: str | None,
    checked: str | None,
    bundle: str | None,
    gather: bool,
    output: str,
) -> None:
    """Print settings and hooks that make an incident decidable for LAUNCHER, or some of them by NAME or kind of evidence."""
    with loading():
        from forensics.setup.rows import gather_script, settings
        from forensics.setup.script import printed
    if sum((bool(topics), checked is not None, bundle is not None, gather)) > 1:
        raise click.UsageError("one of LAUNCHER, --check, --from and --gather at a time")
    launchers, vendors = ([side.name for side in sides] for sides in (settings().launcher, settings().vendor))
    _must_be(launcher, launchers, "--launcher")
    _must_be(vendor, vendors, "--vendor")
    ready(output, *(one for one in (checked, bundle) if one is not None))
    if gather:
        text = gather_script()
    elif checked is not None:
        text = _checked(checked, launcher, vendor)
    elif bundle is not None:
        text = _missing(bundle)
    elif len(topics) == 1 and topics[0] in launchers:
        text = printed(topics[0], vendor or _USUAL)
    elif topics:
        text = _rows(topics, vendor)
    else:
        text = _overview()
    put(text, output)


def _must_be(name: str | None, known: Sequence[str], option: str) -> None:
    if name is not None and name not in known:
        raise click.BadParameter(f"{name} is none of {', '.join(known)}", param_hint=option)


def _overview() -> str:
    from forensics.setup.rows import settings

    table = settings()
    how = "`forensics setup LAUNCHER --vendor VENDOR` prints it to read and paste."
    lines = [f"What makes an incident decidable. {how}", ""]
    lines += ["launchers", *(f"  {side.name:<16}{side.what}" for side in table.launcher), ""]
    lines += ["vendors", *(f"  {side.name:<16}{side.what}" for side in table.vendor), ""]
    return "\n".join([*lines, "kinds of evidence", *(f"  {name:<16}{what}" for name, what in table.kinds.items()), ""])


def _rows(topics: Sequence[str], vendor: str | None) -> str:
    """Rows by name or kind, in full."""
    from forensics.setup.rows import rows_of, settings
    from forensics.setup.script import FOLDER

    known = [*settings().kinds, *(row.name for row in settings().row)]
    if unknown := [topic for topic in topics if topic not in known]:
        launchers = [side.name for side in settings().launcher]
        raise click.UsageError(f"unknown: {', '.join(unknown)}; known are {', '.join([*launchers, *known])}")
    asked = rows_of(topics)
    own = [row for row in asked if row.name in topics or row.is_for(None, vendor or _USUAL)]
    shown = [_in_full(row) for row in own]
    if any("$INCIDENT_DIR" in text for text in shown):
        shown.insert(0, f"folder: where evidence goes, seen by all nodes\n  $ {FOLDER}\n")
    if len(own) < len(asked):
        names = ", ".join(side.name for side in settings().vendor if side.name != (vendor or _USUAL))
        shown.append(f"For {vendor or _USUAL}; --vendor NAME prints those of {names}.\n")
    return "\n".join(shown)


def _in_full(row: "Row") -> str:
    for_whom = ", ".join([*row.launchers, *row.vendors]) or "all"
    parts = [("why", row.why), ("cost", row.cost), ("since", row.since), ("for", for_whom), ("source", row.source)]
    lines = [f"{row.name}: {row.what}", *(f"  {label:<8}{text}" for label, text in parts)]
    lines += [f'  $ export {name}="{value}"' for name, value in row.env.items()]
    lines += [f"  $ {launcher} {options}" for launcher, options in row.options.items()]
    shell = (row.before, row.host_begin, row.host_end, row.job_end, row.host)
    lines += [f"  $ {line}" for text in shell for line in text.strip().splitlines()]
    lines += [f"  {path}: {value}" for path, value in row.pod.items()]
    return "\n".join([*lines, *(f"  >>> {line}" for line in row.code.splitlines()), ""])


def _checked(path: str, launcher: str | None, vendor: str | None) -> str:
    from forensics.setup.check import check
    from forensics.setup.rows import settings

    result = check(_text_of(path), launcher, vendor)
    names = {side.name: side.what for side in (*settings().launcher, *settings().vendor)}
    shown = " on ".join(names[one] for one in (result.launcher, result.vendor) if one)
    shown = shown or "nothing: --launcher and --vendor tell it"
    lines = [f"read as  {shown}", f"leaves   {', '.join(sorted(result.kept)) or 'nothing'}", ""]
    return "\n".join([*lines, *_undecided(result.undecided, result.missing, result.launcher, result.vendor), ""])


def _undecided(
    questions: "Sequence[Question]", rows: "Sequence[Row]", launcher: str | None, vendor: str | None
) -> list[str]:
    """What stays open, what each of it needs, and the rows that leave such evidence."""
    if not questions:
        return ["Nothing that this program knows would be undecided for want of evidence."]
    lines, needed = ["Could not be decided:"], set()
    for question in questions:
        needs = ", or ".join(" and ".join(sorted(need)) for need in question.needs)
        needed |= {kind for need in question.needs for kind in need}
        lines += [f"  - {question.asks} ({', '.join(question.causes)})", f"    needs {needs}"]
    whole = f"forensics setup {launcher or 'LAUNCHER'}" + (f" --vendor {vendor}" if vendor else "")
    lines += ["", f"`{whole}` prints settings and hooks to add; `forensics setup NAME` says why, and what each costs:"]
    names = [row.name for row in rows if needed & set(row.evidence)] if launcher else sorted(needed)
    return [*lines, *wrap(", ".join(names), 116, initial_indent="  ", subsequent_indent="  ")]


def _text_of(path: str) -> str:
    """The text of a file, of the files of a folder, or of standard input."""
    if path == "-":
        return sys.stdin.buffer.read(_BYTES).decode("utf-8", "replace")
    place = Path(path)
    files = sorted(one for one in place.rglob("*") if one.is_file())[:_FILES] if place.is_dir() else [place]
    try:
        texts = []
        for file in files:
            with file.open("rb") as stream:
                texts.append(stream.read(_BYTES).decode("utf-8", "replace"))
    except OSError as error:
        raise click.UsageError(f"cannot read {error.filename}: {error.strerror}") from error
    return "\n".join(texts).replace("\0", "\n")  # the environment of a process, as /proc has it


def _missing(bundle: str) -> str:
    with loading():
        from forensics.analyze import conclude_evidence
        from forensics.setup.bundle import lacked
        from forensics.setup.rows import settings
        from reports.sanitize import clean

    evidence = read_bundle(bundle)
    report = conclude_evidence(evidence)
    result = lacked(evidence.tables, report)
    kinds = settings().kinds
    there = ", ".join(f"{name} ({number:,} files)" for name, number in result.kept.items())
    lines = [f"verdict  {clean(report.verdict.summary)}", f"there    {there or 'nothing'}"]
    lines += [f"not      {', '.join(name for name in kinds if name not in result.kept) or 'nothing'}", ""]
    if result.asked:
        asked = (f"  - {kinds[kind]} (forensics setup {kind})" for kind in result.asked)
        lines += ["This verdict asks for:", *asked, ""]
    return "\n".join([*lines, *_undecided(result.undecided, result.rows, result.launcher, result.vendor), ""])
