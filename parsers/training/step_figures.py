"""What a record of a step says: its loss, its norms, how fast it was, and how long each part of it took.

A name is read by parsers/text/vocabulary.py, that of a time by parsers/text/durations.py; a name inside another continues it. A figure is a
time where its name says so or a unit of time stands behind it, in seconds where neither shows a unit; a phase without a unit counts beside
a timed step, and is no longer than that. A `time` with its unit is that of the step.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Any, NamedTuple

from parsers.forms.curves import name_of
from parsers.forms.reading import real, utc_ns, whole
from parsers.numerics.tensor_names import STATISTICS
from parsers.schema.names import NO_NAMES, Names
from parsers.text import durations, vocabulary
from parsers.text.patterns import regex
from parsers.text.stamps import parse_time
from parsers.training import reduced_losses
from parsers.training.replica_values import of_record
from parsers.training.spread import spread
from parsers.training.told_values import counts_bad, micro_of
from parsers.training.told_values import of_record as values_of

_PACES = frozenset(("per_s", "tflops"))
_WITHIN = frozenset(("phase", "tensor", "module"))  # of something within a step
_PART = ("module", "tensor", "name", "phase")  # of a state, by what it is called
_PART_WORDS = frozenset(("param", "parameter", "weight", "layer", "block", "bucket", "part", "key"))
_NO_DIGEST = frozenset(("loss", "grad_norm", "operation", "metric"))  # of which a record of a digest tells nothing
_NO_NAME = regex(r"[\s=]+")
_FIGURES: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    *((name, whole) for name in ("skipped", "nan_iterations", "samples", "tokens")),
    *((name, real) for name in ("loss_scale", "learning_rate", "tflops", "per_s")),
)
# Of a record → what stands beside it where it is told inside another part.
_PLACES: Mapping[str, Collection[str]] = {
    "step": (), "time": (), "rank": ("host", "pid", "local_rank", "node_rank", "pod", "device"),
}  # fmt: skip
_CELLS, _DEPTH = 4096, 8  # of a record
_MOST_UNKNOWN = 16
_NAN = regex(r"(?i)=[+-]?nan(?: |$)")
_FRACTION = regex(r"[+-]?(?:\d{1,48}\.\d{0,30}(?:[eE][+-]?\d{1,3})?|\d{1,30}[eE][+-]?\d{1,3}|(?i:nan|inf(?:inity)?))")
_RUNS = ("rank", "local_rank", "file", "line")
_MOST = 1e12
_ADD_UP = (0.7, 1.05)  # parts of a step, of the whole of it
_LEVELS = ("trace", "debug", "info", "notice", "warn", "warning", "error", "err", "critical", "fatal")
_WITH_UNIT = regex(rf"(?P<value>\d[\d.]{{0,20}}(?:e[+-]?\d{{1,3}})?) ?(?P<unit>{durations.UNIT})")
_OF_STEP = ("time", "took", "duration")  # names that say no more than that something took a time
_STEPS_OWN = (durations.Figure("step", None, True), "whole")
_NAMES = ("name", "metric", "tag", "key")  # of a figure, beside its `value`
_NAME_CHARACTERS = 200


class Figures(NamedTuple):
    """Rows of `steps`, `timings`, `ranks` and `values`; each may be empty."""

    steps: list[dict[str, Any]]
    timings: list[dict[str, Any]]
    ranks: list[dict[str, Any]]
    values: list[dict[str, Any]]


def figures(said: Mapping[str, Any], who: Mapping[str, Any], names: Names = NO_NAMES) -> Figures | None:
    """A record, and who says it when (rank, local_rank, host, time_ns, time_basis, file, line) → its rows; None where it is
    of no step, or of something within one."""
    every = one_figure(flattened(said))
    parts = spread(every, name_of(who["file"] or ""))
    found = [one for part in parts or [every] if (one := _figures(part, said, who, names)) is not None]
    return Figures(*(list(chain.from_iterable(rows)) for rows in zip(*found, strict=True))) if found else None


def _figures(flat: Mapping[str, Any], said: Mapping[str, Any], who: Mapping[str, Any], names: Names) -> Figures | None:
    told = vocabulary.told(flat)
    step = whole(told.get("step"))
    within = {*told} & _WITHIN
    parts = _parts_summed(flat)
    if step is None or (parts is None and ((within - {"module"}) or (within and not _is_logged(flat)))):
        return None
    is_evaluation = "split" in told and vocabulary.is_of_evaluation(str(told["split"])[:64])
    times = [] if is_evaluation else _times(flat, said, step)
    loss, norm = (None if is_evaluation or name not in told else _mean(told[name]) for name in ("loss", "grad_norm"))
    loss = _lost_cost(flat) or _all_lost(flat) if loss is None and not is_evaluation else loss
    sums = of_record(flat) if parts is None else parts
    is_told = loss is not None
    others = None if is_evaluation else unknown_figures(flat, with_own=is_told, with_parts=not is_told)
    judged = _evaluated_loss(flat, told, is_evaluation)
    is_bare = not times and loss is None and norm is None and sums is None and _PACES.isdisjoint(told)
    unnamed = {name: cell for name, cell in flat.items() if not isinstance(cell, str) or names.of_cell(cell) is None}
    told_values = None if is_evaluation else values_of(unnamed)  # whose it is, is not of what it is
    if is_bare and others is None and judged is None and (told_values is None or not counts_bad(flat)):
        return None
    own = {**who, **who_of(told, who, names), "step": step}
    host = own.pop("host")
    row = {
        **own,
        "microbatch": micro_of(flat),
        "phase": "figures" if is_bare else "train",
        "loss": loss,
        "loss_seen": None if loss is None else True,
        "grad_norm": norm,
        "checksum": sums,
        "figures": others,
    }
    for name, read in _FIGURES:
        if name in told:
            row[name] = read(told[name])
    place = {name: own[name] for name in ("rank", "step", "time_ns", "file", "line")}
    place |= {"host": host, "level": 0, "tokens": row.get("tokens")}
    for one in times:
        if durations.sort_of(one["phase"]) == "whole":
            row.setdefault("elapsed_ms", one["value_ms"])
    is_placed = own["rank"] is not None and host is not None
    runs = [{name: own.get(name) for name in _RUNS} | {"host": host, "how": "step record"}] if is_placed else []
    by_values = ("rank", "local_rank", "step", "time_ns", "time_basis", "file", "line")
    compared = [{name: own.get(name) for name in by_values} | told_values] if told_values else []
    # What an evaluation came to is a row of its own.
    evals = [] if judged is None else [{**own, "phase": "eval", "loss": judged, "loss_seen": True}]
    if is_bare and others is None:
        return Figures(evals, [], runs, compared)
    return Figures([row, *evals, *reduced_losses.of_record(flat, row)], [place | one for one in times], runs, compared)


def _parts_summed(flat: Mapping[str, Any]) -> str | None:
    """The digests of a record of one part of a state, each called after what that is; None where it tells of none, or anything else of it."""
    digests, parts = _digests_of_parts(tuple(flat))
    sums = of_record({name: flat[name] for name in digests if flat.get(name)}) if parts else None
    part = ".".join(_NO_NAME.sub("_", str(flat[name])) for name in parts if flat.get(name))
    return None if sums is None or not part else " ".join(f"{part}.{pair}" for pair in sums.split(" "))


@lru_cache(maxsize=1024)
def _digests_of_parts(names: tuple[str, ...]) -> tuple[Sequence[str], Sequence[str]]:
    """(columns of digests, columns that say of which part of a state) of a table that tells nothing else of such a part."""
    meant = vocabulary.columns(names)
    is_statistic = any(name.lower() in STATISTICS for name in names)
    if is_statistic or meant.keys() & _NO_DIGEST or "value" in names or "checksum" not in meant:
        return (), ()
    called = (
        name
        for name in names
        if _is_free(name) and _PART_WORDS & {word.removesuffix("s") for word in vocabulary.words_of(name)[-1:]}
    )
    return meant["checksum"], [*(name for meaning in _PART for name in meant.get(meaning, ())), *called]


def _lost_cost(flat: Mapping[str, Any]) -> float | None:
    """NaN where a cost is that: what something took never is, and any other may be a time."""
    costs = (cell for name, cell in islice(flat.items(), _CELLS) if vocabulary.words_of(name)[-1:] == ["cost"])
    return next((value for cell in costs if (value := real(cell)) is not None and math.isnan(value)), None)


def _all_lost(flat: Mapping[str, Any]) -> float | None:
    """NaN where of several losses, none of which is that of the training, none is a number: those of a generator and a discriminator."""
    names = (name for name in islice(flat, _CELLS) if vocabulary.meant(name) in ("loss", "part_loss"))
    losses = [value for name in names if (value := real(flat[name])) is not None]
    return math.nan if len(losses) > 1 and not any(map(math.isfinite, losses)) else None


def _evaluated_loss(flat: Mapping[str, Any], told: Mapping[str, Any], is_evaluation: bool) -> float | None:
    """The loss of an evaluation, by its own name or by what the record is of; of several, as of copies of the weights, the one that is no number."""
    if is_evaluation:
        return real(told["loss"]) if "loss" in told else None
    names = (name for name in islice(flat, _CELLS) if (said := vocabulary.evaluated(name)) and said.meaning == "loss")
    losses = [value for name in names if (value := real(flat[name])) is not None]
    return next(filter(math.isnan, losses), losses[0] if losses else None)


def _is_logged(said: Mapping[str, Any]) -> bool:
    """Does a record tell how severe it is? Then its module is the logger's, and none of the model."""
    return any(str(said.get(name, "")).lower() in _LEVELS for name in ("level", "lvl", "severity", "levelname"))


