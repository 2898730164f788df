"""Files whose rank a document tells, by their name or that of a folder that is one process's."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence, Set

from parsers.schema.names import Names, folders
from parsers.schema.parser import Source
from parsers.who.beginnings import Said


def documented(
    sources: Sequence[Source],
    names: Names,
    processes: Callable[[str], Set[int | None]],
    said: Mapping[str, Sequence[Said]],
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
    for source in sources:
        rank = names.of_path(source.path, source.local_rank)
        hosts = {one.line.host for one in said.get(source.path, ())} - {None}
        is_alone = spoken[source.path] <= {rank} and len(hosts) < 2 and not shared.intersection(folders(source.path))
        if rank is not None and is_alone:
            ranks[source.path] = rank
    return ranks
