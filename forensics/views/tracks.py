"""The last operations of ranks that stand alike: who did what until when, for the timeline and for trace viewers."""

from collections.abc import Iterable

import polars as pl

from forensics.case import Case
from forensics.graph.hang.operations import describe
from forensics.model.drawn import Span, Track
from forensics.model.finding import Finding
from forensics.model.names import RankState
from forensics.model.texts import iso, ranges
from forensics.views.grid import everyone, state_of
from forensics.words import views as words

_TRACKS, _SPANS = 8, 20
_ORDER: tuple[RankState, ...] = ("culprit", "dead", "suspect", "waiting", "ended", "ok")


def tracks(case: Case, finding: Finding) -> list[Track]:
    """Classes of ranks by state and by the operation that holds them: who is named first, then the largest."""
    held = _held(case)
    classes: dict[tuple[RankState, str], list[int]] = {}
    for rank in everyone(case, finding):
        state = state_of(case, finding, rank)
        if state != "no_data":
            classes.setdefault((state, held.get(rank, "")), []).append(rank)
    chosen = sorted(classes.items(), key=lambda item: (_ORDER.index(item[0][0]), -len(item[1]), item[1][0]))[:_TRACKS]
    shown = [ranks[0] for _, ranks in chosen]
    spans, ends = _spans(case, shown), _last_signs(case, shown)
    return [
        Track(
            state=state,
            ranks=ranges(ranks),
            of=ranks[0],
            held=operation,
            spans=spans.get(ranks[0], []),
            stopped_utc=iso(ends.get(ranks[0])) if state in ("culprit", "dead", "suspect") else None,
        )
        for (state, operation), ranks in chosen
    ]


def _held(case: Case) -> dict[int, str]:
    """Rank → "all_reduce of dp", the sort of operation that holds it."""
    if not case.states.open.height:
        return {}
    first = case.states.open.unique("rank", keep="first", maintain_order=True).select("rank", "op")
    operations = describe(case.states, first["op"].to_list())
    return {
        rank: words.OPERATION(
            kind="send/recv" if op.startswith("p2p:") else operations[op].kind,
            group=operations[op].group.split(" (")[0],
        )
        for rank, op in first.iter_rows()
        if op in operations
    }


def _recorded(case: Case, ranks: Iterable[int]) -> pl.DataFrame:
    """Completed and open operations of these ranks with a time: rank, record, begin, end, seq, kind, gid, done."""
    rows = case.states.entries.filter(pl.col("rank").is_in(list(ranks)))
    times = case.tables["operations"].select("time_created_ns", "time_started_ns", "time_completed_ns")
    return rows.hstack(times[rows["row"]] if rows.height else times.clear()).select(
        "rank", "record", "seq", "kind", "gid", "done",
        begin=pl.coalesce("time_started_ns", "time_created_ns"), end=pl.col("time_completed_ns"),
    ).filter(pl.col("begin").is_not_null())  # fmt: skip


def _spans(case: Case, ranks: Iterable[int]) -> dict[int, list[Span]]:
    if not case.states.entries.height:
        return {}
    groups = {row["gid"]: row["desc"] or row["group"] or "?" for row in case.states.groups.iter_rows(named=True)}
    found: dict[int, list[Span]] = {}
    rows = _recorded(case, ranks).sort("rank", "record")
    for (rank,), own in rows.partition_by("rank", as_dict=True).items():
        found[int(str(rank))] = [
            Span(
                start_utc=iso(row["begin"]) or "",
                end_utc=iso(row["end"]) if row["done"] else None,
                label=words.OPERATION_NUMBERED(kind=row["kind"], number=row["seq"], group=groups.get(row["gid"], "?")),
                is_open=not row["done"],
            )
            for row in own.tail(_SPANS).iter_rows(named=True)
        ]
    return found


def _last_signs(case: Case, ranks: Iterable[int]) -> dict[int, int]:
    """Rank of these → when it last completed a step or an operation, nanoseconds since 1970."""
    told = [case.tables["steps"].select("rank", at=pl.col("time_ns"))]
    if case.states.entries.height:
        told.append(_recorded(case, ranks).filter("done").select("rank", at=pl.coalesce("end", "begin")))
    rows = pl.concat(told).drop_nulls().group_by("rank").agg(pl.col("at").max())
    return dict(rows.iter_rows())