def _mean(cell: Any) -> float | None:
    """A figure; of a list of them, of micro-batches or ranks, the mean."""
    if not isinstance(cell, list):
        return real(cell)
    parts = [number for one in cell if (number := real(one)) is not None]
    return sum(parts) / len(parts) if parts and len(parts) == len(cell) else None


def one_figure(said: Mapping[str, Any]) -> dict[str, Any]:
    """A record that holds the name of a figure and its value in two cells (`{"tag": "train/loss", "step": 5, "value": 2.1}`) → the
    same under that name; any other as it is."""
    flat = dict(said)
    name = next((cell for key in _NAMES if isinstance(cell := flat.get(key), str)), None)
    if name is None or "value" not in flat or vocabulary.meaning_of(name[:_NAME_CHARACTERS]) is None:
        return flat
    rest = {key: cell for key, cell in flat.items() if key not in (*_NAMES, "value")}
    return rest | {name[:_NAME_CHARACTERS]: flat["value"]}


def who_of(told: Mapping[str, Any], who: Mapping[str, Any], names: Names = NO_NAMES) -> dict[str, Any]:
    """What the fields of a record say of who says it, and when, where `who` says nothing of that or less: rank, host, time_ns, time_basis."""
    rank, host = whole(told.get("rank")), told.get("host", told.get("pod", told.get("address")))
    made: dict[str, Any] = {"rank": rank if rank is not None else who.get("rank")}
    made["host"] = str(host) if host not in (None, "") else who.get("host")
    local = whole(told.get("local_rank"))
    if local is None and names.is_by_device:
        local = whole(told.get("device"))
    if local is not None:
        made["local_rank"] = local
        if made["rank"] is None:
            made["rank"] = names.of_record(made["host"], whole(told.get("node_rank")), local)
    elif made["rank"] is None:
        made["rank"] = names.rank(made["host"])
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


