"""What was read: ranks, hosts, sources, lines, and what could not be read. A verdict is never shown without it."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from ipaddress import ip_address

import polars as pl

from forensics.assemble.runs.register import Program
from forensics.assemble.who.host_names import names_of_hosts
from forensics.facts.rows.line_templates import complaints
from forensics.model.hosts import short_host
from forensics.model.incident import Clock, Coverage, FileRow, Lines, SourceCoverage, Unreadable, World
from forensics.model.incident import Program as ProgramRow
from forensics.model.texts import iso, range_list, ranges
from forensics.model.told import values
from parsers.schema.tables import TableName, spelled
from parsers.text.connections import is_within_a_host
from parsers.who.places.job_table import ALIAS

_EVIDENCE: tuple[TableName, ...] = (
    "ranks", "groups", "operations", "progress", "transfers", "stacks", "tensors", "steps", "timings", "events", "settings", "devices",
)  # fmt: skip
_MAX_FILES = 2000


def _per_file(tables: Mapping[TableName, pl.DataFrame]) -> pl.DataFrame:
    """file, records, rank: rows of all evidence tables."""
    parts = [spelled(tables[name].group_by("file", "rank").len("records")) for name in _EVIDENCE if tables[name].height]
    nothing = pl.DataFrame(schema={"file": pl.String, "rank": pl.Int64, "records": pl.UInt32})
    by_file = pl.concat([nothing, *parts]).group_by("file")
    return by_file.agg(pl.col("records").sum(), pl.col("rank").drop_nulls().unique())


def _sources(tables: Mapping[TableName, pl.DataFrame]) -> dict[str, SourceCoverage]:
    errors = Counter(tables["unread"]["file"].to_list())
    read = {file: (records, ranks) for file, records, ranks in _per_file(tables).iter_rows()}
    files: defaultdict[str, list[str]] = defaultdict(list)
    for file, parsers in tables["files"].select("file", "parsers").iter_rows():
        for name in parsers or ():
            files[name].append(file)
    return {
        name: SourceCoverage(
            files=len(own),
            records=sum(read[file][0] for file in own if file in read),
            ranks=range_list({rank for file in own if file in read for rank in read[file][1]}),
            errors=sum(errors[file] for file in own),
        )
        for name, own in sorted(files.items())
    }


def hosts_of(tables: Mapping[TableName, pl.DataFrame]) -> list[str]:
    """Every host that a record speaks for, by the one name it is known by, first label only, ascending."""
    names = names_of_hosts(tables["ranks"])
    spoken = tables["ranks"].filter(pl.col("how").ne_missing(ALIAS))
    frames = (spoken, *(tables[name] for name in ("stacks", "events", "settings", "devices", "files")))
    told = {host for frame in frames for host in values(frame["host"])}
    found = {name for host in told if (name := names.get(host, host))}
    # Whoever prints the loopback has another name, which may be one of the others': it is no host besides these.
    abroad = {name for name in found if not is_within_a_host(name)}
    return sorted({short_host(name) for name in (abroad or found) - _addresses(tables["ranks"])} - {""})


def _addresses(ranks: pl.DataFrame) -> set[str]:
    """Addresses of which every process, by its rank and number, is known to run on one host that has a name."""
    there: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
    for host, rank, pid in ranks.select("host", "rank", "pid").unique().iter_rows():
        if None not in (host, rank, pid):
            there[host].add((rank, pid))
    named = {host: own for host, own in there.items() if not _is_address(host)}
    nameless = ((host, own) for host, own in there.items() if host not in named)
    return {host for host, own in nameless if sum(own <= other for other in named.values()) == 1}


def _is_address(name: str) -> bool:
    try:
        ip_address(name.split("%")[0])
    except ValueError:
        return False
    return True


def coverage(
    tables: Mapping[TableName, pl.DataFrame],
    expected: frozenset[int],
    seen: frozenset[int],
    attempts: int,
    skew_bound_s: float | None = None,
    world_from: str | None = None,
    programs: Sequence[Program] = (),
) -> Coverage:
    """Evidence tables → Coverage. `skew_bound_s`, `programs`: of the newest attempt, the former null where clocks could not be
    compared."""
    files = tables["files"]
    total, known = int(files["lines"].sum()), int(files["recognised"].sum())
    unreadable = [
        Unreadable(file=file, reason=reason)
        for file, reason in tables["unread"].select("file", "reason").sort("file", "reason").iter_rows()
    ]
    return Coverage(
        ranks_expected=len(expected) or None,
        ranks_seen=range_list(seen),
        ranks_missing=range_list(expected - seen),
        hosts_seen=hosts_of(tables),
        sources=_sources(tables),
        lines=Lines(total=total, recognised=known, unrecognised=total - known),
        unreadable=unreadable,
        clock=Clock(skew_bound_s=skew_bound_s),
        attempts=attempts,
        complaints=complaints(tables),
        world=World(size=len(expected) or None, source=world_from),
        programs=[ProgramRow(name=one.name, world=one.world, ranks_seen=range_list(one.ranks)) for one in programs],
    )


def file_rows(tables: Mapping[TableName, pl.DataFrame]) -> list[FileRow]:
    """One row per member of the bundle, at most 2,000 (those with errors first)."""
    errors = tables["unread"].group_by("file").agg(pl.col("reason").sort())
    joined = tables["files"].join(_per_file(tables).rename({"rank": "ranks_read"}), on="file", how="left")
    joined = joined.join(errors, on="file", how="left").sort([pl.col("reason").is_null(), "file"])
    return [
        FileRow(
            file=row["file"],
            bytes=row["bytes"] or 0,
            parsers=row["parsers"] or [],
            ranks=ranges(row["ranks_read"] or []),
            lines=row["lines"] or 0,
            recognised=row["recognised"] or 0,
            time_first_utc=iso(row["time_first_ns"]),
            time_last_utc=iso(row["time_last_ns"]),
            errors=row["reason"] or [],
            templates=row["templates"] or [],
            records=row["records"] or 0,
        )
        for row in joined.head(_MAX_FILES).iter_rows(named=True)
    ]
