"""What happened in what order: cascades folded, a lane for the culprit, its peers, the system."""

from typing import Literal

import polars as pl

from forensics.case import Case
from forensics.facts.rows.event_rows import reference
from forensics.model.drawn import TimelineItem
from forensics.model.finding import Finding
from forensics.model.ref import Ref
from forensics.model.texts import iso, ranges
from forensics.views.hardware import SHOWN, SYSTEM, each_line_once
from forensics.words import views as words

_TIMELINE = 40
_QUIET = ("comm_init_start", "comm_init_complete", "comm_destroy", "job_start", "other", "link_up")


def timeline(case: Case, finding: Finding) -> list[TimelineItem]:
    """Events with a time, equal ones folded, the earliest of each shown; last training step first."""
    events = each_line_once(case.tables["events"].select(SHOWN)).filter(
        pl.col("time_ns").is_not_null() & ~pl.col("kind").is_in(_QUIET) & (pl.col("time_basis") != "boot")
    )
    alike = events.sort("time_ns", "file", "line").group_by("kind", "code", maintain_order=True)
    first = pl.first("time_ns", "time_basis", "text", "file", "line", "record")
    folded = alike.agg(first, count=pl.len(), ranks=pl.col("rank")).sort("time_ns", "kind", "code")
    items = _last_steps(case)
    culprits = {*finding.ranks, *finding.cycle}
    for row in folded.head(_TIMELINE - 1).iter_rows(named=True):
        ranks = {rank for rank in row["ranks"] if rank is not None}
        lane: Literal["culprit", "peers"] = "culprit" if ranks and ranks <= culprits else "peers"
        event = words.EVENT.get(row["kind"], row["kind"])
        items.append(
            TimelineItem(
                time_utc=iso(row["time_ns"]) or "",
                basis=row["time_basis"],
                lane="system" if row["kind"] in SYSTEM else lane,
                label=words.WITH_CODE(event=event, code=row["code"]) if row["code"] else event,
                count=row["count"],
                ranks=ranges(ranks),
                ref=reference(row),
            )
        )
    return sorted(items, key=lambda item: (item.time_utc, item.label))


def _last_steps(case: Case) -> list[TimelineItem]:
    """At most one: the last step that has a time."""
    steps = case.tables["steps"].filter(pl.col("time_ns").is_not_null() & pl.col("step").is_not_null())
    last = steps.filter(pl.col("step") == pl.col("step").max()).sort("time_ns", "file", "line")
    if not last.height:
        return []
    row = last.row(-1, named=True)
    text = words.STEP_COMPLETED(step=row["step"])
    return [
        TimelineItem(
            time_utc=iso(row["time_ns"]) or "",
            basis=row["time_basis"],
            lane="peers",
            label=text,
            count=last.height,
            ranks=ranges(last["rank"].drop_nulls().to_list()),
            ref=Ref(file=row["file"], line=row["line"], text=text),
        )
    ]