def flattened(said: Mapping[str, Any]) -> dict[str, Any]:
    """Names inside others continue them; who and when it is, an inner part says of the whole where nothing else does."""
    if not any(isinstance(cell, dict) for cell in said.values()):
        return dict(said)
    said = {name: _listed(cell) for name, cell in said.items()}
    flat = {name: cell for name, cell in said.items() if not isinstance(cell, dict)}
    inner = dict(islice(_inner("", said), _CELLS))
    told = vocabulary.meanings(tuple(flat))
    for meaning, beside in _PLACES.items():
        parts = [path for path in inner if vocabulary.meant(path.rpartition("/")[2]) == meaning]
        if meaning not in told and len(parts) == 1 and _tells(said, parts[0], beside):
            flat[parts[0].rpartition("/")[2]] = inner.pop(parts[0])
    return flat | inner


def _listed(cell: Any) -> Any:
    """A mapping from 0, 1, 2, … is a list."""
    is_list = isinstance(cell, dict) and len(cell) > 1 and [*map(str, cell)] == [*map(str, range(len(cell)))]
    return [*cell.values()] if is_list and not any(isinstance(one, dict) for one in cell.values()) else cell


def _inner(before: str, said: Mapping[str, Any], depth: int = 0) -> Iterator[tuple[str, Any]]:
    for name, cell in said.items():
        if isinstance(cell, dict) and depth < _DEPTH:
            yield from _inner(f"{before}{name}/", cell, depth + 1)
        elif before:
            yield before + str(name), cell


def _tells(said: Mapping[str, Any], path: str, beside: Collection[str]) -> bool:
    """Whether what holds that cell is of the record: no evaluation, and, for a rank, who it is in other names as well (`rank` alone may be
    that of an adapter)."""
    *holders, _ = path.split("/")
    part: Any = said
    for name in holders:
        part = part.get(name) if isinstance(part, dict) else None
    others = vocabulary.meanings(tuple(part)) if isinstance(part, dict) else frozenset()
    return not vocabulary.is_of_evaluation(path) and (not beside or bool(others & set(beside)))


def is_unnamed(found: Figures) -> bool:
    """Are these figures of which nothing is known, and nothing else?"""
    return not found.timings and all(row["phase"] == "figures" for row in found.steps)


def holds_nan(row: Mapping[str, Any]) -> bool:
    """Is a figure of that row of steps, whose names are unknown, NaN?"""
    return _NAN.search(row["figures"] or "") is not None


