"""Ranks that were given anew while the job ran: what was told of places before holds no more.

    Node membership change detected: n3 left, restarting worker group       restart_count=1⏎ group_rank=0⏎ …
    HostsUpdatedInterrupt: hosts were added                                 group formed, generation 3, node rank 1 of 4

An elastic launcher numbers its nodes in the order in which they join. So what documents say of who is where, and what lines said before the last time
that the group was formed, are of a group that is no more, but for what tells the count of that last time beside it (`"attempt": 1`), and where all
is on one host. A rendezvous that is static keeps what it was given.

Fooled by: a roster that was written after the group was formed again and tells no count; nobody is named by it.
"""

from collections.abc import Iterable, Mapping, Sequence, Set

from parsers.schema.names import Told
from parsers.text.patterns import regex
from parsers.who.lines.beginnings import Begun, Said
from parsers.who.places.families import Process

_FEWEST = 2
_NEAR = 8  # lines of one block
_SAYS = regex(
    r"(?i)\bmembership\b.{0,30}\bchang|HostsUpdatedInterrupt|\bre-rendezvous\b|\bre-?(?:assign|number)\w*\b.{0,30}\branks?\b|\branks?\b.{0,30}\b(?:re-?assigned|re-?numbered|(?:given|assigned) anew)\b"
)
_COUNT = regex(
    r"(?i)\b(?:restart_?count|restarts|(?:rdzv_?|rendezvous[ _]?)?(?:round|generation|incarnation)|attempt)[\"']?\s{0,2}[=: ]\s{0,2}[\"']?(?P<count>\d{1,4})\b"
)
_PLACED = regex(r"(?i)(?:group|node|machine)[ _-](?:rank|world[ _]size)\b")
_SEVERAL = regex(r"(?i)(?:group|node)[ _-]?world[ _]size[\"']?\s{0,2}[=:]\s{0,2}(?:[2-9]|\d\d)")
_STATIC = regex(r"(?i)\brdzv[-_]backend[\"']?\s{0,10}[=: ]\s{0,2}[\"']?static\b")


def standing(told: Iterable[Told], said: Begun) -> list[Told]:
    """What was told of names, and the lines of files → what still holds: all of it where the group was formed once."""
    told = list(told)
    last, newest = _formed(said)
    placed = {one.name for one in told if one.local_rank is not None or one.node_rank is not None}
    if not last or not _are_several(placed, said):
        return told
    return [one for one in told if (newest and one.attempt == newest) or _is_later(one.file, one.line, last)]


def is_anew(said: Begun) -> bool:
    """Was the group formed again while the job ran?"""
    return bool(_formed(said)[0])


def standing_rows(rows: Sequence[Process], said: Begun) -> list[Process]:
    """The same of rows that tell of places, and of no process by its pid."""
    last, _ = _formed(said)
    if not last or not _are_several({one.place for one in rows if one.place is not None}, said):
        return [*rows]
    return [one for one in rows if one.pid is not None or _is_later(one.file, one.line, last)]


def _is_later(file: str, line: int | None, last: Mapping[str, int]) -> bool:
    return (line or 0) > last.get(file, line or 0)


def _are_several(hosts: Set[str], said: Begun) -> bool:
    return len(hosts) >= _FEWEST or any(_SEVERAL.search(one.raw) for own in said.values() for one in own)


def _formed(said: Begun) -> tuple[dict[str, int], int]:
    """File → the line that last tells that the group was formed again, and how often that was; nothing where it keeps its ranks."""
    last: dict[str, int] = {}
    newest = 0
    for path, own in said.items():
        if any(_STATIC.search(one.raw) for one in own):
            return {}, 0
        for at, one in enumerate(own):
            counted = _counted(own, at)
            if counted or _SAYS.search(one.line.text):
                last[path] = one.number
                newest = max(newest, counted)
    return last, newest


def _counted(own: Sequence[Said], at: int) -> int:
    """How often the group had been formed before, as a line tells it beside the place of a node in it; else 0."""
    found = _COUNT.search(own[at].line.text)
    if found is None or not int(found["count"]):
        return 0
    near = own[max(0, at - _NEAR) : at + _NEAR]
    return int(found["count"]) if any(_PLACED.search(one.line.text) for one in near) else 0
