"""The level of a log record, wherever a logger puts it: a field of its own before the message, not a word in a sentence.

    2026-01-31 10:11:12,689 ERROR trainer: message            logging with a format; log4j, slf4j
    2026-01-31 10:11:12,689 - app - ERROR - message           logging with dashes
    2026-01-31 10:11:12.689 | ERROR    | app:main:12 - message            loguru
    [2026-01-31 10:11:12,689][app][ERROR] - message           Hydra, colorlog
    [2026-01-31 10:11:12,689] [ERROR] [launch.py:3:main] message          DeepSpeed
    ERROR 01-31 10:11:12 [engine.py:7] message                vLLM
    ERROR:root:message · ERROR: message · prog: error: message            logging without a format, pip, GNU
    E0131 10:11:12.689000 4711 file.cc:12] message            glog, absl; also in brackets, with or without a time
    2026:01:31-10:11:12:( 4711) |CCL_ERROR| file.cpp:3: message            oneCCL
    E file.cc:12] message                                     TensorFlow and XLA, after their stamp
    2026-Jan-31 10:11:12.689000 4711:4712 ERROR  TDRV:place   message          Boost.Log, with the process and its thread
    level=error msg="message" · {"level":"error","msg":"…"}   logfmt, JSON

The fields before the level are read from the left: stamps, brackets, parentheses, separators and, after a stamp, up to two
names. The first level found is the record's, so what an INFO record says of an ERROR is an INFO. A level without any field
before it counts only where a separator follows it. The rank of a record is the one that stands among these fields.
"""

import re

import msgspec

from parsers.forms.reading import json_object
from parsers.text.patterns import regex
from parsers.text.stamps import MONTHS, NONE, Stamp, parse_time

CHARACTERS = 4096
_SEVERITIES = {
    **dict.fromkeys(("error", "err", "severe", "e"), "error"),
    **dict.fromkeys(("critical", "crit", "fatal", "emerg", "emergency", "alert", "panic", "f", "c"), "fatal"),
    **dict.fromkeys(("warning", "warn", "w"), "warning"),
    **dict.fromkeys(("info", "information", "notice", "success", "i", "debug", "trace", "verbose", "d", "v"), "info"),
}
_WORDS = "|".join(sorted((word for word in _SEVERITIES if len(word) > 1), key=len, reverse=True))
_LEVEL = regex(rf"(?:(?<=\|)[A-Z]{{2,8}}_)?(?P<level>{_WORDS.upper()})(?![\w./-]| ?=)")
_ANY_CASE = regex(rf"\s*(?P<level>{_WORDS})\s*", re.I)
_CLOCK = r"\d\d:\d\d:\d\d(?:[.,:]\d{1,9})?(?:\.\d{1,3})?"
_STAMP = regex(
    rf"(?:\d{{4}}[-/:]\d\d[-/:]\d\d[T _-]?|\d{{4}}-[A-Z][a-z]{{2}}-\d\d |\d\d(?:[-/]\d\d){{1,2}}(?:\d\d)? |[A-Z][a-z]{{2}} [A-Z][a-z]{{2}} +\d{{1,2}} "
    rf"|[A-Z][a-z]{{2}} +\d{{1,2}} ){_CLOCK}(?: ?(?:Z|UTC|[+-]\d\d:?\d\d)\b)?(?: \d{{4}}(?![\w:]))?|{_CLOCK}"
)
_PID = regex(r"(?:^|\s)(?P<pid>\d{2,10}):\d{2,10}(?=\s|$)")  # and its thread
_BRACKET = regex(r"\[(?P<square>[^\[\]]{0,160})\]|\((?P<round>[^()]{1,120})\)|<(?P<angle>[^<>]{1,32})>")
_SEPARATOR = regex(r"[\s|:,;-]+")
_NAME = regex(r"[\w.@/#-]+(?:\[\d+\])?")
_SPACE = regex(r"\s+")
_FOLLOWED = regex(r"\s*(?:[:|\[\]]|-+\s)")
_GLOG = regex(
    r"\[?(?P<letter>[EF])(?P<stamp>(?:20\d\d)?\d{3,4} \d\d:\d\d:\d\d\.\d{1,9})?\s+(?:\d{1,10}\s+)?(?P<place>[\w./<>+-]{1,300}:\d{1,6})\] ?"
    r"|\[(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})?): (?P<tf>[EF]) +(?P<file>[\w./-]{1,300}:\d{1,6})\] ?"
)
_GNU = regex(
    r"(?:(?P<name>[\w./+-]{1,80}(?:\[\d{1,10}\])?): (?:\w+ )??(?=[a-z]))?(?P<level>[Ee]rror|[Ff]atal|[Cc]ritical)(?: error)?: "
)
_LOGFMT_KEYS = ("level=", "severity=", "lvl=")
_LOGFMT = regex(r"(?:^|\s)(?:level|severity|lvl)=\"?(?P<level>\w{1,12})\"?(?=\s|$)")
_LOGFMT_TEXT = regex(r"\b(?:msg|message)=(?:\"((?:[^\"\\]|\\.)*)\"|(\S+))")
_JSON_LEVELS = ("level", "severity", "levelname", "log.level", "lvl")
_JSON_TEXTS = ("msg", "message", "log", "event", "text", "body")
_RANK = regex(r"(?i)(?<![\w-])(?:global[_ ]|world[_ ])?rank(?:id)?[ :=_]{0,2}(\d{1,7})\b")
# What stands between the level and the message: brackets of a place or a name, `(PID:1, RankID:2)`, `file.py:3`, `root:`.
_BETWEEN = regex(
    r"\s*(?:\[[\w .:/<>@-]{1,160}\]|\([\w.:/-]{1,80}(?:, ?\w{1,20}:-?\d{1,10}){0,5}\)|[\w./<>-]{1,200}:\d{1,6}(?=\s|$)"
    r"|(?<=:)[\w.-]{1,120}:(?=\S)|[|:-])\s*"
)


