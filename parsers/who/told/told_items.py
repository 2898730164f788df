"""The items of a document: its smallest parts that each tell one rank (or node, or place on it), with what they are called.

    services: {trainer-a: {environment: {RANK: "2"}}}          one item, called `trainer-a`
    RANK=5 ROLE_RANK=5 SLURM_PROCID=1                          one item: a launcher started the agent, which started the process

Its names are what tells it from the other items: names of mappings, of folders and files, and fields that say a name. Where variables of one
process do not agree, the one called `RANK` (and no more) is what its program goes by; a launcher counts what it started itself.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from parsers.schema.labels import OF_GROUP
from parsers.text import vocabulary
from parsers.text.outlines import Leaf, Path
from parsers.text.path_hints import hints
from parsers.text.patterns import regex
from parsers.who.lines.introductions import Introduction, of_cluster, of_cluster_text
from parsers.who.scripts.taken_numbers import made_of, name_of, taken
from parsers.who.told.numbered_files import counted, path_of

_WHO = ("rank", "node_rank", "local_rank")
_SIZES = ("nodes", "processes_per_node")  # what a part of a configuration says of the job: `trainer.num_nodes`
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
_OF_PID = regex(r"(?i)(?:(?:proc(?:ess)?|pid)[ ._-]?)?(?P<pid>[1-9]\d{2,9})")
_KIND = regex(r"[a-z][a-z_-]{0,40}:(?=[A-Za-z])")  # of unit, before its name: `program:w-3`


class Fact(msgspec.Struct, frozen=True):
    """One number that was said: `meaning` as vocabulary.of_process has it. `name`: as it was called."""

    meaning: str
    number: int
    path: Path
    line: int
    name: str

    @property
    def is_plain(self) -> bool:
        """Is it called `rank` and no more, or so by its program alone?"""
        return self.name == "rank" or vocabulary.of_process(self.name) is None


class Item(msgspec.Struct, frozen=True):
    """Who is told of: its facts, unanimous, and what it is called: (field, name)."""

    file: str
    line: int
    facts: Mapping[str, int]
    is_plain: bool
    names: Mapping[tuple[str | int, ...], tuple[str, str]]  # place of the name in the item → (kind, name)


def facts_in(text: str, path: Path = (), line: int = 0) -> Iterator[Fact]:
    """Variables and options with a number in a command, a list of variables, a record in a line."""
    yield from _of_itself([*_facts_in(text, path, line)])


def _facts_in(text: str, path: Path, line: int) -> Iterator[Fact]:
    if "cluster" in text and "task" in text:
        yield from _as_facts(of_cluster_text(text), path, line)
    every = [found for found in _TOLD.finditer(text) if found["is"] != " " or found["dash"]]
    known = {vocabulary.of_process(found["name"]) for found in every}
    for found in every:
        meaning = vocabulary.of_process(found["name"])
        if meaning is None and known.isdisjoint(_WHO):
            meaning = _own_variable(found["name"])
        # `num_nodes=4 devices=2`; a list of devices counts none
        if found["name"] == "devices" and "nodes" in known and text[found.end() : found.end() + 1] not in (",", "-"):
            meaning = "processes_per_node"
        if meaning == "rank" and (group := OF_GROUP.search(text[: found.start()])):
            meaning = vocabulary.of_process(f"{group[0]}_{found['name']}")  # local rank: 3
        if meaning is not None and (not found["of"] or meaning in _SIZES):
            yield Fact(meaning, int(found["number"]), path, line, found["name"])


def _facts(own: Sequence[Leaf]) -> Iterator[Fact]:
    called = {leaf.path[:-1]: leaf.value for leaf in own if leaf.path[-1] == "name"}
    named = [(leaf, name_of(leaf, called)) for leaf in own]
    is_known = any(vocabulary.of_process(str(name)) in _WHO for _, name in named)
    for leaf, name in named:
        meaning = _meaning(name, leaf.path) if isinstance(name, str) else None
        meaning = _own_variable(str(name)) if meaning is None and not is_known else meaning
        meaning = "rank" if meaning is None and _is_of_ranks(leaf.path) else meaning
        if meaning is None and _kind(name) == "name" and (rank := hints(leaf.value).rank) is not None:
            yield Fact("rank", rank, leaf.path, leaf.line, "rank")
        elif meaning is None:
            yield from facts_in(leaf.value, leaf.path, leaf.line)
            for found, made in made_of(leaf, own, called):
                if (what := vocabulary.of_process(found)) in _WHO:
                    yield Fact(what, made, leaf.path, leaf.line, found)
        elif _NUMBER.fullmatch(leaf.value):
            yield Fact(meaning, int(leaf.value), leaf.path, leaf.line, str(name))
        else:
            yield from facts_in(leaf.value, leaf.path, leaf.line)
            if (number := taken(leaf, own, called)) is not None:
                yield Fact(meaning, number, leaf.path, leaf.line, "rank")


def _of_clusters(own: Sequence[Leaf]) -> Iterator[Fact]:
    """What TensorFlow's descriptions of clusters say that stand open in a document: `TF_CONFIG: {cluster: {worker: […]}, task: {type: worker, index: 1}}`."""
    for leaf in own:
        if leaf.path[-2:] != ("task", "index"):
            continue
        above, task, tasks = leaf.path[:-2], {}, defaultdict(list)
        for one in own:
            inner = one.path[len(above) :] if one.path[: len(above)] == above else ()
            if inner[:1] == ("task",) and len(inner) == 2:
                task[inner[1]] = one.value
            elif inner[:1] == ("cluster",) and len(inner) == 3:
                tasks[inner[1]].append(one.value)
        yield from _as_facts(of_cluster({"cluster": dict(tasks), "task": task}), leaf.path, leaf.line)


