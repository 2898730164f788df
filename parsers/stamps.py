"""Time stamps as logs print them → nanoseconds since 1970 and what they count from.

Basis: ``utc`` where the stamp has a zone, ``local`` where it has none (read as if UTC); callers add ``boot``.
A stamp without a year (glog, syslog) is a time only with a year given from elsewhere; else it is null.
"""

import re
from calendar import timegm
from functools import lru_cache

from parsers.patterns import regex

Stamp = tuple[int | None, str | None]
NONE: Stamp = (None, None)
YEAR_BYTES = 8192  # of a file that are looked at for years
LAST_YEAR = 2200
LATEST_NS = (LAST_YEAR - 1970) * 366 * 86_400 * 1_000_000_000  # no time beyond is believed; it fits 64 bits

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

_ISO = regex(
    r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(?: ?(?:(Z\b|UTC\b)|([+-])(\d\d):?(\d\d)\b))?"
)
_SLASHED = regex(r"(\d\d)/(\d\d)/(\d{4}) (\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?")
_CTIME = regex(r"(?:[A-Z][a-z]{2} )?([A-Z][a-z]{2}) ([ \d]\d) (\d\d:\d\d:\d\d) (\d{4})")
_MONTH_YEAR = regex(r"([A-Z][a-z]{2}) ([ \d]\d) (\d{4}) (\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?")
_SYSLOG = regex(r"([A-Z][a-z]{2}) ([ \d]\d) (\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?")
GLOG_PARTS = r"[IWEF](\d{1,2})(\d\d) (\d\d:\d\d:\d\d)\.(\d{1,9})"  # month, day, clock, fraction
_GLOG = regex(GLOG_PARTS)
_YEARS = regex(
    rb"^[^\n]{0,60}?(?<!\d)(20\d\d)-(?:0[1-9]|1[0-2])-[0-3]\d[T ][0-2]\d:[0-5]\d:[0-5]\d"
    rb"|^\[?[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d (20\d\d)\b",  # dmesg -T
    re.MULTILINE,
)


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
    return {int(iso or named) for iso, named in _YEARS.findall(head)}


def _ns(year: str | int, month: str | int, day: str, clock: str, fraction: str | None) -> int | None:
    """`clock`: 00:00:00. A second of 60 is a leap second."""
    whole = _second(year, month, day, clock)
    return whole + int(fraction.ljust(9, "0")) if fraction and whole is not None else whole


@lru_cache(maxsize=4096)
def _second(year: str | int, month: str | int, day: str, clock: str) -> int | None:
    """Nanoseconds since 1970 at which a second begins; neighbours in a log share it."""
    midnight = _midnight(int(year), int(month), int(day))
    hour, minute, second = int(clock[:2]), int(clock[3:5]), int(clock[6:])
    if midnight is None or hour > 23 or minute > 59 or second > 60:
        return None
    return (midnight + 3600 * hour + 60 * minute + second) * 1_000_000_000


@lru_cache(maxsize=64)
def _midnight(year: int, month: int, day: int) -> int | None:
    """Seconds since 1970 at which a day begins; a log knows few days."""
    if not (1970 <= year <= LAST_YEAR and 1 <= month <= 12 and 1 <= day <= 31):
        return None
    return timegm((year, month, day, 0, 0, 0))


def _local(ns: int | None) -> Stamp:
    return NONE if ns is None else (ns, "local")


def _iso(text: str) -> Stamp:
    match = _ISO.match(text)
    if not match:
        return NONE
    year, month, day, clock, fraction, utc, sign, hours, minutes = match.groups()
    ns = _ns(year, month, day, clock, fraction)
    if ns is None:
        return NONE
    if utc:
        return ns, "utc"
    if sign:
        offset = (int(hours) * 60 + int(minutes)) * 60_000_000_000
        return (ns - offset if sign == "+" else ns + offset), "utc"
    return ns, "local"


def _slashed(text: str) -> Stamp:
    match = _SLASHED.match(text)
    return _local(_ns(*match.group(3, 1, 2, 4, 5))) if match else NONE


def _glog(text: str, year: int | None) -> Stamp:
    match = _GLOG.match(text)
    return of_glog(year, *match.groups()) if match else NONE


def of_glog(year: int | None, month: str, day: str, clock: str, fraction: str) -> Stamp:
    """A stamp of its parts."""
    return _local(_ns(year, month, day, clock, fraction)) if year is not None else NONE


def _named_month(text: str, year: int | None) -> Stamp:
    at: str | int
    if match := _CTIME.match(text):
        month, day, clock, at, fraction = match[1], match[2], match[3], match[4], None
    elif match := _MONTH_YEAR.match(text):
        month, day, at, clock, fraction = match.groups()
    elif (match := _SYSLOG.match(text)) and year is not None:
        month, day, clock, fraction = match.groups()
        at = year
    else:
        return NONE
    return _local(_ns(at, _MONTHS.get(month, 0), day, clock, fraction))