class Record(msgspec.Struct, frozen=True):
    """`severity` as in `events`; `fields`: what stood before the message without the stamp."""

    severity: str
    message: str
    fields: str = ""
    stamp: Stamp = NONE

    @property
    def rank(self) -> int | None:
        """The one rank that the fields before the message name."""
        found = set(_RANK.findall(self.fields))
        return int(found.pop()) if len(found) == 1 else None

    @property
    def pid(self) -> int | None:
        """The process whose number stands with that of its thread before the message."""
        found = _PID.search(self.fields)
        return int(found["pid"]) if found else None


def record(text: str, is_stamped: bool = False, raw: str = "") -> Record | None:
    """A line → its record, None where it has no level field. `is_stamped`: a launcher's decoration with a time or a rank
    was taken off before it. `raw`: the line as it was, for a level inside a collector's JSON."""
    text = text[:CHARACTERS]
    whole = raw.lstrip()
    if whole.startswith("{") and (found := _of_json(whole)):
        return found
    if match := _GLOG.match(text):
        stamp = parse_time(match["at"]) if match["at"] else NONE
        severity = _SEVERITIES[(match["letter"] or match["tf"]).lower()]
        return Record(severity, text[match.end() :], match["place"] or match["file"], stamp)
    if match := _GNU.match(text):
        return Record(_SEVERITIES[match["level"].lower()], text[match.end() :], match["name"] or "")
    match = _LOGFMT.search(text) if any(key in text for key in _LOGFMT_KEYS) else None
    if match and (said := _LOGFMT_TEXT.search(text)):
        known = _SEVERITIES.get(match["level"].lower())
        return Record(known, said[1] or said[2] or "", text[: match.start()]) if known else None
    return _fields(text, is_stamped)


def _fields(text: str, is_stamped: bool) -> Record | None:
    at, names, has_field, start = 0, 0, is_stamped, 0
    stamp: Stamp = NONE
    while at < len(text):
        if match := _SEPARATOR.match(text, at):
            pass
        elif match := _STAMP.match(text, at):
            stamp = stamp if stamp[1] else _time(match[0])
            has_field, start = True, match.end()
        elif match := _BRACKET.match(text, at):
            inside = match["square"] or match["round"] or match["angle"] or ""
            if (level := _level_in(inside)) is not None:
                return _found(level, text, match.end(), text[start:at] + match[0], stamp)
            stamp = stamp if stamp[1] else _time(inside)
            has_field = True
        elif match := _LEVEL.match(text, at):
            is_set_off = _FOLLOWED.match(text, match.end()) or _STAMP.match(text, match.end() + 1)
            if not (is_set_off or (has_field and not names)):
                return None
            return _found(match["level"], text, match.end(), text[start:at], stamp)
        elif has_field and names < 2 and (match := _NAME.match(text, at)):
            names += not match[0].isdigit()  # a process, a thread
        else:
            return None
        at = match.end()
    return None


def _level_in(inside: str) -> str | None:
    """The level that a bracket holds: alone, or first before a stamp or a place, or last after them."""
    if match := _ANY_CASE.fullmatch(inside):
        return match["level"]
    words = inside.split()
    if len(words) > 1 and any(":" in word or word[:1].isdigit() for word in words):
        return next((word for word in (words[0], words[-1]) if word.isupper() and word.lower() in _SEVERITIES), None)
    return None


def _found(level: str, text: str, at: int, fields: str, stamp: Stamp) -> Record:
    begin = at
    while match := _STAMP.match(text, begin) or _BETWEEN.match(text, begin) or _SPACE.match(text, begin):
        begin = match.end()
    more = text[at:begin]
    if not stamp[1] and (late := _STAMP.search(more)):
        stamp = _time(late[0])
    return Record(_SEVERITIES[level.lower()], text[begin:].strip(), f"{fields} {more}".strip(), stamp)


def _time(stamp: str) -> Stamp:
    """Also with a dash between the day and the hour, as CANN prints it, and with the name of the month, as Boost does."""
    if stamp[5:8] in MONTHS:
        stamp = f"{stamp[:5]}{MONTHS[stamp[5:8]]:02}{stamp[8:]}"
    return parse_time(f"{stamp[:10]} {stamp[11:]}" if stamp[10:11] in "-_" else stamp)


def _of_json(text: str) -> Record | None:
    found = json_object(text)
    if found is None:
        return None
    level = next((found[key] for key in _JSON_LEVELS if isinstance(found.get(key), str)), "")
    said = next((found[key] for key in _JSON_TEXTS if isinstance(found.get(key), str)), None)
    severity = _SEVERITIES.get(level.lower()) if len(level) > 1 else None
    if severity is None or said is None:
        return None
    rank = next((found[key] for key in ("rank", "global_rank", "world_rank") if isinstance(found.get(key), int)), None)
    return Record(severity, said, "" if rank is None else f"rank={rank}")
