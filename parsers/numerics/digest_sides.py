"""Digests of both sides of something in one record, and of one side that names the other; of a message, counts of bad values say as much.

    step,microbatch,module,fwd_crc,recompute_crc              a layer's output, and what it gave when it was computed again
    step=40 mb=0 layer=blocks.0 forward=ea2cc298 recomputed=ea2cc298 ok
    step bucket in_bad in_absmax in_crc out_bad out_crc       what went into a reduction, and what came out of it
    {"step": 24, "microbatch": 1, "op": "recv", "peer": 2, "crc": "0f3a99c1", "absmax": 1.2}
    {"step": 24, "src": 1, "dst": 2, "sent_crc": "0f3a99c1", "recv_crc": "0f3a99c1"}
    step,mb,dir,op,peer,absmax,nan             or how many of a message's values are none, as its sender and its receiver count them

Table `tensors`, a row for each side: `checksum`, and the statistics that are told of that side. What it is of, a path in a cell says, or the first cell with a number of
which nothing is known (`bucket 6`). A side without a digest is none here (own_rows.py); that ranks whose digests agree behind a reduction are its group, the analysis finds.

Printed by: checks in training programs.
Versions: none.
Source: as users write them.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from itertools import count, islice
from typing import Any

import polars as pl

from parsers.forms import framings
from parsers.forms.reading import real, whole
from parsers.numerics.tensor_names import STATISTICS, is_version_1
from parsers.schema.lines import claimed, reporter
from parsers.schema.parser import FileParser, LineParser, Source
from parsers.schema.rules import LINE_CHARACTERS
from parsers.schema.tables import Tables, tables_of
from parsers.text import vocabulary
from parsers.text.patterns import regex

_SIDES: Mapping[str, str] = {
    **dict.fromkeys(("in", "input", "inputs", "pre", "before", "local"), "in"),
    **dict.fromkeys(("out", "output", "outputs", "post", "after", "reduced"), "out"),
    **dict.fromkeys(("fwd", "forward", "original", "orig", "first"), "first"),
    **dict.fromkeys(("recompute", "recomputed", "recomp", "again", "second"), "again"),
    **dict.fromkeys(("send", "sent", "isend", "sender", "tx"), "sent"),
    **dict.fromkeys(("recv", "received", "irecv", "receive", "receiver", "recvd", "rx"), "got"),
}
_OF = {  # phase, op, tensor
    "in": (None, None, "input"),
    "out": (None, None, "output"),
    "first": ("forward", None, "output"),
    "again": ("recompute", None, "output"),
    "sent": ("comm", "send", "input"),
    "got": ("comm", "recv", "output"),
}
_PAIRS = (("in", "out"), ("first", "again"), ("sent", "got"))
_SUM_NAME = regex(r"(?:crc(?:32c?)?|xxh(?:ash)?\d{0,3}|md5|sha\d{0,3}|hash|digest|sum|checksum|fingerprint|fp)")
_SUM = regex(r"(?:0x)?[0-9a-fA-F]{8,128}")
_PATH = regex(r"[A-Za-z_][\w-]*(?:[./\[]+[\w-]+\]?)+")
_BATCH = ("mb", "microbatch", "micro batch", "micro", "ub", "ubatch")
_TOLD = frozenset(("checksum", "nan_count", "inf_count"))  # of a message
_PEER = ("peer", "to", "from", "remote", "partner", "neighbor", "neighbour")
_SOURCE, _TARGET = ("src", "source", "sender", "from"), ("dst", "dest", "destination", "receiver", "to")
_PAIR = regex(r"(?<![\w.])(?P<name>[A-Za-z_][\w.-]{0,40}) ?[=:] ?\"?(?P<value>[^\s,;|\"]{1,100})")
_BARE = regex(
    r"(?<![\w.])(?P<name>[A-Za-z_][\w.-]{0,40}) {1,4}(?P<value>(?:0x)?(?=[a-f]*\d)[0-9a-f]{8,128}|\d{1,15})(?![\w.])"
)
_HEX = regex(rb"(?i)(?<![\w.-])(?:0x)?(?=[a-f]*\d)[0-9a-f]{8,128}(?![\w.-])")
_MESSAGE = regex(rb"(?i)(?<![a-z])i?(?:send|sent|recv|received?)(?![a-z_])[\"']?,")  # a cell that says so
_FEWEST, _SAMPLE = 3, 60
_Said = Mapping[str, Any]


def accepts(path: str, head: bytes) -> bool:
    """Most of the first records tell a step and digests of two sides, or of one and the other end. Where a column says which tensor each
    row is of, it says which side: of what a call was given, memory that nobody has written yet among it, or of what it gave."""
    if framings.framing(path, head) is None or (_HEX.search(head) or _MESSAGE.search(head)) is None:
        return False
    names = framings.names(path, head)
    if "tensor" in names and is_version_1(names):
        return False
    text = head[: head.rfind(b"\n") + 1] or head
    told = [said for _, _, said in islice(framings.rows_in(path, text), _SAMPLE) if said]
    held = sum(1 for said in told if next(_rows(said, {}), None) is not None)
    return held >= _FEWEST and 2 * held > len(told)


def parse(source: Source) -> Tables:
    """tensors; claimed: lines of names; unread."""
    who = {"rank": source.rank, "host": source.host, "attempt": source.attempt}
    record = count()

    def made(said: _Said, _text: str) -> Iterator[dict[str, Any]]:
        return (row | {"record": next(record)} for row in _rows(said, who))

    return framings.read_table(source, "tensors", made, "no digests of two sides")


def parse_lines(lines: pl.DataFrame) -> Tables:
    """tensors; claimed."""
    found: list[dict[str, Any]] = []
    counts: Counter[str] = Counter()
    has_sum = pl.col("text").str.contains(r"(?i)\b(?:0x)?[0-9a-f]{8,128}\b|\bi?(?:send|sent|recv|received?)\",")
    for row in lines.filter(has_sum).sort("file", "line").iter_rows(named=True):
        text = row["text"][:LINE_CHARACTERS]
        said = {one["name"]: one["value"] for form in (_BARE, _PAIR) for one in form.finditer(text)}
        said = (framings.record(text) or said) if text.startswith("{") else said
        who = reporter(row)
        common = {name: who[name] for name in ("rank", "host", "file", "line")} | {"attempt": row["attempt"]}
        for one in filter(_is_told, _rows(said, common)):
            found.append(one | {"record": counts[row["file"]]})
            counts[row["file"]] += 1
    return tables_of(tensors=found, claimed=claimed(dict.fromkeys((row["file"], row["line"]) for row in found)))


def _rows(said: _Said, who: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A row for each side of a record; none where it holds no digest of both, or names no other end of one."""
    told = vocabulary.told(said)
    step = whole(told.get("step"))
    if step is None or step < 0:
        return
    sides: dict[str, dict[str, Any]] = {}
    plain: dict[str, Any] = {}
    for name, cell in said.items():
        side, column, value = _figure(name, cell)
        if column:
            (sides.setdefault(side, {}) if side else plain)[column] = value
    ends = _ends(said)
    pair = next((pair for pair in _PAIRS if all("checksum" in sides.get(side, {}) for side in pair)), None)
    rank = whole(told.get("rank"))
    common = {
        **who,
        "rank": who.get("rank") if rank is None else rank,
        "step": step,
        "microbatch": _number(said, _BATCH),
        "module": _what(said),
    }
    if pair == _PAIRS[-1]:
        source, target = _number(said, _SOURCE), _number(said, _TARGET)
        if source is not None and target is not None:
            yield _side("sent", common | {"rank": source, "peer": target, "module": None}, sides["sent"])
            yield _side("got", common | {"rank": target, "peer": source, "module": None}, sides["got"])
    elif pair is not None:
        yield from (_side(side, common, sides[side]) for side in pair)
    elif ends is not None and not _TOLD.isdisjoint(plain):
        yield _side(ends[0], common | {"peer": ends[1], "module": None}, plain)


