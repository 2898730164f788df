"""Names whose numbers a script makes ranks of, or numbers of nodes: of tasks, pods, allocations, folders.

    RANK=$((SLOT-1))             trainer.8.vlrrztlz4ttg@sw-d  trainer.6.chrz6qfs4ss8@sw-c
    RANK=$((INDEX+1))            chief-0-node__c1f0d12e  worker-3-node__dba41ecc
    RANK = "${ALLOC_INDEX}"      e07b91c4.txt: Name = pretrain.worker[3]             alloc/e07b91c4/stderr.0
    --node_rank=$((JOB_INDEX*2+COMPLETION_INDEX))         slice-1-0-p4mdh
    RANK=$((G*GROUP_SIZE+WORKER_INDEX))                   ft-1  ft-1-2
    rank = group * 4 + member                             g2/1, in a column of a table
    RANK=$((TASK_INDEX*2+g))     lm-worker-3.jsonl, of a node then: a scheduler gives its tasks their index and their name
    RANK=$((TASK_INDEX+1))                                NAME⏎duo-chief-0⏎duo-hand-0⏎duo-hand-1, the pods that a scheduler lists

Names are of one form where their parts are as many: one part counts (two, where the script makes the rank of two), the others are of all alike, or of
each another one (an id, a host). What the script makes of the numbers must be just 0 … N-1 of the world that is told; where it is told
of nobody, of all groups and all of each. One name of another form (a master) has the number that is left. The number of a group stands
before that of what is in it, unless the script calls the one that it multiplies by what counts last (the completion of a job, a worker).

Fooled by: names that somebody else has numbered, of as many things as there are processes.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from io import BytesIO
from itertools import chain
from pathlib import PurePosixPath

from parsers.forms import framings
from parsers.schema.labels import OF_GROUP
from parsers.schema.names import Told
from parsers.schema.parser import Source
from parsers.text.patterns import regex
from parsers.text.rank_list import RANKS
from parsers.text.vocabulary import of_process
from parsers.who.lines.beginnings import Begun, Said
from parsers.who.scripts.formulas import Formula
from parsers.who.told.tables import is_of_names, table_rows
from parsers.who.told.told_names import Document

_FEWEST = 2
_CHARACTERS = 400
_LINES = 60  # of a file that tells of one process, the first
_PARTS = regex(r"[A-Za-z0-9]+")
_LAST = regex(r"(?i)completion|worker|pod_?index|local|member")  # what is counted last in a name
# what schedulers call tasks after
_LISTED = regex(r"(?i)(?:task|pod|completion|replica|worker|alloc\w{0,8})_?(?:index|idx|id|number)|ordinal")
_OTHERS = regex(r"(?i)(?:gpu|cuda|npu|card|device|dev|slot|core|cpu|step|epoch|it|iter|shard|part|v)\Z")
_TASKS = ("worker", "replica", "node")  # groups of a program, and what schedulers call their tasks
_COUNTED = regex(r"(?<![\w.-])[A-Za-z]\w*(?:-\w+)*-\d{1,5}(?![\w.-])")
_PAIR = regex(r"([A-Za-z]{0,20})[_-]?(\d{1,5})[/:._-]([A-Za-z]{0,20})[_-]?(\d{1,5})")  # in a cell
_SEPARATE = regex(r"[._ -]")
_CALLED = regex(r"(?=[^\s]{0,63}[A-Za-z])\w{4,64}")
# alone in its line
_TASK = regex(r"[\s-]*[\"']?(?P<key>\w+)[\"']?\s*[:=]\s*\{?\s*(?:[\"']?(?P<name>[A-Za-z]\w*)[\"']?,?)?")
_FIELD = regex(
    r"[\s-]*[\"']?(?P<key>[A-Za-z][\w ]{0,30}?)[\"']?\s*[:=]\s*\"?(?P<name>[A-Za-z][\w.@/\[\]-]{2,120})\"?,?\s*"
)


def counted_names(
    names: Sequence[str], offset: int, modulus: int | None, world: int, words: Set[str] = frozenset()
) -> dict[str, int]:
    """Names → what a script makes of the number in each, which are all of a world; else nothing. `words`: what the document calls its tasks that
    tells how: no group is called so, and beside names of others only one of them may be what is left."""
    for own in (*_forms(names), *_forms(names, is_of_words=True)):
        parts = [_parts(name) for name in own]
        columns = [*zip(*parts, strict=True)]
        each = [at for at, column in enumerate(columns) if len({*column}) == len(own)]
        counted = [at for at in each if _counts(columns, at, words)]
        if any(1 < len({*column}) < len(own) for column in columns) or len(counted) != 1:
            continue
        numbers = [int(number) + offset for number in columns[counted[0]]]
        made = {name: n % modulus if modulus else n for name, n in zip(own, numbers, strict=True)}
        beside = [name for name in names if name in made or _is_beside(_parts(name), parts[0], words)]
        if whole := _with_left(made, names, world) or _with_left(made, beside, world):
            return whole
    return {}


def _is_beside(own: Sequence[str], counted: Sequence[str], words: Set[str]) -> bool:
    """Are these the parts of a name that is told with those that are counted: of one job, and of a task that the same document tells?"""
    is_alike = len(own) == len(counted) > _FEWEST and own[0] == counted[0] and not _is_count(own[0])
    named = (part for part, other in zip(own, counted, strict=True) if part != other and not _is_count(other))
    return is_alike and all(part.lower() in words for part in named)


def _with_left(made: Mapping[str, int], names: Sequence[str], world: int) -> dict[str, int]:
    others = [name for name in names if name not in made]
    free = {*range(world)} - {*made.values()}
    whole = dict(made)
    if len(others) == len(free) == 1:
        whole[others[0]] = free.pop()
    return whole if len(whole) == len(names) and sorted(whole.values()) == [*range(world)] else {}


def grouped_names(names: Sequence[str], one: Formula, world: int | None) -> dict[str, int]:
    """Names of two numbers, of a group and of a place in it → what a script makes of them. The first of a group may be called as the group."""
    forms = [*_forms(names)]
    longest = max(forms, key=lambda own: len(_parts(own[0])), default=())
    parts = {name: _parts(name) for name in longest}
    for name in names if longest else ():
        begins = [own for other, own in parts.items() if other.startswith(f"{name}-")]
        if name not in parts and begins:
            parts[name] = [*_parts(name), "0", *begins[0][len(_parts(name)) + 1 :]]
    columns = [*zip(*parts.values(), strict=True)] if len({*map(len, parts.values())}) == 1 else []
    counted = [at for at in range(len(columns)) if _counts(columns, at) and len({*columns[at]}) > 1]
    others = [column for at, column in enumerate(columns) if at not in counted]
    if len(counted) != _FEWEST or any(1 < len({*column}) < len(parts) for column in others) or len(parts) < len(names):
        return {}
    is_last = _LAST.search(one.local or "") is not None or _LAST.search(one.node or "") is None
    group, place = counted if is_last else counted[::-1]
    each = one.each or 1 + max(map(int, columns[place]))
    made = {name: (int(own[group]) - one.first) * each + int(own[place]) for name, own in parts.items()}
    is_whole = sorted(made.values()) == [*range(world or len(made))]
    return made if is_whole and max(map(int, columns[place])) < each else {}


def _parts(name: str) -> list[str]:
    return _PARTS.findall(name.partition("@")[0])


def _forms(names: Iterable[str], *, is_of_words: bool = False) -> Iterator[list[str]]:
    """Names of as many parts that begin alike; `is_of_words`: that have the same words, all of them."""
    shapes: defaultdict[tuple[int, str], list[str]] = defaultdict(list)
    for name in dict.fromkeys(names):
        parts = _parts(name)
        words = [part for part in (parts if is_of_words else parts[:1]) if not _is_count(part)]
        shapes[len(parts), " ".join(words)].append(name)
    yield from (own for own in shapes.values() if len(own) >= _FEWEST)


def _counts(columns: Sequence[Sequence[str]], at: int, words: Set[str] = frozenset()) -> bool:
    """Is a part of names a number, of what is no device, step or group?"""
    before = columns[at - 1][0] if at else ""
    is_group = before.lower() not in {*_TASKS, *words} and OF_GROUP.fullmatch(f"{before}_") is not None
    return all(map(_is_count, columns[at])) and not _OTHERS.match(before) and not is_group


def _is_count(part: str) -> bool:
    return len(part) < 6 and part.isascii() and part.isdigit()


def computed_names(
    said: Begun,
    paths: Sequence[str],
    formulas: Sequence[Formula],
    world: int | None,
    each: int | None,
    documents: Iterable[Document],
) -> Iterator[Told]:
    """What the formulas of a bundle make of the names in it."""
    kinds = {
        (one.what, one.offset, one.modulus, one.counter, one.node, one.local, one.each, one.first) for one in formulas
    }
    if len(kinds) != 1:
        return
    one = formulas[-1]
    # a launcher counts its tasks, and names nothing by them
    if one.is_nameless or of_process(one.counter or "") == "rank":
        return
    size = world if one.what == "rank" else world // each if world and each and world % each == 0 else None
    tasks = (_TASK.fullmatch(line.raw[:_CHARACTERS]) for line in said.get(one.file, ()))
    words = {(found["name"] or found["key"]).lower() for found in tasks if found is not None}
    groups = chain(_groups(said, paths), chain.from_iterable(map(_leaves, documents)))
    for names in (own for own in groups if _FEWEST <= len(own) <= RANKS):
        is_rank = one.what == "rank"
        if one.counter is None:
            made = grouped_names([*names], one, size)
            if not made and is_rank and size and one.each and size % one.each == 0 and _LISTED.search(one.node or ""):
                made, is_rank, each = counted_names([*names], -one.first, None, size // one.each), False, one.each
        else:
            made = counted_names([*names], one.offset, one.modulus, size, words) if size else {}
        for name, number in made.items():
            for called in dict.fromkeys(names[name]):
                yield Told(
                    called, "service", one.file, one.line, rank=number if is_rank else None,
                    node_rank=None if is_rank else number, processes=None if is_rank else each, world=world,
                )  # fmt: skip


def _groups(said: Begun, paths: Sequence[str]) -> Iterator[dict[str, list[str]]]:
    """Names that are beside each other → whatever is called so: parts of paths, hosts before lines, what files alike say of themselves."""
    beside: defaultdict[str, dict[str, list[str]]] = defaultdict(dict)
    files: defaultdict[tuple[str | int, ...], list[str]] = defaultdict(list)
    for path in paths:
        parts = path.split("/")
        for at, part in enumerate(parts):
            stem, _, end = part.rpartition(".") if at == len(parts) - 1 else (part, "", "")
            beside[f"{'/'.join(parts[:at])}/*.{end}"].setdefault(stem or end, [stem or end])
        words = _SEPARATE.split(parts[-1].partition(".")[0])
        alike_ = parts[-1].partition(".")[2].rpartition(".")[2], len(words), *words[: len(words) > 1]
        files[path.rpartition("/")[0], *alike_].append(path)
    yield from beside.values()
    for where in ("host", "container"):
        hosts = {host for own in said.values() for one in own if (host := getattr(one.line, where))}
        yield {host: [host] for host in sorted(hosts)}
    for path, own in said.items():
        yield from _cells(path, own)
        yield from _entries(own)
        # words that end in a number, as the names of tasks do
        yield {word: [word] for one in own for word in _COUNTED.findall(one.raw[:_CHARACTERS])}
    for alike in (own for own in files.values() if _FEWEST <= len(own) <= RANKS):
        yield from _fields(alike, said)


def _cells(path: str, own: Sequence[Said]) -> Iterator[dict[str, list[str]]]:
    """The columns of a table that call processes, as a scheduler lists them: their cells; and those whose cells are two numbers: these, set apart → the cell."""
    yield from _by_key(cell for _, cells in table_rows(own) for cell in cells.items())
    text = "\n".join(one.raw for one in own).encode()
    if not own or own[0].number != 1 or framings.framing(path, text) not in framings.TABLES:
        return
    found: defaultdict[str, dict[str, list[str]]] = defaultdict(dict)
    for _, _, record in framings.rows(Source(path, len(text), partial(BytesIO, text))):
        for name, cell in (record or {}).items():
            if isinstance(cell, str) and (pair := _PAIR.fullmatch(cell)) is not None:
                found[name].setdefault("-".join(filter(None, pair.groups())), [cell])
    yield from found.values()


def _by_key(told: Iterable[tuple[str, str]]) -> Iterator[dict[str, list[str]]]:
    """Names by the key, or the column, that they are told with, of those that call processes."""
    found: defaultdict[str, dict[str, list[str]]] = defaultdict(dict)
    for key, name in told:
        found[key][name] = [name]
    yield from (names for key, names in found.items() if is_of_names(key))


def _entries(own: Sequence[Said]) -> Iterator[dict[str, list[str]]]:
    """What the entries of a document say of themselves, by the key that they say it with."""
    fields = filter(None, (_FIELD.fullmatch(one.raw[:_CHARACTERS]) for one in own))
    return _by_key((one["key"], one["name"]) for one in fields if any(map(str.isdigit, one["name"])))


def _leaves(document: Document) -> Iterator[dict[str, list[str]]]:
    """The same of one that is no lines."""
    keyed = ((leaf.path[-1], leaf.value) for leaf in document.leaves if any(map(str.isdigit, leaf.value)))
    return _by_key((key, name) for key, name in keyed if isinstance(key, str))


def _fields(alike: Sequence[str], said: Begun) -> Iterator[dict[str, list[str]]]:
    """Files of one folder, each with a line of one key and another name: the name → itself and the file's stem."""
    found: defaultdict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for path in alike:
        for one in said.get(path, ())[:_LINES]:
            if (field := _FIELD.fullmatch(one.raw[:200])) is not None and any(map(str.isdigit, field["name"])):
                found[field["key"]][path].add(field["name"])
    for own in found.values():
        names = {next(iter(told)): path for path, told in own.items() if len(told) == 1}
        if len(names) == len(alike):
            stems = {name: PurePosixPath(path).stem for name, path in names.items()}
            apart = _apart([*stems.values()])
            yield {name: list(dict.fromkeys((name, stem, apart.get(stem, stem)))) for name, stem in stems.items()}


def _apart(stems: Sequence[str]) -> dict[str, str]:
    """Names of files alike → the one part in which they differ, where it is a name."""
    parts = [_SEPARATE.split(stem) for stem in stems]
    columns = [*zip(*parts, strict=True)] if len({*map(len, parts)}) == 1 else []
    differing = [column for column in columns if len({*column}) > 1]
    is_name = len(differing) == 1 and len({*differing[0]}) == len(stems) and all(map(_CALLED.fullmatch, differing[0]))
    return dict(zip(stems, differing[0], strict=True)) if is_name else {}
