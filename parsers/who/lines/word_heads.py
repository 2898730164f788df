"""Words at the heads of lines that nothing sets off, where they are known names, or tell those apart who introduce themselves:
`gn12 4711 INFO loop step 3 …`, `2026-… INFO train.py:118 gn12(4711) step 3 …`, `12:00:03 w-7f3a step 3 …`.

A head is set off by a mark (heads.py); which word of a plain line is a name, only the file shows. Such is the k-th word, or that and a number behind
it, stamps, levels and rules between words aside, where most lines of the file have one of several names there: those that stand there in introductions,
behind the same words, another one for each rank; or known ones, behind a logger's name or a line of a source alone. What an introduction says itself
(`rank 3 of 8`) stands there in no other line. Of whom there is another log, a line may tell something.

Fooled by: a launcher that begins most of its lines with the process that it tells of, where nobody else writes of that one.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence, Set

from parsers.schema.names import Names
from parsers.text.patterns import regex
from parsers.who.lines.beginnings import Begun, Said
from parsers.who.lines.heads import OF_RECORD, Head, finder

_WORDS = 6  # at the head of a line
_FEWEST = 2
_CHARACTERS = 400
_MOST = 0.6  # of the lines that have words
_TIME = r"(?:\d{1,4}[-/:]\d\d[\d:.,/TZ+-]{0,40}|\d{8}[-T]?[\d:.]{6,20}|\d{10}(?:\.\d{1,9})?|\d{1,2}/[A-Z][a-z]{2}/\d{4}[\d:]{0,12}|[A-Z][a-z]{2} {1,2}\d{1,2} [\d:.]{5,15})"
_LEVEL = r"(?:(?:level|lvl|severity)=)?(?:(?i:trace|debug|info|notice|warn|warning|error|critical|fatal|panic)|[DIWEF])"
_OPEN, _SHUT = r"[\[(<]{0,2}", r" {0,8}[\])>]{0,2}[:,;]?"
_ASIDE = rf"(?:(?:{_OPEN}(?:{_TIME}|{_LEVEL}){_SHUT}|[-–—|:·>~]{{1,2}})(?:\s{{1,8}}+|\Z))"
# A logger's name, a file and its line, set off; a mere word says what is done to whom is named.
_OTHER = r"(?:[\[(<]\S{1,78}[\])>][:,;]?|\S{1,60}:\d{1,6}[:,;]?|\S{1,79}:|\S{1,80}(?=\s{1,8}[-–—|:·>~]{1,2}\s)|PID|pid)"
_WORD = r"\S{1,80}"  # where all introductions have it there, too
_ALONE = r"\w(?:[\w./@+#%~=-]|:(?=\w)){0,79}(?:[\[(]\d{1,10}[\])])?"
_NAMES = (rf"(?P<value>{_ALONE})", r"(?P<value>\w[\w.-]{0,79} \d{1,10})")
_OF_KNOWN, _OF_INTRODUCED = (
    tuple(
        rf"\A\s{{0,8}}+{_ASIDE}*+(?:{word}\s{{1,8}}+{_ASIDE}*+){{{at}}}{opened}{name}[\])>]{{0,2}}[:,;|]{{0,2}}(?=\s)\s{{1,8}}+{_ASIDE}*+"
        for at in range(_WORDS)
        for word, opened in ways
        for name in _NAMES
    )
    for ways in (((_OTHER, _OPEN), (_WORD, r"[\[(<]{1,2}")), ((_WORD, _OPEN),))
)
_ASIDES, _NUMBERS = regex(_ASIDE), regex(r"\d+")
_BEGINS = regex(rf"\s{{0,8}}{_ASIDE}")
_BLANK, _PART = regex(r"\s"), regex(r"[\w.-]+")


def add_word_heads(said: Begun, names: Names) -> None:
    """Give the first lines of files, by path, the words as heads that are names: known ones, or those of who introduces himself there."""
    ranks = {_parts(name): rank for name, rank in names.ranks.items()}
    ranks |= {_parts(f"{host}:{pid}"): rank for (host, pid), rank in names.processes.items()}
    logs = {path: rank for path, own in said.items() if _is_log(own) and (rank := names.of_path(path)) is not None}
    # Of whom there is another log, a line may tell something: of all of them, one who watches them does.
    watched = {*logs.values()}
    known = {name for name, rank in ranks.items() if rank not in watched}
    words = {word for name in known for word in name}
    for path, own in said.items():
        held = sum(not words.isdisjoint(_PART.findall(one.line.text[:_CHARACTERS])) for one in own) if words else 0
        for one, head in _heads_in(own, known if path not in logs and held >= _FEWEST else frozenset()):
            one.heads.append(head)


def _is_log(own: Sequence[Said]) -> bool:
    """Do lines begin with stamps or levels?"""
    return sum(one.line.time_ns is not None or _BEGINS.match(one.line.text) is not None for one in own) >= _FEWEST


def _heads_in(own: Sequence[Said], known: Collection[tuple[str, ...]]) -> list[tuple[Said, Head]]:
    introduced = [one for one in own if one.introduces is not None and one.line.rank is None]
    if len({one.introduces.rank for one in introduced if one.introduces}) < _FEWEST:
        introduced = []
    for form in _OF_INTRODUCED if introduced else ():
        names = _introduced(form, introduced)
        said = (finder(form).match(one.line.text) for one in introduced)
        before = {_before(one) for one in said if one is not None}
        if len(names) >= _FEWEST and (found := _heads(form, lambda name: name in names, own, before)):  # noqa: B023
            return found if names <= {head.value for _, head in found} else []
    for form in _OF_KNOWN if known else ():
        if found := _heads(form, lambda name: _parts(name) in known, own, None):
            return found
    return []


def _before(found: "re.Match[str]") -> str:
    """What stands before a name, stamps, levels and numbers aside."""
    return _NUMBERS.sub("#", _ASIDES.sub("", found.string[: found.start("value")]))


def _parts(name: str) -> tuple[str, ...]:
    """What a name of several, a host's and a number, consists of, whatever is between them, and in whatever order."""
    return tuple(sorted(_PART.findall(name)))


