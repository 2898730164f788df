"""Which address is a host's own, and what else it is called, where people note it beside its name.

    [root@gn04 ~]# hostname -I⏎10.9.2.4 172.17.0.1          == gn04 ==⏎inet 10.9.2.4/24 brd 10.9.2.255           addresses alone below a heading, of an interface
    gn04/agent.log: host: 10.9.2.4              gn04  10.9.2.4              host=gn04 ip=10.9.2.4                  a field in each host's log; beside the name
    connect to host gn04 (10.9.2.4) port 22           gn04/10.9.2.4:7337             the name and the address as one word, whoever speaks of that host
    items: [{metadata: {name: w-1}, spec: {nodeName: gn04}}, …]             a pod and its node, in each item of a list
    2,east-two,gn04,10.9.2.4,C07-12                                     a table with a row for each host: `east-two`, where others speak of it

An address is one host's where no other tells it of itself, and names join hosts one by one. Several lines of addresses alone, or two neighbours in
one, are a list of hosts; what tells of a peer, a master, a gateway is nobody's own. In tables a row is of one host, each another one, and only
words are names that another file uses.

Fooled by: a table that pairs each host with another one, in a column called as if it were its own.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import combinations, groupby, islice

from parsers.text import vocabulary
from parsers.text.outlines import Leaf
from parsers.text.patterns import regex
from parsers.who.lines.beginnings import Begun, Said
from parsers.who.places.alike_paths import ADDRESS
from parsers.who.places.contexts import OF_OTHERS, PLACE_COLUMN, Places

_LINES, _CHARACTERS = 400, 300
_TABLE, _ROWS = 60, 256  # lines of a file with the beginning of a table; its rows
_FEWEST, _MOST_CELLS = 2, 24
_A = ADDRESS.pattern
_ALONE = regex(rf"(?:{_A})(?:[ \t]+(?:{_A}|[0-9a-f:]{{3,40}}(?<=[0-9a-f:])))*")
_INTERFACE = regex(
    rf"\s*(?:\d{{1,4}}:\s+)?(?:[A-Za-z][\w.@:-]{{0,30}}\s+)?(?:(?:UP|DOWN|UNKNOWN)\s+|inet6? (?:addr:)?)(?P<address>{_A})(?!/32)\b"
)
_FIELD = regex(
    rf"(?i)(?P<before>(?:\A|.*?[^\w.-]))[\"']?(?:\w*_)?(?:host(?:_?ip|_?name)?|(?:node|pod|host|my|own|local|self)?_?(?:ip|addr(?:ess)?)|ipv4|主机|节点|本机)[\"']?\s{{0,2}}[=:]\s{{0,2}}[\"']?(?P<address>{_A})(?![\w.:])"
)
_BESIDE = regex(r"\W{0,3}(?P<name>[A-Za-z][\w.-]{0,250})[:,|;]?[ \t]+(?P<rest>.*)")
_NAMED = regex(
    r"(?i)(?<![A-Za-z-])(?:host(?:_?name)?|node(?:_?name)?|machine|主机|机器|节点)[\"']?\s{0,2}[=:]\s{0,2}[\"']?(?P<name>[A-Za-z][\w.-]{0,250})"
)
_OF_FIELDS = regex(
    r"\[[^\[\]]{0,60}\]|\([^()]{0,60}\)|[\w.-]{1,60}[\"']?[=:] ?[\"']?[^\s,\"']{1,120}|[\w.-]{1,60}[\]:]"
)
_AS_ONE = regex(
    rf"(?<![\w.-])(?P<name>[A-Za-z][\w.-]{{0,250}})(?:/| ?\(| ?\[)(?P<address>{_A})(?![\w.])|(?<![\w.:-])(?P<first>{_A}) ?[(\[](?P<behind>[A-Za-z][\w.-]{{0,250}})[)\]]"
)
_SMALL = regex(r"(?<![\w.-])[^\W\d_A-Z][\w-]*")  # words of a sentence
_COMMAND = regex(r"(?:[^\w\s]?[\w.-]{1,32}@[^$#%>]{1,120}[$#%>]|[\w.-]{0,60} ?[$%]|\+{1,3}) (?P<command>[a-z./].*)")
_ASKS = regex(r"(?i)host|\bip\b|addr|inet|ifconfig")  # for its own
_COMMON = ("127.", "0.", "255.", "169.254.")
_LETTER = regex(r"[^\W\d_]")
_CELLS = regex(r" {2,}|\t ?|[,;][ \t]*|\s*[|│┃]\s*")
_WORD = regex(r"(?=[^\s]{0,63}[^\W\d_])[\w.@-]{2,64}")


def join_addresses(said: Begun, documents: Iterable[Sequence[Leaf]], places: Places) -> None:
    """Joins hosts with their own addresses, and with what else tables call them."""
    documents = [*documents]
    for one, other in [*_addresses(said, documents, places), *_called(said, places)]:
        places.call(other, one)
    for leaves in documents:
        for pairs in _of_lists(leaves):
            places.join_known(pairs)


def _addresses(said: Begun, documents: Iterable[Sequence[Leaf]], places: Places) -> Iterator[tuple[str, str]]:
    """Places with their own addresses."""
    alone: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
    # form → place → addresses
    forms: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for path, own in said.items():
        lines = own[:_LINES]
        last = max((at for at, one in enumerate(lines) if _may_be_own(one)), default=-1)
        headed, command = places.headings(lines[: last + 1]), None
        for one in lines[: last + 1]:
            typed = _COMMAND.match(one.raw)
            command = typed["command"] if typed is not None else command
            if not _may_be_own(one):
                continue
            text, host = one.line.text[:_CHARACTERS].strip(), one.line.host
            for both in _AS_ONE.finditer(text):
                if places.is_place(name := both["name"] or both["behind"]):
                    forms["as one"][places.of(name)].add(both["address"] or both["first"])
            place = places.called(host) or headed.get(one.number) or places.of_file(path)
            if (found := _INTERFACE.match(text)) is not None:
                if place is not None:
                    forms["interface"][place].add(found["address"])
                continue
            if (beside := _BESIDE.fullmatch(text)) is not None and places.is_place(beside["name"]):
                place, text = places.of(beside["name"]), beside["rest"].strip()
            elif len(named := {places.of(name) for name in _NAMED.findall(text) if places.is_place(name)}) == 1:
                place = named.pop()
            if place is None:
                continue
            if _ALONE.fullmatch(text):
                if command is None or _ASKS.search(command):  # else it may have asked for another host's
                    alone[place].add(tuple(ADDRESS.findall(text)))
            elif (found := _FIELD.match(text)) is not None and _is_alone(text, found):
                forms[f"field {path.rpartition('/')[2]}" if path.count("/") else "field"][place].add(found["address"])
    for at, leaves in enumerate(documents):
        for place, address in _of_records(leaves, places):
            forms[f"field of {at}"][place].add(address)
    forms["alone"] |= {place: {*next(iter(lines))} for place, lines in alone.items() if _is_own(lines)}
    told: defaultdict[str, set[str]] = defaultdict(set)
    for form, hosts in forms.items():
        is_each = len(hosts) >= _FEWEST and all(len(addresses) == 1 for addresses in hosts.values())
        for place, addresses in hosts.items() if not form.startswith("field") or is_each else ():
            for address in addresses:
                told[address].add(place)
    for address, own_places in told.items():
        if len(own_places) == 1 and not address.startswith(_COMMON):
            yield min(own_places), address


def _may_be_own(one: Said) -> bool:
    """Is a line of addresses, with few words?"""
    text = one.line.text
    return len(text) <= _CHARACTERS and text.count(".") > 2 and ADDRESS.search(text) is not None


def _of_records(leaves: Sequence[Leaf], places: Places) -> Iterator[tuple[str, str]]:
    """The host that a record names with the address that it calls its own."""
    records: defaultdict[tuple[str | int, ...], list[Leaf]] = defaultdict(list)
    for leaf in leaves:
        records[leaf.path[:-1]].append(leaf)
    for own in records.values():
        fields = [f"{leaf.path[-1]}: {leaf.value}" for leaf in own]
        told = {found["address"] for text in fields if (found := _FIELD.fullmatch(text)) and _is_alone(text, found)}
        hosts = {
            places.of(name)
            for text in fields
            if (name := text.partition(": ")[2]) not in told and places.is_place(name)
        }
        if len(told) == len(hosts) == 1:
            yield hosts.pop(), told.pop()


def _of_lists(leaves: Sequence[Leaf]) -> Iterator[set[tuple[str, str]]]:
    """Two names of one place in each item of a list, each item of another one: of a pod, and of the host that it has for itself."""
    lists: defaultdict[tuple[str | int, ...], defaultdict[int, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
    for leaf in leaves:
        at = next((at for at, key in enumerate(leaf.path[1:], 1) if isinstance(key, int)), None)
        words = " ".join(vocabulary.words_of(str(leaf.path[-1])))
        if at is not None and PLACE_COLUMN.fullmatch(words):
            lists[leaf.path[:at]][int(leaf.path[at])]["/".join(map(str, leaf.path[at + 1 :]))] = leaf.value
    for items in lists.values():
        columns = set.intersection(*({*own} for own in items.values()))
        values = {name: [own[name] for own in items.values()] for name in sorted(columns)}
        whole = [own for own in values.values() if len({*own}) == len(own) >= _FEWEST]
        yield from ({*zip(one, other, strict=True)} for one, other in combinations(whole, 2) if not {*one} & {*other})


def _is_alone(text: str, field: "re.Match[str]") -> bool:
    """Stands a field behind other fields and a stamp alone, none of them of a peer? In a sentence it is somebody's that the host speaks of."""
    of_others = OF_OTHERS.search(text[: field.start("address")])
    return of_others is None and not _SMALL.search(_OF_FIELDS.sub(" ", field["before"]))


