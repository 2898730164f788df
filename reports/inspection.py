"""What was read, file by file: the text of `forensics inspect`, and plain aligned columns."""

from collections.abc import Sequence
from typing import Any

from forensics.model.incident import Document, FileRow
from reports.layout import cut, plural, ranks_phrase, size
from reports.sanitize import clean

_WIDTH = 100
_CELL = 48  # characters of a cell that its column makes room for


def _file(row: FileRow) -> list[str]:
    what = ", ".join(row.parsers) or ("not recognised" if row.bytes else "empty")
    ranks = f" · {ranks_phrase(row.ranks)}" if row.ranks else ""
    records = f" · {row.records:,} record{'s' * (row.records != 1)}" if row.parsers else ""
    unknown = row.lines - row.recognised
    known = f" · {row.lines:,} line{'s' * (row.lines != 1)}" if row.lines else ""
    known += f", {unknown:,} recognised by nothing" if unknown else ""
    span = f" · {row.time_first_utc} – {row.time_last_utc}" if row.time_first_utc else ""
    lines = [clean(row.file), f"    {what} · {size(row.bytes)}{ranks}{records}{known}{span}"]
    lines += [f"    ! {clean(error)}" for error in row.errors]
    lines += [f"    ? {cut(clean(template), _WIDTH)}" for template in row.templates]
    return lines


def render(report: Document) -> str:
    """Coverage in a few lines, what complains and is read by no parser, then every file: recognised as, size, ranks, lines, times, errors (!), and the commonest
    lines that nothing recognised (?)."""
    seen = report.coverage
    lines = [
        f"{clean(report.bundle.name)}: {plural(report.bundle.files, 'file')}, {size(report.bundle.bytes)}, {plural(seen.attempts, 'attempt')}",
        f"{ranks_phrase(','.join(seen.ranks_seen))} left a record"
        + (f", of {plural(seen.ranks_expected, 'rank')}" if seen.ranks_expected else "")
        + (f"; {ranks_phrase(','.join(seen.ranks_missing))} did not" if seen.ranks_missing else ""),
        f"hosts {clean(', '.join(seen.hosts_seen)) or 'not named'}",
        f"{plural(seen.lines.total, 'line')}, {seen.lines.unrecognised:,} of them recognised by nothing",
    ]
    for name, source in sorted(seen.sources.items()):
        errors = f", {plural(source.errors, 'error')}" if source.errors else ""
        files = "file " if source.files == 1 else "files"
        records = "record" if source.records == 1 else "records"
        lines.append(f"  {name:<20} {source.files:>6,} {files}  {source.records:>9,} {records}{errors}")
    if seen.complaints:
        lines += ["", "complaints of programs that no parser knows, digits as #:"]
        lines += [f"  {cut(clean(template), _WIDTH)}" for template in seen.complaints]
    for row in report.files:
        lines += ["", *_file(row)]
    return "\n".join(lines) + "\n"


def columns(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Rows as aligned text under their names; the last column is not padded, and a long cell pads no other row."""
    cells = [[clean("" if value is None else str(value)) for value in row] for row in rows]
    widths = [max([len(name), *(len(row[i]) for row in cells if len(row[i]) <= _CELL)]) for i, name in enumerate(names)]
    shown = ("  ".join(map(str.ljust, row, widths)) for row in (names, *cells))
    return "".join(f"{line.rstrip()}\n" for line in shown)
