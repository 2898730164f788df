"""Without records of operations: which process is elsewhere while the others stand in communication?

Method: STAT classes and FLARE's rule (a hung rank shows a non-communication frame). A majority proves nothing by itself:
the odd ones must be few, and in a place of the host that is no wait for a device or for peers. Of two snapshots, one that
computes and moved on while all the others stood still is slow. One that computes while all the others waited until their
time-out, and timed out in nothing itself, is absent, as far as one look can tell.
"""

from typing import Any

import polars as pl

from forensics.case import Case, Detector
from forensics.facts.progress import step_in_progress
from forensics.facts.rank_stacks import stack_ref
from forensics.facts.stacks import classify, to_frames
from forensics.graph.hang.waits import HOST_SITES
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, Code, FirstAnomaly
from forensics.model.texts import ranks_text

_FEW = 3  # at most one in three processes may be the odd one


def _code(row: dict[str, Any]) -> Code | None:
    site = classify(to_frames(row["frames"]))
    frame = site.user or site.frame
    return Code(file=frame.file or None, line=frame.line, function=frame.function) if frame else None


def _live(case: Case) -> pl.DataFrame:
    """Stacks of processes that ran. Where every rank of the job has one, a process without a rank is none of the job's."""
    if not case.stacks.height:
        return case.stacks
    live = case.stacks.filter(pl.col("source") != "traceback")
    whole = bool(case.expected) and case.expected <= set(live["rank"].drop_nulls().to_list())
    return live.filter(pl.col("rank").is_not_null()) if whole else live


def _computing(case: Case, live: pl.DataFrame, waiting: pl.DataFrame) -> pl.DataFrame:
    """Processes that compute, where all the others wait in communication and timed out."""
    events = case.events
    timed_out = events.filter((pl.col("kind") == "collective_timeout") & (pl.col("rank_space") == "global"))["rank"]
    computing = live.filter(pl.col("site") == "compute")
    waited = waiting["rank"].is_not_null().all() and waiting["rank"].is_in(timed_out.implode()).all()
    alone = computing.height + waiting.height == live.height and not computing["rank"].is_in(timed_out.implode()).any()
    return computing if waited and alone else computing.clear()


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding, only where no operation is recorded as open."""
    if case.states is not None and case.states.open.height:
        return ()
    live = _live(case)
    if not live.height:
        return ()
    waiting = live.filter(pl.col("site") == "communication")
    odd = live.filter(pl.col("site").is_in(sorted(HOST_SITES)))
    if not odd.height and waiting.height and waiting["moving"].is_in([False]).all():
        odd = live.filter((pl.col("site") == "compute") & pl.col("moving"))  # all the others stood still meanwhile
    if not odd.height:
        odd = _computing(case, live, waiting)
    total = int(live["count"].sum())
    if int(waiting["count"].sum()) < 2 or not odd.height or _FEW * int(odd["count"].sum()) > total:
        return ()
    rows = list(odd.sort("rank", "host", "pid", "file", "line").iter_rows(named=True))
    ranks = tuple(sorted({row["rank"] for row in rows if row["rank"] is not None}))
    whole = len(ranks) == len(rows)
    hosts = tuple(sorted({row["host"] for row in rows if row["host"]}))
    site = rows[0]["site"]
    who = (
        ranks_text(ranks)
        if whole
        else f"{len(rows)} process{'es' if len(rows) > 1 else ''} on {', '.join(hosts) or 'an unnamed host'}"
    )
    verb = "is" if len(rows) == 1 else "are"
    ops = sorted({op for op in waiting["op"].to_list() if op})
    claim = Claim(
        f"{who} {verb} in {site.replace('_', ' ')}; {int(waiting['count'].sum())} processes stand in communication ({', '.join(ops) or 'kind unknown'})",
        "for",
        tuple(stack_ref(row) for row in rows[:3]),
    )
    # Somebody's Ctrl-C does not prove that the job hung: a running one shows the same for a moment.
    by_chance = whole and (odd["source"] == "interrupt").all() and not case.has_waited
    named = ranks if whole and not by_chance else ()
    moving = bool(odd["moving"].fill_null(False).any())
    repeated = odd["moving"].null_count() < odd.height
    doing = f"{who[:1].upper()}{who[1:]} {verb} in {site.replace('_', ' ')}"
    while_others = f"while {int(waiting['count'].sum())} processes wait in communication"
    moved = f": between two snapshots {'it' if len(rows) == 1 else 'some of them'} moved on, which is slow, not stuck"
    return (
        Finding(
            detector=DETECTOR.name,
            cause=None
            if by_chance
            else ("straggler_compute" if site == "compute" else "straggler_host")
            if moving
            else "rank_absent",
            # it may have loaded data before, or have been caught by chance
            ranks=named,
            suspect_ranks=ranks if by_chance else (),
            hosts=() if whole else hosts,
            site=site,
            code=_code(rows[0]),
            claims=(claim,),
            undecided=() if repeated else ("single_snapshot",),
            first_anomaly=FirstAnomaly(
                rank=named[0] if named else None,
                host=hosts[0] if len(hosts) == 1 else None,
                step=step_in_progress(case.tables["steps"], ranks[0] if whole else None),
                op="/".join(ops) or None,
                signature=f"odd_stack:{site}",
            ),
            blast_radius=BlastRadius(ranks_waiting=int(waiting["count"].sum())),
            collect=(
                "flight-recorder dumps"
                if repeated
                else "a second stack dump a minute later, and flight-recorder dumps",
            ),
            summary=f"Undecided: when somebody pressed Ctrl-C, {doing[:1].lower()}{doing[1:]} {while_others}."
            if by_chance
            else f"{doing} {while_others}{moved if moving else ''}.",
        ),
    )


DETECTOR = Detector("odd_stack", ("stacks",), detect, "waiting")
