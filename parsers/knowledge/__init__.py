"""What libraries, drivers and schedulers print and where their calls wait: rows of data, a file for each printer.

A file `PRINTER.toml` beside this one holds two kinds of rows; `docs/knowledge.md` tells their fields. Everything is read and
compiled at the first question. Rows are asked in the order of files by name and of rows in a file: the first that fits answers.
Rows of a user (`learn`) come before all others.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, Literal, TypeVar, cast

import msgspec
import polars as pl

from parsers.schema.event_kinds import EVENT_KINDS
from parsers.text import kept
from parsers.text.patterns import ascii_digits, regex

_LONG = 8192  # characters of a text, a name or a path that are looked at
_NESTED = 8  # template arguments within each other
_START = 6  # characters by which anchors are looked up
_KEPT = 4096  # texts whose meaning is remembered
_ARGUMENTS = regex(r"<[^<>]*>")
_SPELT = regex(r"\w+")
_CLONE = regex(r"(?:\.(?:part|isra|constprop|lto_priv)\.\d+|\.cold)+$")

Waits = Literal["ranks", "service", "device", "wrapper"]
About = Literal["printer", "peer", "process", "pod", "host", "device", "nobody"]
Severity = Literal["info", "warning", "error", "fatal"]
NOTHING = "nothing"  # the event of a line that is understood and tells of none


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    name: str
    versions: str
    source: str  # repository and path in which the fact was read
    example: str
    printer: str = ""  # the file's name


class FrameRow(_Row, frozen=True):
    """A function that waits, or that hides one that does. `file`: pattern of the end of a path, from the beginning of a name in
    it; none where native code tells none. `function`: pattern of the whole name (see `plain_name`)."""

    waits: Literal["ranks", "service", "device", "none"]
    function: str
    file: str = ""


class MessageRow(_Row, frozen=True):
    """A message. `anchor`: words that stand in it, with their case, or some of which one does; only there `pattern` is asked.
    `event`: what a line makes that holds it: a kind of event, "nothing" where it is understood and nothing happened; none: the row
    is only asked what an error means that somebody else has read."""

    anchor: str | tuple[str, ...]
    claim: str
    about: About
    pattern: str = ""  # the anchor itself
    own: bool | None = None
    event: str = ""
    severity: Severity = "warning"  # of a line that has no level


class Message(msgspec.Struct, frozen=True):
    """What a message claims of whom. `own`: True, the row proves the printer to be the origin; False, that it lost others; None, neither."""

    row: str  # PRINTER.NAME
    claim: str
    about: About
    own: bool | None
    fields: dict[str, str]  # named groups of the pattern that matched
    event: str = ""
    severity: Severity = "warning"


_Any = TypeVar("_Any", FrameRow, MessageRow)
_Rows = tuple[tuple[FrameRow, ...], tuple[MessageRow, ...]]


class _File(msgspec.Struct, forbid_unknown_fields=True):
    versions: str = ""  # of rows that tell none
    source: str = ""
    frame: list[dict[str, Any]] = []
    message: list[dict[str, Any]] = []


# What a printer says that lost others, or a wire between both: none of it proves that it is the origin.
_OF_LOSS = ("lost_peer", "gave_up_waiting", "aborted_by_peer", "peer_failed", "disagreement", "network_error")
_OUTSIDE = "services"  # of no job: no rank stands behind one that refused


def contradiction(row: MessageRow) -> str | None:
    """Why a row's `own` does not go with its claim; None where it does."""
    if row.own and row.claim in _OF_LOSS and row.printer != _OUTSIDE:
        return f"own = true does not go with {row.claim}, which proves no origin: leave it out"
    if row.own is False and row.claim not in (*_OF_LOSS, "told_to_stop"):
        return f"own = false does not go with {row.claim}, which tells of nobody else: leave it out"
    return None


@cache
def claims() -> Mapping[str, str]:
    """Name of each claim → its meaning in a line."""
    return dict(tomllib.loads((files("parsers.knowledge") / "claims.toml").read_text(encoding="utf-8"))["claims"])


_learnt: tuple[tuple[str, str], ...] = ()  # printer, text of its file


def learn(texts: Sequence[tuple[str, str]]) -> None:
    """Ask rows of (printer, text of its file) before all others, in this process. ValueError as `read`; then nothing is learnt."""
    global _learnt
    if tuple(texts) == _learnt:
        return
    read(dict(texts))
    _learnt = tuple(texts)
    for asked in (rows, _frames, _messages, _starts, _numbers, waits, _meaning):
        asked.cache_clear()


@cache
def rows() -> _Rows:
    """All rows, in the order in which they are asked."""
    (frames, messages), (own_frames, own_messages) = _shipped(), read(dict(_learnt))
    return own_frames + frames, own_messages + messages


