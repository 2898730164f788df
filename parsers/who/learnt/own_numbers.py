"""Files of which each says its own number again and again, where nobody tells who he is in any other way.

    executor-3.log    … INFO Learner: [partition 3] round 1          worker_3.log    12:09:30 worker 3 blocked at clock 10

Of three files at least, called alike but for numbers that are just 0 … N-1, each prints lines of one form that hold the number of its name behind one word, and
nearly never another one there. The word is none that counts hosts, devices, layers or steps, and stands apart from the number: of names (`cn3 kernel:`)
nothing is said. Where the names count nothing of the kind (pids, letters and digits of an id), most lines of each of all files of a folder that end alike do so, and
never with another number; where the word says rank, two lines of each do, none of which tells of another: `worker-2c5f…-29416.err`: `… INFO trainer 1 step 0 …`. Or the first line of each tells a rank, and all of them just 0 … N-1 (`== host n60 rank 0 …` heads what a script kept). Then these are the processes of the job, if no world that is told is another.

Fooled by: programs of several threads that number themselves, a file each.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain
from pathlib import PurePosixPath

from parsers.schema.names import Told
from parsers.text.patterns import regex
from parsers.text.unanimous import sole, unanimous
from parsers.text.whole_numbers import NUMBER, counted_from_zero
from parsers.who.labels.joins import counts_others
from parsers.who.learnt.counts import IS_OTHER, WORLD, introduce_at
from parsers.who.learnt.turns import hold_one_each, is_of_host
from parsers.who.lines.beginnings import Begun, Said
from parsers.who.told.numbered_files import introduced_files

_OWN = regex(
    r"(?<![\w.-])(?P<word>[^\W\d_]{2,20})(?:[_ ](?:id|idx|index|rank|number|no))?(?: |[ ]?[=:#][ ]?)(?P<number>\d{1,6})(?![\w-]|[./:]\d)"
)
_OF_MACHINES = regex(
    r"(?i)(?:gpu|device|dev|card|slot|local|core|cpu|socket|numa|port|nic|thread|queue|stream|lane|channel|line|code|status|exit|signal|pid|no|id)s?"
)
_RANK = regex(
    r"(?i)(?<![\w.-])(?:(?:global|world|mpi)[ _-])?rank(?:[ _](?:id|no))?[ :=#]{1,3}(\d{1,6})(?![\w-]|[./:]\d)"
)
_OF_GROUP = regex(r"(?i)\b(?:local|node|group|tp|pp|dp|ep|cp|lora|low)[ _-]\Z")
_OTHERS = regex(
    r"(?i)\b(?:peer\w*|remote|next|prev\w*|neighbou?r\w*|connect\w*|lost|wait\w*|miss\w*|dead|died|fail\w*|error|timed? ?out|kill\w*|gone|left|right|root|src|dst)\b"
)
_OF_ANOTHER = regex(r"(?i)\b(?:to|from|for|on|of|by|with|at|after|behind|than|and|or|not)[ :]{1,2}(?:[a-z]{1,12} )?\Z")
_CLOSED = regex(r"\s{0,4}(?:[\])>|:,;]|\Z|[-–—] )")  # else it does something: `[ckpt] rank 1 stored our copy`
_QUALIFIED = regex(
    r"(?i)\b(?!(?:global|world|mpi|distributed|is|as|am|my|this|own|trainer|worker|process)\b)[a-z]{2,20}[ _-]\Z"
)  # whose rank it is
_FEWEST, _AGAIN = 3, 2
_CHARACTERS = 400


def own_numbers(said: Begun, told: Sequence[Told]) -> dict[str, list[Said]]:
    """Lines by path, and what documents tell of names → the same, where the first that tells its file's number is an introduction."""
    given = introduced_files(said, told)
    lines = [one for own in given.values() for one in own]
    is_known = any(one.introduces or one.line.rank is not None or one.line.local_rank is not None for one in lines)
    if is_known or _are_told_otherwise(told):
        return given
    shapes: defaultdict[str, list[str]] = defaultdict(list)
    for path in given:
        shapes[NUMBER.sub("#", path)].append(path)
    alike = (own for own in shapes.values() if len(own) >= _FEWEST)
    rolls = [roll for own in alike if (roll := _headed(given, own) or _roll(given, own))]
    rolls = rolls or [roll for own in _folders(given) if (roll := _throughout(given, own) or _as_rank(given, own))]
    worlds = {int(size) for one in lines for sizes in WORLD.findall(one.raw[:_CHARACTERS]) for size in sizes if size}
    size = sole(len(roll) for roll in rolls)
    if size is None or not worlds <= {size} or not all(hold_one_each(given, roll) for roll in rolls):
        return given
    for path, (rank, at) in chain.from_iterable(roll.items() for roll in rolls):
        introduce_at(given, path, at, rank)
    return given


