"""Records of hardware with what relates them to the verdict."""

import polars as pl

from forensics.case import Case
from forensics.facts.rows.event_rows import reference
from forensics.model.drawn import HardwareRow
from forensics.model.finding import Finding
from forensics.model.texts import iso, ranges
from forensics.model.told import has_kind
from forensics.words import views as words

_ROWS = 200
# Of events, what is shown and what tells lines apart: of 200,000 rows, all columns are 100 MB each time they are filtered.
SHOWN = ("kind", "code", "time_ns", "time_basis", "host", "rank", "pci", "pid", "text", "file", "line", "record")
SYSTEM = (
    "gpu_error", "gpu_lost", "port_error", "link_down", "link_up", "pcie_error", "memory_error", "soft_lockup", "hung_task", "host_oom",
    "storage_error", "segfault",
)  # fmt: skip


def each_line_once(events: pl.DataFrame) -> pl.DataFrame:
    """Events without the second one of a host's line that means two things: an error, and a device that is lost."""
    if not has_kind(events, *SYSTEM):
        return events
    told = ["file", "line", "text", "pci", "pid"]
    twice = pl.col("kind").is_in(SYSTEM) & pl.col("line").is_not_null() & pl.col("text").is_not_null()
    places = events.select(*told, twice.fill_null(False).alias("_twice")).with_row_index("_at")
    once = places.filter("_twice").unique(told, keep="first", maintain_order=True)["_at"]
    return events[pl.concat([places.filter(~pl.col("_twice"))["_at"], once])]


def hardware(case: Case, finding: Finding) -> list[HardwareRow]:
    """The first records in order of time, those without one last."""
    events = each_line_once(case.tables["events"].select(SHOWN).filter(pl.col("kind").is_in(SYSTEM)))
    events = events.sort("time_ns", "file", "line", nulls_last=True)
    by_host: dict[str, list[int]] = {}
    for rank, host in case.identity.select("rank", "host").iter_rows() if case.identity.height else ():
        by_host.setdefault(host, []).append(rank)
    culprits = {*finding.ranks, *finding.suspect_ranks, *finding.cycle}
    blamed = {*finding.hosts, *finding.suspect_hosts}
    frequent = {(one.row["file"], one.row["line"]) for one in case.hardware if one.common}
    lasted = {(ref.file, ref.line): seconds for flap in case.flaps for ref, seconds in flap.rises}
    rows = []
    for row in events.head(_ROWS).iter_rows(named=True):
        at = (row["file"], row["line"])
        ranks = [row["rank"]] if row["rank"] is not None else by_host.get(row["host"], [])
        if row["host"] is not None and row["host"] in blamed:
            relation = words.ON_NAMED_HOST
        elif not ranks:
            relation = words.ON_HOST_OF_NO_RANK
        elif set(ranks) & culprits:
            relation = words.ON_HOST_OF_NAMED_RANK
        else:
            relation = words.NOT_IN_QUESTION
        if at in frequent:
            relation = words.AS_FREQUENT(relation=relation)
        if (seconds := lasted.get(at)) is not None:
            relation = words.WAS_DOWN(relation=relation, seconds=f"{seconds:.3g}")
        rows.append(
            HardwareRow(
                time_utc=iso(row["time_ns"]) if row["time_basis"] != "boot" else None,
                host=row["host"],
                pci=row["pci"],
                ranks=ranges(ranks),
                code=row["code"],
                text=row["text"] or "",
                relation=relation,
                ref=reference(row),
            )
        )
    return rows
