"""Rosters: which rank each process has by a name that tells no rank: an address, a container of a pod, a slot of a host.

    {'tcp://10.1.0.5:38911': 0, 'tcp://10.1.0.7:36541': 1}          {"0": "mixer-1/c", "1": "mixer-0/a"}
    PADDLE_TRAINER_ENDPOINTS=10.0.3.9:6170,10.0.3.4:6170          {"cluster": {"worker": ["k3:2222", "k1:2222"]}, …}
    # position in the list = rank⏎places:⏎  - hal3:0⏎  - hal1:1
    (10.1.0.5, executor 7, partition 2, …)                    where a script, or its library, calls the rank a partition
    container_1779_0412_01_000005 on n7 assigned to worker 3 (rank 3)               task 7f9c01e2: rank=1, n3

A mapping between names and numbers is one where the numbers are just 0 … N-1, each once, each name once, of two processes at least; a list,
where a line above it says rank, and the world that is told is as large. A mapping to devices or places on a host says so before it, and is none.
A roster of another size than the told world, or two that contradict each other, are none.

So is what lines of one file tell, a rank (or one of as many as it tells, `member 3 of 6`) and an identifier or an address each: of one shape, each of one rank and each rank of one. An identifier holds a run of digits
that no count has, so that what a line says of a neighbour by its host or its place is none; any other name is one where no more than a word joins it to the rank (`w-b got rank 3`).

Who is called so is asked elsewhere (joins.py). **Files** of one shape of name are processes' where all have a line alike, with another name of
the roster each, on a host that the path of the file names as well; not where the line tells of a peer.

Fooled by: a numbering of all processes that is not the ranks.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set

from msgspec.structs import replace

from parsers.schema.names import Told
from parsers.schema.parser import Source
from parsers.text.patterns import regex
from parsers.text.rank_list import RANKS
from parsers.who.lines.beginnings import Begun, Said, first_bytes

KIND = "roster"
_LINES, _CHARACTERS, _BYTES = 400, 2000, 1 << 16
_FEWEST = 2
_MAPPING = regex(r"\{(?P<pairs>[^{}]{8,2000})\}")
_PAIR = regex(
    r"\s*(?:(?P<quote>[\"'])(?P<name>[^\"'\s]{2,120})(?P=quote)\s{0,2}:\s{0,2}[\"']?(?P<number>\d{1,7})[\"']?"
    r"|[\"']?(?P<first>\d{1,7})[\"']?\s{0,2}:\s{0,2}(?P<mark>[\"'])(?P<called>[^\"'\s]{2,120})(?P=mark))\s*(?:,|\Z)"
)
_ENDPOINT = regex(r"[A-Za-z0-9][\w.-]{0,120}:\d{4,5}")
_ENDPOINTS = regex(rf"(?:[\"']?{_ENDPOINT.pattern}[\"']?[,; ]{{1,2}}){{1,4096}}[\"']?{_ENDPOINT.pattern}(?![\w:])")
_OF_ENDPOINTS = regex(  # of Paddle, of TensorFlow's clusters, of LightGBM
    r"(?i)(?<![a-z])(?:(?:trainer|worker)s?_(?:endpoints?|hosts?|addr(?:esse)?s)[\"']?\s?[=:]|[\"']worker[\"']\s?:\s?(?=\[)|machines\s?=)\s?[\[\"']{0,2}(?=[A-Za-z0-9])"
)
_CHIEF = regex(r"(?i)[\"'](?:chief|master)[\"']\s?:")
_OTHERS = regex(r"(?i)local|gpu|device|card|node|host|stage|expert|class|label|token|port|layer")
_SAYS = regex(r"(?i)(?<![a-z])rank")
_NO_RANK = regex(r"(?i)(?<![a-z])(?:local|node|lora)[_ ]?rank")
_WORLD = regex(r"(?i)\b(?:world(?:[_ ]?size)?|nranks|num_processes)[\"']?(?: {0,2}[=:] {0,2}| {1,3})(\d{1,7})\b")
_ITEM = regex(r"\s*-\s+[\"']?(?P<name>[A-Za-z][\w.-]{0,120}[:/][\w.-]{1,60})[\"']?\s*(?:#.*)?")
_SLOT = regex(r"(?P<host>[A-Za-z0-9][\w.-]{0,120})[:/](?P<slot>\d{1,3})")
_HOST = regex(r"(?:\w+://)?(?P<host>[A-Za-z0-9][\w.-]{0,120})[:/]\S+")
_PEER = regex(r"(?i)\b(?:to|from|peer\w*|remote|next|prev\w*|neighbou?r\w*|connect\w*|left|right|with|lost)\b")
_GIVEN = regex(r"(?i)\b(?:assigned|mapped|bound|given) to\b")
_DIGITS = regex(r"\d+")
_RANK = regex(r"(?i)(?<![a-z_-])rank(?: {0,2}[=:#] {0,2}| {1,2}|(?=\d))(?P<rank>\d{1,7})(?![\d./:-])")
_IDENTIFIER = regex(
    r"(?<![\w./:-])(?:[A-Za-z][A-Za-z_-]{0,40}[-_])?(?=[0-9a-f]{0,40}\d)[0-9a-f]{6,40}(?:[_-][0-9a-f]{2,20}){0,6}(?![\w.-])"
)
_ADDRESS = regex(r"(?<![\w./:-])(?:\d{1,3}(?:\.\d{1,3}){3}|[A-Za-z][\w.-]{0,120}):\d{4,5}(?![\w.:-])")
_WORD = r"(?:\d{1,3}(?:\.\d{1,3}){3}|[A-Za-z](?=[\w.-]{0,120}[\d._-])[\w.-]{0,120}\w)"  # no plain word: `rank 0 is up`
_IS = r"(?:is|as|has|got|gets|takes|holds|becomes|runs(?: as)?|[:=]|[-=]>|→)"
_CALLED = (  # `w-b got rank 3`, `rank 3 runs on pod 10.0.7.31`
    regex(rf"(?i)(?<![\w./:-])(?P<name>{_WORD})[\"')\]]{{0,2}} {{0,2}}(?<![A-Za-z])(?:{_IS}) {{0,2}}(?:now |the |global |world )?(?=(?:(?:global|world)_)?rank[ =:#]{{0,3}}\d)"),
    regex(rf"(?i)(?<![a-z_-])rank[ =:#]{{0,3}}\d{{1,7}} {{0,2}}(?:(?:runs |lives |placed |is )?(?:on|at|in|@)|{_IS}) {{1,2}}(?:(?:pod|host|node|container|executor|task|actor|instance|service)[ =:]{{1,3}})?(?P<name>{_WORD})(?=\Z|[\s,;)\]])"),
)  # fmt: skip
_COUNTED = regex(r"(?i)(?<![\w.-])(?P<word>[a-z][a-z_]{2,30})[ =:#]{1,2}(?P<number>\d{1,7})(?![\w.:/-])")
_NO_PROCESS = regex(
    r"(?i)step|epoch|iter(?:ation)?|attempt|layer|stage|tid|pid|port|took|cuda|gpu|npu|device|card|dev|local|loss|level|size|seed|count|world_size|local_rank|node_rank"
)
_BARE_ADDRESS = regex(
    r"(?i)(?:(?<![a-z])(?:on|at|host|ip|addr(?:ess)?|node)[ =:]{1,3}|\()(\d{1,3}(?:\.\d{1,3}){3})(?![\w.:-])"
)
_WORDS_OF_LINE = regex(r"[A-Z]+(?:_[A-Z]+)+")  # `PROCESS_LOCAL`, which says how near data are
# it gives each barrier task the rank that is the number of its partition (pyspark.ml.torch)
_OF_SPARK = regex(r"(?<![A-Za-z])TorchDistributor")
_BEGINS = regex(r"(?i)(?=[a-f]*\d)[0-9a-f]{8}(?=-[0-9a-f]{4}-)|(?=[a-f]*\d)[0-9a-f]{12}(?=[0-9a-f]{52}\Z)")
_AGENTS = regex(r"(?i)rendezvous|rdzv|\bagents?\b|\bnodes? (?:joined|registered)")  # who joins there is a launcher
_OF_ALL = regex(
    r"(?i)\b(?:member|process|worker|trainer|learner|participant|replica)[ #=:]{1,2}(?P<rank>\d{1,7})(?: of | ?/ ?)(?P<total>\d{1,7})(?![\d./:-])"
)
_HEX = regex(r"(?:(?=[0-9a-f]*\d)[0-9a-f]{2,}|\d)")


def rosters(said: Begun, sources: Iterable[Source], world: int | None, called: Set[str]) -> list[Told]:
    """The lines of logs, small documents of JSON, the size of the world, if introductions tell it, and the words by which a script calls ranks → who has
    which rank."""
    is_of_spark = any(_OF_SPARK.search(one.raw) for own in said.values() for one in own[:_LINES])
    called = {"rank", *called, *(("partition",) if is_of_spark else ())}
    texts = (one.raw[:_CHARACTERS] for own in said.values() for one in own[:_LINES])
    sizes = {int(found) for text in texts for found in _WORLD.findall(text)}
    sizes |= {world} if world is not None else set()
    found: list[list[Told]] = []
    for path, own in said.items():
        lines = own[:_LINES]
        for one in lines:
            found += _mappings(path, one.number, one.raw[:_CHARACTERS]) if "{" in one.raw else []
            found += _endpoints(path, one.number, one.line.text[:_CHARACTERS]) if ":" in one.raw else []
        found += _lists(path, lines)
        found += _told_apart(path, lines) + _numbered(path, lines, called)
    for source in sources:
        if source.path not in said and 0 < source.size <= _BYTES and source.seen is None:
            found += _mappings(source.path, 1, _small(source))
    fitting = [group for group in found if group and (not sizes or len(group) in sizes)]
    names: defaultdict[tuple[str, int | None], set[int]] = defaultdict(set)
    for told in (told for group in fitting for told in group):
        names[told.name, told.local_rank].add(told.rank or 0)
    agreed = [group for group in fitting if all(len(names[one.name, one.local_rank]) == 1 for one in group)]
    return [told for group in agreed for told in (*group, *_shortened(group))]


def _shortened(group: Sequence[Told]) -> list[Told]:
    """Identifiers by what they begin with, as folders and lists have them, where no two begin so."""
    short = {one.name: found[0] for one in group if (found := _BEGINS.match(one.name)) is not None}
    is_own = len(short) == len(group) == len({*short.values()})
    return [replace(one, name=short[one.name]) for one in group] if is_own else []


def _small(source: Source) -> str:
    data = first_bytes(source, _BYTES)
    return data.decode("utf-8", "replace") if data.lstrip()[:1] == b"{" else ""


def _mappings(path: str, line: int, text: str) -> Iterator[list[Told]]:
    for mapping in _MAPPING.finditer(text):
        if not _OTHERS.search(text, max(0, mapping.start() - 24), mapping.start()):
            yield _whole(path, [(*pair, line) for pair in _pairs(mapping["pairs"])])


def _endpoints(path: str, line: int, text: str) -> Iterator[list[Told]]:
    """Lists of the addresses of all processes, in the order of their ranks, by a name of those that frameworks give them."""
    for named in _OF_ENDPOINTS.finditer(text):
        listed = _ENDPOINTS.match(text, named.end())
        names = _ENDPOINT.findall(listed[0]) if listed is not None else []
        if not _CHIEF.search(text):  # who stands before them
            yield _whole(path, [(name, rank, line) for rank, name in enumerate(names)])


def _pairs(text: str) -> list[tuple[str, int]]:
    """Names and numbers, where a text is nothing else."""
    found: list[tuple[str, int]] = []
    at = 0
    while at < len(text) and len(found) < RANKS:
        pair = _PAIR.match(text, at)
        if pair is None:
            return []
        name, number = (pair["name"], pair["number"]) if pair["name"] else (pair["called"], pair["first"])
        found.append((name, int(number)))
        at = pair.end()
    return found


def _lists(path: str, lines: Sequence[Said]) -> Iterator[list[Told]]:
    """Lists of slots of hosts below a line that says rank."""
    above, own = "", list[tuple[int, str]]()
    is_of_ranks = False
    for one in [*lines, None]:
        item = _ITEM.fullmatch(one.raw) if one is not None else None
        if item is not None and one is not None:
            own.append((one.number, item["name"]))
            continue
        if is_of_ranks:
            yield _whole(path, [(name, place, line) for place, (line, name) in enumerate(own)])
        own = []
        above = one.raw[:_CHARACTERS] if one is not None else ""
        is_of_ranks = is_of_ranks or (_SAYS.search(above) is not None and not _NO_RANK.search(above))


def _told_apart(path: str, lines: Sequence[Said]) -> list[list[Told]]:
    """Of lines that name a rank and an identifier, where those of one shape are one-to-one with ranks from 0 on."""
    pairs: defaultdict[str, set[tuple[int, str]]] = defaultdict(set)
    first: dict[tuple[int, str], int] = {}
    top = -1
    for one in lines:
        text = one.raw[:_CHARACTERS]
        ranks = {int(rank) for rank in _RANK.findall(text)} if "ank" in text else set()
        ranks = ranks or {int(of["rank"]) for of in _OF_ALL.finditer(text) if of["total"] != "1"}
        if len(ranks) != 1 or _NO_RANK.search(text) or _PEER.search(_GIVEN.sub("", text)):
            continue
        [rank] = ranks
        top = max(top, rank)
        for name in {match[0] for form in (_IDENTIFIER, _ADDRESS) for match in form.finditer(text)}:
            pairs["#" if _ADDRESS.fullmatch(name) else _HEX.sub("#", name)].add((rank, name))
            first.setdefault((rank, name), one.number)
        for found in (match for form in _CALLED for match in form.finditer(text) if not _AGENTS.search(text)):
            around = f"{text[: found.start('name')]}@{text[found.end('name') :]}"
            pairs[_DIGITS.sub("#", around)].add((rank, found["name"]))
            first.setdefault((rank, found["name"]), one.number)
    # What one word joins to ranks must be all that the file tells of.
    groups = [sorted(own) for shape, own in pairs.items() if "@" not in shape or len(own) == top + 1]
    return [_whole(path, [(name, rank, first[rank, name]) for rank, name in own]) for own in groups]


def _numbered(path: str, lines: Sequence[Said], called: Set[str]) -> list[list[Told]]:
    """Of lines alike that number a rank and something else, `executor 7, partition 2`, where these are one-to-one with ranks from 0 on: what is numbered so, and the
    addresses in these lines."""
    pairs: defaultdict[tuple[str, str], dict[tuple[int, str], int]] = defaultdict(dict)
    top = -1
    for one in lines:
        text = one.raw[:_CHARACTERS]
        if not any(word in text.lower() for word in called):
            continue
        told = [(found["word"].lower(), int(found["number"])) for found in _COUNTED.finditer(text)]
        ranks = {number for word, number in told if word in called}
        if len(ranks) != 1 or _NO_RANK.search(text) or _PEER.search(_GIVEN.sub("", text)):
            continue
        [rank], shape = ranks, _DIGITS.sub("#", _WORDS_OF_LINE.sub("", text))
        top = max(top, rank)
        for word, number in told:
            if word not in called and not _NO_PROCESS.fullmatch(word):
                pairs[shape, word].setdefault((rank, f"{word} {number}"), one.number)
        for address in _BARE_ADDRESS.findall(text):
            pairs[shape, ""].setdefault((rank, address), one.number)
    groups = (sorted(own.items()) for own in pairs.values() if len(own) == top + 1)
    return [_whole(path, [(name, rank, line) for (rank, name), line in own]) for own in groups]


def _whole(path: str, told: Sequence[tuple[str, int, int]]) -> list[Told]:
    """Names, each with its rank and its line, where they are one-to-one and count from 0, two of them at least; else nothing."""
    is_each = len({name for name, *_ in told}) == len(told) >= _FEWEST
    is_whole = is_each and sorted(rank for _, rank, _ in told) == [*range(len(told))]
    return [_told(path, line, name, rank, len(told)) for name, rank, line in told] if is_whole else []


def _told(path: str, line: int, name: str, rank: int, world: int) -> Told:
    slot = _SLOT.fullmatch(name)
    if slot is None:
        return Told(name, KIND, path, line, rank=rank, world=world)
    return Told(slot["host"], KIND, path, line, rank=rank, local_rank=int(slot["slot"]), world=world)


def _is_on(name: str, path: str) -> bool:
    """Does a path name the host of an address?"""
    host = _HOST.fullmatch(name)
    return host is not None and re.search(rf"(?<![\w.]){re.escape(host['host'])}(?![\w]|\.\d)", path) is not None


def files_of(told: Sequence[Told], said: Begun, disputed: Set[str]) -> dict[str, int]:
    """Path → rank, of files that tell which name of a roster they are. `disputed`: names that are told to be several ranks."""
    alone = (one for one in told if one.kind == KIND and one.local_rank is None and one.name not in disputed)
    ranks = {one.name: one.rank for one in alone if one.rank is not None}
    if not ranks:
        return {}
    names = re.compile("|".join(rf"{re.escape(name)}(?![\w.:-])" for name in sorted(ranks, key=len, reverse=True)))
    shapes: defaultdict[str, list[str]] = defaultdict(list)
    for path in said:
        shapes[_DIGITS.sub("#", path)].append(path)
    found: dict[str, int] = {}
    for paths in (own for own in shapes.values() if len(own) >= _FEWEST):
        lines: defaultdict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for path in paths:
            for one in said[path][:_LINES]:
                for name in {match[0] for match in names.finditer(one.line.text[:_CHARACTERS])}:
                    words = one.line.text[:_CHARACTERS].replace(name, "@")
                    if not _PEER.search(words) and _is_on(name, path):
                        lines[_DIGITS.sub("#", words)][path].add(name)
        for own in lines.values():
            single = {path: next(iter(called)) for path, called in own.items() if len(called) == 1}
            if len(single) == len(paths) == len({*single.values()}):
                found |= {path: ranks[name] for path, name in single.items()}
                break
    return found
