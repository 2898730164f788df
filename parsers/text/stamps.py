"""Time stamps as logs print them → nanoseconds since 1970 and what they count from.

Basis: ``utc`` where the stamp has a zone, ``local`` where it has none (read as if UTC); callers add ``boot``.
A stamp without a year (glog, syslog) takes it from what is known to lie around it, first the full stamps of its own file, then
those of the bundle (`Around`); where the beginnings of files show none, it is in 1972 (`NO_YEAR`) until all is read (years.py).
"""

import re
from calendar import timegm
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from parsers.text.patterns import regex

Stamp = tuple[int | None, str | None]
NONE: Stamp = (None, None)
YEAR_BYTES = 8192  # of a file that are looked at for years
_AHEAD, _MONTHS_OF_A_YEAR = 4, 12  # months that a log goes on after the stamps at its beginning, at the most
LAST_YEAR = 2200
SECOND_NS = 1_000_000_000
EARLIEST_NS = 946_684_800_000_000_000  # 2000-01-01: a clock that stands before it was never set, and tells no time
LATEST_NS = (LAST_YEAR - 1970) * 366 * 86_400 * SECOND_NS  # no time beyond is believed; it fits 64 bits
DAY_NS = 15 * 3600 * SECOND_NS  # another day whatever the zones, which differ by 14 hours at most


class Around(NamedTuple):
    """A month near which stamps without a year were made: from seven months before it to four after it."""

    year: int
    month: int

    def year_of(self, month: int) -> int:
        """The year of a stamp that prints this month."""
        ahead = month - self.month
        return self.year - (ahead > _AHEAD) + (ahead <= _AHEAD - _MONTHS_OF_A_YEAR)


def all_of(year: int) -> Around:
    """Any month is in it: four come after August, seven before."""
    return Around(year, 8)


NO_YEAR = all_of(1972)  # a leap year that no clock shows
NO_YEAR_NS = (63_072_000_000_000_000, 94_694_400_000_000_000)  # from, to before


def is_believed(time_ns: int, basis: str | None) -> bool:
    """Can a clock that was set show this? A stamp that prints no year was made by one."""
    is_set = time_ns >= EARLIEST_NS or NO_YEAR_NS[0] <= time_ns < NO_YEAR_NS[1]
    return time_ns <= LATEST_NS and (basis == "boot" or is_set)


_MONTH_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}
_NAMES = (  # of their beginnings in German, French, Spanish, Italian, Portuguese, Russian, Polish, Dutch, Turkish
    "jan ene gen янв sty oca", "feb fév fev фев lut şub", "mar mär mrt мар", "apr avr abr апр kwi nis", "may mai mag mei maj май мая",
    "jun juin giu июн cze haz", "juil jul lug июл lip tem", "aug aoû ago авг sie ağu", "sep set сен wrz eyl", "oct okt ott out окт paź eki",
    "nov ноя lis kas", "dec dez déc dic дек gru ara",
)  # fmt: skip
_MONTH = "(?:" + "|".join(_MONTH_NAMES) + ")"
_CLOCK = r"\d\d:\d\d:\d\d"
_FRACTION = r"(?:[.,]\d{1,9})?"

ISO = rf"\d{{4}}-\d\d-\d\d[T ]{_CLOCK}{_FRACTION}(?: ?(?:Z\b|UTC\b|[+-]\d\d:?\d\d\b))?"
SLASHED = rf"(?:\d\d/\d\d/\d{{4}}|\d{{4}}/\d\d/\d\d) {_CLOCK}{_FRACTION}"  # the latter of Go's log, Paddle, nginx
# Of another locale: [日 11月 29 22:17:38 2026], [sam. nov. 28 22:17:38 2026]
_ELSEWHERE = r"[^\W\d_]{1,9}\.? (?:\d{1,2} ?[月월]|[^\W\d_]{3,10}\.?)"
CTIME = rf"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) {_MONTH}|{_ELSEWHERE}) [ \d]\d {_CLOCK} \d{{4}}"
MONTH_YEAR = rf"{_MONTH} [ \d]\d \d{{4}} {_CLOCK}{_FRACTION}"
SYSLOG = rf"{_MONTH} [ \d]\d {_CLOCK}{_FRACTION}"
GLOG = rf"[IWEF](?:20\d\d)?\d{{3,4}} {_CLOCK}\.\d{{1,9}}"