def _introduced(form: str, introduced: Sequence[Said]) -> frozenset[str]:
    """The words of one place, where each rank has one there, and each is one rank's, by its number if it is one."""
    ranks: defaultdict[str, set[int]] = defaultdict(set)
    for one in introduced:
        found = finder(form).match(one.line.text)
        if found is None or one.introduces is None or OF_RECORD.fullmatch(found["value"]):
            return frozenset()
        ranks[found["value"]].add(one.introduces.rank)
    told = {value: min(own) for value, own in ranks.items() if len(own) == 1}
    offsets = {int(value) - rank if value.isdecimal() else None for value, rank in told.items()}
    is_each = len(told) == len(ranks) == len({*told.values()})
    return frozenset(told) if is_each and (len(offsets) > 1 or None in offsets) else frozenset()


def _heads(
    form: str, is_name: Callable[[str], bool], own: Sequence[Said], before: Set[str] | None
) -> list[tuple[Said, Head]]:
    """Lines and their heads, where most have one, and two names come again; else none. `before`: what may stand before them."""
    which = finder(form)
    made: list[tuple[Said, Head]] = []
    counts: Counter[str] = Counter()
    worded = 0
    for one in own:
        text = one.line.text
        found = which.match(text)
        worded += _BLANK.search(text) is not None and not text.startswith((" ", "\t"))
        if found is None or not is_name(value := found["value"]) or any(head.value == value for head in one.heads):
            continue
        if before is None or _before(found) in before:
            counts[value] += 1
            made.append((one, Head(form, value, None, text[found.end() :])))
    again = {name for name, many in counts.items() if many >= _FEWEST}
    return made if counts.total() >= _MOST * worded and len(again) >= _FEWEST else []
