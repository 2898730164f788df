"""The first lines of logs, taken apart as far as is known before anybody has learnt who speaks in them (speakers.py)."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from parsers.schema.labels import Form, labels_of
from parsers.schema.parser import STREAM_ERRORS, Source
from parsers.text import stamps
from parsers.text.encodings import in_utf8, is_page, is_text
from parsers.text.patterns import regex
from parsers.who.lines import prefixes
from parsers.who.lines.collected import Line
from parsers.who.lines.heads import Head, heads_of
from parsers.who.lines.introductions import Introduction, introduction
from parsers.who.lines.launch_words import Launch, launch, tells_of_nodes

SHAPE = regex(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?=[0-9a-f]{0,7}\d)[0-9a-f]{8,}|\d+")
_USUAL = 4  # every fourth line
LINE = 2000  # characters of a line
HEAD_LINES = 24  # so many tell a file's habits
_LABELLED = regex(r"\[[^\]\[\s]{0,40}\d[^\]\[\s]{0,40}\] ?")
_DIGITS = regex(r"\\?\d+")
_STRUCTURED = regex(rb"\s*(?:\{\s*[\"'}\n]|\[\s*\{|<[?!])")
SIBLINGS = 8  # files of one shape of name in which forms are learnt, by as much of their beginnings
WINDOW, LINES, LEAST = 256 << 10, 8_000, 160  # bytes at most, lines of all together, lines of each if they are many
PLAIN, FIRST = 1_600, 12  # lines of all together, of each other file, that are kept whatever they say
AFTER = 40  # lines below a word of who is who: a table, a block of settings
_WHO = ("rank", "world", "pid", "host", "launch")  # words of who is who; these with a number behind them:
_COUNTED = ("proc", "node", "gpu", "cuda", "device", "worker", "task", "actor", "pod", "peer", "member", "slot", "shard", "stage", "replica", "index")  # fmt: skip
_NUMBERED = regex(rf"(?:{'|'.join(_COUNTED)})[a-z_]{{0,12}}[^\w.]{{0,4}}\d+(?![.\d])")
HEADED = 4_000  # lines of all together in which names at heads are learnt
FILES, NAMED, BEGINNING = 512, 64, 4096  # so many, as many others, fewer whose names tell ranks, by so many bytes


class Said(msgspec.Struct, frozen=True):
    """A line and its place."""

    file: str
    number: int
    raw: str
    line: Line
    introduces: Introduction | None
    labels: list[tuple[Form, int, str]]
    heads: list[Head]
    launch: Launch | None


Begun = Mapping[str, Sequence[Said]]  # the first lines of files, by path


class Beginning(msgspec.Struct, frozen=True):
    """The first lines of a file, and what tells the year of their stamps."""

    lines: list[str]
    around: stamps.Around | None


def chosen(shapes: Iterable[Sequence[Source]]) -> tuple[list[Source], list[Source]]:
    """Files by the shapes of their names → those of which much is read, a few of each shape, and others of which less is."""
    listed = [[one for one in own if one.seen is None and one.size] for own in shapes]
    sampled = [source for own in listed for source in own[:: -(-len(own) // SIBLINGS) or 1]][:FILES]
    paths = {one.path for one in sampled}
    rest = [one for own in listed for one in own if one.path not in paths]
    unnamed, named = ([one for one in rest if (one.rank is None) is is_so] for is_so in (True, False))
    return sampled, unnamed[:FILES] + named[:NAMED]


def begun_by(sampled: Sequence[Source], others: Sequence[Source]) -> tuple[dict[str, list[Said]], dict[str, str]]:
    """Files, and others of which less is read → what their first lines say, and what collectors put before all of them; by path."""
    share = max(LEAST, LINES // max(1, len(sampled)))
    few = max(HEAD_LINES, min(LEAST, LINES // max(1, len(sampled) + len(others))))  # hardly more than their habits
    asked = [*((one, WINDOW, share) for one in sampled), *((one, BEGINNING, few) for one in others)]
    read = {one.path: found for one, size, most in asked if (found := beginning(one, size, most))}
    collectors = collectors_of(read)
    plain = {one.path: max(LEAST, PLAIN // len(sampled)) for one in sampled}
    headed = {one.path: 0 if one.rank is not None else max(LEAST, HEADED // len(sampled)) for one in sampled}
    begun = {
        at: said_in(at, own, collectors.get(at, ""), headed.get(at, HEAD_LINES), plain.get(at, FIRST))
        for at, own in read.items()
    }
    return _without_doubted(begun, read), collectors


def _without_doubted(begun: dict[str, list[Said]], read: Mapping[str, Beginning]) -> dict[str, list[Said]]:
    """The same without launches of one node that say so by not telling of nodes, where a variable or another command may."""
    are_any = any(one.launch is not None and one.launch.is_alone for own in begun.values() for one in own)
    if not are_any or not any(tells_of_nodes(line) for own in read.values() for line in own.lines):
        return begun
    return {
        path: [replace(one, launch=None) if one.launch is not None and one.launch.is_alone else one for one in own]
        for path, own in begun.items()
    }


def first_bytes(source: Source, size: int) -> bytes:
    """Those of a member; none where it cannot be read: whoever reads it will say so."""
    try:
        with source.open() as stream:
            return stream.read(size)
    except STREAM_ERRORS:
        return b""


def beginning(source: Source, size: int, most: int) -> Beginning | None:
    """Of a log; None for what is another kind of file."""
    try:
        with source.open() as stream:
            _, data = in_utf8(source.open, stream.read(size))
    except STREAM_ERRORS:
        return None
    if not is_text(data) or is_page(data):
        return None
    lines = [raw[:LINE].decode("utf-8", "replace") for raw in data.split(b"\n", most)[:most]]
    if _STRUCTURED.match(data) and prefixes.strip(lines[0]).text == lines[0]:
        return None  # else each line is a line of a log, as a collector keeps it
    return Beginning(lines, stamps.around(data[: stamps.YEAR_BYTES]))


def collectors_of(read: Mapping[str, Beginning]) -> dict[str, str]:
    """Path → what a collector nobody knows has put before all lines; a file too short to tell has that of another."""
    own = {path: prefixes.collector(found.lines) for path, found in read.items()}
    known = sorted({before for before in own.values() if before})
    for path, found in read.items() if known else ():
        filled = [line for line in found.lines if line and not line.isspace()]
        fitting = (before for before in known if all(line.startswith(before) for line in filled))
        own[path] = own[path] or next(fitting, "")
    return {path: before for path, before in own.items() if before}


def said_in(path: str, found: Beginning, collector: str, headed: int, plain: int) -> list[Said]:
    """The lines of a file, behind the first `plain` ones those that may tell who is who; of the first `headed` what may be a name at their heads."""
    lines = [line.removeprefix(collector) for line in found.lines]
    habits = msgspec.structs.replace(prefixes.habits(lines[:HEAD_LINES], found.around), fields=True)
    said = []
    until = plain
    for number, raw in enumerate(lines, 1):
        until = number + AFTER if number + AFTER > until and _tells(raw) else until
        if number <= until and raw and not raw.isspace():
            line = prefixes.strip(raw, habits)
            for text in _apart(line.text):
                own = (
                    introduction(text, line.rank) or (introduction(line.fields, line.rank) if line.fields else None),
                    list(labels_of(text)),
                    list(heads_of(text)) if number <= headed else [],
                    launch(text),
                )
                said.append(Said(path, number, raw, line, *own))
    return said


def _tells(raw: str) -> bool:
    """May a line tell who is who?"""
    text = raw.lower()
    is_counted = any(word in text for word in _COUNTED) and _NUMBERED.search(text) is not None
    return is_counted or any(word in text for word in _WHO)


def _apart(text: str) -> list[str]:
    """Prints of several processes that share a line, each behind a label in brackets of one form: `[1/4] host a[2/4] host b`."""
    head = _LABELLED.match(text) if text[:1] == "[" else None
    if head is None or text.count("[") < 2:
        return [text]
    form = re.compile(r"(?<=[^\s\[\](,:=])(?=" + _DIGITS.sub(lambda _: r"\d+", re.escape(head[0])) + ")")
    return form.split(text)


def with_speakers(own: Sequence[Said]) -> list[tuple[str, frozenset[str]]]:
    """Lines of a file, each with the names at its head that stand in a usual place. Names of which each stands before one line are what a listing is of."""
    counts = Counter(head.form for one in own for head in one.heads)
    named = Counter((head.form, head.value) for one in own for head in one.heads)
    again = {form for (form, _), count in named.items() if count > 1}
    usual = {form for form, count in counts.items() if count * _USUAL >= len(own) and form in again}
    return [(one.line.text, frozenset(head.value for head in one.heads if head.form in usual)) for one in own]
