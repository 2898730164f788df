"""Who is called what: names of hosts, pods, services, folders → ranks."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property

import msgspec

from parsers.schema.calls import Script, call_of
from parsers.schema.node_ranks import Layout
from parsers.schema.rules import pci
from parsers.schema.sites import WORDS, sites
from parsers.text import vocabulary
from parsers.text.patterns import regex

_HYPHENS = regex(r"[._ -]+")
_PLACE = regex(r"(?<![A-Za-z])(node|local)_?rank\\?[\"']?\s{0,2}[=:]\s{0,2}[\"']?(\d{1,7})(?![\d.])", re.I)
_DASHED = regex(r"(?<![\d-])\d{1,3}(?:-\d{1,3}){3}(?![\d-])")  # an address, as names of files have it
_UNIT = regex(r"[\w.-]{1,80}@(?P<instance>[\w.:-]{1,80})\.service")  # of systemd
_SERIAL = 12  # digits of a device's number, at least: more than a count or a stamp in seconds has
KIND_OF = regex(r"[ _-]?(?:id|index|idx|no|nr|number)\Z")  # behind the word for what is numbered
_EXPORTER = regex(r"(?P<address>\d{1,3}(?:\.\d{1,3}){3}):\d{4,5}")  # where figures of a process are asked for
_PROCESS = regex(r"(?:(?P<host>[A-Za-z0-9][\w.-]{0,252})[:/@ .-])?(?:p(?:id)?[=:#-]?)?(?P<pid>\d{1,10})")
_AT = regex(
    r"(?P<pid>\d{1,10})@(?P<host>[A-Za-z0-9][\w.-]{0,252})|(?P<of>[A-Za-z0-9][\w.-]{0,252}) ?[\[(](?:pid[ =:])?(?P<number>\d{1,10})[\])]"
)
_OBJECT = regex(r"[^{]{0,200}\{[^{}]{0,500}?\"(?:process_?)?pid\": ?\"?(?P<pid>\d{1,10})\b")
_BUS = regex(r"(?i)(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_DEVICE = regex(r"(?i)(?<![a-z])(?:device|dev|npu|gpu|card|dcu|cuda|davinci)[_-]?(\d{1,3})(?![\w])")
_ON_HOST = regex(r"(?i)(?P<host>[\w.-]{1,80}?)[-_. ](?P<device>[a-z]{2,8}[_-]?\d{1,3})")  # `gn04-gpu3`
_CONTAINER = regex(r"[0-9a-f]{12,64}(?=-)")  # before what is of it
_PART, _LONG = regex(r"\W{0,2}(?P<part>[0-9a-f]{8,31})\W{0,3}"), regex(r"[0-9a-f-]{24,64}")  # of an id, and one
_OF_VENDOR = regex(r"(?i)[a-z]{2,4}-(?P<uuid>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")  # of a device
_DIGITS = 8
_SHARE, _SHARE_CHARACTERS = regex(r"(\d{1,6}) ?(?:/|of) ?(\d{1,6})"), 24
# Fields that hold what a process, or its place, is called; any other one may tell of somebody it works with.
CALLS = regex(
    r"(?i)(?:^|[._/-])(?:who|name|id|uid|pod|host|node|task|worker|instance|container|unit|machine|member|replica|process|proc|actor|agent|service|stream|addr|address|ip)(?:[_-]?(?:name|id))?\Z"
)
DATED = regex(
    r"(?<!\d)\d{4}(?P<mark>[-_.]?)\d\d(?P=mark)\d\d(?!\d)(?:[-_T. ]\d\d[-_.:]?\d\d(?:[-_.:]?\d\d)?(?!\d))?"
)  # in names of files
_NODE = regex(r"(?i)[_.-]?node(?:[_.-]?(?:name|id|ip))?\Z")
_LONE = regex(r"(?<![\dA-Za-z])[1-9]\d{1,7}(?![\dA-Za-z])")
_COUNT = regex(r"\d{1,7}")
_WORD_OF_PID = regex(r"(?i)(?<![a-z])p(?:id)?[-_=.]?\Z")  # before one: `gn12-p4711`, `gn12.pid_4711`
_CELL = 128  # characters of one that may be a name
_REPLICA = regex(r"[-_]1\Z")
BY_NAME = ("key", "name", "service", "called")  # kinds of Told that are a process's own name, and not its host's


class Told(msgspec.Struct, frozen=True):
    """What was said of a name. `kind`: what sort of name it is: host, pod, pid, file, folder, key (of a mapping), or the last word of
    the field that holds it (name, id, container, …). `rank`: of the whole job; where it is null, `local_rank` with `rank` of a place on
    that host, or with `device`, or the node's rank and how many processes it has. `attempt`: how often its document says that the job had begun before."""

    name: str
    kind: str
    file: str
    line: int | None = None
    rank: int | None = None
    local_rank: int | None = None
    node_rank: int | None = None
    processes: int | None = None
    world: int | None = None
    nodes: int | None = None
    attempt: int | None = None
    device: int | None = None


