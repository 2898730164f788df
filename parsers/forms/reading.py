"""Reads members of a bundle as lines or JSON records, in bounded memory, whatever they hold."""

import csv
import gzip
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from math import inf
from typing import Any, BinaryIO, cast

import msgspec

from parsers.schema.parser import Source
from parsers.schema.tables import Tables, table
from parsers.text.patterns import regex

LINE_BYTES = 1 << 20  # the rest of a longer line is dropped
FILE_BYTES = 1 << 30  # of one member, unfolded: a bomb ends
_CHUNK = 1 << 16
CELL = 65536  # characters of a row
_WITH_COMMA = regex(r"\s*[+-]?(?:\d{1,3}(?:\.\d{3}){0,5}|\d{1,15}),\d{1,12}(?:[eE][+-]?\d{1,3})?\s*")
_LISTED = regex(r"\s*\d{1,15}(?:,\d{1,15}){2,}\s*")
_NO_NUMBER = regex(r"[+-]?(?:(?i:nan)\(\w{1,12}\)|1[.,]#(?:(?P<inf>INF)|IND|QNAN|SNAN)\d{0,4})")
_PAIR = regex(
    r"(?<![\w.-])(?P<name>[A-Za-z_][\w-]{0,40})\"? ?[=:] ?\"?(?P<value>\[[^\]\n]{0,2000}\]|\{[^}\n]{0,2000}\}|[\w.<>/-]{1,80}(?![\w:]))"
)
_BOX = {
    **dict.fromkeys(range(0x2500, 0x2580), "+"),
    **dict.fromkeys(map(ord, "─━═┄┅┈┉╌╍"), "-"),
    **dict.fromkeys(map(ord, "│┃║╞╡┆┇┊┋╎╏"), "|"),
}  # lines of drawn tables
RULE = regex(r"[\s|:+=-]{3,}")  # a line between rows of a table, in marks of ASCII
Said = dict[str, Any]  # a record: name → cell
HEADER: Said = {}  # the row of a line of names, and of what else belongs to the records
Row = tuple[int, str, Said | None]  # 1-based line, its text, the record, none where it does not fit


def opened(source: Source) -> BinaryIO:
    """The bytes of a member; a gzip member that the bundle did not unpack is unpacked here."""
    stream = source.open()
    head = stream.read(2)
    stream.close()
    stream = source.open()
    return cast(BinaryIO, gzip.GzipFile(fileobj=stream)) if head == b"\x1f\x8b" else stream


def text_lines(source: Source, most: float = inf) -> Iterator[tuple[int, str]]:
    """(1-based line, text without its end), `most` of them; invalid bytes are replaced, what a cut archive still holds is given.
    What is left out is told to the source, of lines that are cut the first."""
    with opened(source) as stream:
        number, read, is_rest, is_told = 1, 0, False, False
        while piece := _piece(source, stream):
            if read >= FILE_BYTES:
                source.lose(f"not read beyond byte {read}: {FILE_BYTES} bytes are the limit for such a file")
                return
            read += len(piece)
            if not is_rest:
                if number > most:
                    return
                yield number, piece.rstrip(b"\r\n").decode("utf-8", "replace")
            elif not is_told and piece.rstrip(b"\r\n"):
                is_told = True
                source.lose(f"lines longer than {LINE_BYTES} bytes were cut, line {number} first")
            is_rest = not piece.endswith(b"\n")
            number += not is_rest