def _is_told(row: Mapping[str, Any]) -> bool:
    """Is it told whose it is? Whose message it is, its digest may tell."""
    return row["rank"] is not None or row["op"] is not None


def _side(side: str, common: Mapping[str, Any], figures: Mapping[str, Any]) -> dict[str, Any]:
    phase, op, tensor = _OF[side]
    return {**common, "phase": phase, "op": op, "tensor": tensor, **figures}


def _plain(name: str) -> str:
    return " ".join(vocabulary.words_of(name))


def _number(said: _Said, names: Collection[str]) -> int | None:
    """The first cell under one of these names."""
    return next((whole(said[name]) for name in said if _plain(name) in names), None)


def _figure(name: str, cell: Any) -> tuple[str, str, Any]:
    """(side, column of `tensors`, value) of a cell; no column where it is neither a digest nor a statistic."""
    words = vocabulary.words_of(name)
    sides = [word for word in words if word in _SIDES]
    rest = " ".join(word for word in words if word not in _SIDES)
    if len(sides) > 1:
        return "", "", None
    side = _SIDES[sides[0]] if sides else ""
    if (not rest and side) or _SUM_NAME.fullmatch(rest):
        text = str(cell).strip()
        return (side, "checksum", text.lower().removeprefix("0x")) if _SUM.fullmatch(text) else ("", "", None)
    column = "nan_count" if side and rest == "bad" else STATISTICS.get(rest.replace(" ", "_"), "")
    value = whole(cell) if column.endswith("_count") else real(cell)
    return (side, column, value) if column and value is not None else ("", "", None)


def _ends(said: _Said) -> tuple[str, int] | None:
    """(whether it was sent or got, the other end) where a cell, or a name with the other end, says so."""
    words = [str(cell).lower() for cell in said.values() if isinstance(cell, str)]
    sides = {_SIDES[word] for word in words if _SIDES.get(word) in _PAIRS[-1]}
    peers = {whole(said[name]) for name in said if _plain(name) in (*_PEER, *_SOURCE, *_TARGET)} - {None}
    return (sides.pop(), peers.pop() or 0) if len(sides) == 1 and len(peers) == 1 else None


def _what(said: _Said) -> str | None:
    """What a record is of."""
    known = vocabulary.told(said)
    if (named := known.get("module") or known.get("tensor")) is not None:
        return str(named)
    texts = [cell for cell in said.values() if isinstance(cell, str) and _PATH.fullmatch(cell) and real(cell) is None]
    if texts:
        return texts[0]
    numbers = (
        f"{name} {number}"
        for name, cell in said.items()
        if vocabulary.meaning_of(name) is None
        and _plain(name) not in _BATCH
        and not any(word in _SIDES or word in STATISTICS for word in vocabulary.words_of(name))
        and (number := whole(cell)) is not None
        and real(cell) == number
    )
    return next(numbers, None)


FILES = FileParser(name="digest_sides", accepts=accepts, parse=parse)
LINES = LineParser(
    name="digest_pairs",
    holds=regex(rb"(?i)(?<!\w)(?:0x)?[0-9a-f]{8,128}(?!\w)|\"i?(?:send|sent|recv|received?)\","),
    anchors=(
        b'send",', b'sent",', b'recv",', b'receive",', b'received",', b"ecomp", b"fwd", b"forward", b"pre_", b"pre=",
        b"before", b"in_", b"in=", b"input",
    ),
    parse=parse_lines,
)  # fmt: skip
