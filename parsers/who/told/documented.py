"""Files whose rank a document tells, by their name or that of a folder that is one process's."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set

from parsers.schema.names import Names
from parsers.schema.parser import Source
from parsers.schema.sites import folders
from parsers.text.patterns import regex
from parsers.who.lines.beginnings import Begun

_NUMBER = regex(r"\d{1,4}")
_WORD = regex(r"[A-Za-z0-9]+")
_WORDS, _SEVERAL = 12, 2  # of a part of a path; of others


def _numbered(paths: Sequence[str], names: Names) -> dict[str, int]:
    """Path → rank, of files below folders called as hosts, whose names differ in one number: where these are, on every host, just the places
    that documents tell of it, none more or less, they count these."""
    places: defaultdict[str, set[int]] = defaultdict(set)
    for host, local in names.places:
        places[host].add(local)
    shapes: defaultdict[str, dict[str, dict[int, str]]] = defaultdict(lambda: defaultdict(dict))
    for path in paths if places else ():
        hosts = [part for part in path.split("/")[:-1] if part in places]
        found = [*_NUMBER.finditer(path.rpartition("/")[2])]
        if len(hosts) == 1 and len(found) == 1:
            shape = _NUMBER.sub("#", path.replace(f"{hosts[0]}/", "@/", 1).rpartition("/")[2])
            shapes[shape][hosts[0]][int(found[0][0])] = path
    return {
        path: names.places[host, number]
        for own in shapes.values()
        if len(own) > 1 and all(len(files) > 1 and files.keys() == places[host] for host, files in own.items())
        for host, files in own.items()
        for number, path in files.items()
    }


def documented(
    sources: Sequence[Source], names: Names, processes: Callable[[str], Set[int | None]], said: Begun
) -> dict[str, int]:
    """Path → its rank, of files in which nobody else speaks. `processes`: of a path, the ranks that speak in it."""
    if not names:
        return {}
    spoken = {source.path: processes(source.path) for source in sources}
    inside: defaultdict[str, set[tuple[int | None, int | None]]] = defaultdict(set)
    for source in sources:
        for folder in folders(source.path):
            if folder in names.folders:
                own = ((rank, None) for rank in spoken[source.path])
                inside[folder] |= {(source.rank, source.local_rank), *own}
    shared = {
        folder
        for folder, found in inside.items()
        if {rank for rank, _ in found} - {None, names.folders[folder]}
        or len({local for _, local in found} - {None}) > 1
    }
    ranks: dict[str, int] = {}
    numbered = _numbered([source.path for source in sources], names)
    for source in sources:
        rank = names.of_path(source.path, source.local_rank)
        rank = numbered.get(source.path) if rank is None else rank
        hosts = {one.line.host for one in said.get(source.path, ())} - {None}
        is_alone = spoken[source.path] <= {rank} and len(hosts) < 2 and not shared.intersection(folders(source.path))
        if rank is not None and is_alone:
            ranks[source.path] = rank
    return ranks


def of_one_name(ranks: Mapping[str, int], names: Names) -> dict[str, int]:
    """Without files whose paths name another rank as well, `gp13/to-gp14.log`, each another one: a log is of who keeps it, or of whom it is about. Where
    all name the same one beside their own, that host collected them."""
    named = {path: {names.rank(word) for word in _runs(path)} - {None, rank} for path, rank in ranks.items()}
    is_one = len(set().union(*named.values())) < _SEVERAL
    return {path: rank for path, rank in ranks.items() if is_one or not named[path]}


def _runs(path: str) -> Iterator[str]:
    """What stands between marks in the parts of a path, words that follow each other together."""
    for part in path.split("/"):
        words = [found.span() for found in _WORD.finditer(part)][:_WORDS]
        runs = (part[begin:end] for at, (begin, _) in enumerate(words) for _, end in words[at:])
        yield from (run for run in runs if not run.isdigit() and len(run) > 1)