def _as_facts(told: Introduction | None, path: Path, line: int) -> Iterator[Fact]:
    if told is not None:
        yield Fact("rank", told.rank, path, line, "RANK")
        if told.world is not None:
            yield Fact("world_size", told.world, path, line, "WORLD_SIZE")


def _is_of_ranks(path: Path) -> bool:
    """Is it the entry of a name in a mapping of ranks: `ranks: {trainer-a: 2}`?"""
    above = path[-2] if len(path) > 2 else None
    return isinstance(above, str) and above[-1:] == "s" and vocabulary.of_process(above[:-1]) == "rank"


def _meaning(name: str, path: Path) -> str | None:
    """What a field says of its process. A plain `rank` below a group's word is a place in the group, and below another's it is that's."""
    last = name.replace("/", ".").rpartition(".")[2]
    meaning = vocabulary.of_process(last)
    if last == "rank" and (last != name or (len(path) > 1 and OF_GROUP.search(f"{path[-2]}_"))):
        return None
    return meaning


def _own_variable(name: str) -> str | None:
    """What a program's own variable says, `FIT_RANK`: what is behind the program's name, unless that is a group's or of an adapter."""
    found = _OWN.fullmatch(name)
    if found is None or OF_GROUP.search(f"{found['of']}_") or vocabulary.meaning_of(found["of"]) is not None:
        return None
    return "world_size" if found["what"] == "WORLD" else vocabulary.of_process(found["what"])


def _of_itself(facts: list[Fact]) -> list[Fact]:
    """Without what variables that stand beside each other say otherwise than the one that is called as what it tells, and no more."""
    plain = {(_list(fact), fact.meaning): fact.number for fact in facts if fact.name == fact.meaning.upper()}
    return [fact for fact in facts if plain.get((_list(fact), fact.meaning), fact.number) == fact.number]


def _list(fact: Fact) -> Path:
    """Where a variable stands beside others: by its name, as an entry `{name: RANK, value: 3}`, or all in one text."""
    parts = 2 if fact.path[-1:] == ("value",) else 1 if fact.path[-1:] == (fact.name,) else 0
    return fact.path[: len(fact.path) - parts]


def items_of(file: str, own: Sequence[Leaf]) -> list[Item]:
    """The items of a document: its smallest number of parts, each with one rank, node and local rank at most."""
    facts = _of_itself([*_facts(own), *_of_clusters(own)])
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
        # no list of variables
        if len(beside) > 1 and isinstance(facts[0].path[at], int) and len(facts[0].path) > at + 1:
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
        if isinstance(key, str) and (pid := pid_of(key)) is not None:
            names["", at] = ("pid", pid)
        elif isinstance(key, str) and _NAME.fullmatch(key):
            names["", at] = ("key", _KIND.sub("", key))
    of_variables = {leaf.path[:-1] for leaf in own if leaf.path[-1] == "value"}
    elsewhere = {leaf.value for leaf in own if len(all_) == 1 and leaf.path[: len(prefix)] != prefix}
    for leaf in own:
        kind = _kind(leaf.path[-1]) if leaf.path[:-1] not in of_variables and leaf.value not in elsewhere else None
        value = leaf.value.split("/")[0] if kind == "host" else leaf.value
        value = value if _NAME.fullmatch(value) else value.rpartition("/")[2]  # a stream, in its group
        if kind and belongs(leaf.path) and (kind == "pid" or _NAME.fullmatch(value)):
            place = leaf.path[len(prefix) :] if leaf.path[: len(prefix)] == prefix else (len(leaf.path), leaf.path[-1])
            names[place] = (kind, value.lstrip("/"))
        elif belongs(leaf.path) and (named := counted(str(leaf.path[-1]), leaf.value) or path_of(leaf.value)):
            names[leaf.path[len(prefix) :]] = named
    is_plain = all(fact.is_plain for fact in part if fact.meaning == "rank")
    for leaf in own:
        said = vocabulary.meaning_of(name) if isinstance(name := leaf.path[-1], str) else None
        what = said.meaning if said is not None else "device" if _DEVICE.fullmatch(str(name)) else None
        if what in ("attempt", "device") and _NUMBER.fullmatch(leaf.value) and belongs(leaf.path):
            told[what].add(int(leaf.value))
    sizes = {meaning: min(numbers) for meaning, numbers in told.items() if len(numbers) == 1}
    return Item(file, part[0].line, sizes, is_plain, names)


def pid_of(name: str) -> str | None:
    """The number of a process, where a name may be one and no more."""
    found = _OF_PID.fullmatch(name)
    return found["pid"] if found is not None else None


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
