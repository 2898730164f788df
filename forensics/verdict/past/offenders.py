"""Who was accused more often than chance would have it, over many incidents.

In an incident that accuses a of the n hosts of the job, an innocent host is accused with chance a/n. The chance to be
accused at least as often as it was, over all incidents that it took part in, is the upper tail of the sum of these (the
binomial test, where the jobs are alike). As every host is asked, the tail is multiplied by the number of hosts (Bonferroni).
A device is asked with the chance of its host, which is the larger one.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from forensics.model.causes import CAUSES
from forensics.model.past import PastIncident, Thing

LIKELY = 0.05  # chance below which repetition is none; usual
OF_THINGS = frozenset(cause for cause, row in CAUSES.items() if row.is_of_hardware)
_FEWEST = 2  # accusations without which nothing is a repetition


class Offender(NamedTuple):
    """`times`: incidents that accuse it, or suspect it alone; `suspected`: how many of these only suspect it. `of`: those that
    it took part in and that accuse or suspect anybody. `expected`: of an innocent one. `chance`: to be told so often without
    fault, corrected for the number of things asked."""

    kind: str
    name: str
    times: tuple[PastIncident, ...]
    suspected: int
    of: int
    expected: float
    chance: float

    @property
    def is_likely(self) -> bool:
        """Is it hardly chance, and not the work of the same ranks, which a job that is restarted deals out alike?"""
        return len(self.times) >= _FEWEST and self.chance < LIKELY and not self.is_of_ranks

    @property
    def is_of_ranks(self) -> bool:
        """Did the same ranks run there each time? Then the fault may be theirs, unless it lies in a device or a link."""
        is_of_thing = any(one.cause in OF_THINGS for one in self.times)
        return len({one.ranks for one in self.times}) < _FEWEST and not is_of_thing

    @property
    def signature(self) -> str | None:
        """The signature that came more than once."""
        counted: dict[str, int] = defaultdict(int)
        for one in self.times:
            counted[one.signature] += 1
        best = max(counted, key=lambda text: (counted[text], text), default=None)
        return best if best is not None and counted[best] > 1 else None


def offenders(past: Sequence[PastIncident]) -> list[Offender]:
    """Incidents → everybody who was accused or suspected, the least likely to be innocent first."""
    things = {thing for one in past for thing in (*one.accused, *one.suspected)}
    asked = len({("host", host) for one in past for host in one.hosts} | things)
    found = [_offender(thing, past, asked) for thing in things]
    return sorted(found, key=lambda one: (one.chance, -len(one.times), -one.suspected, one.kind, one.name))


def _offender(thing: Thing, past: Sequence[PastIncident], asked: int) -> Offender:
    times = tuple(one for one in past if thing in _told(one))
    homes = {thing[1]} if thing[0] == "host" else {host for one in times for host in _hosts(one)}
    there = [one for one in past if _hosts(one) and (homes & {*one.hosts} or one in times)]
    chances = [len(_hosts(one)) / len({*one.hosts, *_hosts(one)}) for one in there]
    return Offender(
        kind=thing[0], name=thing[1], times=times, suspected=sum(thing in one.suspected for one in times), of=len(there),
        expected=sum(chances), chance=min(1.0, tail(chances, len(times)) * asked),
    )  # fmt: skip


def _told(one: PastIncident) -> list[Thing]:
    return [*one.accused, *one.suspected]


def _hosts(one: PastIncident) -> set[str]:
    """Hosts that an incident accuses or suspects."""
    return {name for kind, name in _told(one) if kind == "host"}


def tail(chances: Iterable[float], times: int) -> float:
    """The chance that at least `times` of independent events happen, each with its own chance."""
    of = [1.0]  # of[k]: exactly k so far
    for chance in chances:
        of = [same * (1 - chance) + one_less * chance for same, one_less in zip([*of, 0.0], [0.0, *of], strict=True)]
    return min(1.0, sum(of[times:]))