def _are_told_otherwise(told: Sequence[Told]) -> bool:
    """Do documents tell the ranks of a whole world, by names that do not end in these numbers? Then a number may count anything else."""
    ranks = unanimous((one.name, one.rank) for one in told if one.rank is not None and one.local_rank is None)
    is_whole = len(ranks) >= _FEWEST and {*ranks.values()} == {*range(1 + max(ranks.values()))}
    ends = [(rank, NUMBER.findall(name)[-1:]) for name, rank in ranks.items()]
    return is_whole and not any(end and int(end[0]) == rank != 0 for rank, end in ends)


def _roll(given: Begun, paths: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Path → its number, and the first of its lines that tells it; of files that are just 0 … N-1 by the number that each says of itself."""
    numbered = counted_from_zero(paths)
    if len(numbered) != 1:
        return {}
    [number] = numbered
    told = {path: _told(given[path]) for path in paths}
    words = set[str].intersection(*({word for word, *_ in own} for own in told.values()))
    fitting = {word for word in words if all(_is_own(word, told[path], number[path]) for path in paths)}
    first = {path: min((at for word, _, at in own if word in fitting), default=0) for path, own in told.items()}
    return {path: (number[path], at) for path, at in first.items()} if fitting else {}


def _folders(given: Begun) -> list[list[str]]:
    """Files of one folder whose names end alike."""
    folders: defaultdict[tuple[PurePosixPath, str], list[str]] = defaultdict(list)
    for path in given:
        folders[PurePosixPath(path).parent, PurePosixPath(path).suffix].append(path)
    return [own for own in folders.values() if len(own) >= _FEWEST]


def _throughout(given: Begun, paths: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Path → the one number that most of its lines tell behind a word, and the first of these; of files that are just 0 … N-1 by it."""
    told = {path: _told(given[path]) for path in paths}
    words = set[str].intersection(*({word for word, *_ in own} for own in told.values()))
    for word in sorted(words):
        lines = {path: {at: number for said, number, at in own if said == word} for path, own in told.items()}
        own = {path: {*at.values()} for path, at in lines.items()}
        is_one = all(len(own[path]) == 1 and 2 * len(lines[path]) > len(given[path]) for path in paths)
        if is_one and sorted(number for one in own.values() for number in one) == [*range(len(paths))]:
            return {path: (own[path].pop(), min(lines[path])) for path in paths}
    return {}


def _as_rank(given: Begun, paths: Sequence[str]) -> dict[str, tuple[int, int]]:
    """The same of files that call themselves the same rank again and again, whatever else they say; a line that tells of another process counts for nobody."""
    found: dict[str, tuple[int, int]] = {}
    again = 0  # one that prints much shows few of these lines in its beginning
    for path in paths:
        called = ((_called(one.raw[:_CHARACTERS]), at) for at, one in enumerate(given[path]))
        told = [(rank, at) for rank, at in called if rank is not None]
        if len({rank for rank, _ in told}) != 1:
            return {}
        found[path] = told[0]
        again += len(told) >= _AGAIN
    is_whole = sorted(rank for rank, _ in found.values()) == [*range(len(paths))]
    return found if is_whole and 2 * again > len(paths) else {}


def _called(text: str) -> int | None:
    """The one rank that a line tells, of nobody else."""
    if "ank" not in text or _OTHERS.search(text):
        return None
    found = [one for one in _RANK.finditer(text) if not _OF_GROUP.search(text[: one.start()])]
    own = (one for one in found if "=" in one[0] or _CLOSED.match(text, one.end()))
    before = ((int(one[1]), text[: one.start()]) for one in own)
    ranks = {rank for rank, words in before if not (_OF_ANOTHER.search(words) or _QUALIFIED.search(words))}
    return ranks.pop() if len(ranks) == len({one[1] for one in found}) == 1 else None


def _headed(given: Begun, paths: Sequence[str]) -> dict[str, tuple[int, int]]:
    """The same of files whose first lines each tell one rank, and all of them 0 … N-1, whatever the files' names count."""
    told: dict[str, tuple[int, int]] = {}
    for path in paths:
        text = given[path][0].raw[:_CHARACTERS] if given[path] else ""
        ranks = {int(one[1]) for one in _RANK.finditer(text) if not _OF_GROUP.search(text[: one.start()])}
        if len(ranks) == 1:
            told[path] = (ranks.pop(), 0)
    return told if sorted(rank for rank, _ in told.values()) == [*range(len(paths))] else {}


def _told(lines: Sequence[Said]) -> list[tuple[str, int, int]]:
    """(word, number, which line) of what stands in the lines of a file."""
    return [
        (one["word"].lower(), int(one["number"]), at)
        for at, line in enumerate(lines)
        for one in _OWN.finditer(line.raw[:_CHARACTERS])
        if not (IS_OTHER.fullmatch(one["word"]) or _OF_MACHINES.fullmatch(one["word"]))
        and not (counts_others(one["word"]) and one["word"].lower() != "worker")
        and not is_of_host(line.raw[:_CHARACTERS], one)
    ]


def _is_own(word: str, told: Sequence[tuple[str, int, int]], number: int) -> bool:
    """Is the number behind this word nearly always the file's own?"""
    own = [other for said, other, _ in told if said == word]
    return 2 * own.count(number) > len(own)
