"""Ranks that a script looks up: the place of a process's own name in a list of all of them.

    ws = os.environ["WORKERS"].split(",")⏎… "task": {"type": "worker", "index": ws.index(os.environ["SELF"])}         WORKERS=10.0.0.13:2223,10.0.0.11:2222
    rank = hosts.index(socket.gethostname())                                                                 hosts = ["k3", "k1", "k7"]
    RANK=$(echo $MEMBERS | tr ' ' '\\n' | grep -nx $ME | cut -d: -f1)⏎RANK=$((RANK-1))                   MEMBERS: "swan heron teal"

What the number is given to must be called a rank, or be the index of a task in TensorFlow's description of its cluster. The list is what any file gives to the name
that the script takes it from, or to that before it: one list only, of names that are not plain words, no name twice. Whatever a script does with the list, or with the number, beside looking it up once
(sorted, chosen from, shifted, one more), may make another rank of it, and who begins several processes may have looked up a node: then nothing is known.

Fooled by: a list of another job in a file that is noted beside this one's.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from parsers.schema.names import Told
from parsers.text.patterns import regex
from parsers.text.vocabulary import of_process
from parsers.who.lines.beginnings import Begun, Said
from parsers.who.told.rosters import KIND
from parsers.who.told.told_names import Document

_LINES, _CHARACTERS = 400, 4000
_LOOKED_UP = regex(
    r"(?P<name>[A-Za-z_]\w{0,60})[\"']?\]?(?:: ?int)?\s{0,4}[=:]\s{0,2}(?:str\(|int\()?(?P<list>[A-Za-z_]\w{0,60})\.(?:index|indexOf|IndexOf)\("
)
_FOUND = regex(
    r"(?P<name>[A-Za-z_]\w{0,60})=[\"']?\$\((?:\(\s?\$\()?\s?(?:echo|printf \S{1,12}) [\"']?\$\{?(?P<list>[A-Za-z_]\w{0,60})\}?[^\n]{1,80}?\bgrep -(?:n[a-zA-Z]{0,3}|[a-zA-Z]{1,3}n[a-zA-Z]{0,3})\b"
)
_TAKEN = regex(
    r"(?P<to>[A-Za-z_]\w{0,60})(?:: ?[\w\[\]]{1,20})?\s{0,2}=\s{0,2}(?:os\.)?(?:environ(?:\.get\(|\[)|getenv\(|process\.env\.)?[\"'$(]{0,3}\{?(?P<of>[A-Za-z_]\w{0,60})[^\n]{0,60}?\.?(?:\bsplit\b|\)\))"
)
_ORDERED = regex(r"\b(?:sort|sorted|reversed|reverse|shuffle|tac|shuf|set)\b")
_LEFT = (  # a list as it is: what it is given, asked for a place, how long it is, one of it, all of it in turn
    r"(?:(?:const|let|var|export|local|declare|readonly)(?: -\w+)? )?{0}(?:: ?[\w\[\]]{{1,20}})?\s?=(?!=)|{0}\.(?:index|indexOf|IndexOf)\(|(?:\blen\(|\bin \$?\{{?){0}\b|{0}\.length\b"
    r"|(?<!del ){0}\[[\w-]+\](?!\s?=[^=])|\.join\({0}\)|(?:[\"':,]\s?){0}(?=[}}\],])|\b(?:echo|printf \S{{1,12}}) [\"']?\$\{{?{0}\}}?"
)
_WORD = regex(r"[A-Za-z_][\w-]{2,60}")
_OF_SEVERAL = ("processes_per_node", "local_rank", "node_rank")  # then a place in the list may be a node's
_PIPED = regex(r"[\"']? \| tr [^|]{1,20} \| grep -\w+ [^|]{1,40} \| cut -d: -f1[\s)`\"']*(?:- ?1[\s)]*)?")
_ONE_LESS = regex(r"[-] ?1\b")
_CALLED_IN = regex(r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)[)\]}\s\"',;]*(?:#.*|//.*)?")
_GIVEN = regex(
    r"(?:\A|[\s\"',;{(-])(?P<name>[A-Za-z_]\w{0,60})[\"']?\s{0,3}[=:]\s{0,3}(?P<value>[\[(\"']{0,3}[A-Za-z0-9][^\n=]{3,4000})"
)
_ITEM = regex(r"[A-Za-z0-9](?:[\w.-]*\w)?(?::\d{2,5})?")
_NO_NUMBER = regex(r"[A-Za-z]|\..*\.")
_ITEMS = regex(
    rf"[\[(\"']{{0,3}}(?P<items>{_ITEM.pattern}(?:[\"']?(?:, ?|;| )[\"']?{_ITEM.pattern}){{1,4095}})[\"'\])]{{0,3}},?\s*(?:#.*)?"
)

_COMMAS = regex(rf"[\"']?(?P<items>{_ITEM.pattern}(?:,{_ITEM.pattern}){{1,4095}})(?=[\"';\s])")  # in a command


def looked_up(said: Begun, documents: Iterable[Document], world: int | None) -> list[Told]:
    """The lines of files, documents, and the size of the job where it is told → which rank each name of the list is."""
    wanted = {name for own in said.values() for name in _names(own)}
    if not wanted:
        return []
    lists: defaultdict[str, dict[tuple[str, ...], tuple[str, int | None]]] = defaultdict(dict)
    for path, line, name, value in (*_settings(said), *_leaves(documents)):
        if name in wanted and (items := _ITEMS.fullmatch(value.strip()) or _COMMAS.match(value)) is not None:
            names = tuple(_ITEM.findall(items["items"]))
            if len({*names}) == len(names) and world in (None, len(names)) and all(map(_NO_NUMBER.search, names)):
                lists[name].setdefault(names, (path, line))
    told = {names: where for own in lists.values() for names, where in own.items()}
    if len(told) != 1:
        return []
    [(names, (path, line))] = told.items()
    return [Told(name, KIND, path, line, rank=rank, world=len(names)) for rank, name in enumerate(names)]


def _names(own: Sequence[Said]) -> Iterator[str]:
    """What a script calls the list that it finds a process in, and whence it takes it."""
    texts = [one.raw[:_CHARACTERS] for one in own[:_LINES]]
    lookups = (
        [found for text in texts for form in (_LOOKED_UP, _FOUND) for found in form.finditer(text)]
        if any("index" in text.lower() or "grep" in text for text in texts)
        else []
    )
    script = "\n".join(texts) if lookups else ""
    if not lookups or any(of_process(word) in _OF_SEVERAL for word in {*_WORD.findall(script)}):
        return
    lists = {found["list"]: found for found in lookups if _is_rank(found["name"], script)}
    taken = {found["to"]: found["of"] for found in _TAKEN.finditer(script)}
    for name, found in lists.items():
        lines = [text for text in texts if re.search(rf"(?<!\w){name}(?!\w)", text)]
        if not any(_ORDERED.search(line) for line in lines) and _is_left(name, lines) and _is_whole(found, script):
            yield from {name, taken.get(name, name)}


def _is_left(name: str, lines: Sequence[str]) -> bool:
    """Is a list given once, and left as it is wherever its name stands?"""
    left = re.compile(_LEFT.format(rf"(?<![\w.]){name}"))
    uses = re.compile(rf"(?<![\w.\"'\[]){name}(?!\w|[\"'])")
    given = sum(re.search(rf"(?<![\w.]){name}(?:: ?[\w\[\]]{{1,20}})?\s?=(?!=)", line) is not None for line in lines)
    return given < 2 and all(len(uses.findall(line)) <= len(left.findall(line)) for line in lines)


def _is_whole(found: "re.Match[str]", script: str) -> bool:
    """Is the place in a list the rank, with nothing added: by what stands behind it, and wherever its name comes again? A shell counts lines from 1."""
    line = found.string[found.end() :]
    again = script.replace(found.string, "", 1)
    name = found["name"]
    changes = re.findall(
        rf"(?<![\w.]){name}(?![\w])[\"'\]}}]*\s?(?:[-+*/%]=? ?[\w$({{]+|\+\+|--)|[-+*/%] ?\$?\{{?{name}\b", again
    )
    if found[0].endswith("("):
        return not changes and _CALLED_IN.fullmatch("(" + line) is not None
    piped = _PIPED.fullmatch(found.string[found.end("list") :].lstrip("}"))
    less = [*changes, *(_ONE_LESS.findall(line) if piped else ())]
    return piped is not None and len(less) == 1 and _ONE_LESS.search(less[0]) is not None


def _is_rank(name: str, script: str) -> bool:
    """Is a number of that name the rank: by its word, as the index of a task of TensorFlow's, or because a variable of a rank is given it?"""
    if of_process(name) == "rank" or (name == "index" and "TF_CONFIG" in script):
        return True
    given = re.finditer(
        rf"(?P<to>[A-Za-z_]\w{{0,60}})[\"']?\]?\s?=\s?[\"'f({{$]{{0,4}}(?:str\()?{name}\b(?!\s?[*+-])", script
    )
    return of_process(name) is None and any(of_process(found["to"]) == "rank" for found in given)


def _settings(said: Begun) -> Iterator[tuple[str, int | None, str, str]]:
    for path, own in said.items():
        for one in own[:_LINES]:
            for found in _GIVEN.finditer(one.raw[:_CHARACTERS]):
                yield path, one.number, found["name"], found["value"]


def _leaves(documents: Iterable[Document]) -> Iterator[tuple[str, int | None, str, str]]:
    """Settings of documents: a value by its name, or beside it; a list by its own."""
    for file, leaves, _ in documents:
        names = {leaf.path[:-1]: leaf.value for leaf in leaves if leaf.path[-1] == "name"}
        lists: defaultdict[tuple[str | int, ...], list[str]] = defaultdict(list)
        for leaf in leaves:
            name = names.get(leaf.path[:-1], "value") if leaf.path[-1] == "value" else str(leaf.path[-1])
            yield file, leaf.line, name, leaf.value
            if isinstance(leaf.path[-1], int):
                lists[leaf.path[:-1]].append(leaf.value)
        for path, own in lists.items():
            yield file, None, str(path[-1]), ",".join(own)
