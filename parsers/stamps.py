"""Time stamps as logs print them → nanoseconds since 1970 and what they count from.

Basis: ``utc`` where the stamp has a zone, ``local`` where it has none (read as if UTC); callers add ``boot``.
A stamp without a year (glog, syslog) is a time only with a year given from elsewhere; else it is null.
"""

import re
from calendar import timegm

Stamp = tuple[int | None, str | None]
NONE: Stamp = (None, None)

_MONTH_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}
_MONTH = "(?:" + "|".join(_MONTH_NAMES) + ")"
_CLOCK = r"\d\d:\d\d:\d\d"
_FRACTION = r"(?:[.,]\d{1,9})?"

ISO = rf"\d{{4}}-\d\d-\d\d[T ]{_CLOCK}{_FRACTION}(?: ?(?:Z\b|UTC\b|[+-]\d\d:?\d\d\b))?"
SLASHED = rf"\d\d/\d\d/\d{{4}} {_CLOCK}{_FRACTION}"
CTIME = rf"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) {_MONTH} [ \d]\d {_CLOCK} \d{{4}}"
MONTH_YEAR = rf"{_MONTH} [ \d]\d \d{{4}} {_CLOCK}{_FRACTION}"
SYSLOG = rf"{_MONTH} [ \d]\d {_CLOCK}{_FRACTION}"
GLOG = rf"[IWEF]\d{{3,4}} {_CLOCK}\.\d{{1,9}}"

_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(?: ?(?:(Z\b|UTC\b)|([+-])(\d\d):?(\d\d)\b))?"
)
_SLASHED = re.compile(r"(\d\d)/(\d\d)/(\d{4}) (\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?")
_CTIME = re.compile(r"(?:[A-Z][a-z]{2} )?([A-Z][a-z]{2}) ([ \d]\d) (\d\d):(\d\d):(\d\d) (\d{4})")
_MONTH_YEAR = re.compile(r"([A-Z][a-z]{2}) ([ \d]\d) (\d{4}) (\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?")
_SYSLOG = re.compile(r"([A-Z][a-z]{2}) ([ \d]\d) (\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?")
_GLOG = re.compile(r"[IWEF](\d{1,2})(\d\d) (\d\d):(\d\d):(\d\d)\.(\d{1,9})")
_YEARS = re.compile(rb"^[^\n]{0,60}?(?<!\d)(20\d\d)-(?:0[1-9]|1[0-2])-[0-3]\d[T ][0-2]\d:[0-5]\d:[0-5]\d", re.MULTILINE)


def parse_time(text: str, year: int | None = None) -> Stamp:
    """The stamp at the very left of `text` → (nanoseconds, basis), (None, None) where there is none.

    `year`: the year for stamps that print none.
    """
    if text[:1] in "[<":
        text = text[1:]
    head = text[:1]
    if head.isdigit():
        return _iso(text) if text[4:5] == "-" else _slashed(text)
    if head in "IWEF" and text[1:2].isdigit():
        return _glog(text, year)
    return _named_month(text, year) if head.isalpha() else NONE


def years(head: bytes) -> set[int]:
    """Years of the full stamps near the beginning of lines."""
    return {int(match) for match in _YEARS.findall(head)}


def _ns(year: int, month: int, day: int, clock: tuple[str, str, str], fraction: str | None) -> int | None:
    if not (1970 <= year <= 2200 and 1 <= month <= 12 and 1 <= day <= 31):
        return None
    hour, minute, second = map(int, clock)
    if hour > 23 or minute > 59 or second > 60:
        return None
    seconds = timegm((year, month, day, hour, minute, second))
    return seconds * 1_000_000_000 + (int(fraction.ljust(9, "0")) if fraction else 0)


def _local(ns: int | None) -> Stamp:
    return NONE if ns is None else (ns, "local")


def _iso(text: str) -> Stamp:
    match = _ISO.match(text)
    if not match:
        return NONE
    ns = _ns(int(match[1]), int(match[2]), int(match[3]), (match[4], match[5], match[6]), match[7])
    if ns is None:
        return NONE
    if match[8]:
        return ns, "utc"
    if match[9]:
        offset = (int(match[10]) * 60 + int(match[11])) * 60_000_000_000
        return (ns - offset if match[9] == "+" else ns + offset), "utc"
    return ns, "local"


def _slashed(text: str) -> Stamp:
    match = _SLASHED.match(text)
    if not match:
        return NONE
    return _local(_ns(int(match[3]), int(match[1]), int(match[2]), (match[4], match[5], match[6]), match[7]))


def _glog(text: str, year: int | None) -> Stamp:
    match = _GLOG.match(text)
    if not match or year is None:
        return NONE
    return _local(_ns(year, int(match[1]), int(match[2]), (match[3], match[4], match[5]), match[6]))


def _named_month(text: str, year: int | None) -> Stamp:
    if match := _CTIME.match(text):
        month, day, clock, at, fraction = match[1], match[2], (match[3], match[4], match[5]), int(match[6]), None
    elif match := _MONTH_YEAR.match(text):
        month, day, clock, at, fraction = match[1], match[2], (match[4], match[5], match[6]), int(match[3]), match[7]
    elif (match := _SYSLOG.match(text)) and year is not None:
        month, day, clock, at, fraction = match[1], match[2], (match[3], match[4], match[5]), year, match[6]
    else:
        return NONE
    return _local(_ns(at, _MONTHS.get(month, 0), int(day), clock, fraction))
