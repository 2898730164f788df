"""A row per rank and step, a column per part of the step: CSV that training scripts write by themselves.

A column is a duration if its name says so (parsers/timing/words.py), in seconds where it shows no unit. The count of the step is `step`, `global_step`, `iter` or `iteration`; who, when and how much: `rank` (else the file's path), `host` or
`hostname` or `node`, `time` or `ts` or `timestamp`, `tokens`; `loss` and `grad_norm` are read along.

    rank,step,loader_s,compute_s,iter_s
    3,7,0.0118,0.331,0.428

Printed by: training scripts.
Versions: 1 of this table.
Source: this project's own definition of the format.
"""

from typing import Any

from parsers.parser import FileParser, Source
from parsers.reading import HEADER, column_names, first_line, first_told, real, table_rows, utc_ns, whole
from parsers.tables import Tables, table
from parsers.timing import words

_STEP = ("step", "global_step", "iteration", "iter")
_HOST = ("host", "hostname", "node")
_TIME = ("time", "timestamp", "ts")
_WHOLE = ("step", "iter", "iteration", "total", "batch")
_LEAST = 2  # durations in the first row


def _durations(said: dict[str, Any]) -> list[tuple[str, str, float]]:
    """(name, phase, milliseconds) of each column that is a duration."""
    found = []
    for name, value in said.items():
        told = None if name in _TIME else words.figure(name)
        if told is not None and told.is_time and (number := real(value)) is not None:
            found.append((name, told.phase, number * (told.factor or 1e3)))
    return found


def accepts(_path: str, head: bytes) -> bool:
    """By the names in the first row: a count of steps and durations, and no phase or measure in a column of its own."""
    names = column_names(head)
    if names.isdisjoint(_STEP) or names & {"phase", "metric", "tensor"} or first_line(head).startswith("{"):
        return False
    return len(_durations(dict.fromkeys(names, 0))) >= _LEAST


def parse(source: Source) -> Tables:
    """timings, a row per part, level 0; steps, with the whole step's time; ranks: who runs where."""
    timings: list[dict[str, Any]] = []
    steps: list[dict[str, Any]] = []
    ranks: dict[tuple[int, str], dict[str, Any]] = {}
    claimed: list[dict[str, Any]] = []
    for number, _text, said in table_rows(source):
        place = {"file": source.path, "line": number}
        if said is HEADER:
            claimed.append(place)
        elif said is not None and (step := whole(first_told(said, _STEP))) is not None:
            parts = _durations(said)
            rank, host = whole(said.get("rank")), first_told(said, _HOST)
            rank = source.rank if rank is None else rank
            time_ns = utc_ns(first_told(said, _TIME))
            who = place | {"rank": rank, "step": step, "time_ns": time_ns}
            tokens = whole(said.get("tokens"))
            timings += [
                who | {"host": str(host) if host else source.host, "phase": phase, "name": name, "value_ms": ms, "level": 0,
                       "tokens": tokens}
                for name, phase, ms in parts
            ]  # fmt: skip
            steps.append(who | _step(said, parts, time_ns))
            if rank is not None and host:
                ranks.setdefault((rank, str(host)), place | {"rank": rank, "host": str(host), "how": "step records"})
    return {
        "timings": table("timings", timings),
        "steps": table("steps", steps),
        "ranks": table("ranks", ranks.values()),
        "claimed": table("claimed", claimed),
    }


def _step(said: dict[str, Any], parts: list[tuple[str, str, float]], time_ns: int | None) -> dict[str, Any]:
    return {
        "loss": real(said.get("loss")), "loss_seen": "loss" in said, "grad_norm": real(said.get("grad_norm")),
        "elapsed_ms": next((ms for _, phase, ms in parts if phase in _WHOLE), None), "phase": "train",
        "time_basis": None if time_ns is None else "utc",
    }  # fmt: skip


PARSER = FileParser(name="step_records", accepts=accepts, parse=parse)
