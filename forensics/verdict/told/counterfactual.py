"""What had been without the fault of those who are named: of a hang, who had gone on; of slow steps, how much shorter they were.

It is said only where it comes out: a replay in which somebody is still held proves nothing, as what the records do not show may hold
them. It raises no status, and names nobody.
"""

from forensics.case import Case
from forensics.graph.hang.freed import freed, held_ranks
from forensics.model.finding import Finding
from forensics.model.incident import Counterfactual
from forensics.model.names import Kind
from forensics.model.texts import ranks_text
from forensics.words import verdict as words

_MOST = 64  # named ranks of whom each is left out once


def counterfactual(case: Case, finding: Finding, kind: Kind) -> Counterfactual | None:
    """The finding of an incident → what had been without it; None where that is not shown."""
    if kind == "slow":
        return _slow(case)
    if not case.has_open_operations:
        return None
    if finding.cycle:
        return _cycle(case, finding.cycle)
    return _waits(case, frozenset(finding.ranks)) if finding.ranks else None


def _slow(case: Case) -> Counterfactual | None:
    shares = case.shares
    if shares is None:
        return None
    told = {"culprits": shares.by_culprits, "batches": shares.by_batches, "stages": shares.by_stages}
    rest = 1 - sum(told.values())
    text = words.STEPS_WITHOUT(**{name: f"{100 * share:.1f}" for name, share in told.items()}, rest=f"{100 * rest:.1f}")
    return Counterfactual(
        ranks=list(shares.ranks), links=[list(link) for link in shares.links],
        shares={name: round(share, 4) for name, share in told.items()}, is_smallest=bool(shares.ranks or shares.links), text=text,
    )  # fmt: skip


def _waits(case: Case, ranks: frozenset[int]) -> Counterfactual | None:
    held = held_ranks(case.waits) - ranks
    if not held or held - freed(case.waits, ranks):
        return None
    fewer = len(ranks) <= _MOST and all(held - freed(case.waits, ranks - {rank}) for rank in ranks)
    form = words.HAD_COME if len(ranks) == 1 else words.HAD_COME_ALL if fewer else words.HAD_COME_SOME
    return Counterfactual(
        ranks=sorted(ranks), freed=len(held), waiters=len(held), is_smallest=fewer,
        text=form(who=ranks_text(sorted(ranks)), waiters=ranks_text(sorted(held))),
    )  # fmt: skip


def _cycle(case: Case, ranks: tuple[int, ...]) -> Counterfactual | None:
    """Of ranks that wait for each other, each alone would do."""
    held = held_ranks(case.waits)
    if not held or any(held - {rank} - freed(case.waits, {rank}) for rank in ranks[:_MOST]):
        return None
    return Counterfactual(
        ranks=sorted(ranks), freed=len(held), waiters=len(held), is_smallest=False,
        text=words.HAD_ANY_COME(who=ranks_text(sorted(ranks)), waiters=ranks_text(sorted(held))),
    )  # fmt: skip
