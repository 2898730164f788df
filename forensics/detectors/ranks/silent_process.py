"""Which processes gave no stack while all others wait?

Method: the absent ones are the evidence (BigScience's notes on BLOOM: "several processes weren't responding"). A process in
uninterruptible sleep answers no sampler. Where other processes of the same host answered, the sampler worked there, and
silent ones that share one host point at it; a host that is silent as a whole may only have been left out.
"""

import polars as pl

from forensics.case import Case, Detector
from forensics.facts.waits.rank_stacks import stack_ref
from forensics.graph.hang.outside import places
from forensics.graph.hang.waits import HOST_SITES
from forensics.model.commands import kernel_log
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action, BlastRadius, FirstAnomaly
from forensics.model.names import Reason
from forensics.model.said import joined
from forensics.model.texts import SILENT, ranks_text
from forensics.words import advice
from forensics.words import ranks as words

_FEW = 3  # at most one in three processes may be silent


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding, only where no operation is recorded as open and nobody stands elsewhere."""
    if case.has_open_operations or not case.stacks.height or any(end.how == "ended" for end in case.ends.values()):
        return ()
    seen = places(case.stacks, case.waited_ranks, case.expected)
    live = seen.live.filter(pl.col("rank").is_not_null())
    waiting = seen.waiting.filter(pl.col("rank").is_not_null())
    shown = set(live["rank"].to_list())
    # Where its size is not told: as far as it is seen.
    job = case.expected or frozenset(range(max(shown, default=-1) + 1))
    silent = tuple(sorted(rank for rank in job - shown if _may_live(case, rank)))
    elsewhere = seen.outside.height or live["site"].is_in(sorted(HOST_SITES)).any()
    if (
        not silent
        or (live["source"] == "interrupt").any()  # Ctrl-C asked no process for its stack: it ended them
        or not waiting.height
        or _FEW * len(silent) > len(job)
        or elsewhere
        or 3 * waiting.height < 2 * live.height
    ):
        return ()
    return (_finding(case, silent, shown, waiting),)


def _may_live(case: Case, rank: int) -> bool:
    """No record says how its process ended, or that it waited."""
    return rank not in case.ends and (case.waits.status.get(rank) not in ("held", "dead"))


def _finding(case: Case, silent: tuple[int, ...], shown: set[int], waiting: pl.DataFrame) -> Finding:
    placed = case.identity.filter(pl.col("rank").is_in(silent) & pl.col("host").is_not_null())
    hosts = tuple(sorted(placed["host"].unique().to_list())) if placed.height == len(silent) else ()
    shared = hosts if len(hosts) == 1 and len(silent) > 1 else ()
    beside = case.identity.filter(pl.col("host").is_in(hosts) & pl.col("rank").is_in(sorted(shown)))
    named = shared if beside.height else ()
    text = joined(
        (
            words.GAVE_NO_STACK(who=ranks_text(silent)),
            words.OTHER_RANKS_WAIT(number=waiting.height),
            words.ANSWERED_THERE(host=named[0], who=ranks_text(beside["rank"].to_list())) if named else "",
        ),
        "; ",
    )
    reasons: list[Reason] = ["culprit_among_missing"]
    if not case.has_waited and not waiting["moving"].is_not_null().any():
        reasons.append("single_snapshot")
    refs = tuple(stack_ref(row) for row in waiting.sort("rank").head(2).iter_rows(named=True))
    why = words.NO_SAMPLER(number=len(silent), all=len(silent) + beside.height)
    around = case.around
    actions = [
        Action(
            kind="inspect_hardware", target=host, command=kernel_log(host, around), reason=why, look=advice.LOOK_AT_KERNEL_OF_SILENT,
            then=advice.THEN_OF_KERNEL_OF_SILENT, source="Linux: hung_task; NVIDIA Xid catalogue",
        )
        for host in named
    ]  # fmt: skip
    return Finding(
        hosts=named,
        suspect_ranks=silent,
        suspect_hosts=() if named else shared,
        site="unresponsive" if named else None,
        domain="infrastructure" if named else "unknown",
        undecided=tuple(reasons),
        claims=(Claim(text, "for", refs),),
        first_anomaly=FirstAnomaly(host=named[0] if named else None, step=case.step_in_progress(), signature=SILENT),
        blast_radius=BlastRadius(ranks_waiting=waiting.height),
        actions=tuple(actions),
        collect=(words.STATES_AND_DUMPS(who=ranks_text(silent)),),
        summary=words.UNDECIDED(what=text),
    )


DETECTOR = Detector("silent_process", ("stacks",), detect, "waiting")
