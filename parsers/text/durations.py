"""Names under which programs print how long something took: their unit, and what was done in that time.

    data_time · forward_ms · step_time_s · time/fwd · t_bwd · iter_dt · expert_mlp_ms · grad_sync · bwd_allreduce

A name is cut into words. Words of units and of time at its ends say the unit and that it is a duration; what remains is the
phase. What sort a phase is of follows from the words in it (rows `phase:` of parsers/data/vocabulary.csv): communication before the host's work (`data`, of which one can
also wait), this before the device's work, and a bare `wait` or `sync` where nothing else is said. Means, extremes and sums since the
start are no times of one step.
"""

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from parsers.text.patterns import regex
from parsers.text.vocabulary import phase_words, way_words

Sort = Literal["work", "host", "wait", "whole"]
# First wins.
_SORTS: tuple[tuple[Sort, str], ...] = (("wait", "wait"), ("host", "host"), ("work", "work"), ("wait", "bare"))

UNITS: Mapping[str, float] = {
    "ms": 1.0, "msec": 1.0, "millis": 1.0, "milliseconds": 1.0, "us": 1e-3, "usec": 1e-3, "s": 1e3, "sec": 1e3,
    "secs": 1e3, "second": 1e3, "seconds": 1e3,
}  # fmt: skip
UNIT = "ms|msec|us|usec|s|secs?|seconds?"  # as they stand behind a figure
_TIMES = frozenset(("time", "times", "timing", "timings", "timer", "t", "duration", "latency", "dt", "perf", "last"))
_NO_STEP = frozenset(
    ("eta", "avg", "average", "mean", "median", "max", "min", "std", "p50", "p90", "p95", "p99", "remaining", "elapsed", "start", "end",
     "wall", "epoch", "per", "total", "since", "running", "cumulative")
)  # fmt: skip
_SIZES = frozenset(("norm", "norms", "gnorm", "rms", "l2", "ratio", "size", "std", "var", "variance"))
_RATE = regex(r"/(?:s|sec|second|ms)$")
_WORD = regex(r"[\x00-/:-`{-\x7f]+")  # between words, of any script
_HUMP = regex(r"(?<=[a-z0-9])(?=[A-Z])")


class Figure(NamedTuple):
    """What a name says. `factor`: to milliseconds, null where the name has no unit; `is_time`: it says that it is a time."""

    phase: str
    factor: float | None
    is_time: bool


@lru_cache(maxsize=4096)
def figure(name: str) -> Figure | None:
    """`forward_ms` → (forward, 1.0, true); null where it names no time of one step."""
    if _RATE.search(name.lower()):
        return None
    words = _words(_HUMP.sub("_", name))
    factor, is_time = None, False
    while words and (words[-1] in UNITS or words[-1] in _TIMES - {"last"}) and words != ["dt"]:
        factor = UNITS.get(words[-1], factor)
        is_time = True
        words.pop()
    while words and (words[0] in _TIMES or (is_time and words[0] in UNITS)) and words != ["dt"]:
        factor = UNITS.get(words[0], factor)
        is_time = is_time or words[0] != "last"
        words.pop(0)
    if not is_time and len(words) > 1 and words[-1] in _SIZES:  # update_norm
        return None
    if not words or _NO_STEP.intersection(words) - ({"total"} if _whole().issuperset(words) else set()):
        return None
    return Figure("_".join(words), factor, is_time)


def _words(name: str) -> list[str]:
    return [word for word in _WORD.split(name.lower()) if word]


@lru_cache(maxsize=4096)
def sort_of(phase: str) -> Sort | None:
    """What is done in a phase: work of the device, of the host, waiting for others, or the whole step; null if unknown."""
    words = _words(phase)
    if words and _whole().intersection(words) and _whole().union(phase_words("of_whole")).issuperset(words):
        return "whole"
    text = f"_{'_'.join(words)}_"
    return next((sort for sort, known in _SORTS if any(f"_{word}_" in text for word in phase_words(known))), None)


def is_timed(name: str) -> bool:
    """Does a name say that it is a time, or tell a phase that is known?"""
    return (said := figure(name)) is not None and (said.is_time or sort_of(said.phase) is not None)


class Way(NamedTuple):
    """`towards`: along the pipeline (1), against it (-1), neither; `transfer`: what is done with what is computed."""

    towards: int
    transfer: Literal["send", "receive"] | None


@lru_cache(maxsize=4096)
def way_of(phase: str) -> Way:
    """`forward-recv` → (1, receive)."""
    words = {*_words(_HUMP.sub("_", phase))}
    uses = ("along", "against", "send", "receive")
    along, against, send, receive = (not words.isdisjoint(way_words(use)) for use in uses)
    transfer: Literal["send", "receive"] | None = "send" if send and not receive else "receive" if receive else None
    return Way(0 if along == against else 1 if along else -1, transfer)


@cache
def _whole() -> frozenset[str]:
    return frozenset(phase_words("whole"))
