"""Which hosts do all operations share that everybody entered and nobody finished?

Method: communicator overlap (after Aegis and C4): a fault of one host stalls the groups that pass through it; the smallest
set of hosts that touches every stalled group is the explanation. Several smallest sets explain alike, and all are listed.
A group that is not stalled speaks for nobody: it may have made its last call before.
"""

from collections.abc import Iterable, Mapping
from itertools import combinations

import msgspec

_MOST_HOSTS = 512  # of which pairs are tried


class Overlap(msgspec.Struct, frozen=True):
    """`covers`: the smallest sets of hosts, each an explanation. `ranks`: members of stalled operations on these hosts."""

    covers: tuple[tuple[str, ...], ...]
    ranks: tuple[int, ...]

    @property
    def hosts(self) -> tuple[str, ...]:
        """All hosts of all explanations, ascending."""
        return tuple(sorted({host for cover in self.covers for host in cover}))

    @property
    def named(self) -> tuple[str, ...]:
        """The one host that explains everything alone; empty where there are others."""
        return self.covers[0] if len(self.covers) == 1 and len(self.covers[0]) == 1 else ()


def smallest_covers(touched: Iterable[frozenset[str]]) -> tuple[tuple[str, ...], ...]:
    """All smallest sets, of one host or two, that touch every one of these sets; none where two hosts are too few."""
    stalled = list(touched)
    if not stalled:
        return ()
    if common := frozenset.intersection(*stalled):
        return tuple((host,) for host in sorted(common))
    hosts = sorted(frozenset.union(*stalled))
    if len(hosts) > _MOST_HOSTS:
        return ()
    pairs = combinations(hosts, 2)
    return tuple(pair for pair in pairs if all(pair[0] in those or pair[1] in those for those in stalled))


def overlap(members: Iterable[tuple[int, ...]], place: Mapping[int, str]) -> Overlap | None:
    """Members of each stalled operation, rank → host → Overlap; None where it narrows nothing down: one operation, the
    same hosts in all, a member whose host is not known, or as many hosts blamed as touched."""
    ranks = {rank for those in members for rank in those}
    if not all(place.get(rank) for rank in ranks):
        return None
    touched = {frozenset(place[rank] for rank in those) for those in members}
    covers = smallest_covers(sorted(touched, key=sorted)) if len(touched) > 1 else ()
    blamed = {host for cover in covers for host in cover}
    if not blamed or blamed == frozenset.union(*touched):
        return None
    return Overlap(covers, tuple(sorted(rank for rank in ranks if place[rank] in blamed)))
