"""Which process uses which device of its host, by what scripts let processes see.

    MACA_VISIBLE_DEVICES=$((7-r)) RANK=$r python …          CUDA_VISIBLE_DEVICES=$LOCAL_RANK          torch.cuda.set_device(3 - local_rank)
    CUDA_VISIBLE_DEVICES=3,2,1,0 torchrun …                 RANK=0 HIP_VISIBLE_DEVICES=5 python …

Tools of vendors (`nvidia-smi`, `mx-smi`) know a process by its device and its pid. Where nothing hides devices, the first process of a host uses the
first; where something does, the device says who it is only by what hides it: a sum of one name that is a place or a rank, or is given to one in
the same script, a list in the order of the places, or a line for each rank. Where that is not read, or is told in two ways, a device is nobody's.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import chain

import msgspec

from parsers.text.patterns import regex
from parsers.text.unanimous import sole, unanimous
from parsers.text.vocabulary import of_process
from parsers.who.lines.beginnings import Begun, Said
from parsers.who.places.contexts import Places
from parsers.who.places.families import Process
from parsers.who.places.orders import mapped
from parsers.who.scripts.formulas import Sum, assigned, parsed

_CHARACTERS = 1000
_HIDES = "VISIBLE_DEVICES"
_GIVEN = regex(
    rf"{_HIDES}[\"']?\s{{0,2}}[=:]\s{{0,2}}(?P<value>[\"'\[(]{{0,2}}(?P<list>\d{{1,3}}(?: ?, ?\d{{1,3}})*)(?![\w.$(])|\S)"
)
_TAKES = regex(r"\bset_device\((?:\w{1,40}\.){0,3}(?P<sum>[\w +*()-]{1,60}?)\)")
_PLACES = ("rank", "local_rank")
_HIDDEN = regex(rf"{_HIDES}[\"']?\s{{0,2}}[=:]\s{{0,2}}[\"']?\$\{{?(?P<name>[A-Za-z_]\w{{0,40}}(?![\w\[]))?")
# a place in an array, or a line's number
_PICKED = regex(r"(?:(?P<array>\w{1,40})\[(?:\$\(\()?|\$\(\()(?P<sum>[\w +*$-]{1,40})[\])]")
_NAMES = regex(r"[A-Za-z0-9][\w.-]*\w")
_SENT = regex(r"\b(?:ssh|rsh) (?:-\S+ )*(?:[\w.-]{1,32}@)?(?P<host>[A-Za-z][\w.-]{0,250})")
_LIST = regex(r"\b[a-z]{0,20}-?[sg]mi\b")  # a vendor's tool lists the devices in the order of their numbers
_OF_LINES = regex(r"\b(?:sed|awk|head|tail)\b")  # count lines from 1


_PLAIN_USE = regex(
    r"set_device\((?:torch\.device\()?(?:f?[\"'])?(?:(?:cuda|npu|musa|hpu|xpu):)?[\"', {]{0,4}(?:int\()?(?:[\w.]+\.)?(?:environ\[[\"'])?\w{1,40}[\"'\]})]{0,6}\s*(?:#.*)?$"
)  # nothing added


class Devices(msgspec.Struct, frozen=True):
    """Device → `what` (rank, or local_rank) of its process: `sign` × device + `offset`, or as `listed`. `what` is null where the bundle
    hides devices in a way that does not tell."""

    what: str | None = "local_rank"
    sign: int = 1
    offset: int = 0
    listed: Mapping[int, int] = msgspec.field(default_factory=dict)

    def user(self, device: int) -> int | None:
        """The number of the process that uses it."""
        if self.what is None:
            return None
        number = self.listed.get(device) if self.listed else self.sign * device + self.offset
        return number if number is not None and number >= 0 else None


def _picked(text: str, every: Sequence[str], given: Sequence[tuple[str, Sum]]) -> Devices | None:
    """Of a name that is given what stands in a list of devices, or in one line of it: `U=$(nvidia-smi -L | sed -n "$((i+1))p")`."""
    found = _HIDDEN.search(text)
    lines = [text] if found is None or found["name"] is None else [one for one in every if f"{found['name']}=" in one]
    made: list[Devices | None] = []
    for one in lines:
        value = one[found.end() :] if found is not None and found["name"] is None else one.partition("=")[2]
        for place in _PICKED.finditer(value):
            where = [value, *(told for told in every if place["array"] and place["array"] in told)]
            if not any(map(_LIST.search, where)):
                return Devices(None)
            read = parsed(place["sum"].replace("$", ""))
            own = None if read is None else {**read, (): read.get((), 0) - (_OF_LINES.search(value) is not None)}
            made.append(_by_sum(own, given))
    return made[0] if len(made) == 1 else None


def shown_devices(said: Begun, places: Places) -> dict[str, tuple[int, ...]]:
    """Place → the devices that its processes see, in their order, where lines of each place, or a mapping of places that share numbers, list them
    and nothing else hides any."""
    told: list[tuple[str, tuple[int, ...]]] = []
    for path, own in said.items():
        for one in own:
            if "set_device(" in one.raw and _PLAIN_USE.search(one.raw[:_CHARACTERS]) is None:
                return {}
            shared = dict(mapped(one.raw[:_CHARACTERS], places)) if "[" in one.raw else {}
            if len(shared) > 1 and len({*chain(*shared.values())}) < sum(map(len, shared.values())):
                told += shared.items()
            found = _GIVEN.search(one.raw[:_CHARACTERS]) if _HIDES in one.raw else None
            if found is None and not (_HIDES in one.raw and "environ" in one.raw):
                continue
            if found is None or found["list"] is None or (where := _place(one, path, places, found.start())) is None:
                return {}
            told.append((where, tuple(map(int, found["list"].split(",")))))
    lists = unanimous(told)
    return {place: own for place, own in lists.items() if len({*own}) == len(own) > 1}


def _place(one: Said, path: str, places: Places, at: int) -> str | None:
    """Where a line hides devices: on the host to which it is sent, from which it is, or of which alone it tells before."""
    sent = _SENT.search(one.raw[:_CHARACTERS])
    names = [sent["host"] if sent is not None else None, one.line.host]
    named = {places.of(name) for name in _NAMES.findall(one.raw[:at]) if places.is_place(name)}
    told = [places.of(name) for name in names if name and places.is_place(name)]
    return told[0] if told else sole(named) if named else places.of_file(path)


def used_devices(said: Begun, locals_: Set[str] = frozenset()) -> Devices:
    """The lines of files → whose each device is. `locals_`: names that formulas count the processes of a place by."""
    told: list[Devices] = []
    for own in said.values():
        if lines := [one.raw[:_CHARACTERS] for one in own if _HIDES in one.raw or "set_device(" in one.raw]:
            every = [one.raw[:_CHARACTERS] for one in own if "=" in one.raw]
            given = [(name, read) for text in every for name, read, rest in assigned(text) if rest is None]
            given += [("LOCAL_RANK", {(name,): 1}) for name in locals_]
            told += _of_file(lines, given, every)
    if len({(one.what, one.sign, one.offset, tuple(sorted(one.listed.items()))) for one in told}) > 1:
        return Devices(None)
    return told[0] if told else Devices()


def _of_file(lines: Sequence[str], given: Sequence[tuple[str, Sum]], every: Sequence[str]) -> Iterator[Devices]:
    single: defaultdict[str, dict[int, int]] = defaultdict(dict)
    is_open = False
    for text in lines:
        read = {name: own for name, own, rest in assigned(text) if rest is None}
        hides = [one for name, one in read.items() if name.endswith(_HIDES)]
        lists = [found["list"] for found in _GIVEN.finditer(text)]
        if not hides and not lists:
            if found := _TAKES.search(text):
                yield from filter(None, [_by_sum(parsed(found["sum"]), given)])
            continue
        numbers = [int(one) for one in lists[0].split(",")] if lists and lists[0] else []
        if len(numbers) > 1 and len({*numbers}) == len(numbers):
            yield Devices(listed={device: place for place, device in enumerate(numbers)})
        elif len(numbers) == 1:
            plain = ((of_process(name), one[()]) for name, one in read.items() if {*one} == {()})
            who = {what: number for what, number in plain if what in _PLACES}
            what = next((what for what in _PLACES if what in who), None)
            is_open = is_open or what is None or numbers[0] in single[what]
            single[what or ""][numbers[0]] = who.get(what or "", 0)
        else:
            by_sum = (_by_sum(hides[0], given) if hides else None) or _picked(text, every, given)
            is_open = is_open or by_sum is None
            yield from filter(None, [by_sum])
    if is_open or len(single) > 1:
        yield Devices(None)
    else:
        for what, own in single.items():
            yield Devices(what, listed=own) if len({*own.values()}) == len(own) else Devices(None)


def _by_sum(read: Sum | None, given: Sequence[tuple[str, Sum]]) -> Devices | None:
    """Of a sum of one name, once, with its sign."""
    names = [key for key in read or () if key]
    if read is None or len(names) != 1 or len(names[0]) != 1 or (sign := read[names[0]]) not in (1, -1):
        return None
    [name] = names[0]
    offset = -sign * read.get((), 0)
    if (what := of_process(name)) in _PLACES:
        return Devices(what, sign, offset)
    for what in _PLACES:
        plain = ((other, one) for other, one in given if one.get((name,)) == 1 and {*one} <= {(name,), ()})
        if (more := sole(one.get((), 0) for other, one in plain if of_process(other) == what)) is not None:
            return Devices(what, sign, offset + more)
    return None


def with_users(family: Sequence[Process], devices: Devices, worlds: Set[int | None]) -> list[Process]:
    """A family whose processes are told by their devices, with who that is; of a world on one host, the first uses the first."""
    if all(one.device is None for one in family):
        return [*family]
    users = [None if one.device is None else devices.user(one.device) for one in family]
    is_whole = sorted(-1 if user is None else user for user in users) == [*range(len(family))]
    is_job = is_whole and len({one.place for one in family}) == 1 and len(family) in worlds
    if is_job and all(one.rank is None for one in family):
        return [one._replace(rank=user) for one, user in zip(family, users, strict=True)]
    if devices.what == "rank":  # of which host it is, the device does not say
        return [*family]
    return [one._replace(local=user) for one, user in zip(family, users, strict=True)]
