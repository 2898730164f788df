"""Which place the files of one shape are from, where a note pairs them with hosts that a document numbers.

    left (pane0) is the ssh to anise, right one (pane1) basil            log1: gx-03⏎log2: gx-07            a.out = gx-03, b.out = gx-07

A line names each file of the shape and as many hosts, in turns; or lines name one of each and nothing else. One host for each file, all files
of the shape, or none is believed; a line about a wait or a failure pairs who speaks with whom it speaks of, and tells nothing.

Fooled by: a note of another run.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from parsers.schema.names import Told
from parsers.text.patterns import regex
from parsers.who.lines.beginnings import Begun, Said
from parsers.who.places.contexts import Places

_FEWEST = 2
_LINES, _CHARACTERS = 400, 400
_WORD = regex(r"[A-Za-z0-9][\w.-]*")
_MARKS = frozenset(("is", "was", "the", "of", "on", "from", "host", "node", "machine", "log", "file", "ist", "auf"))
_OF_OTHERS = regex(
    r"(?i)lost|connect|refus|wait|time[sd]? ?-?out|error|fail|peer|unreach|reset|died|hung|hang|stuck|master"
)


def join_told(told: Iterable[Told], said: Begun, paths: Sequence[str], places: Places) -> None:
    """Joins the names of files with the hosts that documents number, as notes pair them."""
    hosts = {one.name for one in told if one.node_rank is not None and places.is_place(one.name)}
    files: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for path, place in places.apart(paths).items() if hosts else ():
        folder, _, name = path.rpartition("/")
        if place not in {*map(places.of, hosts)}:
            files[folder, name.rpartition(".")[2]][place] = path
    for own in files.values():
        names = {name: place for place in own for name in places.aliases()[place]}
        pairs = {
            pair for path, lines in said.items() if path not in own.values() for pair in _pairs(lines, names, hosts)
        }
        is_each = {file for file, _ in pairs} == own.keys() and len({host for _, host in pairs}) == len(pairs)
        if is_each and len(own) == len(pairs) >= _FEWEST:
            for place, host in pairs:
                places.join(place, host)


def _pairs(lines: Sequence[Said], files: Mapping[str, str], hosts: Iterable[str]) -> Iterator[tuple[str, str]]:
    for one in lines[:_LINES]:
        text = one.raw[:_CHARACTERS]
        words = [word.rstrip(".-") for word in _WORD.findall(text)]
        words = [word if word in files or word in hosts else word.partition(".")[0] for word in words]
        named = [word for word in words if word in files or word in hosts]
        if len(named) < _FEWEST or len(named) % 2 or _OF_OTHERS.search(text):
            continue
        turns = [*zip(named[::2], named[1::2], strict=True)]
        turns = turns if turns[0][0] in files else [(file, host) for host, file in turns]
        is_in_turns = all(file in files and host in hosts for file, host in turns)
        is_all = len(turns) == len({*files.values()})
        is_alone = len(turns) == 1 and {word.lower() for word in words if word not in named} <= _MARKS
        if is_in_turns and (is_all or is_alone):
            yield from ((files[file], host) for file, host in turns)
