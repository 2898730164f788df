"""Steps as JSON Lines: an object per step, with times or a loss beside its number, whatever their order and names.

    {"time": "2026-01-31T10:11:12.689Z", "rank": 3, "host": "n1", "step": 5, "data_ms": 3.1, "forward_ms": 210.0, "step_ms": 691.2}
    {"ts": 1769854272.689, "global_rank": 3, "iteration": 5, "dataloader_s": 0.0031, "step_s": 0.6912, "loss": 2.1}
    {"step": 5, "times_ms": {"fwd": 210.0, "bwd": 430.0}, "tokens": 8192}
    {"global_step": 5, "train/loss": 2.1, "time/step": 0.691, "time/data": 0.003}
    {"step": 5, "rank": 3, "metrics": {"local_loss": NaN, "grad_norm": 0.87}}

What a name says of unit and phase is told by parsers/timing/words.py; a name inside another continues it. A figure is a time
where its name says so, in seconds where it shows no unit. Which name is that of the loss is told by parsers/training/curve_names.py. The rank is the object's own, else that of the line or path.

Printed by: timers that training programs bring along; trackers that log to a file.
Versions: any; the number of the step and a time, or the loss, must stand in one object.
Source: this project's own samples.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from parsers.lines import claimed, reporter
from parsers.parser import LineParser
from parsers.reading import json_object, real, whole
from parsers.rules import LINE_CHARACTERS
from parsers.stamps import parse_time
from parsers.tables import Tables, table
from parsers.timing import words
from parsers.training.curve_names import EVALUATION, of_names

_STEP = ("step", "global_step", "iteration", "iter", "train_step", "trainer/global_step")
_RANK = ("rank", "global_rank", "world_rank")
_HOST = ("host", "hostname", "node", "node_name")
_TIME = ("time", "ts", "timestamp", "@timestamp")
_TOKENS = ("tokens", "num_tokens", "n_tokens")


def parse(lines: pl.DataFrame) -> Tables:
    """timings: a row per time, level 0, `name` as printed; steps: a row per object; ranks: who runs where, once."""
    timings: list[dict[str, Any]] = []
    steps: list[dict[str, Any]] = []
    hosts: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in lines.iter_rows(named=True):
        said = json_object(row["text"]) if row["text"][:1] == "{" and len(row["text"]) <= LINE_CHARACTERS else None
        step = whole(_first(said, _STEP)) if said else None
        times = _times(said) if said and step is not None else []
        curves = _curves(said) if said and step is not None else {}
        if said is None or not (times or curves):
            continue
        who = _who(row, said)
        common = {name: who[name] for name in ("rank", "host", "time_ns", "file", "line")}
        common |= {"step": step, "level": 0, "tokens": whole(_first(said, _TOKENS))}
        timings += (common | one for one in times)
        steps.append(_without(who, "host") | {"step": step, "phase": "train"} | curves)
        if who["rank"] is not None and who["host"] is not None:
            runs = _without(who, "time_ns", "time_basis") | {"how": "step line"}
            hosts.setdefault((row["file"], who["rank"], who["host"]), runs)
    return {
        "timings": table("timings", timings),
        "steps": table("steps", steps),
        "ranks": table("ranks", list(hosts.values())),
        "claimed": claimed((row["file"], row["line"]) for row in steps),
    }


def _curves(said: Mapping[str, Any]) -> dict[str, Any]:
    """loss, loss_seen, grad_norm of an object and the objects in it, where it has them; none where it says that it is of an
    evaluation."""
    if any(isinstance(value, str) and value.lower() in EVALUATION for value in said.values()):
        return {}
    told = {name: value for name, value in said.items() if not isinstance(value, dict)}
    for name, inner in said.items():
        told |= {f"{name}/{key}": value for key, value in inner.items()} if isinstance(inner, dict) else {}
    loss, norm = (None if name is None else real(told[name]) for name in of_names(tuple(told)))
    found = {"loss": loss, "loss_seen": True} if loss is not None else {}
    return found | ({"grad_norm": norm} if norm is not None else {})


def _without(who: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in who.items() if name not in names}


def _first(said: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((said[name] for name in names if said.get(name) is not None), None)


def _who(row: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """Who says it, and when."""
    who, rank, host = reporter(row), whole(_first(said, _RANK)), _first(said, _HOST)
    time = _first(said, _TIME)
    stamp = (None, None) if row["time_ns"] is None else (row["time_ns"], row["time_basis"])
    if row["time_ns"] is None and isinstance(time, str):
        stamp = parse_time(time)
    elif row["time_ns"] is None and 1e9 < (real(time) or 0.0) < 9e9:
        stamp = (int(float(time) * 1e9), "utc")
    who["rank"] = rank if rank is not None else who["rank"]
    who["host"] = host if isinstance(host, str) else who["host"]
    return who | {"time_ns": stamp[0], "time_basis": stamp[1]}


def _times(said: Mapping[str, Any]) -> list[dict[str, Any]]:
    """phase, name, value_ms of what an object and the objects in it time; phases without a unit beside a timed step, too."""
    found = [(name, value, words.figure(path)) for path, name, value in _figures(said)]
    known = [(name, value, one, words.sort_of(one.phase)) for name, value, one in found if one is not None]
    timed = [(name, value * (one.factor or 1e3), one, sort) for name, value, one, sort in known if one.is_time and sort]
    step_ms = max((ms for _, ms, _, sort in timed if sort == "whole"), default=0.0)
    units = {one.factor for _, _, one, _ in timed}
    unit = (units.pop() if len(units) == 1 else None) or 1e3
    timed += [
        (name, value * unit, one, sort)
        for name, value, one, sort in known
        if sort not in (None, "whole") and not one.is_time and 0 < value * unit <= step_ms
    ]
    return [{"phase": one.phase, "name": name, "value_ms": ms} for name, ms, one, _ in timed]


def _figures(said: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str, float]]:
    """(path, name, value) of the numbers of an object and of the objects in it."""
    for name, value in said.items():
        if isinstance(value, dict) and not before:
            yield from _figures(value, f"{name}/")
        elif isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12:
            yield before + name, name, float(value)


PARSER = LineParser(
    name="step_json",
    anchors=(b'_ms"', b'_s"', b'_us"', b'_sec"', b'_secs"', b'_seconds"', b'_time"', b'_dt"', b'"dt"', b'"time', b'"timing', b"/time", b'Ms"', b'Time"',
             b'oss"', b'norm"'),
    parse=parse,
)  # fmt: skip