def _shipped() -> _Rows:
    """The rows of the files beside this one. To read TOML takes ten times as long as to read them as they were kept: that is done once for each
    state of the files and of what is asked of a row."""
    folder = files("parsers.knowledge")
    texts = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir() if path.name.endswith(".toml")}
    fields = FrameRow.__struct_fields__, MessageRow.__struct_fields__
    made_of = sha256(repr((fields, sorted(EVENT_KINDS), sorted(texts.items()))).encode()).digest()
    kept_at = kept.place(str(folder / "rows.toml"), "kept")
    with suppress(msgspec.MsgspecError):
        if found := kept.kept(kept_at, made_of):
            return cast(_Rows, msgspec.msgpack.decode(found, type=_Rows))
    del texts["claims.toml"]
    made = read({name.removesuffix(".toml"): text for name, text in texts.items()})
    kept.keep(kept_at, made_of, msgspec.msgpack.encode(made))
    return made


def read(texts: Mapping[str, str]) -> _Rows:
    """Printer → text of its file, as rows. ValueError with file and row where one is not as it must be."""
    frames: list[FrameRow] = []
    messages: list[MessageRow] = []
    for printer in sorted(texts):
        try:
            found = msgspec.convert(tomllib.loads(texts[printer]), _File)
        except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
            raise ValueError(f"{printer}.toml: {error}") from error
        every = {"printer": printer, "versions": found.versions, "source": found.source}
        frames += [_checked(every | row, number, FrameRow) for number, row in enumerate(found.frame, 1)]
        messages += [_checked(every | row, number, MessageRow) for number, row in enumerate(found.message, 1)]
    return tuple(frames), tuple(messages)


def _checked(row: dict[str, Any], number: int, kind: type[_Any]) -> _Any:
    sort = kind.__name__.removesuffix("Row").lower()
    where = f"{row['printer']}.toml: {sort} {number} ({row.get('name', 'no name')})"
    try:
        made = msgspec.convert(row, kind)
    except msgspec.ValidationError as error:
        raise ValueError(f"{where}: {error}") from error
    if not (made.name and made.versions and made.source and made.example):
        raise ValueError(f"{where}: name, versions, source and example must be told")
    if isinstance(made, MessageRow):
        if made.claim not in claims():
            raise ValueError(f"{where}: no such claim: {made.claim}")
        if not any(anchor and anchor in made.example for anchor in anchors_of(made)):
            raise ValueError(f"{where}: the anchor does not stand in the example")
        if made.event not in ("", NOTHING, *EVENT_KINDS):
            raise ValueError(f"{where}: no such kind of event: {made.event}")
    return made


def anchors_of(row: MessageRow) -> tuple[str, ...]:
    """Words of which one stands in the message."""
    return (row.anchor,) if isinstance(row.anchor, str) else row.anchor


@cache
def compiled(row: FrameRow | MessageRow) -> tuple[re.Pattern[str], ...]:
    """The pattern of a message; those of a frame's function and file. Compiled when a row is first asked: few ever are."""
    if isinstance(row, MessageRow):
        patterns = [row.pattern or "|".join(map(re.escape, anchors_of(row)))]
    else:
        patterns = [row.function, rf"(?:^|/)(?:{row.file})$" if row.file else ""]
    try:
        return tuple(re.compile(str(ascii_digits(pattern))) for pattern in patterns)
    except re.error as error:
        raise ValueError(f"{row.printer}.toml: {row.name}: {error}") from error


@cache
def _frames() -> tuple[dict[str, list[FrameRow]], list[FrameRow]]:
    """Rows by each name of a function that they spell out; those whose names are a pattern."""
    by_name: dict[str, list[FrameRow]] = {}
    others = []
    for row in rows()[0]:
        names = row.function.split("|")
        if not all(_SPELT.fullmatch(name) for name in names):
            others.append(row)
            continue
        for name in names:
            by_name.setdefault(name, []).append(row)
    return by_name, others


@cache
def _messages() -> list[tuple[str, MessageRow]]:
    return [(anchor, row) for row in rows()[1] for anchor in anchors_of(row)]


@cache
def _starts() -> tuple[dict[str, list[int]], tuple[str, ...]]:
    """Numbers of anchors by how they begin: of the thousands few have to be looked for in a text. And those that are shorter than a beginning."""
    found = _numbers(_START)
    return found, tuple(start for start in found if len(start) < _START)


def _candidates(text: str) -> Iterator[MessageRow]:
    """Rows of which an anchor stands in the text, in their order."""
    (starts, short), messages = _starts(), _messages()
    begun = starts.keys() & {text[at : at + _START] for at in range(len(text) - _START + 1)}
    for number in sorted({number for start in (*begun, *filter(text.__contains__, short)) for number in starts[start]}):
        anchor, row = messages[number]
        if anchor in text:
            yield row


def _anchored(anchors: Iterable[str]) -> Iterator[MessageRow]:
    """Rows that have one of these anchors, in their order."""
    numbers, messages = _numbers(), _messages()
    for number in sorted({number for anchor in anchors for number in numbers[anchor]}):
        yield messages[number][1]