def unknown_figures(flat: Mapping[str, Any], *, with_own: bool = False, with_parts: bool = False) -> str | None:
    """The numbers with a fraction, NaN and Inf of a record under names of which nothing is known, as pairs; None where there are none, or
    another name tells of an evaluation. `with_own`: also norms that are the rank's own, for which no column is; `with_parts`: and losses of a part."""
    if any(map(vocabulary.is_of_evaluation, islice(flat, _CELLS))):
        return None
    others = [name for name, is_asked in (("own_grad_norm", with_own), ("part_loss", with_parts)) if is_asked]
    pairs = (
        f"{'_'.join(name.split())}={cell}"
        for name, cell in islice(flat.items(), _CELLS)
        if _is_fraction(cell)
        and "=" not in name
        and len(name) < _NAME_CHARACTERS
        and (_is_unknown(name) or vocabulary.meant(name) in others)
    )
    return " ".join(islice(pairs, _MOST_UNKNOWN)) or None


def _is_fraction(cell: Any) -> bool:
    return isinstance(cell, float) or (isinstance(cell, str) and _FRACTION.fullmatch(cell) is not None)


@lru_cache(maxsize=4096)
def _is_unknown(name: str) -> bool:
    return not durations.is_timed(name) and vocabulary.is_unknown(name)


def has_figures(names: frozenset[str], *, is_of_ranks: bool = False) -> bool:
    """Do the columns of a table tell of steps: a count, and a loss, a norm or two durations; or one of a known phase, of ranks?"""
    meant = vocabulary.meanings(sorted(names))
    if "step" not in meant:
        return False
    if all(_digests_of_parts(tuple(sorted(names)))):
        return True
    if meant & {"phase", "tensor", "module", "metric", "name", "operation"}:
        return False
    if meant & {"loss", "grad_norm", "checksum"} or sum(1 for _ in _durations(names)) > 1:
        return True
    if (is_of_ranks or "rank" in meant) and any(map(_sort, _durations(names))):
        return True
    sorts = [sort for name in names if _is_free(name) and (sort := _sort(name)) is not None]
    return sorts.count("whole") == 1 and len(sorts) > 2


def _sort(name: str) -> str | None:
    return one[1] if (one := _timed(name)) is not None else None


def _durations(names: frozenset[str]) -> Iterator[str]:
    for name in names:
        if (one := durations.figure(name)) is not None and one.is_time and vocabulary.meaning_of(name) is None:
            yield name


@lru_cache(maxsize=4096)
def _timed(path: str) -> tuple[durations.Figure, str | None] | None:
    """What a name times, and of what sort that is."""
    one = durations.figure(path)
    return None if one is None else (one, durations.sort_of(one.phase))


def _with_unit(cell: Any) -> tuple[float | None, float | None]:
    """`0.69 s` → 0.69 and what it takes to milliseconds; null where no unit of time stands behind the number."""
    match = _WITH_UNIT.fullmatch(cell) if isinstance(cell, str) else None
    return (real(cell), None) if match is None else (real(match["value"]), durations.UNITS[match["unit"]])


def _is_free(name: str) -> bool:
    """Has a name no meaning of its own, as that of a step's count?"""
    return vocabulary.meaning_of(name) is None or not name.isascii()  # of which the vocabulary sees the unit alone


def _is_whole_of_parts(found: Sequence[tuple[float, str | None]]) -> bool:
    """Do figures without a word for time, and what they are of, add up: `data 0.1, forward 0.4, backward 0.9, total 1.5`?"""
    wholes = [number for number, sort in found if sort == "whole"]
    parts = [number for number, sort in found if sort != "whole"]
    return len(wholes) == 1 and len(parts) > 1 and _ADD_UP[0] * wholes[0] <= sum(parts) <= _ADD_UP[1] * wholes[0]


def _times(flat: Mapping[str, Any], said: Mapping[str, Any], step: int) -> list[dict[str, Any]]:
    """phase, name, value_ms of what a record times; what is the step itself counts it (Composer's `time/batch`)."""
    found: list[tuple[str, float, durations.Figure, str | None]] = []
    for path, cell in flat.items():
        one = _STEPS_OWN if path.lower() in _OF_STEP and _with_unit(cell)[1] else _timed(path)
        if one is None or isinstance(cell, list) or (one[1] is None and not (one[0].factor and _is_free(path))):
            continue
        number, factor = _with_unit(cell)
        if number is not None and 0 <= number < _MOST and number != step:
            figure = one[0] if factor is None else one[0]._replace(factor=factor, is_time=True)
            found.append((path if path in said else path.rpartition("/")[2], number, figure, one[1]))
    bare = [(number, sort) for name, number, one, sort in found if not one.is_time and _is_free(name)]
    if _is_whole_of_parts(bare):
        found = [(name, n, one._replace(is_time=one.is_time or _is_free(name)), sort) for name, n, one, sort in found]
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
    is_known = any(sort is not None for *_, sort in timed)  # beside one that is, the others tell by their course
    return [{"phase": one.phase, "name": name, "value_ms": ms} for name, ms, one, _ in timed if is_known]
