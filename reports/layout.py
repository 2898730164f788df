"""Fitting text into columns, and rank ranges into words. Widths are terminal cells: a Chinese character takes two."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cache, lru_cache
from itertools import accumulate

from forensics.model.said import Said, joined
from forensics.model.texts import RANK, RANKS, RANKS_OF_MANY, halves

_WIDE = "\u3000-\u9fff\uff01-\uff60"
_CLOSING = "、。，；：）》”！？"  # never at the beginning of a line
_GROUP = re.compile(r"\b([A-Z][A-Z_]*)_GROUP\b")
_QUOTED = re.compile("“[^“”]*”")
_LEFT_OF_QUOTATION = 40  # columns that stay of a quotation, else there is no point in quoting
RANK_LIMIT = 1 << 20  # a range text that says more than this is not believed


@cache
def _piece() -> re.Pattern[str]:
    """A word with the spaces behind it, or a Chinese character with the marks that belong to it. Dear to compile, and asked
    only where lines are broken."""
    return re.compile(rf"[{_WIDE}][{_CLOSING}]* *|[^ {_WIDE}]+[{_CLOSING}]* *| +")


def cells(text: str) -> int:
    """Columns that a cleaned text takes in a terminal."""
    if text.isascii():
        return len(text)
    return sum(_cell(character) for character in text)


def cut(text: str, width: int) -> str:
    """At most `width` columns; what was cut off shows as …. No word is cut that is shorter than a third of the width."""
    if isinstance(text, Said):
        return Said(cut(str(text), width), cut(text.zh, width))
    if cells(text) <= width:
        return text
    end = _fitting(text, width - 1)
    space = text.rfind(" ", 0, end + 1)
    return text[: space if space > 0 and end - space < width // 3 else end].rstrip() + "…"


def cut_left(text: str, width: int) -> str:
    """As `cut`, but keeps the end: the telling part of a path is its name and line."""
    if cells(text) <= width:
        return text
    return "…" + text[::-1][: _fitting(text[::-1], width - 1)][::-1]


def cut_middle(text: str, width: int) -> str:
    """At most `width` columns, the cut in the middle: of the longest quotation, if that is long enough, else of the whole. A
    message says first what is wrong and last what cures it."""
    over = cells(text) - width
    if over <= 0:
        return text
    quoted = max(_QUOTED.finditer(text), key=lambda found: len(found[0]), default=None)
    if quoted is not None and cells(quoted[0]) > over + _LEFT_OF_QUOTATION:
        return text[: quoted.start()] + _halves(quoted[0], cells(quoted[0]) - over) + text[quoted.end() :]
    return _halves(text, width)


def _halves(text: str, width: int) -> str:
    """Its beginning and, a little more, its end."""
    first = max(width - 3, 0) * 2 // 5
    begin, rest = text[: _fitting(text, first)], text[::-1]
    return halves(begin, rest[: _fitting(rest, max(width - 3 - cells(begin), 0))][::-1])


def wrap(text: str, width: int | None) -> list[str]:
    """`text` in lines of `width` columns, broken at spaces and behind Chinese characters: nothing is cut, and no word.
    None: one line."""
    pieces = _piece().findall(text) if width is not None else [text]
    out = [""]
    for piece in pieces:
        if out[-1] and width is not None and cells(out[-1]) + cells(piece.rstrip(" ")) > width:
            out.append("")
        out[-1] += piece if out[-1] else piece.lstrip(" ")
    return [line.rstrip(" ") if width is not None else line for line in out if line.strip(" ")]


def wrap_command(command: str, width: int | None) -> list[str]:
    """A shell command over several lines that still pastes: broken at spaces outside quotes, with a backslash."""
    words = list(_words(command)) if width is not None else [command]
    out = words[:1]
    for word in words[1:]:
        if width is None or cells(out[-1]) + 1 + cells(word) <= width - 2:
            out[-1] += f" {word}"
        else:
            out.append(f"  {word}")
    return [f"{line} \\" for line in out[:-1]] + out[-1:]


@lru_cache(maxsize=512)  # a page shows the same few texts many times
def spans(ranges: str) -> tuple[tuple[int, int], ...]:
    """ "0-2,4" → ((0, 2), (4, 4)). What is not a range is skipped: this text may come from a file."""
    out = []
    for part in ranges.split(","):
        first, _, last = part.strip().partition("-")
        last = last or first
        if _is_number(first) and _is_number(last) and int(first) <= int(last) < RANK_LIMIT:
            out.append((int(first), int(last)))
    return tuple(out)


def holds(ranges: str, ranks: Iterable[int]) -> bool:
    """Does a range text name one of these ranks?"""
    return any(first <= rank <= last for first, last in spans(ranges) for rank in ranks)


def count(ranges: str) -> int:
    """How many ranks a range text names."""
    return sum(last - first + 1 for first, last in spans(ranges))


def ranks_phrase(ranges: str, runs: int = 6) -> Said:
    """ "0-2,4" → "ranks 0-2, 4"; of many runs the first, and how many ranks in all."""
    parts = [part.strip() for part in ranges.split(",") if part.strip()]
    if not parts:
        return Said("no rank", "无 rank")
    shown = joined(parts[:runs], ", ")
    if len(parts) > runs:
        return RANKS_OF_MANY(ranks=shown, number=count(ranges))
    return (RANK if len(parts) == 1 and "-" not in parts[0] else RANKS)(ranks=shown)


def plain(text: str) -> str:
    """ "all_gather on DATA_PARALLEL_GROUP (3)" → "all_gather on data parallel (3)", for drawings."""
    if isinstance(text, Said):
        return Said(plain(str(text)), plain(text.zh))
    return _GROUP.sub(lambda found: found[1].replace("_", " ").lower(), text)


def plural(number: int, noun: str) -> str:
    """ "1 rank", "2,005 ranks"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def duration(seconds: float) -> str:
    """26.5 → "26.5 s", 616 → "10 min 16 s", 11040 → "3 h 04 min"."""
    if seconds != seconds or seconds in (float("inf"), float("-inf")):
        return "an unknown time"
    if abs(seconds) < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    sign, whole = ("−", -whole) if whole < 0 else ("", whole)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{sign}{hours} h {minutes:02} min" if hours else f"{sign}{minutes} min {rest:02} s"


def time_text(iso: str) -> str:
    """ "2026-11-20T21:25:33.575567Z" → "2026-11-20 21:25:33 UTC"; what is no such text stays as it is."""
    day, _, clock = iso.partition("T")
    return f"{day} {clock[:8]} UTC" if iso.endswith("Z") and len(clock) > 8 else iso


def seconds(text: str | None) -> float | None:
    """ISO 8601 → seconds since 1970; without a zone as if it were UTC. None for anything else."""
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def size(count_bytes: int) -> str:
    """41_200_000_000 → "41.2 GB"."""
    value = float(count_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


def _cell(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _fitting(text: str, width: int) -> int:
    """How many characters from the left fit into `width` columns."""
    ends = accumulate(map(_cell, text))
    return next((index for index, used in enumerate(ends) if used > width), len(text))


def _words(command: str) -> Iterator[str]:
    """Splits at spaces that are outside quotes; the quotes stay."""
    word, quote = "", ""
    previous = ""
    for character in command:
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"" and previous != "\\":
            quote = character
        if character == " " and not quote and previous != "\\":
            if word:
                yield word
            word = ""
        else:
            word += character
        previous = character
    if word:
        yield word
