"""Who stands out from its peers in which phase of the steps, by votes (facts/durations/outliers.py)."""

from typing import Literal

from forensics.case import Case
from forensics.facts.durations.outliers import Outlier
from forensics.model.causes import CAUSES
from forensics.model.drawn import Votes
from forensics.model.finding import Finding
from forensics.model.texts import ranges

_ROWS = 60


def votes(case: Case, finding: Finding) -> list[Votes]:
    """Of a slow job whose steps were timed; most votes first."""
    if finding.cause is None or "slow" not in CAUSES[finding.cause].kinds:
        return []
    found = case.slow_phases
    rows = [*(_row(one, "slower") for one in found.slower), *(_row(one, "late") for one in found.late)]
    rows += [*(_row(one, "whole") for one in found.whole), *(_row(one, "waits") for one in found.waits)]
    return sorted(rows, key=lambda row: (-row.votes / row.steps, row.rank, row.phase))[:_ROWS]


def _row(one: Outlier, sort: Literal["slower", "late", "waits", "whole"]) -> Votes:
    return Votes(
        rank=one.rank,
        phase=one.phase,
        sort=sort,
        votes=one.votes,
        steps=one.steps,
        excess_ms=round(one.excess_ms, 3),
        level_ms=round(one.level_ms, 3),
        peers=ranges({one.rank, *one.peers}),
    )