def _piece(source: Source, stream: BinaryIO) -> bytes:
    """The next line or piece of it, none at the end and where the stream is damaged, which the source is told."""
    try:
        return stream.readline(LINE_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        source.lose(f"damaged or cut short: {error or type(error).__name__}")
        return b""


def all_bytes(source: Source, limit: int) -> bytes | None:
    """The whole member, or None where it is larger than `limit` bytes."""
    with opened(source) as stream:
        parts: list[bytes] = []
        size = 0
        try:
            while piece := stream.read(_CHUNK):
                size += len(piece)
                if size > limit:
                    return None
                parts.append(piece)
        except (OSError, EOFError, zlib.error) as error:
            source.lose(f"damaged or cut short: {error or type(error).__name__}")
    return b"".join(parts)


def whole_text(source: Source, limit: int, what: str) -> str | None:
    """The same as text, without a mark at its beginning; where it is larger, that is said of `what` it is."""
    data = all_bytes(source, limit)
    if data is None:
        source.lose(f"not read: {limit} bytes are the limit for {what}")
        return None
    return data.decode("utf-8", "replace").lstrip("\ufeff")


def whole_json(source: Source, limit: int) -> tuple[dict[str, Any] | None, Tables]:
    """(the JSON object that the member is, no tables), or (None, `unread` with why it is none)."""
    data = all_bytes(source, limit)
    document = json_object(data) if data is not None else None
    if document is not None:
        return document, {}
    reason = f"larger than {limit} bytes" if data is None else "not a whole JSON document"
    return None, {"unread": table("unread", [{"file": source.path, "bytes": source.size, "reason": reason}])}


def undrawn(text: str) -> str:
    """A line with the marks of ASCII for those that draw tables."""
    return text if text.isascii() else text.translate(_BOX)


def json_lines(source: Source) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """(1-based line, the JSON object on it), None where the line is no object; empty lines are left out."""
    for number, text in text_lines(source):
        if text.strip():
            yield number, json_object(text)


@lru_cache(maxsize=1)  # of one head, which a dozen parsers ask for
def first_line(head: bytes) -> str:
    """The first line of a text that is not empty, without blanks around it."""
    start = head.lstrip()
    line = start.split(b"\n", 1)[0].decode("utf-8", "replace").strip()
    return line or start.decode("utf-8", "replace").lstrip().split("\n", 1)[0].strip()


def first_told(said: Mapping[str, Any], names: Iterable[str]) -> Any:
    """The first of these cells that holds anything."""
    return next((said[name] for name in names if said.get(name) not in (None, "")), None)


def pairs_of(text: str) -> dict[str, str]:
    """Name → value of the pairs in a line."""
    return {found["name"]: found["value"] for found in _PAIR.finditer(text)}


def integers(text: str) -> list[int]:
    """All numbers of up to 18 digits in a text such as `[0, 3]`."""
    return [int(number) for number in re.findall(r"[0-9]+", text) if len(number) <= 18]


def cells_of(text: str, mark: str) -> list[str]:
    """The cells of a line of a table, by what stands between them."""
    if mark == "|":
        return [cell.strip().strip("`*").strip() for cell in text.strip().strip("|").split("|")]  # `code`, **bold**
    if mark == " ":
        return text.replace(", ", ",").split()  # a list is one cell
    if '"' not in text:
        return with_points(text.split(mark)) if mark == ";" and "," in text else text.split(mark)
    try:
        return [cell.strip() for cell in next(csv.reader([text[:CELL]], delimiter=mark), [])]
    except csv.Error:
        return csv_cells(text[:CELL]) if mark == "," else text.split(mark)


def csv_cells(text: str) -> list[str]:
    """The cells of a row of comma-separated values; of a row that is none, what stands between the commas."""
    try:
        return next(csv.reader([text]), [])
    except csv.Error:  # a carriage return inside, a cell without end
        return text.split(",")


def with_points(cells: list[str]) -> list[str]:
    """The cells of a row between semicolons, where a comma begins fractions: `1.024,5` is 1024.5. Beside a list of numbers it does not."""
    if any(map(_LISTED.fullmatch, cells)):
        return cells
    return [cell.replace(".", "").replace(",", ".") if _WITH_COMMA.fullmatch(cell) else cell for cell in cells]


def json_object(text: str | bytes) -> dict[str, Any] | None:
    """One JSON object, else None. The tokens NaN and Infinity, which Python and Go write for such numbers, are read as these."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        value = _with_tokens(text)
    return value if isinstance(value, dict) else None


def _with_tokens(text: str | bytes) -> Any:
    """What json.dumps wrote of numbers that are none; None where there is no such token, or no JSON all the same."""
    if not any(token in text if isinstance(text, str) else token.encode() in text for token in ("NaN", "Infinity")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # of UTF-8, too
        return None


def whole(value: object) -> int | None:
    """An integer from an integer, an integral float or digits, if it fits 64 bits; else None."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = int(value) if isinstance(value, int) else int(float(str(value).encode("ascii").strip()[:40]))
    except (ValueError, OverflowError):
        return None
    return number if -(2**63) < number < 2**63 else None


def real(value: object) -> float | None:
    """A float from a number or a text such as `72 W` or `12.5`; None for what holds no number (`N/A`, `[N/A]`)."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return float(value) if abs(value) < 1e300 or isinstance(value, float) else None
    words = str(value)[:64].split()
    word = words[0].rstrip("%") if words else ""
    plain = word.replace(".", "", 1) if word[-1:].isalpha() else word  # YAML writes .nan and -.inf
    try:
        return float(plain.encode("ascii"))
    except ValueError:  # digits that are not of ASCII, too
        return _of_windows(word)


def _of_windows(word: str) -> float | None:
    """What Windows prints of a number that is none: `-nan(ind)`, `1.#INF`; None for anything else."""
    found = _NO_NUMBER.fullmatch(word)
    if found is None:
        return None
    return float("nan") if found["inf"] is None else float("-inf" if word[0] == "-" else "inf")


def utc_ns(value: object) -> int | None:
    """Nanoseconds since 1970 from seconds or an ISO date; a date without a zone is read as UTC."""
    seconds = real(value)
    try:
        if seconds is not None and 0 < seconds < 9e9:
            return int(seconds * 1e9)
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000) * 10**6