@cache
def _numbers(characters: int | None = None) -> dict[str, list[int]]:
    """Anchor, or so many characters at its beginning → numbers of its messages."""
    found: dict[str, list[int]] = {}
    for number, (anchor, _) in enumerate(_messages()):
        found.setdefault(anchor[:characters], []).append(number)
    return found


def heard_anchors(texts: Sequence[tuple[str, str]] = ()) -> tuple[str, ...]:
    """Anchors of the rows that make something of a line: those of `texts`, (printer, text of its file), or of all."""
    messages = read(dict(texts))[1] if texts else rows()[1]
    return tuple(sorted({anchor for row in messages if row.event for anchor in anchors_of(row)}))


def plain_name(function: str) -> str:
    """A function's name as rows have it: of Python the last part, of native code without arguments, template arguments,
    versions of symbols and a compiler's clones."""
    name = _CLONE.sub("", function.replace("(anonymous namespace)::", "").split("(", 1)[0].split("@", 1)[0].strip())
    if "::" not in name:
        return name.rsplit(".", 1)[-1]
    for _ in range(_NESTED):
        name = _ARGUMENTS.sub("", name)
    return name.rsplit(" ", 1)[-1]  # what stands before is the type that it returns


_LINE = regex(r'File "([^"]+)", line \d+, in (\S+)')  # of a traceback
_NATIVE = regex(r"(.+) \((\S+)\)")  # function and library


def frame_of(example: str) -> tuple[str, str] | None:
    """(file, function) of a traceback's line, or of a native frame `function (library)`."""
    if found := _LINE.fullmatch(example):
        return found[1], found[2]
    native = _NATIVE.fullmatch(example)
    return (native[2], native[1]) if native else None


@lru_cache(maxsize=1 << 14)  # ranks of a job stand in the same code
def waits(file: str | None, function: str) -> Waits | None:
    """What a frame waits for: other ranks, a service outside the job, a device (which may wait for ranks in turn). "wrapper":
    it is a decorator and the like, and counts as the next frame outward. None: no row knows it to wait."""
    name, path = plain_name(function[:_LONG]), (file or "")[-_LONG:].replace("\\", "/")
    by_name, others = _frames()
    is_python = path.endswith(".py")  # no row without a file is about it
    for row in (*by_name.get(name, ()), *others):
        if (row.file or not is_python) and _fits(row, name, path):
            return "wrapper" if row.waits == "none" else row.waits
    return None


def _fits(row: FrameRow, name: str, path: str) -> bool:
    is_name, is_file = compiled(row)
    return is_file.search(path) is not None and is_name.fullmatch(name) is not None


def innermost_waits(frames: Iterable[tuple[str | None, str]]) -> Waits | None:
    """What the innermost frame that is no wrapper waits for. `frames`: (file, function), innermost first."""
    found = (waits(file, function) for file, function in frames)
    return next((kind for kind in found if kind != "wrapper"), None)


def meaning(text: str) -> Message | None:
    """What a message claims, by the first row that fits; None: no row knows it."""
    return _meaning(text[:_LONG], False, None)


def heard(line: str, anchors: Sequence[str] | None = None) -> Message | None:
    """What a line of a log claims, by the first row that is about lines and fits. `anchors`: those of heard_anchors that stand in it, where
    they are known."""
    return _meaning(line[:_LONG], True, None if anchors is None else frozenset(anchors))


_QUOTES = ("peer_failed", "aborted_by_peer")


@lru_cache(maxsize=_KEPT)
def _meaning(text: str, is_line: bool, anchors: frozenset[str] | None) -> Message | None:
    """What stands behind the words that another process failed is quoted, and nobody's own."""
    found: tuple[int, MessageRow, re.Match[str]] | None = None
    for row in _candidates(text) if anchors is None else _anchored(anchors):
        quotes = row.claim in _QUOTES
        if (found is not None and not quotes) or not (row.event or not is_line):
            continue
        if (match := compiled(row)[0].search(text)) is not None and (found is None or match.start() < found[0]):
            found = match.start(), row, match
            if not row.own:
                break
    if found is None:
        return None
    _, row, match = found
    fields = {name: value for name, value in match.groupdict().items() if value is not None}
    return Message(f"{row.printer}.{row.name}", row.claim, row.about, row.own, fields, row.event, row.severity)


MEANING = {"row": pl.String(), "claim": pl.String(), "about": pl.String(), "own": pl.Boolean()}


def meanings(texts: pl.Series) -> pl.DataFrame:
    """What each text claims: columns of MEANING, a row for each text in its order, null where no row knows it."""
    texts = texts.cast(pl.String).alias("text")
    anchors = [anchor for anchor, _ in _messages()]
    asked = texts.drop_nulls().unique()
    known = asked.filter(asked.str.contains_any(anchors)).to_list()
    found = [(text, one.row, one.claim, one.about, one.own) for text in known if (one := meaning(text)) is not None]
    said = pl.DataFrame(found, schema={"text": pl.String(), **MEANING}, orient="row")
    return texts.to_frame().join(said, on="text", how="left", maintain_order="left").select(*MEANING)