def share_of(cell: object) -> tuple[int, int] | None:
    """Which of how many a cell says: `2/4`, `2 of 4`."""
    found = _SHARE.fullmatch(cell.strip()) if isinstance(cell, str) and len(cell) < _SHARE_CHARACTERS else None
    number, size = (int(found[1]), int(found[2])) if found else (1, 0)
    return (number, size) if number <= size else None


class Names(msgspec.Struct, frozen=True, dict=True):
    """What all that was told amounts to. `ranks`: name → its one rank; `places`: (name of a host or pod, local rank) → rank;
    `by_local`: local rank → rank, where all processes of the job are on one host. `processes`: (name of a place, pid) → rank. `is_by_device`:
    nothing hides devices from processes, so that the first uses the first. `here`: the place that a file is from. `scripts`: name of one that is called with a number
    → what it makes of it. `hosts`: what documents call
    hosts. `devices`: (name of a host, its device) → rank. `labels`: words that scripts put before the number of a process at its place; `fields` that hold it. `disputed`: names that are told to be several ranks.
    `counts`: the column of the file's records that counts the ranks. `buses`: (name of a place, bus address of a device) → rank.
    `within`: (folder, name) → rank of names that folders use each for another one."""

    ranks: Mapping[str, int] = msgspec.field(default_factory=dict)
    places: Mapping[tuple[str, int], int] = msgspec.field(default_factory=dict)
    folders: Mapping[str, int] = msgspec.field(default_factory=dict)
    layout: Layout | None = None
    by_local: Mapping[int, int] = msgspec.field(default_factory=dict)
    processes: Mapping[tuple[str, int], int] = msgspec.field(default_factory=dict)
    is_by_device: bool = False
    here: str | None = None
    hosts: frozenset[str] = frozenset()
    devices: Mapping[tuple[str, int], int] = msgspec.field(default_factory=dict)
    scripts: Mapping[str, Script] = msgspec.field(default_factory=dict)
    labels: frozenset[str] = frozenset()
    fields: frozenset[str] = frozenset()
    disputed: frozenset[str] = frozenset()
    counts: str | None = None
    buses: Mapping[tuple[str, str], int] = msgspec.field(default_factory=dict)
    within: Mapping[tuple[str, str], int] = msgspec.field(default_factory=dict)

    def rank(self, name: str | None, local_rank: int | None = None) -> int | None:
        """The rank of who is called so, on that place if the name is a host's."""
        if not name:
            return None
        if local_rank is not None and (name, local_rank) in self.places:
            return self.places[name, local_rank]
        if name in self.ranks:
            return self.ranks[name]
        replica = _REPLICA.sub("", name)  # docker compose counts the containers of a service
        return self.ranks.get(replica)

    def alone(self, name: str) -> int | None:
        """The rank of the only process at a place; where the ranks of all places are not whole, one may have more than are known."""
        rank = self.ranks.get(name)
        if rank is None and self._is_placed and (name, 1) not in self.places:
            rank = self.places.get((name, 0))
        return rank

    def is_known(self, name: str) -> bool:
        """Is a process, or a place of some, called so?"""
        return name in self.ranks or name in self.hosts or name in self.sites or (name, 0) in self.places

    def inside(self, path: str) -> dict[str, int]:
        """Name → rank, of names that mean another one elsewhere, in a file of one such folder or word."""
        at = {*sites(path)} & {site for site, _ in self.within}
        site = min(at) if len(at) == 1 else None
        return {name: rank for (own, name), rank in self.within.items() if own == site}

    @cached_property
    def _is_placed(self) -> bool:
        known = {*self.places.values()}
        return known == {*range(len(known))}

    def place_of(self, path: str) -> str | None:
        """The place of several processes that a file is called after."""
        called = {name for name in parts_of(path.rpartition("/")[2]) if (name, 1) in self.places}
        return called.pop() if len(called) == 1 else None

    def rank_at(self, place: str | None, number: str) -> int | None:
        """The rank of a process by its number at a place, as a field tells it."""
        is_number = place is not None and number.isascii() and number.isdecimal() and len(number) < _DIGITS
        return self.places.get((place, int(number))) if is_number and place is not None else None

    def process(self, name: str) -> int | None:
        """The rank of `gn14:31877`, `gn14/31877`, `31877@gn14`, `gn14[31877]`, or of the process `31877`, `p31877` of the place that the file is from."""
        if (at := _AT.fullmatch(name)) is not None:
            return self.processes.get((at["host"] or at["of"], int(at["pid"] or at["number"])))
        found = _PROCESS.fullmatch(name)
        host = (found["host"] or self.here) if found else None
        return self.processes.get((host, int(found["pid"]))) if found and host else None

    def of_object(self, text: str) -> int | None:
        """The number of the process that an object tells of itself, in a line that holds one."""
        found = _OBJECT.match(text) if self.processes and 'pid"' in text else None
        return int(found["pid"]) if found else None

    def of_cell(self, cell: str) -> int | None:
        """The rank of who is called just so in a cell: by a name of its own, `tcp://10.0.0.7:40117`, `nx-2/gpu1`."""
        whole = cell[:_CELL].strip()
        if whole.replace(".", "", 1).isdigit():
            # a number counts anything, but a long one may be an id without letters
            return self.ranks.get(whole, self._of_part(whole)) if len(whole) >= _SERIAL else None
        name = whole.rpartition("://")[2]
        unit, exporter, device_id = _UNIT.fullmatch(whole), _EXPORTER.fullmatch(whole), _OF_VENDOR.fullmatch(whole)
        for rank in (
            self.rank(whole),
            self.rank(name),
            self.process(name),
            self.rank(unit["instance"] if unit else None),
            self.rank(exporter["address"] if exporter else None),
            self.rank(device_id["uuid"].lower() if device_id else None),
            self._of_part(whole),
        ):
            if rank is not None:
                return rank
        host, _, device = name.replace(":", "/").rpartition("/")
        if not host and (joined := _ON_HOST.fullmatch(name)) is not None:
            host, device = joined["host"], joined["device"]
        found = _DEVICE.fullmatch(device) if host else None
        return self.devices.get((host, int(found[1]))) if found else None

    def _of_part(self, cell: str) -> int | None:
        """The rank of whose id, as people shorten it, a cell holds: `~91cd9e41`."""
        found = _PART.fullmatch(cell) if self._ids else None
        whose = {rank for name, rank in self._ids.items() if found["part"] in name} if found is not None else set()
        return whose.pop() if len(whose) == 1 else None

    @cached_property
    def _ids(self) -> Mapping[str, int]:
        return {name: rank for name, rank in self.ranks.items() if _LONG.fullmatch(name)}

    def of_fields(self, text: str, host: str | None) -> int | None:
        """The rank of a line that holds an object which tells the number of its process, at its place or that of its file, or in the column which
        counts the ranks."""
        if self.counts is not None and "{" in text:
            own = {int(found[1]) for found in self._counting.finditer(text, text.index("{"))}
            return own.pop() if len(own) == 1 else None
        place = host or self.here
        if not self.fields or place is None or "{" not in text:
            return None
        told = {self.rank_at(place, found[1]) for found in self._fields.finditer(text)}
        return told.pop() if len(told) == 1 else None

    @cached_property
    def _fields(self) -> "re.Pattern[str]":
        return re.compile(rf'"(?:{"|".join(map(re.escape, sorted(self.fields)))})": ?"?(\d{{1,4}})(?![\w.])')

    @cached_property
    def _counting(self) -> "re.Pattern[str]":
        return re.compile(rf"[\"']{re.escape(self.counts or '')}[\"']: ?[\"']?(\d{{1,7}})(?![\w.])")

    @cached_property
    def sites(self) -> frozenset[str]:
        """Names of places that processes of the job are known to be on."""
        return frozenset(place for place, _ in self.processes)

    @cached_property
    def numbered(self) -> frozenset[str]:
        """The words of names that are a word and a number: `executor 7`."""
        return frozenset(name.partition(" ")[0] for name in self.ranks if " " in name)

    def of_numbers(self, said: Mapping[str, object]) -> int | None:
        """The one rank that a record tells by the number of an executor, a slot, in a column called so."""
        words = ((KIND_OF.sub("", name.strip().lower()), cell) for name, cell in said.items())
        told = {self.ranks.get(f"{word} {str(cell).strip()}") for word, cell in words if word in self.numbered} - {None}
        return told.pop() if len(told) == 1 else None

    def of_cells(self, cells: Iterable[object]) -> int | None:
        """The one rank that all names in a record's cells mean; null where they mean none or two."""
        told = {self.of_cell(cell) for cell in cells if isinstance(cell, str)} - {None}
        return told.pop() if len(told) == 1 else None

    def of_bus(self, cells: Iterable[object]) -> int | None:
        """The rank that uses the device whose address a cell tells, on the host that another cell does, or the file is from."""
        words = {cell.strip() for cell in cells if isinstance(cell, str)} if self.buses else set()
        places = {place for place, _ in self.buses} & words or {self.here or ""}
        told = {self.buses.get((place, pci(cell))) for place in places for cell in words if _BUS.fullmatch(cell)}
        return told.pop() if len(told) == 1 else None

    def of_seat(self, said: Mapping[str, object]) -> int | None:
        """The rank of whose place a record tells, and its process number or its place there, also as one word: `gn14:3`, `gn14/3`."""
        if not (self.processes or self.places):
            return None
        calls = ((name, cell) for name, cell in said.items() if isinstance(cell, str) and CALLS.search(name))
        words = [cell for name, cell in calls if not is_of_others(name)]
        hosts = {cell for cell in words if cell in self._seated}
        host = hosts.pop() if len(hosts) == 1 else ""
        seats = (word.replace("/", ":").rpartition(":") for word in words)
        told = {self.rank_at(place, seat) for place, _, seat in seats}
        for name, cell in said.items() if host else ():
            number = int(cell) if isinstance(cell, int | str) and _COUNT.fullmatch(str(cell)) else -1
            if vocabulary.of_process(name) == "local_rank":
                told.add(self.places.get((host, number)))
            elif vocabulary.words_of(name)[-1:] == ["pid"] and not vocabulary.points_elsewhere(name):
                told.add(self.processes.get((host, number)))
        told.discard(None)
        return told.pop() if len(told) == 1 else None

    @cached_property
    def _seated(self) -> frozenset[str]:
        """Names of places that something is known of by numbers there."""
        return self.sites | {place for place, _ in self.places}

    def counted(self, said: Mapping[str, object]) -> int | None:
        """The rank that a record tells in the column which counts them."""
        cell = said.get(self.counts) if self.counts is not None else None
        if (share := share_of(cell)) is not None:
            return share[0]
        return int(str(cell)) if cell is not None and _COUNT.fullmatch(str(cell)) else None

    def of_record(self, host: str | None, node_rank: int | None, local_rank: int | None) -> int | None:
        """The rank of who says which node it is on, or what that is called, and its place there."""
        if local_rank is None:
            return None
        host = host or self.here
        named = self.places.get((host, local_rank)) if host else None
        numbered = (
            self.layout.rank(node_rank, local_rank) if self.layout is not None and node_rank is not None else None
        )
        return named if numbered in (None, named) else numbered if named is None else None

    def of_line(self, text: str, host: str | None) -> int | None:
        """The rank of a line that tells its place so: by the number of its node, or as a record of its host. A launcher's sentence speaks of
        another process's place."""
        if not self or "ocal" not in text:
            return None
        found = {match[1].lower(): int(match[2]) for match in _PLACE.finditer(text)}
        if "{" not in text and "node" not in found:
            return None
        return self.of_record(host if "{" in text else None, found.get("node"), found.get("local"))

    def of_command(self, command: str) -> int | None:
        """The rank of whom a command begins that calls a script with its number."""
        called = call_of(command, self.scripts)
        return None if called is None else called.rank

    def __bool__(self) -> bool:
        told = (self.ranks, self.places, self.folders, self.layout, self.processes, self.devices, self.scripts)
        return any(told) or bool(self.counts or self.buses or self.within)

    def _of_device(self, path: str) -> int | None:
        """By a device and the host that a path names, or the only one."""
        devices = {int(number) for number in _DEVICE.findall(path)}
        hosts = {host for host, _ in self.devices}
        named = hosts & {name for part in path.split("/") for name in parts_of(part)} if len(hosts) > 1 else hosts
        found = {self.devices.get((host, device)) for host in named for device in devices}
        return found.pop() if len(found) == len(named) == len(devices) == 1 else None

    def _of_process_in(self, part: str) -> int | None:
        """The rank of the one process whose host and number stand beside each other in a part of a path: `srv12_13100.log`."""
        part = DATED.sub(" ", part)
        numbers = [one for one in _LONE.finditer(part) if int(one[0]) in self._pids]
        found = {rank for one in numbers for host, rank in self._pids[int(one[0])] if stands_beside(host, one)}
        return found.pop() if len(found) == 1 else None

    @cached_property
    def _pids(self) -> Mapping[int, list[tuple[str, int]]]:
        own: defaultdict[int, list[tuple[str, int]]] = defaultdict(list)
        for (host, pid), rank in self.processes.items():
            own[pid].append((host, rank))
        return own

    def of_path(self, path: str, local_rank: int | None = None) -> int | None:
        """The rank of a file: by a folder that is one process's, else by a name that its path is made of."""
        parts = path.split("/")
        for count in range(len(parts) - 1, 0, -1):
            if (rank := self.folders.get("/".join(parts[:count]))) is not None:
                return rank
        if self.devices and (rank := self._of_device(path)) is not None:
            return rank
        for part in reversed(parts):
            if self.processes and (rank := self._of_process_in(part)) is not None:
                return rank
            for names in (parts_of(part), _HYPHENS.split(part)):
                found = {rank for name in names if (rank := self.rank(name, local_rank)) is not None}
                inside = sites(path) if self.within else ()
                found |= {self.within[at, name] for at in inside for name in names if (at, name) in self.within}
                if found:
                    return found.pop() if len(found) == 1 else None
        return None if local_rank is None else self.by_local.get(local_rank)


