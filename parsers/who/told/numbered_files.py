"""Files that a document tells of beside the ranks, and those called after what it counts: `map_index=1/attempt=1.log`, where a record says map_index 1 and RANK 4.

    {"map_index": 1, "environment": {"RANK": "4"}}          task,rank⏎0,2⏎1,4          trial: 3⏎  env: {RANK: 0}
    started rank 4 on card 0 pid 4711 log w/card0.log          two lines and more of who begins processes
    [proc.4711]⏎rank = 3⏎log = "log/out.4711"          rank,stdout⏎0,/data/run/w_a.txt⏎1,/data/run/w_c.txt

What has another number in each item, just 0 … N-1 or 1 … N, where the ranks are just 0 … N-1 as well, is what the document calls its processes by. Then a file whose path holds that
word with one such number, and in which nobody says who he is, is that rank's, however near the number itself would be to one.

Fooled by: a count of something that all processes share (ports, seeds), by a word that is in the names of files as well.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from msgspec.structs import replace

from parsers.schema.names import KIND_OF, Told
from parsers.text import vocabulary
from parsers.text.patterns import regex
from parsers.text.unanimous import begin_alike
from parsers.who.lines.beginnings import Begun, Said
from parsers.who.lines.introductions import Introduction

NUMBERED, PATH = "number", "path"
_PATH = regex(r"(?=[^.]{0,200}\.|[^/]{0,200}/)(?:[\w.@=+-]{0,200}/){0,16}[\w.@=+:-]{1,200}")
_APART = regex(r"[\s\"'`()\[\]{}<>,;=]+|:(?=\s|\Z)")  # words of a sentence
_WORD = regex(r"[a-z][a-z_-]{2,30}")
_NUMBER = regex(r"\d{1,7}")
_NO_PROCESS = regex(
    r"(?i).*(?:gpu|cuda|npu|device|card|port|local|node|host|group|slot|stage|layer|seed|size|count|world).*"
)


def path_of(value: str) -> tuple[str, str] | None:
    """What may be the path of a file."""
    return (PATH, value) if _PATH.fullmatch(value) else None


def counted(name: str, value: str) -> tuple[str, str] | None:
    """What a field counts and its number, `map 3` of `map_index: 3`; None where it is a figure, of a machine, or tells who a process is."""
    word = KIND_OF.sub("", name.lower())
    is_word = _WORD.fullmatch(word) is not None and not _NO_PROCESS.fullmatch(word)
    if not is_word or not _NUMBER.fullmatch(value) or vocabulary.of_process(name) or vocabulary.meaning_of(name):
        return None
    return NUMBERED, f"{word} {int(value)}"


def is_count(names: Collection[str], ranks: Sequence[int]) -> bool:
    """Are these, `map 0`, `map 1`, …, as many as the ranks, and both without a gap? A figure that is whole in one record alone is none."""
    told = [name.rpartition(" ")[2] for name in names]
    if not all(map(str.isdecimal, told)):
        return False
    numbers = sorted(map(int, told))
    is_whole = sorted(ranks) == [*range(len(ranks))]
    return is_whole and numbers in ([*range(len(ranks))], [*range(1, len(ranks) + 1)])


def _numbered(paths: Iterable[str], told: Sequence[Told]) -> dict[str, Told]:
    """Path → what was told of the number in it; none where two words tell two ranks."""
    words: defaultdict[str, dict[int, Told]] = defaultdict(dict)
    for one in told:
        if one.kind == NUMBERED:
            word, _, number = one.name.rpartition(" ")
            words[word][int(number)] = one
    finders = [
        (re.compile(rf"(?i)(?<![a-z]){re.escape(word)}(?:[ _-]?(?:id|index|idx|no|nr|number))?[=_. -]?(\d{{1,7}})(?!\d)"), own)
        for word, own in words.items()
    ]  # fmt: skip
    found = _paths({*paths}, [one for one in told if one.kind == PATH])
    for path in paths if finders else ():
        own = [numbers.get(int(match[1])) for finder, numbers in finders for match in finder.finditer(path)]
        ranks = {one.rank if one is not None else None for one in own}
        if len(ranks) == 1 and own[0] is not None:
            found.setdefault(path, own[0])
    return found


def _paths(paths: Collection[str], told: Sequence[Told]) -> dict[str, Told]:
    """Path → what was told of the file: the one that ends as the path that was told does, beside its document if there is one; each of one rank."""
    by_name: defaultdict[str, list[str]] = defaultdict(list)
    for path in paths if told else ():
        by_name[path.rpartition("/")[2]].append(path)
    ranks: defaultdict[str, dict[int | None, Told]] = defaultdict(dict)
    for one in told:
        folder = one.file[: one.file.rfind("/") + 1]
        name = one.name.split("/")
        beside = [path for path in by_name[name[-1]] if path != one.file]
        ends = {path: begin_alike(path.split("/")[::-1], name[::-1]) for path in beside}
        here = {path: parts for path, parts in ends.items() if path.startswith(folder)} or ends
        best = [path for path, parts in here.items() if parts == max(here.values())]
        if len(best) == 1:
            ranks[best[0]][one.rank] = one
    return {path: next(iter(own.values())) for path, own in ranks.items() if len(own) == 1}


def _begun(given: Begun) -> list[Told]:
    """Lines that tell a process's rank and one file of the bundle, as who begins processes tells of their logs; of several ranks and as many files."""
    names = {path.rpartition("/")[2] for path in given}
    found: list[Told] = []
    for path, own in given.items():
        for one in own:
            words = _APART.split(one.raw) if one.introduces else ()
            told = {word for word in words if word.rpartition("/")[2] in names and path_of(word)}
            if one.introduces and len(told) == 1:
                found.append(Told(told.pop(), PATH, path, one.number, one.introduces.rank, world=one.introduces.world))
    ranks = {one.rank for one in found}
    return found if len(ranks) == len({one.name for one in found}) > 1 else []


def introduced_files(said: Begun, told: Sequence[Told]) -> dict[str, list[Said]]:
    """Lines by path, and what documents tell → the same, where the first line of such a file tells its rank, unless another one says who speaks."""
    given = {path: [*own] for path, own in said.items()}
    for path, one in _numbered(given, [*told, *_begun(given)]).items():
        own = given[path]
        is_open = not any(
            line.introduces or line.line.rank is not None or line.line.local_rank is not None for line in own
        )
        if own and is_open and one.rank is not None:
            own[0] = replace(own[0], introduces=Introduction(one.rank, one.world))
    return given
