"""Whose rank the name at the head of a line is, where nobody has taught the form.

A **slot** is what differs from process to process before the words of a line: a launcher's task, a host (a pod, a container), a
local rank, a head (heads.py). A **join** says, for one slot or two together (`gn02: [default1]:`), which of its values have which rank.

It is admitted whole or not at all:
- two values at least that have ranks, each on two lines with words behind it, and they print alike: half of the templates of the
  poorest of them are those of all; a step of which one value prints two records is one of several processes;
- each value is of one rank, each rank of one value, each process number of one value;
- of whom, is known by what its own lines introduce or print, by what a document or a line tells of that name (told_pairs.py), by the
  number of its process; where all numbers in the names are such by one offset, also of names that are not told. Else by **place**:
  host's number among the nodes × processes of a node + local rank, where the launch tells both. Else by **count**: the numbers are
  0 … N-1 of a world that the launch tells, or they are MPI's, or the names count from 0 or 1 to the N that they tell themselves (`(6/8)`, `w6/8`).

So levels, modules, threads, experts, epochs, devices of several hosts are none. A name without a rank stays without one.

Fooled by: processes that are counted from 1 in another order than their ranks, and say so nowhere.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, islice, pairwise

import msgspec

from parsers.schema.labels import OF_GROUP, Join
from parsers.schema.names import NO_NAMES, Names
from parsers.text.patterns import regex
from parsers.text.unanimous import sole, unanimous
from parsers.text.vocabulary import meaning_of
from parsers.who.labels.seat_labels import Label, Seats, is_device, place_told, seated
from parsers.who.lines.collected import Line
from parsers.who.lines.heads import Head
from parsers.who.lines.launch_words import Launch
from parsers.who.lines.prefixes import SLOTS
from parsers.who.told.computed_names import counted_names

_OUTER = {"host": 0, "task": 1, "local_rank": 3}
_MARKS = "/:."  # between them
FORMS = 6  # of heads in files of one shape of name, the most frequent
_FEWEST = 2
_PLACES = 4  # of numbers in a name, at most
_ALIKE = 4
JOINS = 4  # of files of one shape of name
DEVICES = 16  # of a host, hardly more
_MOST = 0.8  # of all lines, at least, that bare counts stand before
_AGAIN = 0.25  # of the records of steps, at most, that one process prints again
_FIGURE = regex(r"\d+\.\d+(?:e[+-]?\d+)?|\bnan\b|\binf\b|\d{5,}")
_TEMPLATE = regex(
    r"(?:(?<= )[ +-]{0,8}|(?<=[=:(\[,])[+-])?(?:[0-9a-f]*\d[0-9a-f.]*(?:(?<=e)[+-]\d{1,3})?|(?i:\b(?:nan|inf)\b))"
)  # with its sign: what is negative on one rank is no other line
_NUMBER = regex(r"\d{1,7}")
_WORD = regex(r"[A-Za-z]+(?=[^A-Za-z]{0,3}\Z)")
_LETTER = regex(r"[^\W\d_]")  # of any script
_OF_TOTAL = regex(r"(?P<before>(?:[A-Za-z]{1,12}[-_.#]?)?)(?P<number>\d{1,6})/(?P<size>\d{1,6})")
_OF_JOB = ("w", "worker", "r", "rank", "p", "proc", "process", "replica", "trainer", "task", "member", "peer")
_REPLICA = regex(r"[-_]\d{1,3}\Z")
_SAYS_RANK = regex(
    r"(?<![\w-])(?:global[_ ]?rank|world[_ ]?rank|process[_ ]index|process[_ ]id|rank)[\"']?\s{0,2}[=:]\s{0,2}[\"']?(\d{1,7})(?![\w%]|\.\d)",
    re.I,
)
Key = tuple[str, ...]
Value = tuple[str, ...]


class Spoken(msgspec.Struct, frozen=True):
    """A line: what its slots hold and the words behind each, the rank that it is known to be of, its process, whether MPI printed its
    task, and what it tells of the launch."""

    slots: Mapping[str, tuple[str, str]]
    text: str
    rank: int | None
    pid: int | None
    is_mpi: bool
    launch: Launch | None


class Told(msgspec.Struct, frozen=True):
    """What the bundle tells elsewhere: the size of the world, name → rank, process number → rank, name of a node → its number, the processes of a node. `are_others`:
    what a launcher counts are tasks that begin processes, or processes whose ranks a script computes. `here`, of one log of a node: local rank → rank;
    `within`: name → rank of names that mean another one elsewhere. `counter`, of a script: what is added to a number, the modulus, whether a launcher
    counts it. `each_task`: processes of each of a launcher's tasks, by which a script counts the ranks."""

    world: int | None = None
    names: Mapping[str, int] = msgspec.field(default_factory=dict)
    pids: Mapping[int | None, int] = msgspec.field(default_factory=dict)
    nodes: Mapping[str, int] = msgspec.field(default_factory=dict)
    each: int | None = None
    documents: Names = NO_NAMES
    are_others: bool = False
    here: Mapping[int, int] = msgspec.field(default_factory=dict)
    counter: tuple[int, int | None, bool] | None = None
    each_task: int | None = None
    within: Mapping[str, int] = msgspec.field(default_factory=dict)


