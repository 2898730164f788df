"""A progress bar (tqdm) that was still running when the limit of the others' wait ran out: whoever they waited for was at work, and nearly done."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from forensics.model.ref import Ref
from parsers.text.patterns import regex

_BAR = regex(
    r"(?P<percent>\d{1,3})%\|[^|]{0,200}\|\s*\d[\d.]{0,15}[kMG]?/\d[\d.]{0,15}[kMG]? \[(?P<spent>[\d:]{4,12})<(?P<left>[\d:]{4,12})[,\]]"
)
_NEAR = 0.9  # of the limit: it began when the wait did, or shortly after


class Bar(NamedTuple):
    """`percent` of the work done after `spent`, `left` to go, and the limit of the others, empty where it is not told."""

    percent: int
    spent: str
    left: str
    limit: str
    ref: Ref


def busy_bar(waits: Sequence[dict[str, Any]]) -> Bar | None:
    """Events of waits that ran out → the bar in their own lines, if it had run for about as long as they waited."""
    limits = {row["value"] / 1000 for row in waits if row["value"]}
    if len(limits) != 1:
        return None
    limit = max(limits)
    near = (bar for bar in open_bars(waits) if _NEAR * limit <= _seconds(bar.spent) <= limit / _NEAR)
    return next((bar._replace(limit=_clock(limit)) for bar in near), None)


def open_bars(rows: Iterable[Mapping[str, Any]]) -> Iterator[Bar]:
    """The bars that stand in these events' own lines, and were not at their end."""
    for row in rows:
        bars = list(_BAR.finditer(row["text"] or ""))
        if bars and int(bars[-1]["percent"]) < 100 and _seconds(bars[-1]["left"]) > 0:
            ref = Ref(file=row["file"], line=row["line"], text=row["text"])
            yield Bar(int(bars[-1]["percent"]), bars[-1]["spent"], bars[-1]["left"], "", ref)


def _clock(seconds: float) -> str:
    """ "30:00", as such a bar writes it."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"


def _seconds(clock: str) -> int:
    whole = 0
    for part in clock.split(":"):
        whole = 60 * whole + int(part or 0)
    return whole
