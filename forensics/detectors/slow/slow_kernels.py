"""Whose kernels take longer than its peers', by a timer beside the processes that tells means and no steps (xpu_timer)?

A rank whose matrix products take longer may have larger ones by design (a head, an expert); so it is named only where the
others wait for it, too: its collectives, in which the early wait for the late, are the shortest. Else it is a suspect, and so
it is by a single look.
"""

from forensics.case import Case, Detector
from forensics.detectors.slow import peers
from forensics.facts.durations.kernel_means import Mean, kernel_means
from forensics.model.finding import Claim, Finding
from forensics.model.incident import FirstAnomaly, to_do
from forensics.model.names import Reason
from forensics.model.said import Said, joined
from forensics.words import slow as words

_MANY = 0.25  # of the peers: so many slow ones are another kind of rank
_LOOKS = 2


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding, nothing where the times of steps are there to be compared or ranks wait for ever."""
    if case.slow_phases.slower or case.slow_phases.late or case.has_waited:
        return ()
    found = kernel_means(case.tables["timings"], case.roles)
    slow = [one for one in found if one.phase == "matmul"]
    ranks = tuple(sorted({one.rank for one in slow}))
    if not slow or len(ranks) > max(1, _MANY * (len(slow[0].peers) + 1)):
        return ()
    late = [one for one in found if one.phase == "comm"]
    reason, why = _doubt(case, slow, {one.rank for one in late})
    who, first = peers.named(ranks, case), max(slow, key=lambda one: one.share)
    percent = f"{100 * first.share:.0f}"
    text = words.SLOWER_AT_KERNEL(who=who, kernel=first.kernel, percent=percent, moments=first.moments)
    return (
        Finding(
            cause="straggler_compute",
            ranks=() if reason else ranks,
            suspect_ranks=ranks if reason else (),
            site="compute",
            first_anomaly=FirstAnomaly(
                rank=ranks[0] if len(ranks) == 1 and not reason else None, signature="slow_rank"
            ),
            undecided=(reason,) if reason else (),
            claims=tuple(_claim(one) for one in [*slow[:4], *(one for one in late if one.rank in ranks)][:6]),
            actions=() if reason else (to_do("inspect_hardware", who, words.SAME_KERNELS_LONGER),),
            collect=(words.TIMES_OVER_SOME_STEPS,),
            summary=joined((words.SLOW(what=text), peers.nobody(why)), " "),
        ),
    )


def _doubt(case: Case, slow: list[Mean], late: set[int]) -> tuple[Reason | None, Said | None]:
    if min(one.moments for one in slow) < _LOOKS:
        return "single_snapshot", words.ONE_SNAPSHOT
    if late != {one.rank for one in slow}:
        return "no_baseline", words.PRODUCTS_MAY_BE_LARGER
    if case.roles.is_piped and not case.roles.is_known([one.rank for one in slow]):
        return "membership_unknown", words.STAGES_UNKNOWN
    return None, None


def _claim(one: Mean) -> Claim:
    text = words.KERNEL_TAKES(
        rank=one.rank, kernel=one.kernel, own=f"{one.value_ms:.4g}", peers=len(one.peers), level=f"{one.centre_ms:.4g}"
    )
    return Claim(text, "for", one.refs)


DETECTOR = Detector("slow_kernels", (), detect, "slow")