NO_NAMES = Names()


def is_of_others(field: str) -> bool:
    """Does a field point at somebody else? A node is where its process is, a local rank its own."""
    is_own = field.lower() == "node" or vocabulary.of_process(field) is not None
    return not is_own and vocabulary.points_elsewhere(_NODE.sub("", field))


def stands_beside(name: str, number: "re.Match[str]") -> bool:
    """Does a name stand right before a number, or behind it, with marks between them alone?"""
    before, behind = number.string[: number.start()], number.string[number.end() :]
    before = _WORD_OF_PID.sub("", before).rstrip("-_.:@= ")
    is_before = before.endswith(name) and not before[: -len(name)][-1:].isalnum()
    behind = behind.lstrip("-_.:@= ")
    return is_before or (behind.startswith(name) and not behind[len(name) : len(name) + 1].isalnum())


def parts_of(part: str) -> list[str]:
    """A part of a path: as it is, without its suffixes one by one, and its words; no bare number."""
    found = [part]
    while "." in found[-1]:
        found.append(found[-1].rpartition(".")[0])
    found += WORDS.split(part)
    found += [address[0].replace("-", ".") for address in _DASHED.finditer(part)]
    found += [container[0]] if (container := _CONTAINER.match(part)) else []
    return [name for name in dict.fromkeys(found) if len(name) > 1 and not name.isdigit()]
