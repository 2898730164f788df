"""What else the device that a process uses is called at its place.

    0, 1651923011871, 00000000:17:00.0               the serial number of its device
    GPU 2: MTT S4000 (UUID: GPU-10bc09c5-0000-…)     2, GPU-10bc09c5-0000-…, 00000000:3B:00.0        the UUID of its device, its bus address
    gn07,6,00000000:BA:00.0,GPU-10bc09c5-0000-…                               the same in a table of all hosts
    rank 3 of 8 | host k7 | pci 0000:3b:00.0         the bus address that a process tells of the device that it uses

Who uses a device is told elsewhere (devices.py, seats.py).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from parsers.text.patterns import regex
from parsers.who.lines.beginnings import Begun
from parsers.who.lines.introductions import bus_in
from parsers.who.places.contexts import Places

_LINES, _CHARACTERS = 400, 400
_UUID = regex(r"(?<![\w-])(?P<uuid>(?:[A-Z]{2,4}-)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![\w-])")
_SERIAL = regex(r"(?<![\w.:-])\d{12,16}(?![\w.:-])")
_FIRST = regex(r"(?<![0-9a-f])[0-9a-f]{8}(?=-)")
_ROW = regex(r"\A\W{0,4}(?P<place>[A-Za-z][\w.-]{0,250})(?:\s*[,|│;]\s*|\s+)(?=\d{1,3}\s*[,|│;\s])")
_HEADER = regex(
    r"(?i)\W{0,4}(?:host(?:_?name)?|node(?:_?name)?|machine|server)(?:\s*[,|│;]\s*|\s+)(?:gpu|npu|device|card|index|minor)"
)
_DEVICE = regex(
    r"(?i)\A\W{0,4}(?:(?:gpu|npu|dcu|device|card|index)[ :#=\[]{0,3})?(?P<device>\d{1,3})(?=\s{0,4}[\]:,|│;]|\s)"
)


class Called(NamedTuple):
    """`sort`: device, or rank, whose number is `number` at the place; `uuid`, `bus`: of the device."""

    place: str
    sort: str
    number: int
    file: str
    line: int
    uuid: str | None = None
    bus: str | None = None


def called(said: Begun, places: Places) -> Iterator[Called]:
    """The lines of files → other names of processes and devices."""
    for path, own in said.items():
        headed = places.headings(own[:_LINES])
        is_table = bool(own) and _HEADER.match(own[0].line.text) is not None
        for one in own[:_LINES]:
            text = one.line.text[:_CHARACTERS]
            host = (one.introduces.host if one.introduces is not None else None) or one.line.host
            place = places.called(host) or headed.get(one.number) or places.of_file(path)
            row = _ROW.match(text) if is_table else None
            if row is not None and places.is_place(row["place"]):
                place, text = places.of(row["place"]), text[row.end() :]
            if place is None:
                continue
            rank = one.introduces.rank if one.introduces is not None else one.line.rank
            device = _DEVICE.match(text) if rank is None else None
            if rank is None and device is None:
                continue
            bus = bus_in(text)
            if rank is not None and bus is not None:
                yield Called(place, "rank", rank, path, one.number, bus=bus)
            elif device is not None:
                number = int(device["device"])
                uuids, serials = _UUID.findall(text), _SERIAL.findall(text)
                uuid = uuids[0] if len(uuids) == 1 else None
                if uuid is not None or bus is not None:
                    yield Called(place, "device", number, path, one.number, uuid=uuid, bus=bus)
                if len(serials) == 1:
                    yield Called(place, "device", number, path, one.number, uuid=serials[0])


def names_of_devices(found: Sequence[Called]) -> Iterator[tuple[Called, str]]:
    """The UUIDs of devices, with the vendor and without, and how each begins, where no other does so: scripts cut them short."""
    told = [(one, one.uuid, (_FIRST.findall(one.uuid) or [one.uuid])[0]) for one in found if one.uuid]
    whole = {(uuid, begins) for _, uuid, begins in told}
    times = Counter(begins for _, begins in whole)
    for one, uuid, begins in told:
        short = [begins] if times[begins] == 1 else []
        yield from ((one, name) for name in dict.fromkeys([uuid, uuid[uuid.index(begins) :], *short]))
