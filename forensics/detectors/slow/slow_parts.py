"""Which rank takes longer at a part of a step, by means that somebody put together for each rank in a table without steps?

It is named where the others wait for it, too, by their own figures, and nothing says that it may do other work by design: a first or last rank may be a
stage of its own, and rank 0 loads, logs and saves for all. Else it is a suspect.
"""

from forensics.case import Case, Detector
from forensics.detectors.slow import peers
from forensics.facts.durations.part_means import PartMean, part_means
from forensics.model.finding import Claim, Finding
from forensics.model.incident import FirstAnomaly, to_do
from forensics.model.names import Cause, Reason
from forensics.model.said import Said, joined
from forensics.words import slow as words

_MANY = 0.25  # of the ranks: so many slow ones are another kind of rank


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding, nothing where the times of steps are there to be compared or ranks wait for ever."""
    if case.slow_phases.slower or case.slow_phases.late or case.has_waited:
        return ()
    found = part_means(case.tables["timings"])
    if not found:
        return ()
    slow = [one for one in found if one.sort == found[0].sort]
    ranks = tuple(sorted({one.rank for one in slow}))
    if len(ranks) > max(1, _MANY * (len(slow[0].peers) + 1)):
        return ()
    first, who = slow[0], peers.named(ranks, case)
    reason, why = _doubt(case, slow)
    cause: Cause = "straggler_host" if first.sort == "host" else "straggler_compute"
    text = words.LONGER_AT_PART(who=who, phase=first.name, own=f"{first.value_ms:.4g}", level=f"{first.centre_ms:.4g}")
    look = to_do("inspect_hardware", who, words.TAKES_LONGER)
    action = to_do("check_data", who, words.HOST_KEEPS_WAITING) if first.sort == "host" else look
    return (
        Finding(
            cause=cause,
            ranks=() if reason else ranks,
            suspect_ranks=ranks if reason else (),
            site=peers.site_of(first.name, first.sort),
            first_anomaly=FirstAnomaly(rank=None if reason or len(ranks) > 1 else ranks[0], signature="slow_rank"),
            undecided=(reason,) if reason else (),
            claims=tuple(claim for one in slow[:4] for claim in _claims(one)),
            actions=() if reason else (action,),
            collect=(words.TIMES_OVER_SOME_STEPS,),
            summary=joined((words.SLOW(what=text), peers.nobody(why)), " "),
        ),
    )


def _doubt(case: Case, slow: list[PartMean]) -> tuple[Reason | None, Said | None]:
    ranks = {one.rank for one in slow}
    if not all(one.is_waited_for for one in slow):
        return "no_baseline", words.NO_WAIT_TOLD
    if slow[0].sort == "host" and 0 in ranks:
        return "membership_unknown", words.RANK_0_LOADS
    if case.roles.is_piped and not case.roles.is_known(sorted(ranks)):
        return "membership_unknown", words.STAGES_UNKNOWN
    is_end = ranks & {min((*slow[0].peers, *ranks)), max((*slow[0].peers, *ranks))}
    if slow[0].sort == "work" and is_end and not case.is_data_parallel:
        return "membership_unknown", words.MAY_BE_A_STAGE
    return None, None


def _claims(one: PartMean) -> list[Claim]:
    text = words.PART_TAKES(
        rank=one.rank, phase=one.name, own=f"{one.value_ms:.4g}", peers=len(one.peers), level=f"{one.centre_ms:.4g}"
    )
    waits = words.WAITS_LESS(rank=one.rank, ms=f"{one.waits_ms:.4g}") if one.is_waited_for else None
    return [Claim(text, "for", one.refs), *([Claim(waits, "for", one.refs)] if waits is not None else [])]


DETECTOR = Detector("slow_parts", ("timings",), detect, "slow")
