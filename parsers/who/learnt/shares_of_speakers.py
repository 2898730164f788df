"""Speakers of one file that each say once which of how many they are, as many as speak: `[stdout:4] 1 of 8 n1 41164`, `n1:4711 | up, 5 of 8, gpu 1`.

Where another word comes first it may count who has come, or parts of something: then the numbers must rise with those of processes, or of devices, on
each host, and not come one behind the other from several. What is of a step, a group or a host, by the word before it, is none.

Fooled by: processes of one host that come in the order of their numbers and say how many have.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from parsers.schema.labels import OF_GROUP
from parsers.text.patterns import regex
from parsers.who.learnt.counts import IS_OTHER
from parsers.who.learnt.turns import is_of_host
from parsers.who.lines.beginnings import Said
from parsers.who.lines.introductions import Introduction, device_in, pid_in

_BEGINS = regex(r"\W{0,4}(?:(?:rank|process|proc|member) )?(\d{1,6}) ?(?:/|of) ?(\d{1,6})\b")
_ANYWHERE = regex(r"(?<![\w./:-])(\d{1,6}) ?(?:/|of|out of) ?(\d{1,6})(?![\w./%]|:\d)")
_LAST_WORD = regex(r"([^\W\d_]{1,20})\W{0,4}\Z")
_OF_HOST = regex(r"(?i)(?:gpu|device|npu|card|cuda|accel|hpu|slot|core|numa|local|loader|thread|prefetcher)s?")
_NUMBER, _PARTS = regex(r"\d+"), regex(r"[/:@#]|[.-](?=\d+\Z)")
_FEWEST, _CHARACTERS = 2, 200
_PID = 300  # a number from here on may be a process's


class _Share(NamedTuple):
    line: Said
    speaker: str
    behind: str
    share: "re.Match[str]"

    @property
    def places(self) -> list[str]:
        """What the name of the speaker is made of."""
        return [*_PARTS.split(self.speaker), *([self.line.line.host] if self.line.line.host else [])]

    @property
    def pid(self) -> int | None:
        """The number of its process, if one stands before the line."""
        found = {int(part) for part in self.places if part.isdecimal() and int(part) >= _PID} | {self.line.line.process}
        return next(iter(found - {None}), None) if len(found - {None}) == 1 else pid_in(self.behind)


def introductions_of(said: Mapping[str, Sequence[Said]]) -> dict[tuple[str, int], Introduction]:
    """Lines of speakers by path → who they are, by path and number of line."""
    found: dict[tuple[str, int], Introduction] = {}
    for path, own in said.items():
        forms: defaultdict[tuple[str, str], list[_Share]] = defaultdict(list)
        for one in own:
            for form, speaker, behind in _speakers(one):
                if (share := _BEGINS.match(behind)) is not None:
                    forms[form, ""].append(_Share(one, speaker, behind, share))
                for share in _ANYWHERE.finditer(behind[:_CHARACTERS]) if " of " in behind or "/" in behind else ():
                    before = _NUMBER.sub("#", behind[: share.start()]).strip()
                    if any(map(str.isalpha, before)) and not _is_of_another(behind, share):
                        forms[form, before].append(_Share(one, speaker, behind, share))
        for (_, before), told in forms.items():
            numbers, sizes = ([int(one.share[group]) for one in told] for group in (1, 2))
            is_each = len({one.speaker for one in told}) == len(told) == sizes[0] >= _FEWEST
            base = min(numbers)
            is_whole = is_each and {*sizes} == {sizes[0]} and {*numbers} == {*range(base, base + sizes[0])} and base < 2
            if is_whole and (not before or _rise_on_each_host(told, numbers)) and not base > bool(before):
                found |= {
                    (path, one.line.number): Introduction(number - base, sizes[0], one.pid)
                    for one, number in zip(told, numbers, strict=True)
                }
    return found


def _speakers(one: Said) -> Iterator[tuple[str, str, str]]:
    """The form of what tells the speaker of a line, his name, what stands behind it."""
    yield from ((head.form, head.value, head.behind) for head in one.heads)
    if one.line.process is not None:
        yield "", f"{one.line.host or ''}:{one.line.process}", one.line.text


def _is_of_another(text: str, share: "re.Match[str]") -> bool:
    """Is a share one of steps, of a group or of a host's devices, by the word before it?"""
    word = _LAST_WORD.search(text[: share.start()])
    is_other = word is not None and (IS_OTHER.fullmatch(word[1]) or _OF_HOST.fullmatch(word[1]))
    return bool(is_other or OF_GROUP.search(text[: share.start()]) or is_of_host(text, share))


def _rise_on_each_host(told: Sequence[_Share], numbers: Sequence[int]) -> bool:
    """Has each host numbers without a gap, that rise with those of its processes or devices? Who comes later has another's; and all of several hosts do not come one behind the other."""
    hosts: defaultdict[str, list[tuple[int, tuple[int | None, ...]]]] = defaultdict(list)
    for one, number in zip(told, numbers, strict=True):
        host = next((part for part in one.places if part and not part.isdecimal()), "")
        hosts[host].append((number, (one.pid, device_in(one.behind))))
    blocks = [sorted(own, key=lambda pair: pair[0]) for own in hosts.values()]
    if len(hosts) > 1 and [*numbers] == sorted(numbers):
        return False  # in the order of lines: it counts who came
    is_whole = all(own[-1][0] - own[0][0] == len(own) - 1 and len(own) >= _FEWEST for own in blocks)
    return is_whole and any(
        all(None not in (values := [slots[place] for _, slots in own]) and _rise(values) for own in blocks)
        for place in range(2)
    )


def _rise(values: Sequence[Any]) -> bool:
    return all(one < other for one, other in pairwise(values))