By = Mapping[Value, Sequence[Spoken]]


def spoken(line: Line, heads: Sequence[Head], launched: Launch | None, rank: int | None) -> Spoken:
    """A line without its known decoration, of which the rank may be known."""
    slots = {head.form: (head.value, head.behind) for head in heads}
    for slot in SLOTS:
        if (value := getattr(line, slot)) is not None:
            slots[slot] = (str(value), line.text)
    pid = line.process if line.process is not None else next((head.pid for head in heads if head.pid is not None), None)
    return Spoken(slots, line.text, rank, pid, line.is_mpi, launched)


def joins(lines: Sequence[Spoken], told: Told, *, of_file: bool = False) -> tuple[Join, ...]:
    """What is admitted of the files of one shape of name: of one slot, or else of two together. `of_file`: of one file beside others
    of its shape, where the same names may be of others; then all must be told there."""
    counts = Counter(slot for one in lines for slot in one.slots)
    values: defaultdict[str, set[str]] = defaultdict(set)
    for one in lines:
        for slot, (value, _) in one.slots.items():
            values[slot].add(value)
    several = [slot for slot, many in counts.most_common() if 1 < len(values[slot]) <= many // _FEWEST][:FORMS]
    if proven := [join for slot in counts if (join := _proven(slot, values[slot], lines, told))]:
        return tuple(proven[:JOINS])
    if by_seats := seated([*_labels(lines, of_file=of_file)], _seats(told)):
        return by_seats[:JOINS]
    singles = [(slot,) for slot in several if slot != "local_rank" or of_file]
    found = [join for key in singles if (join := _join(key, lines, told, of_file=of_file))]
    documents = told.documents
    is_told = bool(told.nodes or documents.places or documents.ranks or told.each_task)
    if not found and not of_file and (is_told or any(one.rank is not None for one in lines)):
        outer = sorted(several, key=lambda slot: _OUTER.get(slot, 2))  # a node stands before what is on it
        keys = combinations(outer, 2)
        found = [join for key in keys if (join := _join(key, lines, told))]
    return tuple(found[:JOINS])


def _seats(told: Told) -> Seats:
    own = told.documents
    return Seats(own.places, told.here, own.labels, own.is_by_device, own.devices)


def _labels(lines: Iterable[Spoken], *, of_file: bool) -> Iterator[Label]:
    """What lines of a file have at their heads, or behind the name of a place."""
    for one in lines:
        for slot, (value, _) in one.slots.items():
            if slot not in SLOTS:
                outer = [None] if of_file else [name for name in ("host", "container") if name in one.slots]
                for name in outer:
                    place = None if name is None else one.slots[name][0]
                    yield Label(name, place, slot, _up_to(one, slot), value, one.rank)


def _proven(slot: str, values: Iterable[str], lines: Sequence[Spoken], told: Told) -> Join | None:
    """Of names that are the place and the number of a known process, most of them or those of most lines, whatever they print."""
    if not told.documents.processes or slot in SLOTS:
        return None
    own = list(values)
    ranks: dict[Value, int] = {(value,): rank for value in own if (rank := told.documents.process(value)) is not None}
    said = [(one.rank, ranks.get((one.slots[slot][0],))) for one in lines if slot in one.slots]
    is_wrong = any(None not in pair and pair[0] != pair[1] for pair in said)
    is_most = 2 * len(ranks) > len(own) or 2 * sum(rank is not None for _, rank in said) > len(said)
    return Join((slot,), ranks) if len(ranks) >= _FEWEST and is_most and not is_wrong else None


def names_in(learnt: Iterable[Join]) -> Iterator[tuple[str, int]]:
    """Names that joins of one slot tell, with their rank."""
    alone = (join for join in learnt if len(join.key) == 1 and join.key != ("task",))
    return ((key[0], rank) for join in alone for key, rank in join.ranks.items())


def heads_in(learnt: Iterable[Join]) -> dict[str, frozenset[str]]:
    """Form of heads → the names that are joined."""
    names: defaultdict[str, set[str]] = defaultdict(set)
    for join in learnt:
        for values in join.ranks:
            for slot, value in zip(join.key, values, strict=True):
                if slot not in SLOTS:
                    names[slot].add(value)
    return {form: frozenset(own) for form, own in names.items()}


def _join(key: Key, lines: Sequence[Spoken], told: Told, *, of_file: bool = False) -> Join | None:
    grouped: defaultdict[Value, list[Spoken]] = defaultdict(list)
    for one in lines:
        if all(slot in one.slots for slot in key):
            grouped[tuple(one.slots[slot][0] for slot in key)].append(one)
    spoken_by = {value for value, own in grouped.items() if _is_spoken(own, key)}
    evidence = _evidence(key, grouped, told) if len(spoken_by) >= _FEWEST else None
    if evidence is None:
        return None
    times = Counter(evidence.values())  # who quotes the rank of another speaks a line, hardly more
    evidence = {value: rank for value, rank in evidence.items() if times[rank] < _FEWEST or value in spoken_by}
    here = _here(grouped, told)
    others = {*told.within.values()} - {*evidence.values()} if told.within else spoken_by - evidence.keys()
    is_other = any(here.get(value) != rank for value, rank in evidence.items()) if here else not evidence or others
    if is_other and (here or of_file):  # beside all of a document who began them may speak
        return None
    ranks = here or _seats_told(key, {value: grouped[value] for value in spoken_by}, told)
    if any(ranks.get(value, rank) != rank for value, rank in evidence.items()):
        return None
    ranks = ranks or (_extended(evidence, grouped, told) if evidence else _placed(key, grouped, told))
    if not ranks and not evidence and len(key) == 1 and not any(one.rank is not None for one in lines):
        ranks = _counted(key, grouped, lines, told)
    named = {value: grouped[value] for value in ranks if value in spoken_by}
    if len(named) < _FEWEST or len(set(ranks.values())) < len(ranks):
        return None
    # All of the job say it themselves, each under another name: the stages of a pipeline print different things.
    is_whole = told.world == len(evidence) and spoken_by <= evidence.keys()
    is_theirs = is_whole or (_are_alike(named, key, is_told=bool(evidence)) and _are_alone(named, key))
    if (_may_be_devices(ranks, told) and not of_file) or not (is_theirs and _are_apart(grouped, ranks)):
        return None
    return Join(key, ranks)


def _evidence(key: Key, grouped: By, told: Told) -> dict[Value, int] | None:
    """Value → rank, as lines, names and process numbers tell; None where they contradict each other."""
    said: defaultdict[Value, set[int]] = defaultdict(set)
    for value, own in grouped.items():
        said[value] |= {one.rank for one in own if one.rank is not None}
        said[value] |= {rank for one in own if (rank := told.pids.get(one.pid)) is not None and one.pid is not None}
        if (rank := _of_name(value[0], told) if len(key) == 1 else _of_names(value, told)) is not None:
            said[value].add(rank)
    found = {value: next(iter(own)) for value, own in said.items() if len(own) == 1}
    if any(len(own) > 1 and not own <= set(found.values()) for own in said.values()):
        return None  # else it tells of others only, as a launcher does
    return found or _introduced(grouped, told)


def _introduced(grouped: By, told: Told) -> dict[Value, int]:
    """Who says its rank and nothing else beside it (`Process index: 2`), where these are all ranks of a world."""
    said = {value: {rank for one in own if (rank := _says(one.text)) is not None} for value, own in grouped.items()}
    found = {value: next(iter(own)) for value, own in said.items() if len(own) == 1}
    is_whole = sorted(found.values()) == list(range(len(found))) and told.world in (None, len(found))
    return found if is_whole and all(len(own) < _FEWEST for own in said.values()) else {}


def _says(text: str) -> int | None:
    found = [one for one in _SAYS_RANK.finditer(text) if not OF_GROUP.search(text[: one.start()])]
    return int(found[0][1]) if len({one[1] for one in found}) == 1 else None


def _of_name(name: str, told: Told) -> int | None:
    """The rank of a name that is told, also of its first replica, or in a project (`lm-trainer-c-1`)."""
    names = {**told.documents.ranks, **told.names, **told.within}
    disputed = told.documents.disputed - told.within.keys()
    for own in dict.fromkeys((name, name.split(".", 1)[0], _REPLICA.sub("", name), name.lstrip("%#@"))):
        if own in names or own in disputed:
            return None if own in disputed else names[own]
    bare = _REPLICA.sub("", name)
    return sole(rank for known, rank in names.items() if bare.endswith((f"-{known}", f"_{known}")))


def _of_names(value: Value, told: Told) -> int | None:
    """The rank of two names that are told as one (`mixer-0/b`)."""
    return sole(rank for mark in _MARKS if (rank := told.documents.ranks.get(mark.join(value))) is not None)


def _extended(evidence: Mapping[Value, int], grouped: By, told: Told) -> dict[Value, int]:
    """With the names alike but for their number, where all that are told differ from it by one offset."""
    ranks = dict(evidence)
    for place in range(_PLACES):
        numbered = {value: found for value in grouped if (found := _numbered(value, place)) is not None}
        known = [(numbered[value], rank) for value, rank in evidence.items() if value in numbered]
        counts = Counter(shape for (shape, _), _ in known)
        offsets = unanimous((shape, rank - number) for (shape, number), rank in known if counts[shape] >= _FEWEST)
        for value, (shape, number) in numbered.items():
            rank = number + offsets.get(shape, 0)
            is_free = value not in ranks and rank not in ranks.values() and shape in offsets
            if is_free and rank >= 0 and (told.world is None or rank < told.world):
                ranks[value] = rank
    return ranks


def _numbered(value: Value, place: int) -> tuple[tuple[str, ...], int] | None:
    """A single name without its number at this place, and the number."""
    numbers = list(_NUMBER.finditer(value[0])) if len(value) == 1 else []
    if place >= len(numbers):
        return None
    own = numbers[place]
    return (value[0][: own.start()], value[0][own.end() :]), int(own[0])


def _placed(key: Key, grouped: By, told: Told) -> dict[Value, int]:
    """By the number of the node and the local rank on it, where all local ranks are shown."""
    if len(key) != _FEWEST:
        return {}
    places = told.documents.places
    ranks: dict[Value, int] = {}
    known: defaultdict[str, set[int]] = defaultdict(set)
    for place, number in places:
        known[place].add(number)
    if not told.documents.is_by_device and any(is_device(_up_to(own[0], key[1])) for own in grouped.values()):
        return _by_devices(grouped, told.documents)
    is_task = key[0] == "task" and told.each_task is not None
    each = told.each_task if is_task else told.each
    for value in grouped:
        node, numbers = int(value[0]) if is_task else told.nodes.get(value[0]), _NUMBER.findall(value[1])
        if len(numbers) != 1:
            continue
        if value[0] in known and int(numbers[0]) not in known[value[0]]:
            return {}  # the place has no such process
        if (rank := places.get((value[0], int(numbers[0])))) is not None:
            ranks[value] = rank
        elif node is not None and each is not None and int(numbers[0]) < each:
            ranks[value] = node * each + int(numbers[0])
    locals_ = {int(_NUMBER.findall(value[1])[0]) for value in ranks}
    is_whole = bool(ranks) and locals_ == set(range(each or len(locals_)))
    return ranks if is_whole and (told.world is None or max(ranks.values()) < told.world) else {}


def _by_devices(grouped: By, documents: Names) -> dict[Value, int]:
    """By the devices that each place shows to its processes, by their numbers or in their order, whichever all of them tell of."""
    seen = {value: (value[0], int(numbers[0])) for value in grouped if len(numbers := _NUMBER.findall(value[1])) == 1}
    pairs, places = {*seen.values()}, {place for place, _ in seen.values()}
    told = (documents.devices, documents.places)
    ways = [known for known in told if pairs == {pair for pair in known if pair[0] in places}]
    is_shown = len(seen) == len(grouped) and places <= {place for place, _ in documents.devices}
    return {value: ways[0][pair] for value, pair in seen.items()} if is_shown and len(ways) == 1 else {}


def _seats_told(key: Key, grouped: By, told: Told) -> dict[Value, int]:
    """By the place on its host that each tells of itself, where all of each host do, each another one: a launcher tells those of others."""
    places = {("", local): rank for local, rank in told.here.items()} if len(key) == 1 else told.documents.places
    told_by = {value: [place_told(_words(one, key)) for one in own] for value, own in grouped.items()}
    here = {value: {local for local in own if local is not None} for value, own in told_by.items()}
    seats = {value: ("" if len(key) == 1 else value[0], min(own)) for value, own in here.items() if len(own) == 1}
    ranks = {value: places[seat] for value, seat in seats.items() if seat in places}
    hosts = {host for host, _ in seats.values()}
    is_whole = sorted(seats.values()) == sorted(seat for seat in places if seat[0] in hosts)
    return ranks if is_whole and len(ranks) == len(seats) else {}


def _here(grouped: By, told: Told) -> dict[Value, int]:
    """By the local rank alone, in a log of a node that tells the places of all its processes: one number each, in names that are else alike."""
    for place in range(_PLACES if told.here else 0):
        numbered = {value: found for value in grouped if (found := _numbered(value, place))}
        numbers = sorted(number for _, number in numbered.values())
        is_one_form = len(numbered) == len(grouped) and len({words for words, _ in numbered.values()}) == 1
        if is_one_form and numbers == sorted(told.here):
            return {value: told.here[number] for value, (_, number) in numbered.items()}
    return {}


def _counted(key: Key, grouped: By, lines: Sequence[Spoken], told: Told) -> dict[Value, int]:
    """By their number alone."""
    if not _is_mixed(key, lines):
        return {}
    totals = {value: found for value in grouped if (found := _OF_TOTAL.fullmatch(value[0]))}
    sizes = {(found["before"], int(found["size"])) for found in totals.values()}
    if len(sizes) == 1 and (size := next(iter(sizes))[1]) >= _FEWEST and told.world in (None, size):
        numbers = {value: int(found["number"]) for value, found in totals.items()}
        first = min(numbers.values())
        before = next(iter(sizes))[0]
        is_whole = first < _FEWEST and sorted(numbers.values()) == list(range(first, first + size))
        # From 0 on shares of something are told, too, and behind a word its layers, shards, and whatever else there are several of.
        is_others = before.rstrip("-_.#").lower() not in _OF_JOB if before else first == 0
        return {v: n - first for v, n in numbers.items()} if is_whole and not is_others else {}
    shapes: defaultdict[tuple[str, ...], dict[Value, int]] = defaultdict(dict)
    for value in grouped:
        for place in range(_PLACES):
            if (numbered := _numbered(value, place)) is not None:
                shapes[numbered[0]][value] = numbered[1]
    if told.counter is not None and told.world is not None and (told.counter[2] or key != ("task",)):
        offset, modulus, _ = told.counter
        for numbers in shapes.values():
            computed = {value: (n + offset) % modulus if modulus else n + offset for value, n in numbers.items()}
            if sorted(computed.values()) == [*range(told.world)]:
                return computed
        if made := counted_names([value[0] for value in grouped], offset, modulus, told.world):
            return {value: made[value[0]] for value in grouped}
    is_mpi = key == ("task",) and all(one.is_mpi for own in grouped.values() for one in own)
    for shape, numbers in shapes.items():
        world = told.world or (len(numbers) if is_mpi else None)
        if len(numbers) < _FEWEST or world is None or sorted(numbers.values()) != list(range(world)):
            continue
        if key == ("task",):
            return {} if told.are_others else numbers
        own = [grouped[value] for value in numbers]
        before = _before(next(iter(numbers)), own[0][0], key) + shape[0]
        are_most = sum(map(len, own)) > _MOST * len(lines) and not counts_others(shape[0])
        if are_most and (not before or _kinds(own, key) > 1):
            return numbers
    return {}


def _up_to(one: Spoken, slot: str) -> str:
    """What stands before the words of a line, up to the end of the name in a slot."""
    name, behind = one.slots[slot]
    head = one.text[: len(one.text) - len(behind)]
    return head[: head.rfind(name) + len(name)]


def _before(value: Value, one: Spoken, key: Key) -> str:
    """The words beside a name that are its form's, up to it."""
    if key[0] in SLOTS:
        return ""
    head = one.text[: len(one.text) - len(one.slots[key[0]][1])]
    return head[: head.rfind(value[0])].strip("([{<| ")


def counts_others(before: str) -> bool:
    """Is the word before a number known to count something else than the processes of a job? A container's may be a worker."""
    word = _WORD.search(before)
    meaning = meaning_of(word[0]) if word else None
    is_worker = word is not None and word[0].lower() == "worker" and not before.endswith(" ")
    is_group = OF_GROUP.search(before) is not None and not is_worker
    return is_group or (meaning is not None and meaning.meaning != "rank")


def _kinds(own: Iterable[Sequence[Spoken]], key: Key) -> int:
    """How many kinds of lines all print: who prints figures alone may be a part of one process."""
    printed = [{_TEMPLATE.sub("#", _words(one, key)[:120]) for one in lines} for lines in own]
    return len(set.intersection(*printed))


def _may_be_devices(ranks: Mapping[Value, int], told: Told) -> bool:
    """Of the first ranks of a larger world: on the first host a device or a local rank has the same number."""
    numbers = [(_numbered(value, 0), rank) for value, rank in ranks.items()]
    is_equal = all(found is not None and found[1] == rank for found, rank in numbers)
    return is_equal and told.world is not None and len(ranks) < min(told.world, DEVICES + 1)


def _is_spoken(own: Sequence[Spoken], key: Key) -> bool:
    """Do two lines at least have words?"""
    return len(list(islice((one for one in own if _LETTER.search(_words(one, key))), _FEWEST))) == _FEWEST


def _words(one: Spoken, key: Key) -> str:
    """What stands behind the last of the slots."""
    return min((one.slots[slot][1] for slot in key), key=len)


def _are_alike(named: By, key: Key, *, is_told: bool) -> bool:
    """Do all print half of what the poorest of them prints, figures aside? Of those that are told, a quarter of their lines is enough:
    how one of them ends takes many words."""
    told = ([words for one in own if not (words := _words(one, key)).startswith((" ", "\t"))] for own in named.values())
    printed = [Counter(_TEMPLATE.sub("#", words[:120]) for words in own) for own in told]
    core = set.intersection(*(set(own) for own in printed))
    if 2 * len(core) >= min(map(len, printed)):
        return True
    return is_told and all(_ALIKE * sum(own[one] for one in core) >= sum(own.values()) for own in printed)


def _are_alone(named: By, key: Key) -> bool:
    """Does each print a record of a step once? Who shares a name with others (a host) prints as many as they are."""
    again = several = 0
    for own in named.values():
        told = (words for one in own if not (words := _words(one, key)).startswith((" ", "\t")))
        said = Counter(words for words in (_FIGURE.sub("", own) for own in told) if any(map(str.isdigit, words)))
        again += sum(said.values()) - len(said)
        several += sum(said.values())
    return again <= _AGAIN * several


def _are_apart(grouped: By, ranks: Mapping[Value, int]) -> bool:
    """Is each process number of one name?"""
    names: defaultdict[int, set[Value]] = defaultdict(set)
    for value in ranks:
        for one in grouped[value]:
            if one.pid is not None:
                names[one.pid].add(value)
    return all(len(own) == 1 for own in names.values())


def _is_mixed(key: Key, lines: Sequence[Spoken]) -> bool:
    """Does a name come again after others, as those of processes do and numbers of epochs do not?"""
    said = [tuple(one.slots[slot][0] for slot in key) for one in lines if all(slot in one.slots for slot in key)]
    runs = sum(one != other for one, other in pairwise(said)) + 1
    return runs > len(set(said))


def share_half(printed: Iterable[tuple[int, str]]) -> bool:
    """Do all numbers print half of what the poorest of them prints, figures aside?"""
    kinds: defaultdict[int, set[str]] = defaultdict(set)
    for number, behind in printed:
        kinds[number].add(_TEMPLATE.sub("#", behind[:120]))
    core = set.intersection(*kinds.values())
    return 2 * len(core) >= min(map(len, kinds.values()))
