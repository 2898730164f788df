"""How often a link was down, and for how long: each fall with the rise that follows it, by one clock.

A fall that is told again before the rise (by the driver, by the service that watches links, once per address) is one fall.
Drivers and services print the same interface; where none is printed, the adapter's address stands for it. Falls and rises are
paired within one file, which one clock wrote. Lines that count for nothing (an empty cage, a container's link) are left out.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from forensics.facts.hosts.hardware import Record
from forensics.facts.rows.event_rows import detail, reference
from forensics.model.ref import Ref
from forensics.model.said import Said, joined
from forensics.words import facts as words

_BAD = ("warning", "error", "fatal")


class Flap(NamedTuple):
    """`lasted`: seconds of each fall that was followed by a rise. `is_down`: the last fall was not. `rises`: place of the line
    that tells of a rise → seconds since the fall."""

    host: str
    port: str
    lasted: tuple[float, ...]
    is_down: bool
    refs: tuple[Ref, ...]
    rises: tuple[tuple[Ref, float], ...]

    @property
    def text(self) -> Said:
        """ "ib0 of node3 was down 3 times, 13.2 s in all, 8.0 s at the longest"."""
        port = words.PORT_OF(port=self.port, host=self.host)
        if not self.lasted:
            return words.STAYED_DOWN(port=port)
        down = words.DOWN_ONCE if len(self.lasted) == 1 else words.DOWN_OFTEN
        text = down(port=port, number=len(self.lasted), seconds=sum(self.lasted), longest=max(self.lasted))
        return joined((text, words.THEN_FOR_GOOD if self.is_down else ""), "; ")


def flaps(records: Iterable[Record]) -> list[Flap]:
    """Records of hardware → the flaps of each link, by host and name."""
    listed: dict[tuple[str, str, str], list[Record]] = defaultdict(list)
    for one in records:
        port = detail(one.row).get("interface") or one.row["pci"]
        is_link = one.kind == "link_up" or (one.kind == "link_down" and one.severity in _BAD)
        if is_link and one.host and port and one.row["time_ns"] is not None and one.when != "apart":
            listed[one.host, str(port), one.row["file"]].append(one)
    found = [_flap(host, port, rows) for (host, port, _), rows in sorted(listed.items())]
    return [one for one in found if one.refs]


def _flap(host: str, port: str, rows: list[Record]) -> Flap:
    fell: Record | None = None
    lasted: list[tuple[Ref, Ref, float]] = []
    for one in sorted(rows, key=lambda each: (each.row["time_ns"], each.row["line"] or 0)):
        if one.kind == "link_down":
            fell = fell or one
        elif fell is not None:
            seconds = (one.row["time_ns"] - fell.row["time_ns"]) / 1e9
            lasted.append((reference(fell.row), reference(one.row), seconds))
            fell = None
    refs = [ref for down, up, _ in lasted for ref in (down, up)] + ([reference(fell.row)] if fell is not None else [])
    times = tuple(seconds for _, _, seconds in lasted)
    return Flap(host, port, times, fell is not None, tuple(refs), tuple((up, seconds) for _, up, seconds in lasted))
