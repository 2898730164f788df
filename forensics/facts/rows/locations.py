"""What hosts share: a rack, a switch, a zone, a rail; and whether that is more than chance.

Of n hosts (or ports) that are in question, k are at one place that holds K of the N of the job: with no common cause, so many
are there with the chance of the hypergeometric tail. Every place that holds several is asked, so the chance is multiplied by
their number (Bonferroni). A place that holds all of the job's hosts tells nothing. Places that hold the same hosts are one.

Nobody is accused by this: who stands in the same rack is a neighbour and no suspect.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from math import comb

import msgspec
import polars as pl

from forensics.facts.rows.event_rows import refs
from forensics.model.hosts import short_host, short_hosts
from forensics.model.ref import Ref
from forensics.model.said import Said, joined
from forensics.model.texts import first_of
from forensics.words import facts as words

_LIKELY = 0.05  # chance below which a common place is none; usual
_NAMED = 4  # hosts, and places that hold the same ones
Thing = tuple[str, str | None]  # (host, port), port null for the whole host
Place = tuple[str, str]  # (sort, name)


class Shared(msgspec.Struct, frozen=True):
    """`things`: those in question that are at one of `places`, which hold the same; `of`: all in question that are placed;
    `there`, `placed`: of the job. `chance`: of so many there without a common cause, over all `asked` places."""

    places: tuple[Place, ...]
    things: tuple[Thing, ...]
    of: int
    there: int
    placed: int
    asked: int
    chance: float
    refs: tuple[Ref, ...]

    @property
    def is_likely(self) -> bool:
        """Is it hardly chance?"""
        return self.chance < _LIKELY

    @property
    def name(self) -> Said:
        """ "switch leaf-3"."""
        names = [words.NAMED(sort=words.PLACE.get(sort, sort), name=name) for sort, name in self.places]
        shown = joined(names[:_NAMED], ", ")
        return words.AND_MORE(names=shown) if len(names) > _NAMED else shown

    @property
    def text(self) -> Said:
        """The statement with its chance."""
        few = len(self.things) < self.of
        which = words.IN_QUESTION(number=len(self.things), of=self.of) if few else words.ALL_IN_QUESTION(of=self.of)
        return (words.SHARED if self.is_likely else words.SHARED_BY_CHANCE)(
            who=listed(f"{host} {port}" if port else host for host, port in self.things), which=which, place=self.name,
            things=words.PORTS if self.things[0][1] else words.HOSTS, there=self.there, placed=self.placed,
            chance=self.chance, asked=self.asked,
        )  # fmt: skip


def listed(names: Iterable[str]) -> Said:
    """The first names of many."""
    return first_of(sorted(names), _NAMED)


class Locations(msgspec.Struct, frozen=True, dict=True):
    """The map, for the hosts of the job. `rows`: the table `locations`; `job`: its hosts, first labels."""

    rows: pl.DataFrame
    job: frozenset[str] = msgspec.field(default_factory=frozenset)

    @cached_property
    def _placed(self) -> pl.DataFrame:
        return self.rows.with_columns(short_hosts()).filter(pl.col("host").is_in(list(self.job)))

    @cached_property
    def hosts(self) -> Mapping[Place, frozenset[Thing]]:
        """Place → the hosts of the job there."""
        return _by_place((*place, None) for place in self._placed.select("sort", "name", "host").iter_rows())

    @cached_property
    def ports(self) -> Mapping[Place, frozenset[Thing]]:
        """Place → the ports of the job there, where the map tells ports."""
        return _by_place(self._placed.select("sort", "name", "host", "part").drop_nulls("part").iter_rows())

    def of(self, host: str) -> list[Place]:
        """Where a host stands, the smallest place first."""
        there = [place for place, things in self.hosts.items() if (short_host(host), None) in things]
        return sorted(there, key=lambda place: (len(self.hosts[place]), place))

    def shared(self, hosts: Collection[str]) -> Shared | None:
        """What several hosts have in common; of several places the least likely by chance, then the smallest."""
        return self._common(self.hosts, frozenset((short_host(host), None) for host in hosts))

    def shared_ports(self, ports: Collection[tuple[str, str]]) -> Shared | None:
        """The same of ports: adapter and port, as in mlx5_3/1, are told by the adapter."""
        return self._common(self.ports, frozenset((short_host(host), part.partition("/")[0]) for host, part in ports))

    def _common(self, places: Mapping[Place, frozenset[Thing]], asked_of: frozenset[Thing]) -> Shared | None:
        by_sort: dict[str, set[Thing]] = defaultdict(set)
        alike: dict[frozenset[Thing], list[Place]] = defaultdict(list)
        for place, things in sorted(places.items()):
            by_sort[place[0]] |= things
            alike[things].append(place)
        asked = sum(len(things) > 1 for things in alike)
        found: list[Shared] = []
        for things, names in alike.items():
            whole = by_sort[names[0][0]]
            mine, of = things & asked_of, len(whole & asked_of)
            if len(mine) > 1:
                chance = min(1.0, asked * _tail(len(mine), len(whole), len(things), of))
                shared, cited = tuple(sorted(mine, key=str)), self._refs(names, mine)
                found.append(Shared(tuple(names), shared, of, len(things), len(whole), asked, chance, cited))
        return min(found, key=lambda one: (one.chance, one.there, one.places), default=None)

    def _refs(self, places: list[Place], things: frozenset[Thing]) -> tuple[Ref, ...]:
        sort, name = places[0]
        is_there = (pl.col("sort") == sort) & (pl.col("name") == name)
        rows = self._placed.filter(is_there & pl.col("host").is_in([host for host, _ in things]))
        return refs(rows.with_columns(text=pl.lit(f"{sort} {name}: ") + pl.col("host")).iter_rows(named=True))


def _by_place(rows: Iterable[tuple[str, str, str, str | None]]) -> dict[Place, frozenset[Thing]]:
    found: dict[Place, set[Thing]] = defaultdict(set)
    for sort, name, host, part in rows:
        found[sort, name].add((host, part))
    return {place: frozenset(things) for place, things in found.items()}


def _tail(least: int, whole: int, there: int, drawn: int) -> float:
    """The chance that of `drawn` out of `whole` at least `least` are among `there`."""
    ways = sum(comb(there, k) * comb(whole - there, drawn - k) for k in range(least, min(there, drawn) + 1))
    return ways / comb(whole, drawn)
