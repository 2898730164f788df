"""Names that differ from told ones in their number alone: `…-worker-2`, where a description of `…-worker-0` says rank 1 and one of `…-master-0` rank 0.

Of each **stem** (a name without the number at its end) whose told ranks differ from the numbers by one offset, all names that the bundle holds are
counted on. They stand only if together they are just 0 … N-1 of the world of N that is told, each once: then no other count would fit.

Fooled by: a job whose replicas of one kind are given ranks in another order than their numbers, of which only one is told.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from parsers.schema.names import Told
from parsers.text.patterns import regex
from parsers.text.unanimous import unanimous

_STEM = regex(r"(?P<stem>[A-Za-z0-9][\w.-]*?[A-Za-z][-_]?)(?P<number>\d{1,5})")


def counted_on(told: Iterable[Told], names: Iterable[str], world: int | None) -> Iterator[Told]:
    """What was told, the names of places in the bundle → what it tells of the names beside them."""
    by_kind: defaultdict[str, list[Told]] = defaultdict(list)
    told, names = list(told), {*names}
    for one in told:
        if one.rank is not None and one.local_rank is None and one.kind not in ("folder", "pid"):
            by_kind[one.kind].append(one)
    worlds = {one.world for one in told if one.world is not None} | ({world} if world is not None else set())
    for own in by_kind.values() if len(worlds) == 1 else ():
        yield from _of_kind(own, names, min(worlds))


def _of_kind(told: Iterable[Told], names: set[str], world: int) -> Iterator[Told]:
    known = unanimous((one.name, one) for one in told)
    stems = [(one, found) for one in known.values() if (found := _STEM.fullmatch(one.name)) is not None]
    offsets = unanimous((found["stem"], (one.rank or 0) - int(found["number"])) for one, found in stems)
    examples = {found["stem"]: one for one, found in stems}
    if any(found["stem"] not in offsets for _, found in stems):
        return
    ranks: defaultdict[int, set[str]] = defaultdict(set)
    made: list[Told] = []
    for name in {*names, *known}:
        found = _STEM.fullmatch(name)
        if found is not None and found["stem"] in offsets:
            rank = int(found["number"]) + offsets[found["stem"]]
            ranks[rank].add(name)
            if name not in known:
                made.append(replace(examples[found["stem"]], name=name, rank=rank))
    if sorted(ranks) == [*range(world)] and all(len(own) == 1 for own in ranks.values()):
        yield from sorted(made, key=lambda one: one.rank or 0)
