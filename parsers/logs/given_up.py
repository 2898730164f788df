"""Waits that their own printer gave up, or still counts, in words that nobody has taught: a line tells for how long, and so long before it
the same printer began what both lines speak of.

    10:00:24.6 #88 post ALLREDUCE grp=dp0 n=8388608            10:00:05 step 9 mb 0: recv <- 3 tag 7 waiting
    10:15:24.7 #88 on dp0 outstanding 900s, leaving            10:10:05 recv <- 3 tag 7: 600 s, limit reached

    11:06:04 cycle 18 rmse 0.52⏎ 11:21:04 none for 900 s⏎ 11:36:04 none for 1800 s          22:07:34 第32歩 損失 2.06⏎ 22:37:36 all_reduce 1800 秒

No word says that it is a wait. What does: the time is a round one of a minute and more, as limits and reports of watchdogs are; the line so
long before does not tell it; the two share a word or a number that the printer had never used before; and it does not go back to what it
did before. A line that says what was completed is none, whatever it measured. Instead, the line so long before may be the last of records that came
again and again and come no more, where the time is told twice and grew as the clock did, or beside an operation of communication.

Event `collective_timeout`, value = the time in milliseconds, where the lines name an operation of communication or a rank that is waited
for (`names_ranks`): `op`, `seq`, `group` as they tell them. Else `heartbeat_lost`, code stood_still, from five minutes on, of nobody.

Printed by: programs and watchdogs of one's own.
Versions: none.
Source: as users print them.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import polars as pl

from parsers.forms.reading import pairs_of, whole
from parsers.schema.event_kinds import STILL
from parsers.schema.lines import Row, event, reporter, streams
from parsers.schema.parser import LineParser
from parsers.schema.rules import LINE_CHARACTERS
from parsers.schema.tables import Tables, table
from parsers.text import vocabulary
from parsers.text.op_types import spoken
from parsers.text.patterns import regex

_TIME = (
    r"(?P<number>\d(?<![\w.:/-]\d)\d{0,7})(?:\.0{1,6})? ?(?P<unit>(?:ms|s|secs?|seconds?|Sek(?:unden)?|m|mins?|minutes?|Minuten|h|hours?|Stunden?)(?![\w/])"
    r"|秒|分|小时|小時|時間|초|분|시간)"
)
_TOLD, _BYTES = regex(_TIME), regex(_TIME.encode())
_UNITS = {
    "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "秒": 1.0, "초": 1.0, "分": 60.0, "분": 60.0, "小": 3600.0, "時": 3600.0, "시": 3600.0,
}  # fmt: skip
_RECURS = 3
_LEAST_S, _LEAST_OF_NOBODY_S, _DAY_S = 60.0, 300.0, 86_400.0
_ROUND_S = (60.0, 100.0)
_LATE_S, _LATE = 2.0, 0.02  # by which whoever looks at the clock may be late: in seconds, of the time
_MOST = 64  # lines of one printer that tell a time
_CLOCK = regex(r"(?<![\d:])(\d\d):(\d\d):(\d\d(?:[.,]\d{1,9})?)(?![\d:])")
_STAMP = regex(r"\d{4}[-/]\d\d[-/]\d\d[T ]?|\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?")
_WORD = regex(r"[A-Za-z_]\w*|\d+")
_DIGITS = regex(r"\d+")
_COMPLETED = regex(
    r"(?i)\b(?:took|done|finish\w*|complet\w*|saved|written|succe\w+|ready|elapsed|uptime|every|next|in total|will|if)\b"
)
# A worker, a process or a stage may be of the printer's own.
_PEER = regex(
    r"(?:<-|->|←|→|\b(?:peer|src|dst|source|dest)[ =:]{1,2}|\b(?:from|to|for|on|by) (?:peer|rank) ?[#=:]?)"
    r" ?(?:rank ?)?(?P<rank>\d{1,7})\b(?![.:]\d)"
)
_REQUEST = regex(r"://|\b(?:HTTP|GET|POST|PUT|HEAD|DELETE|PATCH)\b")  # an arrow stands before its answer
_TO, _FROM = ("->", "→"), ("<-", "←")
_CALL = regex(r"(?i)(?:#|\b(?:call|seq|collective|opcount)[ =:#]{1,2})(?P<number>\d{1,15})\b")
_GROUP = regex(r"(?i)\b(?:group|communicator)[ =:]{1,2}['\"]?(?P<name>[A-Za-z][\w./-]{0,60})")


class _Line(NamedTuple):
    """`time`: seconds on a clock of the printer. `words`: without stamps and times."""

    row: Row
    text: str
    time: float | None
    words: frozenset[str]


def parse(lines: pl.DataFrame) -> Tables:
    """events collective_timeout and heartbeat_lost: of each beginning the last line that counts from it."""
    events = []
    for rows in streams(lines):
        said = [_line(row) for row in rows]
        events += [made for begin, end, seconds in _waits(said) if (made := _event(begin, end, seconds)) is not None]
    return {"events": table("events", events)}


def _line(row: Row) -> _Line:
    text = row["text"][:LINE_CHARACTERS]
    bare = _TOLD.sub(" ", _STAMP.sub(" ", text))
    return _Line(row, text, _seconds(row), frozenset(map(str.lower, _WORD.findall(bare))))


def _seconds(row: Row) -> float | None:
    if row["time_ns"] is not None:
        return float(row["time_ns"] / 1e9)
    clock = _CLOCK.search(row["raw"][:200])
    return int(clock[1]) * 3600 + int(clock[2]) * 60 + float(clock[3].replace(",", ".")) if clock else None


def round_times(text: str) -> list[float]:
    """Round times of a minute and more that a text tells, in seconds."""
    told = (int(found["number"]) * _unit(found["unit"]) for found in _TOLD.finditer(text))
    return [seconds for seconds in dict.fromkeys(told) if _is_round(seconds)]


def _unit(name: str) -> float:
    name = name.lower()
    return _UNITS["ms"] if name == "ms" else _UNITS[name[0]]


def _is_round(seconds: float) -> bool:
    return _LEAST_S <= seconds < _DAY_S and any(seconds % one == 0 for one in _ROUND_S)


def _ends(last: bytes) -> bool:
    """Does anything in these lines tell such a time?"""
    return any(_is_round(int(found["number"]) * _unit(found["unit"].decode())) for found in _BYTES.finditer(last))


def _waits(said: Sequence[_Line]) -> Iterator[tuple[_Line, _Line, float]]:
    """(the line that began it, the last line that counts from there, for how many seconds), of what its printer did not leave."""
    told = [
        (at, times)
        for at, one in enumerate(said)
        if one.row["hit"] and (times := round_times(one.text)) and not _COMPLETED.search(one.text)
    ]
    found: dict[int, tuple[int, float]] = {}
    for at, times in told[-_MOST:]:
        for seconds in times:
            if (begin := _beginning(said, at, seconds)) is not None:
                found[begin] = (at, seconds)
    for begin, (end, seconds) in (found or dict(_of_records(said))).items():
        if not _went_back(said, begin, end):
            yield said[begin], said[end], seconds


def _of_records(said: Sequence[_Line]) -> Iterator[tuple[int, tuple[int, float]]]:
    """The last of records that came again and again → the last line that counts from there."""
    told = [(at, times) for at, one in enumerate(said) if one.row["hit"] and (times := round_times(one.text))][-_MOST:]
    if not told:
        return
    first = told[0][0]
    kinds = Counter(_template(one) for one in said[:first])
    last = {_template(one): at for at, one in enumerate(said) if kinds[_template(one)] >= _RECURS}
    grown: defaultdict[tuple[int, str], dict[float, int]] = defaultdict(dict)
    for at, times in told:
        now = said[at].time
        for place in sorted(last.values()):
            begun = said[place].time if place < first else None
            for seconds in times if begun is not None and now is not None else ():
                if abs(((now or 0.0) - (begun or 0.0)) % _DAY_S - seconds) <= max(_LATE_S, _LATE * seconds):
                    grown[place, _template(said[at])][seconds] = at
    for (place, _), ends in grown.items():
        seconds, at = max(ends.items())
        if len(ends) > 1 or (spoken(said[at].text) is not None and not _COMPLETED.search(said[at].text)):
            yield place, (at, seconds)


def _template(one: _Line) -> str:
    return _DIGITS.sub("#", _STAMP.sub(" ", one.text))


def _beginning(said: Sequence[_Line], at: int, seconds: float) -> int | None:
    """The place of the line that a time counts from."""
    own = said[at]
    if own.time is None:
        return None
    known: set[str] = set()
    best: tuple[float, int] | None = None
    for place, one in enumerate(said[:at]):
        if place and one.time is not None and seconds not in round_times(one.text) and (own.words & one.words) - known:
            off = abs((own.time - one.time) % _DAY_S - seconds)
            if off <= max(_LATE_S, _LATE * seconds) and (best is None or off < best[0]):
                best = off, place
        known |= one.words
    return best[1] if best else None


def _went_back(said: Sequence[_Line], begin: int, end: int) -> bool:
    """Does a line after the end look like one before the beginning, and like none between, as reports of a monitor do?"""
    before, between, after = (
        {_DIGITS.sub("#", one.text) for one in part} for part in (said[:begin], said[begin : end + 1], said[end + 1 :])
    )
    return bool(after & (before - between))


def _event(begin: _Line, end: _Line, seconds: float) -> dict[str, Any] | None:
    both = (begin.text, end.text)
    peers = [int(found["rank"]) for text in both if not _REQUEST.search(text) for found in _PEER.finditer(text)][:1]
    op = next((op for text in both if (op := spoken(text)) is not None), None) or (_way(begin.text) if peers else None)
    about: dict[str, Any] = {"severity": "error", "value": seconds * 1000.0, "text": end.text[:LINE_CHARACTERS]}
    if op is None and not peers:
        if seconds < _LEAST_OF_NOBODY_S:
            return None
        counted = json.dumps({"unit": "s", "begun": begin.row["line"]})
        still = {"rank": None, "code": STILL, "value": seconds, "detail": counted}
        return event(end.row, "heartbeat_lost", **about | still)
    told = vocabulary.told(pairs_of(begin.text))
    numbers = [{found["number"] for found in _CALL.finditer(text)} for text in both]
    number = whole(told.get("call_number")) or next((int(one) for one in sorted(numbers[0] & numbers[1])), None)
    group = told.get("group") or next((found["name"] for text in both if (found := _GROUP.search(text))), None)
    rank = reporter(end.row)["rank"]
    peers = [peer for peer in peers if peer != rank]
    return event(
        end.row, "collective_timeout", **about, op=op, seq=number, group=group, names_ranks=peers or None,
        detail=json.dumps({"begun": begin.row["line"]}),
    )  # fmt: skip


def _way(text: str) -> str | None:
    """Whether a message is sent or received, by the arrow before its peer."""
    return "send" if any(arrow in text for arrow in _TO) else "recv" if any(arrow in text for arrow in _FROM) else None


PARSER = LineParser(name="given_up", anchors=(), parse=parse, ends=_ends, leftover=True)
