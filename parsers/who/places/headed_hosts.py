"""Which host stands before what is told: above the parts of a file, or before lines.

Of which host each part of a file is, where people pasted several into one: that of the prompt, or the heading, above it.

    [ops@n07 ~]$ sudo dmesg -T | tail            === n07 ===            $ ssh n07 dmesg
    … what the kernel of n07 says                … of n07               … of n07

A heading of the same form that names no place that is known, and a prompt, ends what stood before. It holds for what a host says of itself (LineParser.of_host): below a prompt there may stand a log of any process.

    21:14:26 [pg-18/4] ready: process_index=12 num_processes=16           21:14:26 gpu4@pg-18 | rank 12 of 16

Where introductions begin with names of two places and more, each rank always with one of them, it runs there.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from parsers.forms.headed import prompted
from parsers.schema.parser import Source
from parsers.text.patterns import regex
from parsers.who.lines.beginnings import WINDOW, Begun, Said, first_bytes
from parsers.who.places.contexts import Places, host_called
from parsers.who.places.job_table import Table

_CHARACTERS, _WORDS, _FEWEST = 400, 2, 2
_BEHIND_STAMP = regex(r"\A(?:[\W\dTZ]{0,40}(?<=[\s\]]))?")
_WORD = regex(r"[\w.-]+")


def host_sections(sources: Sequence[Source], said: Begun, table: Table) -> dict[str, Sequence[tuple[int, str]]]:
    """Path → (line, host from there on), of files of which a heading stands among the lines that are known; a large file is of one piece."""
    if (places := table.where) is None:
        return {}
    found: dict[str, Sequence[tuple[int, str]]] = {}
    for source in sources:
        own = said.get(source.path, ())
        if source.seen is None and source.size <= WINDOW and any(places.heading(one.raw[:_CHARACTERS]) for one in own):
            found[source.path] = [*_parts(source, places, table)]
    return found


def _parts(source: Source, places: Places, table: Table) -> list[tuple[int, str]]:
    lines = first_bytes(source, WINDOW).decode("utf-8", "replace").splitlines()
    told = [(number, line, places.heading(line)) for number, line in enumerate(lines, 1) if len(line) < _CHARACTERS]
    shapes = {_shape(line) for _, line, place in told if place is not None}
    parts = []
    for number, line, place in told:
        if place is not None:
            parts.append((number, host_called(table.called(place)[0], source.path, table.hosts) or ""))
        elif parts and ((other := prompted(line)) is not None or _shape(line) in shapes):
            parts.append((number, other or ""))
    return parts


def _shape(line: str) -> str:
    """What a heading has beside its words."""
    return _WORD.sub("@", line.strip())


def hosts_before(said: Begun, table: Table, claims: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows of `ranks` for those of whom nobody else tells a host."""
    if (places := table.where) is None:
        return []
    placed = {one.get("rank") for one in claims if one.get("host") is not None}
    told: defaultdict[int, dict[str, Said]] = defaultdict(dict)
    for one in (one for own in said.values() for one in own):
        if (who := one.introduces) is None or one.line.host is not None or who.rank in placed:
            continue
        words = [*islice(_BEHIND_STAMP.sub("", one.line.text[:_CHARACTERS]).split(), _WORDS)]
        for place in {places.of(name) for word in words for name in places.named(word.replace("/", " "))}:
            told[who.rank].setdefault(place, one)
    where = {rank: next(iter(own)) for rank, own in told.items() if len(own) == 1}
    if len(where) < len(told) or len({*where.values()}) < _FEWEST:
        return []
    rows = []
    for rank, place in where.items():
        one = told[rank][place]
        if (host := host_called(table.called(place)[0], one.file, table.hosts)) is not None:
            rows.append({"rank": rank, "host": host, "how": "label", "file": one.file, "line": one.number})
    return rows
