"""What lines of logs tell of the process, or the node, that prints them: launch lines, and settings printed one below the other.

    torchrun --nnodes=2 --nproc-per-node=4 --node-rank=1 train.py               a command
    {"msg": "torchrun", "node_rank": 2, "nproc_per_node": 2, "nnodes": 4}           a record
    Num processes: 4⏎ Process index: 2⏎ Local process index: 0                           a block of settings, a line each
    MainPID=4711⏎ Environment=RANK=3 WORLD_SIZE=8                                        what systemd shows of a unit
    LAUNCH INFO 2026-01-31 10:11:12,689 devices: 0,1,2,3⏎ LAUNCH INFO 2026-01-31 10:11:12,689 nnodes: 2⏎ … rank: 1

A **statement** is a line, or lines that follow each other and end in a name and its value, that tells a rank or a node's and beside it
how many there are: what a sentence mentions of another rank is none. Where one speaker (a host before the lines, else the file) makes
two that differ, it speaks for several, and none of them is its own.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from parsers.schema.names import Told
from parsers.schema.node_ranks import with_node
from parsers.text import vocabulary
from parsers.text.patterns import regex
from parsers.text.rank_list import RANKS
from parsers.who.lines.beginnings import Said
from parsers.who.lines.introductions import REPORT
from parsers.who.told.logged_tables import logged_tables
from parsers.who.told.mapped_ranks import mapped_ranks, told_ranges
from parsers.who.told.told_items import Item, facts_in
from parsers.who.told.told_names import admitted, admitted_beside, alike

_MAY = regex(r"rank|proc|slots|nodes|machines|trainer|local_?size", re.I)
_SETTING = regex(
    r"(?:\A|[\]\s|-])(?P<name>[A-Za-z_][\w-]{0,40}(?: [\w-]{1,20}){0,3}) ?[:=] {0,2}[\"']?(?P<value>\S{1,120}?)[\"']?,?\Z"
)
_LIST = regex(r"\[?\d{1,3}(?:,\d{1,3}){1,63}\]?")
_DEVICES = ("devices", "gpus")  # as many as are listed, a process each
_RANK = regex(r"rank", re.I)
_HOST = regex(r"\bhost(?:[ _]?name)?(?: ?[=:] ?| )[\"']?([A-Za-z0-9][\w.-]{0,252})", re.I)
_DEVICE = regex(r"\b(?:device|gpu|npu)[ _]?(?:id|index)?[\"']? ?[=:] ?[\"']?(\d{1,3})\b", re.I)
_DIGITS = regex(r"\d+")
_SSH = regex(
    r"\bssh (?:-\S{1,40} (?:(?:\w{1,40}=\S{1,80}|\d{1,5}) )?){0,8}(?:[\w.-]{1,64}@)?(?P<host>[A-Za-z0-9][\w.-]{0,252}) "
)
_NAME = r"(?!(?:pid|process|proc|step|rank|iter(?:ation)?|epoch)\b)[A-Za-z][\w.-]{0,250}"
_PID = regex(  # `== n1 4711`, `/proc/4711/environ:`, `--- pid 4711 on n1`
    rf"[^\w/]{{0,8}}(?:(?P<host>{_NAME})[ :/]{{1,3}})?(?:/proc/)?(?:pid|process)?[ =:#]{{0,3}}(?P<pid>\d{{3,10}})(?:/environ)?"
    rf"(?:[ ,]{{0,2}}(?:(?:on|at) |@ ?|[(\[])(?P<at>{_NAME}))?[^\w/]{{0,8}}",
    re.I,
)
_ENVIRONMENT = regex(r"/proc/(\d{3,10})/environ\b")  # a command that shows it
_VARIABLE = regex(r"\s*(?:export )?[A-Za-z_][\w%()]{0,80}=")  # whatever it holds
_SIZES = frozenset(("world_size", "processes_per_node", "nodes"))
_WHO = frozenset(("rank", "node_rank", "local_rank"))


class Line(NamedTuple):
    """A line, and what stands in it behind its decoration; `host`: of that."""

    file: str
    line: int
    host: str | None
    raw: str
    text: str


def line_of(path: str, one: Said) -> Line:
    """A line of a file; what stands before it may name a process by its pid and its host, `(Worker pid=40, ip=10.0.0.1)`: then the host says nothing of who speaks."""
    is_of_process = "pid=" in one.raw[: len(one.raw) - len(one.line.text)]
    return Line(path, one.number, None if is_of_process else one.line.host, one.raw, one.line.text)


class Statement(NamedTuple):
    """`facts`: what vocabulary.of_process calls them → number. `is_block`: of several lines. `pid`: that the block stands below."""

    file: str
    line: int
    host: str | None
    facts: Mapping[str, int]
    is_block: bool = False
    pid: int | None = None


def told_in_lines(said: Sequence[Line], stated: Iterable[Statement]) -> list[Told]:
    """Lines, and their statements → what their speakers say of their nodes, and of their places there, and of many names at once."""
    items = [_item(one) for one in _own(stated)]
    told = admitted([item for item in items if item.names])
    lines = [(one.file, one.line, one.text) for one in said]
    tables = logged_tables(lines)
    told += admitted_beside(roster for roster in (*_rosters(said), *tables) if roster)
    for group in alike([item for item in items if not item.names and "node_rank" in item.facts]):
        told += admitted(group)
    return [*told, *mapped_ranks(lines), *told_ranges(lines)]


def _rosters(said: Iterable[Line]) -> Iterator[list[Item]]:
    """Lines of one file that differ in numbers only, each of another rank and a host: the ranks that they list, if from 0 on."""
    alike_: defaultdict[tuple[str, str], dict[int, Item]] = defaultdict(dict)
    broken: set[tuple[str, str]] = set()
    for one in said:
        if not (_RANK.search(one.raw) and (found := _HOST.search(one.raw))):
            continue
        facts: defaultdict[str, set[int]] = defaultdict(set)
        for fact in facts_in(one.raw):
            facts[fact.meaning].add(fact.number)
        if (device := _DEVICE.search(one.raw)) and "local_rank" not in facts:
            facts["local_rank"].add(int(device[1]))
        told = _unanimous(facts)
        if "rank" in told:
            key = one.file, _DIGITS.sub("#", one.text)
            item = Item(one.file, one.line, told, is_plain=True, names={("host",): ("host", found[1])})
            if alike_[key].setdefault(told["rank"], item).facts != told:
                broken.add(key)
    for key, items in alike_.items():
        if key not in broken and len(items) > 1 and set(items) == set(range(len(items))):
            yield list(items.values())


def introduced(stated: Iterable[Statement]) -> dict[tuple[str, int], tuple[int, int]]:
    """(file, line) → (rank, world) of who tells both in a block of settings; a line that does is an introduction anyway."""
    blocks = (one for one in stated if one.is_block and {"rank", "world_size"} <= one.facts.keys())
    told = (((one.file, one.line), one.facts["rank"], one.facts["world_size"]) for one in blocks)
    return {where: (rank, world) for where, rank, world in told if rank < world <= RANKS}


def _item(one: Statement) -> Item:
    names: dict[tuple[str | int, ...], tuple[str, str]] = {} if one.host is None else {("host",): ("host", one.host)}
    return Item(one.file, one.line, one.facts, is_plain=False, names=names)


def _own(told: Iterable[Statement]) -> Iterator[Statement]:
    """One of each process that says its place on a host; else one of each speaker, unless it speaks for several."""
    places: dict[tuple[str, int], dict[int, Statement]] = {}
    speakers: defaultdict[tuple[str, str | None, bool], list[Statement]] = defaultdict(list)
    for said in told:
        one = said._replace(facts=with_node(said.facts))
        if one.host is not None and {"rank", "local_rank"} <= one.facts.keys():
            places.setdefault((one.host, one.facts["local_rank"]), {})[one.facts["rank"]] = one
        else:  # a launcher may print the settings of a process that it began
            speakers[one.file if one.host is None else "", one.host, "rank" in one.facts].append(one)
    yield from (one for own in places.values() if len(own) == 1 for one in own.values())
    for own in speakers.values():
        facts: defaultdict[str, set[int]] = defaultdict(set)
        for one in own:
            for meaning, number in one.facts.items():
                facts[meaning].add(number)
        if len(facts["node_rank"]) == 1 and not facts["rank"]:
            facts.pop("local_rank", None)  # of its processes, which each say the node's
        if all(len(facts[meaning]) < 2 for meaning in _WHO):
            yield own[0]._replace(facts=_unanimous(facts))


def statements(said: Iterable[Line]) -> Iterator[Statement]:
    """Every statement that is one line, or a block of settings."""
    blocks: dict[tuple[str, str | None], list[tuple[int, str, dict[str, set[int]]]]] = {}
    pids: dict[tuple[str, str | None], tuple[int, str | None]] = {}
    called: dict[tuple[str, str | None], int] = {}
    for one in said:
        if one.host is None and (found := _SSH.search(one.raw)):
            one = one._replace(host=found["host"])
        speaker = one.file, one.host
        heading = _heading(one)
        setting = _SETTING.search(one.text[-240:]) if heading is None else None
        facts: defaultdict[str, set[int]] = defaultdict(set)
        # A report of what failed tells of its process, whoever prints it.
        if (setting or _MAY.search(one.raw)) and REPORT not in one.raw:
            for meaning, value in _facts(one.raw, setting):
                facts[meaning].add(value)
        # a rank that stands before a command which tells the number of a node is that number
        is_same = {"rank", "node_rank"} <= facts.keys() and facts["rank"] == facts["node_rank"]
        if is_same and one.raw.endswith(one.text) and "rank" not in dict(_facts(one.text, setting)):
            del facts["rank"]
        if is_whole := _is_whole(facts):
            yield Statement(one.file, one.line, one.host, _unanimous(facts))
            if (pid := called.pop(speaker, None)) is not None:  # of a unit: its main process, and what it was given
                yield Statement(one.file, one.line, one.host, _unanimous(facts), is_block=True, pid=pid)
        elif setting is None or not setting["value"].strip():
            called.pop(speaker, None)
        elif vocabulary.words_of(setting["name"])[-1:] == ["pid"] and setting["value"].isdecimal():
            called[speaker] = int(setting["value"])
        if setting is None and speaker in blocks and _VARIABLE.match(one.text):
            continue
        if setting is None or is_whole:
            yield from _of_block(speaker, blocks.pop(speaker, []), pids.pop(speaker, None))
            if heading is not None:
                pids[speaker] = heading
        else:
            # what is told again begins another
            if any(name == setting["name"] for _, name, _ in blocks.get(speaker, ())):
                yield from _of_block(speaker, blocks.pop(speaker), pids.pop(speaker, None))
            blocks.setdefault(speaker, []).append((one.line, setting["name"], facts))
    for speaker, block in blocks.items():
        yield from _of_block(speaker, block, pids.get(speaker))


def _facts(text: str, setting: "re.Match[str] | None") -> Iterator[tuple[str, int]]:
    yield from ((fact.meaning, fact.number) for fact in facts_in(text))
    if setting is None:
        return
    meaning, value = vocabulary.of_process(setting["name"]), setting["value"]
    if meaning is not None and value.isdecimal() and value.isascii() and len(value) < 8:
        yield meaning, int(value)
    elif (
        vocabulary.words_of(setting["name"])[-1:]
        and vocabulary.words_of(setting["name"])[-1] in _DEVICES
        and _LIST.fullmatch(value)
    ):
        yield "processes_per_node", value.count(",") + 1


def _unanimous(facts: Mapping[str, set[int]]) -> dict[str, int]:
    return {meaning: min(numbers) for meaning, numbers in facts.items() if len(numbers) == 1}


def _is_whole(facts: Mapping[str, set[int]]) -> bool:
    """Does it tell who, and of how many?"""
    return bool(facts.keys() & _WHO and facts.keys() & _SIZES) and all(len(facts.get(one, ())) < 2 for one in _WHO)


def _heading(one: Line) -> tuple[int, str | None] | None:
    """(pid, host) of a line that stands above what is told of a process."""
    if (heading := _PID.fullmatch(one.text)) and _is_set_off(heading):
        return int(heading["pid"]), heading["host"] or heading["at"] or one.host
    shown = {*_ENVIRONMENT.findall(one.raw)}
    return (int(shown.pop()), one.host) if len(shown) == 1 else None


def _is_set_off(heading: "re.Match[str]") -> bool:
    """A name before a number is whose it is where marks set both off: else it says what is counted."""
    return heading["host"] is None or not heading[0][:1].isalnum() or heading[0].rstrip().endswith(":")


def _of_block(
    speaker: tuple[str, str | None],
    block: Iterable[tuple[int, str, Mapping[str, set[int]]]],
    heading: tuple[int, str | None] | None,
) -> Iterator[Statement]:
    pid, host = heading or (None, speaker[1])
    facts: defaultdict[str, set[int]] = defaultdict(set)
    line = 0
    plain: dict[str, set[int]] = {}  # a variable called as what it tells, and no more, is what its program goes by
    for number, name, own in block:
        for meaning, found in own.items():
            facts[meaning] |= found
            line = number if meaning in _WHO else line
            plain |= {meaning: found} if name == meaning.upper() else {}
    facts |= plain
    if _is_whole(facts) or (pid is not None and len(facts["rank"]) == 1):
        yield Statement(speaker[0], line, host, _unanimous(facts), is_block=True, pid=pid)
