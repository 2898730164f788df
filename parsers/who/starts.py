"""Where each place of a job begins: its first rank, and how many processes it has (process_table.py).

By what processes say of their rank and their place there; by the numbers of nodes; by lists in the order of the ranks; and what is left over. Sources
that contradict what processes say are dropped, and so is a place of which two others say different things.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from parsers.text.patterns import regex
from parsers.text.rank_list import RANKS
from parsers.text.unanimous import unanimous
from parsers.text.vocabulary import of_process
from parsers.who.beginnings import Said
from parsers.who.contexts import Places
from parsers.who.families import Process
from parsers.who.formulas import computed, formulas
from parsers.who.orders import by_file, orders, starts_of

_FEWEST = 2
_MOST = 4096  # processes of one place
_ORDINAL = regex(r"(?P<stem>.*?)-(?P<number>\d{1,5})(?:-[a-z0-9]{4,10})?")
_Starts = Mapping[str, tuple[int, int | None]]  # place → its first rank, its processes


class Starts:
    """`found`: what rows and introductions tell; `ranks`, `locals_`: (place, pid) → number, unanimous."""

    def __init__(
        self,
        said: Mapping[str, Sequence[Said]],
        places: Places,
        paths: Sequence[str],
        found: Sequence[Process],
        world: int | None,
        ranks: Mapping[tuple[str, int], int],
        locals_: Mapping[tuple[str, int], int],
    ) -> None:
        self._said, self._places, self._paths, self._found = said, places, paths, found
        self._ranks, self._locals, self.world = ranks, locals_, world
        self.formulas, self._given = formulas(said)
        self.is_computed = any(computed(one.raw) is not None for own in said.values() for one in own)
        is_open = self.is_computed and not any(
            one.what == "rank" for one in self.formulas
        )  # then no order is that of the ranks
        self._orders = [] if is_open else orders(said, places)

    def starts(self) -> dict[str, range]:
        """Place → its ranks."""
        direct = self._direct()
        known = {place: start for place, start in direct.items() if start is not None}
        wrong = {place for place, start in direct.items() if start is None}
        sources = [source for source in (self._by_nodes(), *self._by_orders()) if source]
        fitting = [
            source
            for source in sources
            if all(source.get(place, (start, None))[0] == start for place, start in known.items())
        ]
        agreed: dict[str, int] = dict(known)
        for place in {*chain.from_iterable(fitting)} - wrong:
            said = {source[place][0] for source in fitting if place in source}
            if len(said) == 1:
                agreed.setdefault(place, min(said))
        counts = self._counts(fitting)
        for place, (start, count) in self._left_over(agreed, counts, wrong).items():
            agreed[place] = start
            counts.setdefault(place, count)
        made = {place: range(start, start + counts[place]) for place, start in agreed.items() if place in counts}
        taken = [rank for ranks in made.values() for rank in ranks]
        if len(set(taken)) < len(taken) or (self.world is not None and any(rank >= self.world for rank in taken)):
            return {}
        return made

    def _direct(self) -> dict[str, int | None]:
        """Place → its first rank, as processes tell their rank and their place there; None where they contradict each other."""
        said: defaultdict[str, set[int]] = defaultdict(set)
        by_pid: dict[tuple[str, int], set[int]] = {}
        for one in self._found:
            if one.place is None:
                continue
            key = (one.place, one.pid or -1)
            rank = one.rank if one.pid is None else self._ranks.get(key)
            local = one.local if one.pid is None else self._locals.get(key)
            if rank is not None and local is not None:
                said[one.place].add(rank - local)
            elif rank is not None and one.is_word:
                by_pid.setdefault((one.place, 0), set()).add(rank)
        for (place, _), ranks in by_pid.items():  # a block of ranks, whoever is which of them
            is_block = len(ranks) > 1 and sorted(ranks) == [*range(min(ranks), max(ranks) + 1)]
            if (
                is_block
                and place not in said
                and self.world
                and not (min(ranks) % len(ranks) or self.world % len(ranks))
            ):
                said[place].add(min(ranks))
        return {place: min(own) if len(own) == 1 and min(own) >= 0 else None for place, own in said.items()}

    def _counts(self, sources: Iterable[_Starts]) -> dict[str, int]:
        """Place → how many processes it has."""
        told: defaultdict[str, set[int]] = defaultdict(set)
        for one in self._found:
            if one.place is not None and one.each is not None:
                told[one.place].add(one.each)
        for source in sources:
            for place, (_, count) in source.items():
                if count is not None:
                    told[place].add(count)
        seen: defaultdict[str, set[int]] = defaultdict(set)
        for one in self._found:
            if one.place is not None and one.local is not None:
                seen[one.place].add(one.local)
        for place, own in seen.items():
            if place not in told and sorted(own) == [*range(len(own))]:
                told[place].add(len(own))
        each = self._each()
        names = {one.place for one in self._found if one.place is not None}
        for place in names if each is not None else ():
            if place not in told:
                told[place].add(each or 0)
        ranks: defaultdict[str, set[int]] = defaultdict(set)
        for one in self._found:
            if one.place is not None and one.rank is not None:
                ranks[one.place].add(one.rank)
        for place, found in ranks.items():
            if place not in told and self.world and self.world % len(found) == 0:
                told[place].add(len(found))
        return {place: min(own) for place, own in told.items() if len(own) == 1 and 0 < min(own) <= _MOST}

    def _each(self) -> int | None:
        """Processes of every place, where one number is told."""
        said = {one.each for one in self.formulas if one.each is not None}
        if any(
            one.node is not None and one.each is None for one in self.formulas
        ):  # by a name, which gets its number elsewhere
            said |= {one.number for one in self._given if of_process(one.name) == "processes_per_node"}
        said |= {
            one.launch.each for own in self._said.values() for one in own if one.launch and one.launch.each is not None
        }
        said = said if len(said) < _FEWEST else said - {1}  # a scheduler's task of each node begins the processes
        return said.pop() if len(said) == 1 else None

    def _left_over(
        self, known: Mapping[str, int], counts: Mapping[str, int], wrong: set[str]
    ) -> dict[str, tuple[int, int]]:
        """The one place that nothing tells of, where all have as many processes."""
        each = {*counts.values()}
        if self.world is None or len(each) != 1 or wrong:
            return {}
        [every] = each
        if self.world % every or len(known) != self.world // every - 1 or not known:
            return {}
        shown = {place for path in self._paths if (place := self._places.of_file(path)) is not None}
        others = {place for place in {*counts, *shown} if place not in known}
        free = set(range(0, self.world, every)) - {*known.values()}
        return {others.pop(): (free.pop(), every)} if len(others) == len(free) == 1 else {}

    def _by_nodes(self) -> dict[str, tuple[int, int | None]]:
        """By the number of each node and the processes of the nodes before it."""
        nodes = {place: number for place, number in self._nodes().items() if number < RANKS}
        if len(nodes) != len({*nodes.values()}) or not nodes:
            return {}
        each = self._each()
        own = {one.place: one.each for one in self._found if one.place is not None and one.each is not None}
        sizes = {own.get(place, each) for place in nodes}
        if len(sizes) == 1 and (size := sizes.pop()) is not None:
            return {place: (number * size, size) for place, number in nodes.items()}
        if None in sizes or sorted(nodes.values()) != [*range(len(nodes))]:
            return {}
        in_order = sorted(nodes, key=lambda place: nodes[place])
        return {
            place: (ranks.start, len(ranks))
            for place, ranks in starts_of(in_order, [own.get(place) or 0 for place in in_order]).items()
        }

    def _nodes(self) -> dict[str, int]:
        pairs = [(one.place, one.node) for one in self._found if one.place is not None and one.node is not None]
        used = {one.node for one in self.formulas if one.node is not None}
        for one in self._given:
            place = self._places.of_file(one.file)
            if place is not None and one.name in used:
                pairs.append((place, one.number))
        for path, own in self._said.items():
            for said in own:
                if said.launch is not None and said.launch.node is not None:
                    host = said.line.host
                    where = (
                        self._places.of(host) if host and self._places.is_place(host) else self._places.of_file(path)
                    )
                    if where is None and said.line.task is not None:
                        where = str(said.line.task)
                    if where is not None:
                        pairs.append((where, said.launch.node))
        found = unanimous(pairs)
        return found or self._by_ordinals(used)

    def _by_ordinals(self, used: set[str]) -> dict[str, int]:
        """By the number in the names of pods, where a formula counts nodes by it."""
        counted = [one for one in self.formulas if one.what == "node_rank" and one.counter is not None]
        if len({one.offset for one in counted}) != 1:
            return {}
        offset = counted[0].offset
        stems: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for place, names in self._places.aliases().items():
            for name in names:
                if (found := _ORDINAL.fullmatch(name)) is not None:
                    stems[found["stem"]][place] = int(found["number"])
        own = max(stems.values(), key=len, default={})
        fixed = {one.number for one in self._given if one.name in used}
        made = {place: number + offset for place, number in own.items()}
        job = next((name.partition("-")[0] for name, places in stems.items() if places is own), "")
        rest = [places for name, places in stems.items() if places is not own and name.partition("-")[0] == job]
        if len(rest) == len(fixed) == 1 and len(rest[0]) == 1:  # a master, whose number is told beside
            made |= dict.fromkeys(rest[0], min(fixed))
        return made if min(made.values(), default=1) == 0 and len({*made.values()}) == len(made) > 1 else {}

    def _by_orders(self) -> Iterator[dict[str, tuple[int, int | None]]]:
        """By lists of places with their counts, or along which a formula counts."""
        each = self._each()
        along = {
            one.file
            for one in self.formulas
            if one.what == "rank"
            and one.node is not None
            and one.node not in {own.name for own in self._given if self._places.of_file(own.file)}
        }
        found = []
        for file, own in by_file(self._orders).items():
            for one in own:
                if one.counts is not None and (one.is_ports or sum(one.counts) == self.world):
                    found.append(starts_of(one.places, one.counts))
                elif one.counts is None and each is not None and file in along:
                    found.append(starts_of(one.places, [each] * len(one.places)))
        if not found and along and each is not None:  # a file of nodes beside the script
            found += [starts_of(one.places, [each] * len(one.places)) for one in self._orders if one.is_file]
        for starts in found:
            yield {place: (ranks.start, len(ranks)) for place, ranks in starts.items()}
