"""Whose rank a file is by the number in its name: where a script makes ranks of it, or where it counts the processes of a place (process_table.py).

gn07/worker.0.log  gn07/worker.1.log  gn02/worker.0.log …       0 … p-1 at each place, of which the first rank is known
run_1.log … run_8.log            RANK=$((SGE_TASK_ID - 1))
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from parsers.text.patterns import regex
from parsers.text.unanimous import unanimous
from parsers.who.lines.beginnings import Begun, Said
from parsers.who.places.contexts import Places
from parsers.who.scripts.formulas import Formula

_FEWEST = 2
_NUMBER = regex(r"\d{1,10}")
_SUFFIX = regex(r"(?<=-\d)-[a-z0-9]{5}(?![a-z0-9-])|(?<=-\d\d)-[a-z0-9]{5}(?![a-z0-9-])")  # of a pod that a job began
_DAEMON = regex(r" (?:[a-z][\w./@-]{1,40}\[\d+\]|kernel): ")


def of_places(
    said: Begun, places: Places, paths: Sequence[str], starts: Mapping[str, range], formulas: Sequence[Formula]
) -> dict[str, int]:
    """Files of one shape of name, as many at a place as it has processes, by what is left of their numbers: 0 … p-1, or 1 … p where the formula that
    counts from the first rank of a place takes 1 away; of others some may be lost."""
    first = max((one.first for one in formulas if one.base is not None), default=0)
    shapes: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    where: dict[str, str] = {}
    place: str | None
    for path in paths:
        # what runs at a place may be called like places of its own: `n1/enc_2.err`
        known = {place for name in places.named(path) if (place := places.of(name)) in starts}
        of_path = places.of_file(path)
        place = of_path if of_path in starts else min(known) if len(known) == 1 else None
        if place is not None:
            where[path], bare = place, path
            for name in places.named(path):
                bare = bare.replace(name, "@") if places.of(name) in starts else bare
            shapes[_NUMBER.sub("#", bare)].append((path, bare))
    found: dict[str, int] = {}
    is_one_each = all(len(ranks) == 1 for ranks in starts.values())
    for own in shapes.values():
        by_name = {where[path]: path for path, _ in own}
        if is_one_each and by_name.keys() == starts.keys() and len(own) == len(starts):
            logs = ((place, path) for place, path in by_name.items() if _is_of_process(said.get(path, ())))
            found |= {path: starts[place].start for place, path in logs}
            continue
        numbers = [[int(number) for number in _NUMBER.findall(bare)] for _, bare in own]
        for column in zip(*numbers, strict=True):
            by_place: defaultdict[str, dict[int, str]] = defaultdict(dict)
            for (path, _), number in zip(own, column, strict=True):
                by_place[where[path]][number - first] = path
            is_each = sum(map(len, by_place.values())) == len(own)
            if is_each and _count_places(by_place, starts):
                for place, files in by_place.items():
                    found |= {path: starts[place][number] for number, path in files.items()}
                break
    return found


def _count_places(by_place: Mapping[str, Mapping[int, str]], starts: Mapping[str, range]) -> bool:
    """Do the numbers of files count the processes of places, one whole, and no number beyond where only some were kept?"""
    whole = [place for place, files in by_place.items() if len(files) > 1 and len(files) == len(starts[place])]
    is_within = all(min(files) >= 0 and max(files) < len(starts[place]) for place, files in by_place.items())
    return bool(whole) and is_within


def _is_of_process(own: Sequence[Said]) -> bool:
    """Is it no log of a kernel or a system, in which others speak as well?"""
    return bool(own) and not any(one.line.time_basis == "boot" or _DAEMON.search(one.raw[:120]) for one in own)


def counted_files(paths: Sequence[str], formulas: Sequence[Formula], world: int | None) -> dict[str, int]:
    """By formulas that count by an index: files of one shape of name, with a number each that it makes ranks of."""
    counted = [one for one in formulas if one.what == "rank" and one.counter is not None and not one.is_nameless]
    if len({(one.offset, one.modulus) for one in counted}) != 1:
        return {}
    shapes: defaultdict[str, list[str]] = defaultdict(list)
    for path in paths:
        shapes[_NUMBER.sub("#", _SUFFIX.sub("-@", path))].append(path)
    found: list[dict[str, int]] = []
    for shape, own in shapes.items():
        numbers = [_NUMBER.findall(_SUFFIX.sub("-@", path)) for path in own]
        # of folders, which may count anything: they must count all of the world
        inside = shape.rpartition("/")[0].count("#")
        for at, column in enumerate(zip(*numbers, strict=True)):
            made = {path: counted[0].of(int(number)) for path, number in zip(own, column, strict=True)}
            size = world or (0 if at < inside else 2 * len(made))
            is_each = len({*made.values()}) == len(made) >= _FEWEST and min(made.values()) == 0
            if is_each and max(made.values()) < size and (at >= inside or len(made) == size):
                found.append(made)
    most = max(map(len, found), default=0)
    alike = [pair for made in found if len(made) == most for pair in made.items()]
    return unanimous(alike)