_ISO = regex(
    r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(?: ?(?:(Z\b|UTC\b)|([+-])(\d\d):?(\d\d)\b))?"
)
_SLASHED = regex(
    r"(?:(?P<month>\d\d)/(?P<day>\d\d)/(?P<year>\d{4})|(?P<first>\d{4})/(?P<second>\d\d)/(?P<third>\d\d))"
    r" (?P<clock>\d\d:\d\d:\d\d)(?:[.,](?P<fraction>\d{1,9}))?"
)
_CTIME = regex(r"(?:[A-Z][a-z]{2} )?([A-Z][a-z]{2}) ([ \d]\d) (\d\d:\d\d:\d\d) (\d{4})")
_OF_LOCALE = regex(
    r"[^\W\d_]{1,9}\.? (\d{1,2}(?= ?[月월])|[^\W\d_]{3,10})\.? ?[月월]? ?([ \d]\d) (\d\d:\d\d:\d\d) (\d{4})"
)
_MONTH_YEAR = regex(r"([A-Z][a-z]{2}) ([ \d]\d) (\d{4}) (\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?")
_SYSLOG = regex(r"([A-Z][a-z]{2}) ([ \d]\d) (\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?")
GLOG_PARTS = r"[IWEF](\d{1,2})(\d\d) (\d\d:\d\d:\d\d)\.(\d{1,9})"  # month, day, clock, fraction
_GLOG = regex(GLOG_PARTS)
_GLOG_OF_YEAR = regex(r"[IWEF](20\d\d)(\d\d)(\d\d) (\d\d:\d\d:\d\d)\.(\d{1,9})")  # glog since 0.5
_YEARS = regex(
    rb"^[^\n]{0,60}?(?<!\d)(20\d\d)[-/](0[1-9]|1[0-2])[-/][0-3]\d[T ][0-2]\d:[0-5]\d:[0-5]\d"
    rb"|^\[?[A-Z][a-z]{2} (" + _MONTH.encode() + rb") [ \d]\d \d\d:\d\d:\d\d (20\d\d)\b",  # dmesg -T
    re.MULTILINE,
)


def parse_time(text: str, around: Around | None = None) -> Stamp:
    """The stamp at the very left of `text` → (nanoseconds, basis), (None, None) where there is none.

    `around`: tells the year of stamps that print none; without it they are no time.
    """
    if text[:1] in "[<":
        text = text[1:]
    head = text[:1]
    if head.isdigit():
        return _iso(text) if text[4:5] == "-" else _slashed(text)
    if head in "IWEF" and text[1:2].isdigit():
        return _glog(text, around)
    return _named_month(text, around) if head.isalpha() else NONE


def around(head: bytes) -> Around | None:
    """What the full stamps near the beginning of lines agree on; None where there are none."""
    found = _YEARS.findall(head)
    return agreed(Around(int(iso or at), int(month or MONTHS[name.decode()])) for iso, month, name, at in found)


def agreed(told: Iterable[Around]) -> Around | None:
    """The year that most tell, of two the later, and the last month that is told of it."""
    votes = Counter(told)
    if not votes:
        return None
    years: Counter[int] = Counter()
    for one, times in votes.items():
        years[one.year] += times
    year = max(years, key=lambda year: (years[year], year))
    return max(one for one in votes if one.year == year)


def formed_ns(text: str, form: str = "%a %b %d %H:%M:%S %Y") -> int | None:
    """`Thu Mar 14 20:46:07 2024`, or another form of strptime → nanoseconds since 1970, read as UTC where it has no zone."""
    try:
        moment = datetime.strptime(text, form)
    except ValueError:
        return None
    whole = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    return whole * 10**9 + moment.microsecond * 1000


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
    if match is None:
        return NONE
    named = ("first", "second", "third") if match["first"] else ("year", "month", "day")
    year, month, day = match.group(*named)
    return _local(_ns(year, month, day, match["clock"], match["fraction"]))


def _glog(text: str, around: Around | None) -> Stamp:
    if dated := _GLOG_OF_YEAR.match(text):
        return _local(_ns(*dated.groups()))
    match = _GLOG.match(text)
    return of_glog(around, *match.groups()) if match else NONE


def of_glog(around: Around | None, month: str, day: str, clock: str, fraction: str) -> Stamp:
    """A stamp of its parts."""
    return NONE if around is None else _local(_ns(around.year_of(int(month)), month, day, clock, fraction))


def _month_of(name: str) -> int:
    """A month by its number, or by the beginning of its name in a language whose clocks print it; 0 where none is called so."""
    if name.isdecimal():
        return int(name)
    name = name.lower()
    return next((at for at, names in enumerate(_NAMES, 1) if name.startswith(tuple(names.split()))), 0)


def _named_month(text: str, around: Around | None) -> Stamp:
    at: str | int
    if match := _CTIME.match(text):
        month, day, clock, at, fraction = match[1], match[2], match[3], match[4], None
    elif match := _MONTH_YEAR.match(text):
        month, day, at, clock, fraction = match.groups()
    elif (match := _SYSLOG.match(text)) and around is not None:
        month, day, clock, fraction = match.groups()
        at = around.year_of(MONTHS.get(month, 0))
    elif match := _OF_LOCALE.match(text):
        name, day, clock, at = match.groups()
        return _local(_ns(at, _month_of(name), day, clock, None))
    else:
        return NONE
    return _local(_ns(at, MONTHS.get(month) or _month_of(month), day, clock, fraction))
