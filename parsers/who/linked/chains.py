"""What chains of relations tell beyond the rest that is known of a bundle: more names with their ranks, as names, rows of `ranks` and files."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import PurePosixPath
from typing import Any

import msgspec

from parsers.schema.calls import Call, call_of
from parsers.schema.names import Told
from parsers.text.path_hints import hints
from parsers.text.unanimous import sole, unanimous
from parsers.who.lines.beginnings import Begun
from parsers.who.linked.closure import Proof, Token, by_chains, local_column, opposed, places_called, ranks_at
from parsers.who.linked.computed import Words, with_computed
from parsers.who.linked.relations import Relation, cell, relations
from parsers.who.linked.tokens import apart
from parsers.who.linked.twins import twins
from parsers.who.places.contexts import Places, host_called, typed_command
from parsers.who.places.job_table import Table
from parsers.who.told.told_names import Document

_FEWEST = 2
HOW, KIND, OF_PLACE = "chain of records", "record", "id of a place"


class Chains(msgspec.Struct, frozen=True):
    """`told`: names. `claims`: rows of `ranks`. `processes`: (name of a place, pid) → rank. `files`: path → rank. `opposed`: name, file
    that tells its rank, this rank, a file that tells another, and that one."""

    told: Sequence[Told] = ()
    claims: Sequence[dict[str, Any]] = ()
    processes: Mapping[tuple[str, int], int] = msgspec.field(default_factory=dict)
    files: Mapping[str, int] = msgspec.field(default_factory=dict)
    opposed: Sequence[tuple[str, str, int, str, int]] = ()


NO_CHAINS = Chains()


def chains(
    said: Begun,
    documents: Iterable[Document],
    table: Table,
    told: Sequence[Told],
    files: Mapping[str, int],
    paths: Sequence[str],
    world: int | None,
) -> Chains:
    """The lines of logs, documents, and what is known: the table of processes, what is told of names, paths with their ranks."""
    places = table.where
    if places is None:
        return NO_CHAINS

    typed = _typed(said, table)
    files = {**typed, **files}
    aliases = {name: place for place, own in table.aliases.items() for name in own}
    pairs = [*_known(table, told, places), *(pair for path, rank in files.items() for pair in _called(path, rank))]
    known = unanimous(pairs)
    disputed = {token for token, _ in pairs} - known.keys()
    known = {**unanimous(_alone(known, table.aliases)), **known}
    read = ((one.file, one.leaves) for one in documents)
    own = relations(said, read, places, [one.name for one in told], table.scripts, table.labels)
    words = Words(table.numbers, table.nodes, table.labels, table.is_by_device)
    own, seats = with_computed(own, table.sums, table.fixed, world or table.size, words)
    own = _on_the_only_node(own, world or table.size, {row.place for row in table.rows if row.place is not None})
    found = by_chains(own, known, aliases, world, twins(said, places), size=table.size, disputed=disputed)
    folders = [*_folders_of(_calls(said, table), paths)]
    lists = {one.name: one for one in told if one.rank is not None and {one.local_rank, one.device} == {None}}
    lists = {**dict(zip(apart([*lists]), lists.values(), strict=True)), **lists}
    listed = {name: one.rank for name, one in lists.items() if one.rank is not None}
    return Chains(
        [
            *(Told(folder, "folder", folder, rank=rank, world=world) for folder, rank in folders),
            *(
                Told(token.value, KIND, one.file, one.line, rank=one.rank, world=world)
                for token, one in found.items()
                if token.kind in ("id", "name")
            ),
            *(Told(name, "place", "", rank=rank, local_rank=at, world=world) for (name, at), rank in seats.items()),
        ],
        [
            *_claims(found, table),
            *_ids_of_places(own, {**aliases, **{place: place for place in table.aliases}}, known, table),
        ],
        {
            (name, int(token.value)): one.rank
            for token, one in found.items()
            if token.kind == "pid"
            for name in table.called(token.place)
        },
        {**typed, **{token.value: one.rank for token, one in found.items() if token.kind == "file"}},
        [(name, lists[name].file, listed[name], file, rank) for file, name, rank in opposed(own, listed, world)],
    )


def _on_the_only_node(own: list[Relation], size: int | None, known: Set[str]) -> list[Relation]:
    """Where one node runs all of the job, a row of no place is from there: it has a name, or none that is told. `known`: places of processes."""
    where = known | {row.place for rows in own for row in rows if row.place is not None}
    if len(where) >= _FEWEST or not any(local_column(rows, size) for rows in own):
        return own
    only = next(iter(where), "")
    return [[row if row.place is not None else row._replace(place=only) for row in rows] for rows in own]


def _typed(said: Begun, table: Table) -> dict[str, int]:
    """What terminals show in which the call of one process was typed, and nothing after it: files with their ranks, each of another one."""
    found: dict[str, int] = {}
    for path, own in said.items() if table.scripts else ():
        commands = (typed_command(one.raw) for one in own)
        called = [call_of(command, table.scripts) for command in commands if command is not None]
        first = next((at for at, call in enumerate(called) if call is not None), len(called))
        if (rank := sole(call.rank if call is not None else None for call in called[first:])) is not None:
            found[path] = rank
    return {path: rank for path, rank in found.items() if [*found.values()].count(rank) == 1 < len(found)}


def _calls(said: Begun, table: Table) -> Iterator[Call]:
    for own in said.values() if table.scripts else ():
        found = (call_of(one.raw, table.scripts) for one in own)
        yield from (call for call in found if call is not None)


def _folders_of(calls: Iterable[Call], paths: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Folders with their ranks, which are called as the words at one place of the calls: each of another rank, all of them."""
    columns: defaultdict[int, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for one in calls:
        for at, word in enumerate(one.words):
            columns[at][word].add(one.rank)
    inside: defaultdict[str, set[str]] = defaultdict(set)
    for path in paths:
        parts = path.split("/")
        for at in range(1, len(parts)):
            inside["/".join(parts[: at - 1])].add(parts[at - 1])
    named = [
        {word: min(ranks) for word, ranks in own.items()}
        for own in columns.values()
        if len(own) >= _FEWEST and all(len(ranks) == 1 for ranks in own.values())
    ]
    for above, names in inside.items():
        for own in named:
            if names == own.keys() and len({*own.values()}) == len(own):
                yield from ((f"{above}/{name}" if above else name, own[name]) for name in sorted(names))


def _alone(known: Mapping[Token, int], aliases: Mapping[str, Sequence[str]]) -> Iterator[tuple[Token, int]]:
    """Names of places of which one process alone is known: they may be its own. One that others share, no relation hands on."""
    for place, own in ranks_at(known).items():
        if len(own) == 1:
            yield from ((Token("name", "", name), min(own)) for name in aliases.get(place, (place,)))


def _called(path: str, rank: int) -> Iterator[tuple[Token, int]]:
    """A file, and what it is called after."""
    yield Token("file", "", path), rank
    yield Token("name", "", PurePosixPath(path).name.partition(".")[0]), rank


def _known(table: Table, told: Iterable[Told], places: Places) -> Iterator[tuple[Token, int]]:
    for row in table.rows:
        if row.rank is not None and row.place is not None:
            for kind, number in (("pid", row.pid), ("local", row.local), ("device", row.device)):
                if number is not None:
                    yield Token(kind, row.place, str(number)), row.rank
    for place, ranks in table.starts.items():
        yield from ((Token("local", place, str(local)), rank) for local, rank in enumerate(ranks))
    for (place, bus), rank in table.buses.items():
        yield Token("bus", place, bus.partition(".")[0]), rank
    for one in told:
        if one.rank is None or one.kind in ("folder", "file"):
            continue
        if one.kind in ("pid", "process"):
            host, _, pid = one.name.rpartition(":")
            where = places.called(host) or places.of_file(one.file)
            if where is not None and pid.isdecimal():
                yield Token("pid", where, pid), one.rank
        elif one.local_rank is not None or one.device is not None:
            kind, number = ("local", one.local_rank) if one.local_rank is not None else ("device", one.device)
            if places.is_place(one.name):
                yield Token(kind, places.of(one.name), str(number)), one.rank
        elif (slot := cell("", one.name)) is not None and slot.kind in ("id", "name"):
            yield Token(slot.kind, "", slot.value), one.rank


def _ids_of_places(
    relations: Sequence[Relation], aliases: Mapping[str, str], known: Mapping[Token, int], table: Table
) -> Iterator[dict[str, Any]]:
    """Ids that call a place of several processes, as the uid of a pod: whose of these a record with it is, others must tell."""
    several = {place for place, own in ranks_at(known).items() if len(own) > 1}
    names = {name: place for name, place in aliases.items() if place in several}
    for name, place in places_called(relations, names).items() if several else ():
        yield {"host": host_called(table.called(place)[0], "", table.hosts), "name": name, "how": OF_PLACE, "file": ""}


def _claims(found: Mapping[Token, Proof], table: Table) -> Iterator[dict[str, Any]]:
    placed = {(row.rank, row.place) for row in table.rows if row.rank is not None and row.place is not None}
    sizes = Counter(place for _, place in placed)
    homes = unanimous((rank, place) for rank, place in placed if sizes[place] > 1)  # of one alone it may be a container
    for token, one in found.items():
        row = {"rank": one.rank, "how": HOW, "file": one.file, "line": one.line}
        if token.kind in ("id", "name"):
            yield row | {"name": token.value}
            continue
        if token.kind != "pid" and not token.place:
            continue  # the only node, of no name, where places and ranks are the same
        name = table.called(token.place)[0]
        # Files that several folders have are places, too: one that is called after a rank is no host.
        is_host = hints(name).rank is None and homes.get(one.rank, token.place) == token.place
        host = host_called(name, one.file, table.hosts) or None if is_host else None
        if token.kind == "pid":
            yield row | {"host": host, "pid": int(token.value)}
        elif token.kind == "device":
            yield row | {"host": host, "device_index": int(token.value)}
        elif token.kind == "bus":
            yield row | {"host": host, "pci": token.value}
        elif token.kind == "local":
            yield row | {"host": host, "local_rank": int(token.value)}
