"""Losses and norms that a training gives to Prometheus, as rows of steps.

    train_step{rank="2"} 14
    train_loss{rank="2"} NaN

What a gauge means, its name says (parsers/text/vocabulary.py). Gauges of one rank belong together by their moment: the stamp, else how
often each was seen in the file before. Where no gauge of the rank, nor one without a rank, tells the step of that moment, none is told.
A label that tells of an evaluation, or a second series of one meaning and rank, leaves nothing.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

from parsers.forms.reading import whole
from parsers.schema.tables import Tables, table
from parsers.text import vocabulary

_FIGURES = ("loss", "grad_norm", "learning_rate", "loss_scale")
_Moment = tuple[int | None, int | None, int]  # rank, time_ns, how often before


class Gauges:
    """Samples of one file, in order."""

    def __init__(self) -> None:
        self._seen: Counter[tuple[Any, ...]] = Counter()
        self._series: defaultdict[tuple[int | None, str], set[str]] = defaultdict(set)
        self._told: dict[_Moment, dict[str, dict[str, Any]]] = {}

    def takes(self, row: Mapping[str, Any]) -> bool:
        """A row of `devices` (rank, metric with labels, value, time_ns, file, line or record): whether it is a figure of a training, and kept."""
        name, _, labels = str(row["metric"]).partition("{")
        said = vocabulary.meaning_of(name)
        if said is None or said.meaning not in ("step", *_FIGURES) or vocabulary.is_of_evaluation(labels[:400]):
            return False
        key = (row["rank"], row["metric"], row["time_ns"])
        moment = (row["rank"], row["time_ns"], self._seen[key])
        self._seen[key] += 1
        self._series[row["rank"], said.meaning].add(row["metric"])
        self._told.setdefault(moment, {})[said.meaning] = dict(row)
        return True

    def tables(self) -> Tables:
        """steps: a row for each rank and moment with a loss or a norm."""
        rows = [row for moment, own in self._told.items() if (row := self._row(moment, own)) is not None]
        return {"steps": table("steps", rows)}

    def _row(self, moment: _Moment, own: Mapping[str, Mapping[str, Any]]) -> dict[str, Any] | None:
        rank, time_ns, count = moment
        figures = {name: own[name] for name in _FIGURES if name in own and len(self._series[rank, name]) == 1}
        first = figures.get("loss") or figures.get("grad_norm")
        if first is None:
            return None
        of_all = self._told.get((None, time_ns, count), {})
        step = own.get("step", of_all.get("step"))
        values = {name: row["value"] for name, row in figures.items()}
        return {
            "rank": rank,
            "step": None if step is None else whole(step["value"]),
            "phase": "train",
            "loss_seen": True if values.get("loss") is not None else None,
            "time_ns": time_ns,
            "time_basis": None if time_ns is None else "utc",
            "file": first["file"],
            "line": first.get("line"),
            **values,
        }
