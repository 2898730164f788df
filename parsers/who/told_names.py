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
from typing import Any

import msgspec
from msgspec.structs import replace

from parsers.archive.path_hints import hints
from parsers.schema.labels import OF_GROUP
from parsers.schema.names import Names, Told, parts_of
from parsers.schema.node_ranks import placed, with_node
from parsers.schema.parser import STREAM_ERRORS, Source
from parsers.text import vocabulary
from parsers.text.encodings import in_utf8, is_text
from parsers.text.outlines import Leaf, Path, leaves
from parsers.text.patterns import regex
from parsers.text.rank_list import RANKS
from parsers.who.also_called import CALLED
from parsers.who.numbered_files import NUMBERED, counted, is_count, path_of
from parsers.who.process_lists import HEAD, hostfile, is_json, table
from parsers.who.renamed import called_by_options, renamed_in
from parsers.who.rosters import KIND as ROSTER
from parsers.who.taken_numbers import made_of, name_of, taken

BYTES, ALL_BYTES, DOCUMENTS = 1 << 20, 16 << 20, 4096  # of one document, of all, and how many
_MAY = regex(  # a name of those that vocabulary.of_process knows, and a number behind it, or columns called so
    rb"(?:rank(?:_?id)?|rango?|procid|trainer_id|process_?(?:id|index)|proc_id|local_?id|node_?id|pmi_id|slots|index)(?:[\"']?\s{0,3}[=:, ]\s{0,40}(?:desc:[^\n]{0,200}\n\s{0,40})?(?:[\"']?value[\"']?\s{0,3}:\s{0,3})?[\"']?[\d$]|[\t,;| ]|[_-]?\d)|\s\d{1,4}\s+[\w.-]{1,60}@",
)
_VARIABLES = regex(rb"\w{1,80}=[^\0]{0,4096}\0")  # as the kernel keeps those of a process
_ID = regex(r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{64}")  # of a pod, a container
_WHO = ("rank", "node_rank", "local_rank")
_SIZES = ("nodes", "processes_per_node")  # what a part of a configuration says of the job: `trainer.num_nodes`
HOW, PROCESS = "document", "process"
HOSTS = ("pod", "name", "service", "key", CALLED, "host")  # sorts of names that stand before lines as a host's does
_SEVERAL = ("host", "pod", "container", "ip", "address", "addr", "node", "machine", "instance")  # fmt: skip
_TOLD = regex(
    r"(?<![\w.-])(?P<dash>--?)?(?P<of>(?:\w{1,40}\.){1,3})?(?P<name>[A-Za-z][\w-]{1,60}(?: (?:id|index))?)[\"']?(?P<is>\s{0,2}[=:]\s{0,2}| )[\"'(\[]{0,2}(?P<number>\d{1,7})(?![\w.]|:\d)"
)
_OWN = regex(
    r"(?!LORA|ADAPTER|LOW|MAX|MIN|MATRIX|TARGET|MOE|SEQ|RING|ULYSSES|FSDP|HSDP|INNER|OUTER|INTRA|INTER|SUB)(?P<of>[A-Z][A-Z0-9]{0,20}(?:_[A-Z0-9]{1,20}){0,2}?)_(?P<what>(?:GLOBAL_|LOCAL_|NODE_)?RANK|WORLD(?:_SIZE)?|NRANKS)"
)
_NUMBER = regex(r"\d{1,7}")
_NAMING = regex(
    r"(?:^|_)(?:name|host|pod|container|service|unit|id|uid|uuid|ip|address|addr|node|instance|machine|actor|job|task)$"
)
_DEVICE = regex(r"(?i)(?:phy(?:sical)?_?)?(?:device|dev|npu|gpu|card|dcu|die|cuda)_?(?:id|index|no|num)?")
_OF_OTHERS = frozenset(("master", "head", "leader", "chief", "coordinator", "coord", "rdzv", "rendezvous", "driver", "scheduler", "peer"))  # fmt: skip
_NAME = regex(r"/?(?=[^/\s]{0,253}[A-Za-z.])[A-Za-z0-9][\w.@:-]{0,252}")
_OF_PID = regex(r"(?i)(?:proc(?:ess)?|pid)[._-](?P<pid>\d{3,10})")
_KIND = regex(r"[a-z][a-z_-]{0,40}:(?=[A-Za-z])")  # of unit, before its name: `program:w-3`


class Fact(msgspec.Struct, frozen=True):
    """One number that was said: `meaning` as vocabulary.of_process has it. `is_plain`: called `rank` and no more, or so by its program alone."""

    meaning: str
    number: int
    path: Path
    line: int
    is_plain: bool


class Item(msgspec.Struct, frozen=True):
    """Who is told of: its facts, unanimous, and what it is called: (field, name)."""

    file: str
    line: int
    facts: Mapping[str, int]
    is_plain: bool
    names: Mapping[tuple[str | int, ...], tuple[str, str]]  # place of the name in the item → (kind, name)


def facts_in(text: str, path: Path = (), line: int = 0) -> Iterator[Fact]:
    """Variables and options with a number in a command, a list of variables, a record in a line."""
    every = [found for found in _TOLD.finditer(text) if found["is"] != " " or found["dash"]]
    known = {vocabulary.of_process(found["name"]) for found in every}
    for found in every:
        meaning = vocabulary.of_process(found["name"])
        if meaning is None:  # `num_nodes=4 devices=2`; a list of devices counts none
            is_each = (
                "nodes" in known
                and found["name"] == "devices"
                and text[found.end() : found.end() + 1] not in (",", "-")
            )
            meaning = (
                "processes_per_node" if is_each else _own_variable(found["name"]) if known.isdisjoint(_WHO) else None
            )
        if meaning == "rank" and (group := OF_GROUP.search(text[: found.start()])):
            meaning = vocabulary.of_process(f"{group[0]}_{found['name']}")  # local rank: 3
        if meaning is not None and (not found["of"] or meaning in _SIZES):
            yield Fact(meaning, int(found["number"]), path, line, _is_plain(found["name"]))


def told_names(sources: Sequence[Source]) -> list[Told]:
    """The files of a bundle → what their documents say of whom, in the order of the files; only what is admitted."""
    documents = [*_documents(sources)]
    called = called_by_options(leaf.value for _, own in documents for leaf in own)
    items = [items_of(file, [_renamed(leaf, called) for leaf in own] if called else own) for file, own in documents]
    told = admitted_beside(own for own in items if len(own) > 1)
    for group in alike([one for own in items if len(own) == 1 for one in own]):
        told += admitted(group)
    return list(dict.fromkeys(told))


def claims_of(told: Sequence[Told], names: Names, places: Mapping[str, str] = {}) -> Iterator[dict[str, Any]]:
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
            rows: list[tuple[int | None, str | None, int | None]] = [
                (rank, one.name, local) for (name, local), rank in names.places.items() if name == one.name
            ]
        elif one.kind == "folder" and names.folders.get(one.name) == one.rank:
            rows = [(one.rank, None, None)]
        elif one.kind in HOSTS and "[" not in one.name and names.rank(one.name, one.local_rank) == one.rank:
            rows = [(one.rank, one.name, one.local_rank)]
        elif one.kind in ("pid", PROCESS) and (pid := one.name.rpartition(":")[2]).isascii() and pid.isdecimal():
            yield place | {"rank": one.rank, "pid": int(pid), "host": one.name[: -len(pid) - 1] or places.get(one.file)}
            continue
        elif names.within.get((one.file.rpartition("/")[0], one.name)) == one.rank is not None or (
            one.local_rank is None
            and names.ranks.get(one.name) == one.rank
            and (one.kind == ROSTER or "[" in one.name or _ID.fullmatch(one.name))
        ):
            yield place | {"rank": one.rank, "name": one.name}
            continue
        else:
            continue
        for rank, host, local in rows:
            if (one.kind == CALLED and (rank, local) in done) or (one.kind in (CALLED, "key") and rank in hosted):
                yield place | {"rank": rank, "name": host}
            elif (rank, local) not in done:  # of several names of one, one is a host's
                done.add((rank, local))
                yield place | {"rank": rank, "host": host, "local_rank": local}


# --- documents -------------------------------------------------------------------------------------------------------


def _documents(sources: Sequence[Source]) -> Iterator[tuple[str, list[Leaf]]]:
    """(path, leaves) of each document that may tell a rank; files called as what they hold are one document of their folder."""
    read = taken = 0
    values: defaultdict[str, list[Leaf]] = defaultdict(list)
    for source in sources:
        if source.seen is not None or not 0 < source.size <= BYTES or read > ALL_BYTES or taken >= DOCUMENTS:
            continue
        folder, _, name = source.path.rpartition("/")
        data = _document(source)
        read, taken = read + len(data), taken + bool(data)
        text = data.decode("utf-8", "replace")
        if len(text) < 16 and vocabulary.of_process(name) is not None:
            values[folder].append(Leaf((0, name), text.strip(), 1))
        elif own := (not is_json(text) and hostfile(text)) or table(source.path, data) or leaves(text):
            yield source.path, own
    for folder, found in values.items():
        yield f"{folder}/", found


def _renamed(leaf: Leaf, called: Mapping[str, str]) -> Leaf:
    """A variable as commands call it, by its field or where its name is told beside its value."""
    last = str(leaf.path[-1])
    if last in called:
        return leaf._replace(path=(*leaf.path[:-1], called[last]))
    return leaf._replace(value=called.get(leaf.value, leaf.value) if last == "name" else renamed_in(leaf.value, called))


def _document(source: Source) -> bytes:
    """What a file holds if it may be a document that tells a rank; else nothing. Most files are none, and their beginnings show it."""
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
    data = data.replace(b"\0", b"\n") if is_environment else data
    return data if len(data) < 16 or _MAY.search(data.lower()) else b""


def _facts(own: Sequence[Leaf]) -> Iterator[Fact]:
    called = {leaf.path[:-1]: leaf.value for leaf in own if leaf.path[-1] == "name"}
    named = [(leaf, name_of(leaf, called)) for leaf in own]
    is_known = any(vocabulary.of_process(str(name)) in _WHO for _, name in named)
    for leaf, name in named:
        meaning = _meaning(name, leaf.path) if isinstance(name, str) else None
        meaning = _own_variable(str(name)) if meaning is None and not is_known else meaning
        if meaning is None and _kind(name) == "name" and (rank := hints(leaf.value).rank) is not None:
            yield Fact("rank", rank, leaf.path, leaf.line, is_plain=True)
        elif meaning is None:
            yield from facts_in(leaf.value, leaf.path, leaf.line)
            for found, made in made_of(leaf, own, called):
                if (what := vocabulary.of_process(found)) in _WHO:
                    yield Fact(what, made, leaf.path, leaf.line, found == "rank")
        elif _NUMBER.fullmatch(leaf.value):
            yield Fact(meaning, int(leaf.value), leaf.path, leaf.line, _is_plain(str(name)))
        else:
            yield from facts_in(leaf.value, leaf.path, leaf.line)
            if (number := taken(leaf, own, called)) is not None:
                yield Fact(meaning, number, leaf.path, leaf.line, is_plain=True)


def _meaning(name: str, path: Path) -> str | None:
    """What a field says of its process. A plain `rank` below a group's word is a place in the group, and below another's it is that's."""
    last = name.replace("/", ".").rpartition(".")[2]
    meaning = vocabulary.of_process(last)
    if last == "rank" and (last != name or (len(path) > 1 and OF_GROUP.search(f"{path[-2]}_"))):
        return None
    return meaning


def _is_plain(name: str) -> bool:
    """Is it called `rank` and no more, or so by its program alone?"""
    return name == "rank" or vocabulary.of_process(name) is None


def _own_variable(name: str) -> str | None:
    """What a program's own variable says, `FIT_RANK`: what is behind the program's name, unless that is a group's or of an adapter."""
    found = _OWN.fullmatch(name)
    if found is None or OF_GROUP.search(f"{found['of']}_") or vocabulary.meaning_of(found["of"]) is not None:
        return None
    return "world_size" if found["what"] == "WORLD" else vocabulary.of_process(found["what"])


def items_of(file: str, own: Sequence[Leaf]) -> list[Item]:
    """The items of a document: its smallest number of parts, each with one rank, node and local rank at most."""
    facts = list(_facts(own))
    who = [fact for fact in facts if fact.meaning in _WHO]
    depth = max((len(fact.path) for fact in who), default=0)
    for count in range(depth + 1):
        parts: defaultdict[Path, list[Fact]] = defaultdict(list)
        for fact in who:
            parts[fact.path[:count]].append(fact)
        if all(_unanimous(part) for part in parts.values()):
            whole = _of_one(parts, own) if len(parts) == 1 else parts
            return [_item(file, prefix, part, facts, own, whole.keys()) for prefix, part in whole.items()]
    return []


def _of_one(parts: Mapping[Path, list[Fact]], own: Sequence[Leaf]) -> Mapping[Path, list[Fact]]:
    """The one part, which is one of a list if all that it tells stands in one of several there: the others are not who it is."""
    [(prefix, facts)] = parts.items()
    for at in range(len(prefix), min(len(fact.path) for fact in facts)):
        beside = {leaf.path[at] for leaf in own if len(leaf.path) > at and leaf.path[:at] == facts[0].path[:at]}
        if len({fact.path[: at + 1] for fact in facts}) > 1:
            break
        if len(beside) > 1 and isinstance(facts[0].path[at], int):
            return {facts[0].path[: at + 1]: facts}
    return parts


def _unanimous(part: Sequence[Fact]) -> bool:
    return all(len({fact.number for fact in part if fact.meaning == meaning}) < 2 for meaning in _WHO)


def _item(
    file: str, prefix: Path, part: Sequence[Fact], facts: Sequence[Fact], own: Sequence[Leaf], all_: Collection[Path]
) -> Item:
    def belongs(path: Path) -> bool:  # to the item, or to what it stands in
        is_beside = path[:-1] == prefix[: len(path) - 1] and path[: len(prefix)] not in all_
        return path[: len(prefix)] == prefix or is_beside

    told: defaultdict[str, set[int]] = defaultdict(set)
    for fact in facts:
        if belongs(fact.path):
            told[fact.meaning].add(fact.number)
    names: dict[tuple[str | int, ...], tuple[str, str]] = {}
    for at, key in enumerate(prefix):
        if isinstance(key, str) and _NAME.fullmatch(key):
            names["", at] = ("pid", found["pid"]) if (found := _OF_PID.fullmatch(key)) else ("key", _KIND.sub("", key))
    of_variables = {leaf.path[:-1] for leaf in own if leaf.path[-1] == "value"}
    elsewhere = {leaf.value for leaf in own if len(all_) == 1 and leaf.path[: len(prefix)] != prefix}
    for leaf in own:
        kind = _kind(leaf.path[-1]) if leaf.path[:-1] not in of_variables and leaf.value not in elsewhere else None
        value = leaf.value.split("/")[0] if kind == "host" else leaf.value
        value = value if _NAME.fullmatch(value) else value.rpartition("/")[2]  # a stream, in its group
        if kind and belongs(leaf.path) and (kind == "pid" or _NAME.fullmatch(value)):
            place = leaf.path[len(prefix) :] if leaf.path[: len(prefix)] == prefix else (len(leaf.path), leaf.path[-1])
            names[place] = (kind, value.lstrip("/"))
        elif (
            belongs(leaf.path) and (named := counted(str(leaf.path[-1]), leaf.value) or path_of(leaf.value)) is not None
        ):
            names[leaf.path[len(prefix) :]] = named
    is_plain = all(fact.is_plain for fact in part if fact.meaning == "rank")
    for leaf in own:
        said = vocabulary.meaning_of(name) if isinstance(name := leaf.path[-1], str) else None
        what = said.meaning if said is not None else "device" if _DEVICE.fullmatch(str(leaf.path[-1])) else None
        if what in ("attempt", "device") and _NUMBER.fullmatch(leaf.value) and belongs(leaf.path):
            told[what].add(int(leaf.value))
    sizes = {meaning: min(numbers) for meaning, numbers in told.items() if len(numbers) == 1}
    return Item(file, part[0].line, sizes, is_plain, names)


def _kind(name: str | int) -> str | None:
    """What a field names, null where it is no name."""
    if isinstance(name, int):
        return None
    if (said := vocabulary.meaning_of(name)) is not None and said.meaning in ("host", "pod", "pid"):
        return said.meaning
    words = vocabulary.words_of(name)
    if not _OF_OTHERS.isdisjoint(words):
        return None
    found = _NAMING.search("_".join(words))
    return found[0].lstrip("_") if found else None


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
        parts = {("/", at): ("pid" if path[at - 1 : at] == ["proc"] else "file", path[at]) for at in differing}
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
    for place in {place for item in own for place in item.names}:
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


def _processes(own: Sequence[Item], said: Sequence[tuple[Item, str, str]]) -> Iterator[Told]:
    """Where each item tells a host and a pid: the two together, for hosts count their processes on their own."""
    pids = [{name for kind, name in item.names.values() if kind == "pid"} for item, _, _ in said]
    told = [
        (item, f"{host}:{next(iter(one))}") for (item, _, host), one in zip(said, pids, strict=True) if len(one) == 1
    ]
    if len({name for _, name in told}) == len(told) == len(own):
        yield from (_told(item, "rank", PROCESS, name, local=None) for item, name in told)


def _told(item: Item, meaning: str, kind: str, name: str, local: int | None) -> Told:
    is_node = meaning == "node_rank"
    return Told(
        name,
        kind,
        item.file,
        item.line,
        rank=None if is_node else item.facts["rank"],
        local_rank=local,
        node_rank=item.facts["node_rank"] if is_node else None,
        processes=item.facts.get("processes_per_node") if is_node else None,
        world=item.facts.get("world_size"),
        nodes=item.facts.get("nodes"),
        attempt=item.facts.get("attempt"),
    )
