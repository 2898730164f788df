"""What a record of a step says: its loss, its norms, how fast it was, and how long each part of it took.

A name is read by parsers/vocabulary.py, that of a time by parsers/timing/words.py; a name inside another continues it. A figure is a
time where its name says so, in seconds where it shows no unit; a phase without a unit counts beside a timed step, and is no
longer than that.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from parsers import vocabulary
from parsers.reading import real, utc_ns, whole
from parsers.stamps import parse_time
from parsers.timing import words
from parsers.training.replica_values import of_record

_WITHIN = frozenset(("phase", "tensor", "module"))  # of something within a step
_FIGURES: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    *((name, whole) for name in ("skipped", "nan_iterations", "samples", "tokens")),
    *((name, real) for name in ("loss_scale", "learning_rate", "tflops", "per_s")),
)
_RUNS = ("rank", "local_rank", "file", "line")
_MOST = 1e12


class Figures(NamedTuple):
    """Rows of `steps` and `timings`, without a place; both may be empty."""

    steps: list[dict[str, Any]]
    timings: list[dict[str, Any]]
    ranks: list[dict[str, Any]]


def figures(said: Mapping[str, Any], who: Mapping[str, Any]) -> Figures | None:
    """A record, and who says it when (rank, local_rank, host, time_ns, time_basis, file, line) → its rows; None where it is
    of no step, or of something within one."""
    flat = _flat(said)
    told = vocabulary.told(flat)
    step = whole(told.get("step"))
    if step is None or not _WITHIN.isdisjoint(told):
        return None
    is_evaluation = "split" in told and vocabulary.is_of_evaluation(str(told["split"])[:64])
    times = [] if is_evaluation else _times(flat, said)
    loss, norm = (None if is_evaluation or name not in told else real(told[name]) for name in ("loss", "grad_norm"))
    sums = of_record(flat)
    if not times and loss is None and norm is None and sums is None:
        return None
    own = {**who, **who_of(told, who), "step": step}
    host = own.pop("host")
    row = {
        **own,
        "phase": "train",
        "loss": loss,
        "loss_seen": None if loss is None else True,
        "grad_norm": norm,
        "checksum": sums,
    }
    for name, read in _FIGURES:
        if name in told:
            row[name] = read(told[name])
    place = {name: own[name] for name in ("rank", "step", "time_ns", "file", "line")}
    place |= {"host": host, "level": 0, "tokens": row.get("tokens")}
    for one in times:
        if words.sort_of(one["phase"]) == "whole":
            row.setdefault("elapsed_ms", one["value_ms"])
    is_placed = own["rank"] is not None and host is not None
    runs = [{name: own.get(name) for name in _RUNS} | {"host": host, "how": "step record"}] if is_placed else []
    return Figures([row], [place | one for one in times], runs)


def who_of(told: Mapping[str, Any], who: Mapping[str, Any]) -> dict[str, Any]:
    """What the fields of a record say of who says it, and when, where `who` says nothing of that or less: rank, host, time_ns, time_basis."""
    rank, host = whole(told.get("rank")), told.get("host")
    made: dict[str, Any] = {"rank": rank if rank is not None else who.get("rank")}
    made["host"] = str(host) if host not in (None, "") else who.get("host")
    if who.get("time_ns") is None:
        made["time_ns"], made["time_basis"] = time_of(told.get("time"))
    return made


def time_of(cell: Any) -> tuple[int | None, str | None]:
    """(nanoseconds since 1970, `utc` or `local`) of a cell; nulls where it holds no moment."""
    if (number := real(cell)) is not None and not (isinstance(cell, str) and len(cell.split()) > 1):
        number = number / 1e3 if 1e12 < number < 9e12 else number
        return (int(number * 1e9), "utc") if 1e9 < number < 9e9 else (None, None)
    if not isinstance(cell, str):
        return None, None
    stamp = parse_time(cell)
    if stamp[0] is not None:
        return stamp
    moment = utc_ns(cell)
    return moment, None if moment is None else "local"


def _flat(said: Mapping[str, Any]) -> dict[str, Any]:
    if not any(isinstance(cell, dict) for cell in said.values()):
        return dict(said)
    flat = {name: cell for name, cell in said.items() if not isinstance(cell, dict)}
    for name, inner in said.items():
        flat |= {f"{name}/{key}": cell for key, cell in inner.items()} if isinstance(inner, dict) else {}
    return flat


def has_figures(names: frozenset[str]) -> bool:
    """Do the columns of a table tell of steps: a count, and a loss, a norm or two durations?"""
    meant = vocabulary.meanings(sorted(names))
    if "step" not in meant or meant & {"phase", "tensor", "module", "metric", "name", "operation"}:
        return False
    return bool(meant & {"loss", "grad_norm", "checksum"}) or sum(1 for _ in _durations(names)) > 1


def _durations(names: frozenset[str]) -> Iterator[str]:
    for name in names:
        if (one := words.figure(name)) is not None and one.is_time and vocabulary.meaning_of(name) is None:
            yield name


@lru_cache(maxsize=4096)
def _timed(path: str) -> tuple[words.Figure, str | None] | None:
    """What a name times, and of what sort that is."""
    one = words.figure(path)
    return None if one is None else (one, words.sort_of(one.phase))


def _times(flat: Mapping[str, Any], said: Mapping[str, Any]) -> list[dict[str, Any]]:
    """phase, name, value_ms of what a record times."""
    found: list[tuple[str, float, words.Figure, str]] = []
    for path, cell in flat.items():
        one = _timed(path)
        if one is None or one[1] is None or isinstance(cell, list):
            continue
        number = real(cell)
        if number is not None and 0 <= number < _MOST:
            found.append((path if path in said else path.rpartition("/")[2], number, one[0], one[1]))
    timed = [(name, number * (one.factor or 1e3), one, sort) for name, number, one, sort in found if one.is_time]
    if len(timed) < len(found):
        step_ms = max((ms for _, ms, _, sort in timed if sort == "whole"), default=0.0)
        units = {one.factor for _, _, one, _ in timed}
        unit = (units.pop() if len(units) == 1 else None) or 1e3
        timed += [
            (name, number * unit, one, sort)
            for name, number, one, sort in found
            if sort != "whole" and not one.is_time and 0 < number * unit <= step_ms
        ]
    return [{"phase": one.phase, "name": name, "value_ms": ms} for name, ms, one, _ in timed]
