"""What weakens the best explanation: witnesses that contradict it.

They are printed with what each explains, never averaged: where the other side has as many independent witnesses,
nobody is named and both are suspects.
"""

from collections.abc import Sequence
from dataclasses import replace

from forensics.case import Finding


def settle(best: Finding, others: Sequence[Finding]) -> Finding:
    """The best finding as far as its rivals leave it."""
    rivals = rivals_of(best, others)
    if not rivals:
        return best
    undecided = tuple(dict.fromkeys((*best.undecided, "conflicting_evidence")))
    against = " ".join(
        f"Other witnesses ({', '.join(sorted(_backing(rival)))}) say: {rival.summary}" for rival in rivals
    )
    weaker = replace(best, strong=False, undecided=undecided, summary=f"{best.summary} {against}")
    if max(len(_backing(rival)) for rival in rivals) < len(_backing(best)):
        return weaker
    both = {*best.ranks, *best.suspect_ranks}.union(*(rival.ranks for rival in rivals))
    return replace(
        weaker, cause=None, site=None, code=None, ranks=(), hosts=(), devices=(), suspect_ranks=tuple(sorted(both))
    )


def _backing(finding: Finding) -> set[str]:
    return {claim.witness for claim in finding.claims if claim.direction == "for"}


def rivals_of(best: Finding, others: Sequence[Finding]) -> list[Finding]:
    """Strong findings of the same kind that name other ranks, by witnesses that do not also speak for the best one."""
    return [
        other
        for other in others
        if other.kind == best.kind and other.strong and other.ranks and best.ranks
        and not set(other.ranks) & set(best.ranks) and not _backing(other) & _backing(best)
    ]  # fmt: skip