def _is_own(lines: Set[tuple[str, ...]]) -> bool:
    """Is it what one host says of itself: one line, of addresses in networks apart?"""
    addresses = [*next(iter(lines))]
    networks = {address.rpartition(".")[0] for address in addresses}
    return len(lines) == 1 and len(networks) == len(addresses)


# --- tables


def _called(said: Begun, places: Places) -> Iterator[tuple[str, str]]:
    """Places with the words that tables with a row for each call them, where another file uses these."""
    for path, own in said.items():
        for begin, rows in _tables(own):
            for pairs in _columns(rows, begin, places):
                words = {word for _, word in pairs}
                if len(words & {*_used(said, path, words)}) >= _FEWEST:
                    yield from pairs


def _tables(own: Sequence[Said]) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Lines below each other of as many cells, after the first of them."""
    bare = (one.raw for one in own[: _TABLE + _ROWS] if len(one.line.text) == len(one.raw))  # no line of a log
    texts = (text[:_CHARACTERS].strip().strip("|│ ") for text in bare)
    split = ([cell.strip() for cell in _CELLS.split(text)] for text in texts if _LETTER.search(text))
    for cells, rows in groupby(split, key=len):
        if _FEWEST <= cells <= _MOST_CELLS and len(found := [*islice(rows, _ROWS)]) > _FEWEST:
            yield found[0], found[1:]


def _columns(rows: Sequence[Sequence[str]], names: Sequence[str], places: Places) -> Iterator[list[tuple[str, str]]]:
    columns = [*zip(*rows, strict=True)]
    hosts = [
        at
        for at, column in enumerate(columns)
        if not places.is_place(names[at])
        and sum(map(places.is_place, column)) >= _FEWEST
        and len({*map(places.of, column)}) == len(column)
    ]
    if len(hosts) != 1:
        return
    for at, column in enumerate(columns):
        is_free = all(_WORD.fullmatch(cell) and not places.is_place(cell) for cell in column)
        if at not in hosts and is_free and len({*column}) == len(column) and not _is_of_others(names[at]):
            yield [
                (places.of(host), word)
                for host, word in zip(columns[hosts[0]], column, strict=True)
                if places.is_place(host)
            ]


def _is_of_others(name: str) -> bool:
    return vocabulary.points_elsewhere(name) or OF_OTHERS.search(name) is not None


def _used(said: Begun, path: str, words: Set[str]) -> Iterator[str]:
    """Those of the words that stand in lines of other files."""
    held = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, sorted(words, key=len, reverse=True)))})(?![\w-])")
    for other, own in said.items():
        if other != path:
            for one in own[:_LINES]:
                yield from held.findall(one.raw[:_CHARACTERS])
