"""Documents that tell who is who: which rank a service, a pod, a container, a unit, a host or a folder is.

    services: {trainer-a: {environment: {RANK: "2"}}}          a variable below the name of whom it belongs to
    {"metric": {"pod": "llm-1", "local_rank": "2", "rank": "6"}}          a record with a name and a rank
    run-20261116-x7/files/config.yaml: global_rank: 3                     a document of a folder's own
    params/rank: 1                                                        a file called as what it holds
    mlruns/0/9f31c/meta.yaml: run_name: rank-1                            a run called after its rank
    accelerate_gn02.yaml: machine_rank: 1, num_machines: 2, num_processes: 8      a node, and how many processes it has
    dgx3 slots=4                                                          a hostfile: nodes in the order of their ranks

parsers/text/outlines.py reads them, parsers/text/vocabulary.py knows what a variable says of its process. An **item** is the smallest part of a
document, or the whole of one among its like, that tells one rank (or node, or place on it) only. Its names are what tells it from the other items: names of
mappings, of folders and files, and fields that say a name (`name`, `host`, `pod`, `…Id`) with another value in each.

Admitted are items of one kind together, or none: two ranks at least that differ, all below the told world, and a plain `rank`, which may be that
of an adapter, only where they are just 0 … N-1 or the world is told. One name, one rank: a name with two is nobody's, and so are
two names with one rank. Folders whose ranks are every k-th are nodes, of which the first process wrote the document. Fooled by: documents of another job that has the same names.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from msgspec.structs import replace

from parsers.schema.names import Names, Told, parts_of
from parsers.schema.node_ranks import placed, with_node
from parsers.schema.parser import STREAM_ERRORS, Source
from parsers.text import vocabulary
from parsers.text.encodings import in_utf8, is_text
from parsers.text.outlines import Leaf, leaves
from parsers.text.patterns import regex
from parsers.text.rank_list import RANKS
from parsers.text.unanimous import sole
from parsers.who.scripts.renamed import called_by_options, renamed_in
from parsers.who.told.numbered_files import NUMBERED, is_count
from parsers.who.told.process_lists import HEAD, hostfile, is_json, table
from parsers.who.told.rosters import KIND as ROSTER
from parsers.who.told.told_items import Item, items_of, pid_of

BYTES, ALL_BYTES, DOCUMENTS = 1 << 20, 16 << 20, 4096  # of one document, of all, and how many
OTHERS = 2 << 20  # of those that tell no rank
_MAY = regex(  # a name of those that vocabulary.of_process knows, and a number behind it, or columns called so
    rb"(?:rank(?:_?id)?|rango?|procid|trainer_id|process_?(?:id|index)|proc_id|local_?id|node_?id|pmi_id|slots|index)(?:\\?[\"']?\s{0,3}[=:, ]\s{0,40}(?:desc:[^\n]{0,200}\n\s{0,40})?(?:[\"']?value[\"']?\s{0,3}:\s{0,3})?[\"']?[\d$]|[\t,;| ]|[_-]?\d)|\s\d{1,4}\s+[\w.-]{1,60}@|ranks[\"']?\s{0,3}[:=]\s{0,3}[{\n]"
)
_VARIABLES = regex(rb"\w{1,80}=[^\0]{0,4096}\0")  # as the kernel keeps those of a process
_ID = regex(r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{64}")  # of a pod, a container
HOW, PROCESS = "document", "process"
_OF_HOST = regex(
    r"(?P<number>\d{3,8})@(?P<at>[A-Za-z][\w.-]{0,252})|(?P<host>[A-Za-z][\w.-]{0,252})(?:[:/@ ]|[\[(](?=.{1,10}[\])]\Z))(?P<pid>\d{3,8})[\])]?"
)
_OF_OTHERS = regex(r"(?i)master|coord|leader|peer|\A(?:labels|annotations|selector)\Z")
_REPLICA = regex(r"[-_.]\d{1,5}\Z")
HOSTS = ("pod", "name", "service", "key", "host")  # sorts of names that stand before lines as a host's does
_SEVERAL = ("host", "pod", "container", "ip", "address", "addr", "node", "machine", "instance")  # fmt: skip


class Document(NamedTuple):
    """`may_tell`: it holds a word for a rank."""

    file: str
    leaves: list[Leaf]
    may_tell: bool


def told_names(read: Iterable[Document]) -> list[Told]:
    """The documents of a bundle → what they say of whom, in the order of the files; only what is admitted."""
    documents = [(one.file, one.leaves) for one in read if one.may_tell]
    called = called_by_options(leaf.value for _, own in documents for leaf in own)
    items = [items_of(file, [_renamed(leaf, called) for leaf in own] if called else own) for file, own in documents]
    told = admitted_beside(own for own in items if len(own) > 1)
    for group in alike([one for own in items if len(own) == 1 for one in own]):
        told += admitted(group)
    return as_processes(list(dict.fromkeys(told)))


def as_processes(told: Sequence[Told]) -> list[Told]:
    """Names of a host and a number as those of its processes: `gn12:4711`, `4711@gn12`, `gn12(4711)`. Numbers that several hosts have are ports."""
    found = {at: own for at, one in enumerate(told) if (own := _process(one)) is not None}
    numbers = Counter(pid for _, pid in {*found.values()})
    are_ports = any(many > 1 for many in numbers.values())
    called = {} if are_ports else {at: f"{host}:{pid}" for at, (host, pid) in found.items()}
    return [replace(one, kind=PROCESS, name=called[at]) if at in called else one for at, one in enumerate(told)]


def _process(one: Told) -> tuple[str, int] | None:
    if one.rank is None or one.kind in ("folder", "file") or not {one.local_rank, one.node_rank, one.device} <= {None}:
        return None
    return host_and_number(one.name) if " " not in one.name else None  # `slot 10`


def host_and_number(name: str) -> tuple[str, int] | None:
    """Of a process that is called by both."""
    said = _OF_HOST.fullmatch(name)
    return (said["host"] or said["at"], int(said["pid"] or said["number"])) if said is not None else None


def claims_of(told: Sequence[Told], names: Names, places: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """What stands of it, as rows of `ranks`: who is called so as a host is, and processes by pid. `places`: file → the host that it is from."""
    done: set[tuple[int | None, int | None]] = set()
    hosted = {one.rank for one in told if one.kind == "host"}
    for one in sorted(told, key=lambda one: HOSTS.index(one.kind) if one.kind in HOSTS else len(HOSTS)):
        place = {"world_size": one.world, "how": HOW, "file": one.file, "line": one.line}
        if one.device is not None:
            if one.kind in HOSTS:
                yield place | {"rank": one.rank, "host": one.name, "device_index": one.device}
            continue
        if one.node_rank is not None and one.kind in (*HOSTS, "file"):
            own = (place for place in names.places.items() if place[0][0] == one.name)
            rows: list[tuple[int | None, str | None, int | None]] = [(rank, *seat) for seat, rank in own]
        elif one.kind == "folder" and names.folders.get(one.name) == one.rank:
            rows = [(one.rank, None, None)]
        elif one.kind in HOSTS and "[" not in one.name and names.rank(one.name, one.local_rank) == one.rank:
            rows = [(one.rank, one.name, one.local_rank)]
        elif one.kind in ("pid", PROCESS) and (pid := one.name.rpartition(":")[2]).isascii() and pid.isdecimal():
            yield place | {"rank": one.rank, "pid": int(pid), "host": one.name[: -len(pid) - 1] or places.get(one.file)}
            continue
        elif names.inside(one.file).get(one.name) == one.rank is not None or (
            one.local_rank is None
            and names.ranks.get(one.name) == one.rank
            and (one.kind == ROSTER or "[" in one.name or _ID.fullmatch(one.name))
        ):
            yield place | {"rank": one.rank, "name": one.name}
            continue
        else:
            continue
        for rank, host, local in rows:
            if one.kind == "key" and rank in hosted:
                yield place | {"rank": rank, "name": host}
            elif (rank, local) not in done:  # of several names of one, one is a host's
                done.add((rank, local))
                yield place | {"rank": rank, "host": host, "local_rank": local}


# --- documents -------------------------------------------------------------------------------------------------------


def documents(sources: Sequence[Source]) -> Iterator[Document]:
    """The documents of a bundle; files called as what they hold are one document of their folder."""
    read = taken = others = 0
    values: defaultdict[str, list[Leaf]] = defaultdict(list)
    for source in sources:
        if source.seen is not None or not 0 < source.size <= BYTES or read > ALL_BYTES or taken >= DOCUMENTS:
            continue
        folder, _, name = source.path.rpartition("/")
        data = _document(source)
        may_tell = len(data) < 16 or _MAY.search(data.lower()) is not None
        others += 0 if may_tell else len(data)
        if not may_tell and others > OTHERS:
            continue
        read, taken = read + len(data), taken + bool(data)
        text = data.decode("utf-8", "replace")
        if len(text) < 16 and vocabulary.of_process(name) is not None:
            values[folder].append(Leaf((0, name), text.strip(), 1))
        elif own := (not is_json(text) and hostfile(text)) or table(source.path, data) or leaves(text):
            yield Document(source.path, own, may_tell)
    for folder, found in values.items():
        yield Document(f"{folder}/", found, may_tell=True)


def _renamed(leaf: Leaf, called: Mapping[str, str]) -> Leaf:
    """A variable as commands call it, by its field or where its name is told beside its value."""
    last = str(leaf.path[-1])
    if last in called:
        return leaf._replace(path=(*leaf.path[:-1], called[last]))
    return leaf._replace(value=called.get(leaf.value, leaf.value) if last == "name" else renamed_in(leaf.value, called))


def _document(source: Source) -> bytes:
    """What a file holds if it may be a document; else nothing. Most files are none, and their beginnings show it."""
    try:
        with source.open() as stream:
            head = stream.read(HEAD)
            is_environment = _VARIABLES.match(head) is not None
            head = head.replace(b"\0", b"\n") if is_environment else head
            if not is_text(head):
                return b""
            last = head.rfind(b"\n") + 1 if len(head) == HEAD else 0  # without the line that is cut
            begins = (head[:last] if last else head).decode("utf-8", "replace")
            if len(head) > 15 and not (
                is_json(begins) or hostfile(begins) or table(source.path, head) or leaves(begins)
            ):
                return b""
            _, data = in_utf8(source.open, head + stream.read(BYTES))
    except STREAM_ERRORS:
        return b""
    return data.replace(b"\0", b"\n") if is_environment else data


# --- documents beside each other -------------------------------------------------------------------------------------


def alike(items: Sequence[Item]) -> Iterator[list[Item]]:
    """Items that are documents of their own → those of one name in several folders, those of one folder; each with names out of
    its path."""
    by_name: defaultdict[tuple[str, int], list[Item]] = defaultdict(list)
    by_folder: defaultdict[tuple[str, str], list[Item]] = defaultdict(list)
    kinds = Counter(item.file.split("/")[-2] for item in items if item.file.endswith("/"))
    for item in items:
        folder, _, name = item.file.rpartition("/")
        kind = folder.rpartition("/")[2]  # params/rank and tags/rank of each run
        by_name[name or (kind if kinds[kind] > 1 else ""), item.file.count("/")].append(item)
        by_folder[folder, name.rpartition(".")[2]].append(item)
    grouped: set[str] = set()
    for own in by_name.values():
        if len(own) > 1:
            grouped |= {item.file for item in own}
            yield _with_folders(own)
    for own in by_folder.values():
        rest = [item for item in own if item.file not in grouped]
        if rest:
            yield _with_stems(rest)


def _with_folders(own: Sequence[Item]) -> list[Item]:
    """Files of one name in folders: a folder is what differs, up to its last part that does."""
    paths = [item.file.split("/")[:-1] for item in own]
    differing = [at for at, parts in enumerate(zip(*paths, strict=True)) if len(set(parts)) > 1]
    made = []
    for item, path in zip(own, paths, strict=True):
        parts = {("/", at): ("file", path[at]) for at in differing}
        parts |= {("/", at): ("pid", pid) for at in differing if (pid := pid_of(path[at])) is not None}
        folder = {("/",): ("folder", "/".join(path[: differing[-1] + 1]))} if differing else {}
        made.append(replace(item, names={**item.names, **parts, **folder}))
    return made


def _with_stems(own: Sequence[Item]) -> list[Item]:
    """Files of one folder: what differs in their names."""
    stems = [item.file.rpartition("/")[2].rpartition(".")[0] or item.file.rpartition("/")[2] for item in own]
    words = [parts_of(stem) for stem in stems]
    common = set.intersection(*map(set, words))
    return [
        replace(item, names={**item.names, **{("/", at): ("file", word) for at, word in enumerate(own_words) if word not in common}})
        for item, own_words in zip(own, words, strict=True)
    ]  # fmt: skip


def admitted_beside(several: Iterable[list[Item]]) -> list[Told]:
    """Documents of several items each: those of one name, each of other ranks, are of one job, of each host its own processes."""
    beside: defaultdict[str, list[list[Item]]] = defaultdict(list)
    for items in several:
        beside[items[0].file.rpartition("/")[2]].append(items)
    told: list[Told] = []
    for parts in beside.values():
        every = [item for part in parts for item in part]
        is_one = len(parts) > 1 and len({item.facts.get("rank") for item in every}) == len(every)
        for part in parts:
            told += admitted(part, every if is_one else ())
    return told


# --- admission -------------------------------------------------------------------------------------------------------


def admitted(items: Sequence[Item], whole: Sequence[Item] = ()) -> list[Told]:
    """Items of one kind → what is said of each of their names; nothing where their numbers cannot be ranks. `whole`: those of all documents alike
    together, each of another rank."""
    facts = placed([with_node(item.facts) for item in items])
    items = [replace(item, facts=own) for item, own in zip(items, facts, strict=True)]
    told: list[Told] = []
    for meaning in ("rank", "node_rank"):
        own = [item for item in items if meaning in item.facts and (meaning == "rank" or "rank" not in item.facts)]
        own = _of_the_job(own)
        if own and (_are_ranks(own, meaning) or (meaning == "rank" and whole and _are_ranks(whole, meaning))):
            told += _named(own, meaning, is_part=bool(whole))
    return told


def _of_the_job(items: Sequence[Item]) -> list[Item]:
    """Those of the largest world that is told: others are other programs."""
    worlds = {item.facts.get("world_size") for item in items}
    largest = max((world for world in worlds if world is not None), default=None)
    return [item for item in items if item.facts.get("world_size") in (None, largest)]


def _are_ranks(own: Sequence[Item], meaning: str) -> bool:
    numbers = {item.facts[meaning] for item in own}
    world = max((item.facts.get("world_size", 0) for item in own), default=0)
    top = world if meaning == "rank" else max((item.facts.get("nodes", 0) for item in own), default=0)
    if max(numbers) >= (top or RANKS):
        return False
    if len(numbers) < 2:
        return bool(top) and not any(item.is_plain for item in own)
    is_sure = bool(top) or not any(item.is_plain for item in own)
    return is_sure or numbers == set(range(len(numbers)))


def _named(own: Sequence[Item], meaning: str, *, is_part: bool) -> Iterator[Told]:
    numbers = [item.facts[meaning] for item in own]
    counts = Counter(numbers)
    is_one_each = len(counts) == len(numbers)
    steps = {second - first for first, second in pairwise(sorted(numbers))}
    world = max((item.facts.get("world_size", 0) for item in own), default=0) or None
    is_plain = own[0].is_plain and counts.keys() != {*range(world or 0)}
    is_again = len(set(counts.values())) == 1 and not is_plain  # attempts write a folder each
    is_of_nodes = len(steps) == 1 and (step := min(steps)) > 1 and len(own) * step == world
    for place in dict.fromkeys(place for item in own for place in item.names):
        if len(own) == 1 and not is_part and not _is_own(place, *own[0].names[place], own[0].names.values()):
            continue
        said = [(item, *item.names[place]) for item in own if place in item.names]
        by_name: defaultdict[str, list[Item]] = defaultdict(list)
        for item, _, name in said:
            by_name[name].append(item)
        kind = said[0][1]
        is_no_count = kind == NUMBERED and (is_part or meaning != "rank" or not is_count(by_name, numbers))
        if (kind in ("folder", "file") and is_of_nodes) or is_no_count:
            continue
        is_distinct = all(len({item.facts[meaning] for item in items}) == 1 for items in by_name.values())
        if is_distinct and len(by_name) == len(said) and (is_one_each or (kind == "folder" and is_again)):
            for item, _, name in said:
                yield _told(item, meaning, kind, name, local=None)
        elif kind in (*_SEVERAL, "key", "file") and meaning == "rank" and is_one_each:
            if kind in _SEVERAL:
                yield from _processes(own, said)
            for name, items in by_name.items():
                for what in ("local_rank", "device") if kind in _SEVERAL else ("local_rank",):
                    places_ = [item.facts[what] for item in items if what in item.facts]
                    if len(set(places_)) == len(places_) == len(items):
                        for item, number in zip(items, places_, strict=True):
                            told = _told(item, meaning, kind, name, local=number)
                            is_device = what == "device"
                            yield replace(told, local_rank=None, device=number) if is_device else told
                        break


def _is_own(place: tuple[str | int, ...], kind: str, name: str, every: Collection[tuple[str, str]]) -> bool:
    """Of a document that stands alone, with nothing to tell what others have alike: is it a name of its own, and not of what it calls up, of a group that
    it belongs to (`bert-worker` beside `bert-worker-3`, a label), of what it is made of, or of the host that a pod shares with others? `every`: kinds and
    names in it."""
    is_others = kind == "path" or any(_OF_OTHERS.search(str(key)) for key in place)
    is_shared = kind == "host" and any(other in ("pod", "name") for other, _ in every)
    return not (is_others or is_shared or any(_REPLICA.sub("", other) == name != other for _, other in every))


def _processes(own: Sequence[Item], said: Sequence[tuple[Item, str, str]]) -> Iterator[Told]:
    """Where each item tells a host and a pid: the two together, for hosts count their processes on their own."""
    pids = [{name for kind, name in item.names.values() if kind == "pid"} for item, _, _ in said]
    alone = (sole(own) for own in pids)
    told = [(item, f"{host}:{pid}") for (item, _, host), pid in zip(said, alone, strict=True) if pid is not None]
    if len({name for _, name in told}) == len(told) == len(own):
        yield from (_told(item, "rank", PROCESS, name, local=None) for item, name in told)


def _told(item: Item, meaning: str, kind: str, name: str, local: int | None) -> Told:
    world, nodes, attempt, each = map(item.facts.get, ("world_size", "nodes", "attempt", "processes_per_node"))
    told = Told(name, kind, item.file, item.line, local_rank=local, world=world, nodes=nodes, attempt=attempt)
    if meaning == "node_rank":
        return replace(told, node_rank=item.facts[meaning], processes=each)
    return replace(told, rank=item.facts["rank"])
