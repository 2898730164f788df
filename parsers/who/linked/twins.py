"""A process's two numbers: that of its host, and that inside its container.

    root@gn07:~# grep NSpid /proc/1730411/status⏎NSpid:  1730411  79          79 in a container of gn07
    0::/kubepods.slice/kubepods-podeaa635b9_0255_….slice/cri-containerd-daff….scope          which one, below a command or a heading that tells the number

Whoever is 79 inside is 1730411 outside, where both are of one place, as a pod that has its node for itself. Where it is told whose the control
group is, and that is another place's, or nobody's while records tell of others, it is another process.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from parsers.text.patterns import regex
from parsers.who.lines.beginnings import Begun
from parsers.who.linked.tokens import slots
from parsers.who.places.contexts import Places

_LINES, _CHARACTERS = 400, 400
_NSPID = regex(
    r"\W{0,8}(?:\S{0,80}:)?NS(?:pid|tgid):?\s+(?P<outer>\d{1,10})(?:\s+\d{1,10}){0,4}?\s+(?P<inner>\d{1,10})\s*"
)
_OF = regex(
    r"/proc/(?P<proc>\d{1,10})/|\b(?:Pid|Tgid|PID|pid)[:= ]\s*(?P<pid>\d{2,10})\b|\A[^\w/]{1,8}(?:pid )?(?P<head>\d{2,10})\W{0,8}\Z"
)
_GROUP = regex(
    r"(?:\S{0,80}:)?\d{1,3}:[\w,=]{0,80}:/|.{0,80}/(?:kubepods|docker|system\.slice|machine\.slice|lxc|libpod)"
)


class Twin(NamedTuple):
    """`groups`: the ids in its control group, where it is told."""

    place: str
    outer: str
    inner: str
    groups: frozenset[str]
    file: str
    line: int


def twins(said: Begun, places: Places) -> Iterator[Twin]:
    found: list[Twin] = []
    groups: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for own in said.values():
        if not any("NSpid" in one.raw or "NStgid" in one.raw for one in own[:_LINES]):
            continue
        headed = places.headings(own[:_LINES])
        pid: str | None = None
        for one in own[:_LINES]:
            text = one.raw[:_CHARACTERS]
            if (named := _OF.search(text)) is not None:
                pid = next(filter(None, named.groups()))
            place = headed.get(one.number) or places.of_line(one)
            if place is None:
                continue
            if (told := _NSPID.fullmatch(text)) is not None:
                pid = told["outer"]
                found.append(Twin(place, pid, told["inner"], frozenset(), one.file, one.number))
            elif pid is not None and _GROUP.match(text):
                groups[place, pid] |= {slot.value for slot in slots(text)[1] if slot.kind == "id"}
    yield from (one._replace(groups=frozenset(groups[one.place, one.outer])) for one in found)
