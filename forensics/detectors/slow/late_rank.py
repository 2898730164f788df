"""Which rank comes last to the collectives, or takes longer steps by its own clock, where no phase of work shows it slow.

Who comes last waits shortest, and the others wait for it. Where the times of its work are known and like its peers', it
loses the time between them, on its host; else nothing tells what it loses it with. A rank that waits long in another
communicator is held up itself and comes late for that. Nobody waits for a rank that is done earlier by what it waits less:
it has less to communicate. Where nothing times its whole steps, that cannot be told, and it is a suspect.
"""

from collections.abc import Sequence

import polars as pl

from forensics.case import Case, Detector
from forensics.detectors.slow import peers
from forensics.facts.durations.outliers import Outlier
from forensics.model.finding import Finding
from forensics.model.incident import FirstAnomaly
from forensics.model.names import Cause
from forensics.model.said import joined
from forensics.words import slow as words

_PART = 0.5  # of what it waits less


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding. Of a job in which ranks wait for each other for ever, the end is asked, not the pace."""
    found = case.slow_phases
    if found.slower or case.has_waited:
        return ()
    held = {one.rank for one in found.waits}
    before = {one: _before(case, one) for one in found.late if one.rank not in held}
    late = [one for one, longer in before.items() if longer is not False]
    slow = late or [one for one in found.whole if peers.is_waited_for(case, one)]
    if not slow:
        return ()
    return (_finding(case, slow, bool(late), all(before[one] for one in late)),)


def _before(case: Case, one: Outlier) -> bool | None:
    """Does it take the rank longer than its peers, by what it waits less there, to come to the wait? Null: not told."""
    if case.shares is not None:
        return one.rank in case.shares.ranks
    steps = case.phase_times.filter((pl.col("stage") == one.stage) & pl.col("step").is_between(one.begin, one.end))
    waits = steps.filter(pl.col("phase") == one.phase)
    if one.sort == "call":
        rest = waits.select("rank", "step", rest=pl.col("rank_ms") - pl.col("ms"))
    else:
        whole = steps.filter(pl.col("sort") == "whole").group_by("rank", "step").agg(pl.col("ms").max().alias("whole"))
        rest = waits.join(whole, on=["rank", "step"]).select("rank", "step", rest=pl.col("whole") - pl.col("ms"))
    own = rest.filter(pl.col("rank") == one.rank)["rest"].median()
    others = rest.filter(pl.col("rank") != one.rank)["rest"].median()
    if not isinstance(own, float) or not isinstance(others, float):
        return None
    return own - others >= _PART * -one.excess_ms


def _finding(case: Case, slow: Sequence[Outlier], is_late: bool, is_seen: bool) -> Finding:
    ranks = tuple(sorted({one.rank for one in slow}))
    first = min(slow, key=lambda one: (-abs(one.excess_ms), one.rank))
    reason, why = peers.doubt(case, slow)
    if reason is None and not is_seen:
        reason, why = "no_baseline", words.MAY_COMMUNICATE_LESS
    does_work = not peers.figures(case, ranks).filter(sort="work").is_empty()
    cause: Cause | None = "straggler_host" if is_late and does_work else None
    who = peers.named(ranks, case)
    form = words.LAST_TO_COME if is_late else words.LONGER_STEPS
    text = words.SLOW(what=form(who=who, phase=first.phase, course=peers.course(first)))
    claims = [(peers.waiting if is_late else peers.longer)(one) for one in slow[:8]]
    measured = peers.measured(case, ranks) if cause is None else []
    return Finding(
        cause=cause,
        ranks=() if reason else ranks,
        suspect_ranks=ranks if reason else (),
        first_anomaly=FirstAnomaly(rank=None if reason else first.rank, step=first.begin, signature="slow_rank"),
        undecided=(reason,) if reason else (),
        claims=(*claims, *measured[:4]),
        collect=(words.TIMES_AND_STACKS,),
        summary=joined(
            (
                text,
                words.LOST_ON_ITS_HOST if cause else words.LOST_UNKNOWN,
                peers.price(case, slow) if case.shares is not None else "",
                peers.why(measured),
                peers.nobody(why),
            ),
            " ",
        ),
    )


DETECTOR = Detector("late_rank", (), detect, "slow")
