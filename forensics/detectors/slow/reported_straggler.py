"""Whom do tools that compare the ranks of a job call slow: NVIDIA's resiliency extension and Megatron-LM's detector?

The extension names stragglers; one report is a suspicion, two are a statement. Megatron-LM prints the fastest and the
slowest rank of every interval even of a healthy run: a rank is slow if it is the slowest far more often than chance allows
and the spread matters. In a pipeline the slowest may be a stage that has more to do, so there nobody is named.
"""

from collections import Counter
from statistics import median

import polars as pl

from forensics.case import Case, Detector
from forensics.facts.event_rows import refs, rows
from forensics.facts.outliers import tail
from forensics.model.finding import Claim, Finding
from forensics.model.incident import FirstAnomaly
from forensics.model.names import Cause, Reason
from forensics.model.ref import Ref
from forensics.model.texts import ranks_text

_REPORTS = 2  # that name a rank
_INTERVALS, _SPREAD, _ALPHA = 3, 0.05, 1e-3
_FEW = 4  # ranks, where the size of the job is not known
_TIMERS: tuple[tuple[str, Cause], ...] = (("step", "straggler_compute"), ("batch-generator", "straggler_host"))


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → a finding for each tool that names somebody, nothing where figures of all ranks are there to be compared."""
    if case.slow_phases.slower or case.slow_phases.late:
        return ()
    named = _named(case)
    return named or tuple(one for timer, cause in _TIMERS if (one := _slowest(case, timer, cause)) is not None)[:1]


def _named(case: Case) -> tuple[Finding, ...]:
    found = [
        row
        for row in rows(case.events, "straggler")
        if row["severity"] == "warning" and row["names_ranks"] and row["names_rank_space"] == "global"
    ]
    places = {
        rank: {(row["file"], row["line"]) for row in found if rank in row["names_ranks"]}
        for row in found
        for rank in row["names_ranks"]
    }
    if not places:
        return ()
    most = sorted(rank for rank, at in places.items() if len(at) >= _REPORTS)
    ranks = most or sorted(places)
    text = f"a tool that compares all ranks calls {ranks_text(ranks)} slow in {max(map(len, places.values()))} reports"
    return (
        _finding(
            case, ranks, "straggler_compute", Claim(text, "for", refs(found)), None if most else "single_snapshot"
        ),
    )


def _slowest(case: Case, timer: str, cause: Cause) -> Finding | None:
    """The rank that is the slowest of nearly all intervals, by the lines that tell the fastest and the slowest."""
    told = case.tables["timings"].filter(
        (pl.col("name") == timer) & pl.col("max_rank").is_not_null() & (pl.col("min_ms") > 0)
    )
    told = told.filter(pl.col("max_ms").is_not_null()).sort("file", "line")
    if told.height < _INTERVALS:
        return None
    rank, votes = min(Counter(told["max_rank"].to_list()).items(), key=lambda one: (-one[1], one[0]))
    size = max(len(case.expected), _FEW, told["max_rank"].n_unique())
    own = told.filter(pl.col("max_rank") == rank)
    longer = median((own["max_ms"] - own["min_ms"]) / own["min_ms"])
    if longer < _SPREAD or 2 * votes < told.height or tail(votes, told.height, 1 / size) * size >= _ALPHA:
        return None
    text = f"rank {rank} is the slowest of {votes} of {told.height} intervals of {timer}, {100 * longer:.0f} % above the fastest"
    shown = tuple(Ref(file=row["file"], line=row["line"], text=f"/{rank}") for row in own.head(3).iter_rows(named=True))
    alone = case.roles.is_known([rank]) and not case.roles.is_piped
    return _finding(case, [rank], cause, Claim(text, "for", shown), None if alone else "membership_unknown")


def _finding(case: Case, ranks: list[int], cause: Cause, claim: Claim, doubt: Reason | None) -> Finding:
    return Finding(
        detector=DETECTOR.name,
        cause=cause,
        ranks=() if doubt else tuple(ranks),
        suspect_ranks=tuple(ranks) if doubt else (),
        first_anomaly=FirstAnomaly(signature="slow_rank"),
        undecided=(doubt,) if doubt else (),
        claims=(claim,),
        collect=("times of forward, backward and communication of every rank, over some steps",),
        summary=f"Slow: {claim.text}.",
    )


DETECTOR = Detector("reported_straggler", (), detect, "slow")
