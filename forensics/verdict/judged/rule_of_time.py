"""Running is not hung (contract, rule 17): without a witness of time nobody is named for a wait.

Records of a running job look like a hang. A later step, or a record in which the operation is completed, is a witness
against one. The person may say that the job stood still (`--hung`).
"""

from msgspec.structs import replace

from forensics.case import Case
from forensics.model.finding import Claim
from forensics.model.names import Reason
from forensics.model.said import inside, unlabelled
from forensics.verdict.judged.arbitrate import Candidate
from forensics.verdict.judged.symptoms import lost_nodes
from forensics.words import verdict as words

# What members brought to one call does not change by waiting.
_OF_THE_CALL = ("collective_mismatch",)


def timed(case: Case, one: Candidate) -> Candidate:
    """A candidate as far as witnesses of time bear it."""
    if one.kind != "hang" or case.hung or one.finding.cause in _OF_THE_CALL or _is_over(case):
        return one
    witness = case.time_witness
    finding = one.finding
    if witness.went_on:
        against = tuple(Claim(words.RAN_ON(how=how), "against", refs) for how, refs in witness.went_on)
        nobody = replace(
            finding, cause=None, ranks=(), hosts=(), devices=(), links=(), cycle=(), suspect_ranks=(), suspect_hosts=(),
            site=None, code=None, undecided=("no_hang",), claims=(*finding.claims, *against), summary=words.LATER_STEP,
        )  # fmt: skip
        return replace(one, finding=nobody, kind="unknown")
    if witness.stood:
        return one
    reason: Reason = "no_time_witness" if case.states.open.height else "single_snapshot"
    suspects = tuple(sorted({*finding.ranks, *finding.cycle, *finding.suspect_ranks}))
    summary = words.IF_IT_STANDS_STILL(summary=inside(unlabelled(finding.summary)))
    reasons = tuple(dict.fromkeys((*finding.undecided, reason)))
    weaker = replace(
        finding, ranks=(), cycle=(), links=(), suspect_ranks=suspects, hosts=(), devices=(), undecided=reasons, summary=summary,
        suspect_hosts=tuple(sorted({*finding.hosts, *finding.suspect_hosts})),
        collect=(words.SECOND_DUMP, *finding.collect),
    )  # fmt: skip
    return replace(one, finding=weaker)


def _is_over(case: Case) -> bool:
    """A process that failed, or gave up on others, ran on to its end: the wait was over. So it is where who started the job says that a node of it
    is lost, which ends the job."""
    ended = any(end.how in ("died", "failed", "gave_up", "bad_loss") for end in case.ends.values())
    return ended or lost_nodes(case).height > 0
