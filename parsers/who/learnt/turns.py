"""Where several processes share what one number is told of: files in which their lines take turns, and counts of one host's processes."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from parsers.text.patterns import regex
from parsers.who.lines.beginnings import Begun, Said
from parsers.who.lines.introductions import Introduction

_AT_HEAD = regex(r"\[(\d{3,10})\]")
_PIDS = 300  # a number from here on may be a process's
_CHARACTERS = 60  # of a line, that hold its head
_ON_HOST = regex(
    r"(?i)(?: of \d{1,6}|/\d{1,6})?[ ,;]{0,2}(?:on|of|per|in|at) (?:this|the|each|its|my) (?:host|node|machine|server|box)\b"
)
_LOCAL = regex(r"(?i)(?:local|node|host|intra)[ _-]{0,2}\Z")


def is_of_host(text: str, found: Any) -> bool:
    """Does the line say that what it counts, `index 5 of 8`, are the processes of one host?"""
    return _LOCAL.search(text[: found.start()]) is not None or _ON_HOST.match(text, found.end()) is not None


def hold_one_each(said: Begun, paths: Iterable[str]) -> bool:
    """Is there no file among these in which lines of several processes, by the pids before them, take turns?"""
    return not any(len([pid for pid, times in _pids(said.get(path, ())).items() if times > 1]) > 1 for path in paths)


def _pids(own: Sequence[Said]) -> Counter[int]:
    """Numbers at the heads of lines that may be pids → how many lines."""
    heads = ((one.line.process, _AT_HEAD.search(one.raw[:_CHARACTERS])) for one in own)
    told = (int(found[1]) if pid is None and found else pid for pid, found in heads)
    return Counter(pid for pid in told if pid is not None and pid >= _PIDS)


def of_one_process(said: Begun, told: Mapping[tuple[str, int], Introduction]) -> dict[tuple[str, int], Introduction]:
    """Introductions without those of the only one of a file in which several processes take turns: it counts hosts."""
    ranks: defaultdict[str, set[int]] = defaultdict(set)
    for (path, _), one in told.items():
        ranks[path].add(one.rank)
    several = {path for path, own in ranks.items() if len(own) == 1 and not hold_one_each(said, [path])}
    return {place: one for place, one in told.items() if place[0] not in several}
