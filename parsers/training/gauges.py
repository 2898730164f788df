"""Losses and norms that a training gives to Prometheus, as rows of steps.

    train_step{rank="2"} 14
    train_loss{rank="2"} NaN

What a gauge means, its name says (parsers/text/vocabulary.py). Gauges of one rank belong together by their moment: the stamp, else how
often each was seen in the file before. Where no gauge of the rank, nor one without a rank, tells the step of that moment, none is told.
Of several series of one meaning and rank it is the rank's own, else a plain one, else that of all ranks; two of a sort leave nothing, and so
does a label that tells of an evaluation. What only counts up in whole numbers is a counter (`train_nonfinite_loss_total`), and no loss. A label may tell the
layout: parallel="dp5".
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from parsers.forms.reading import whole
from parsers.schema.tables import Tables, tables_of
from parsers.text import vocabulary
from parsers.text.layouts import sizes

_SORTS = ("own", "plain", "of_all", "named")
FIGURES = ("loss", "grad_norm", "learning_rate", "loss_scale")
_Moment = tuple[int | None, int | None, int]  # rank, time_ns, how often before


def _counts_up(course: list[tuple[int, float]]) -> bool:
    values = [value for _, value in sorted(course)]
    return values == sorted(values) and all(value == value // 1 for value in values)


class Gauges:
    """Samples of one file, in order."""

    def __init__(self) -> None:
        self._seen: Counter[tuple[Any, ...]] = Counter()
        self._series: defaultdict[tuple[int | None, str], set[str]] = defaultdict(set)
        self._told: dict[_Moment, dict[str, dict[str, Any]]] = {}
        self._sorts: dict[str, str] = {}
        self._layouts: dict[tuple[str, str], dict[str, Any]] = {}

    def takes(self, row: Mapping[str, Any]) -> bool:
        """A row of `devices` (rank, metric with labels, value, time_ns, file, line or record): whether it is a figure of a training, and kept."""
        name, _, labels = str(row["metric"]).partition("{")
        said = vocabulary.meaning_of(name)
        if said is None or said.meaning not in ("step", *FIGURES) or vocabulary.is_of_evaluation(labels[:400]):
            return False
        key = (row["rank"], row["metric"], row["time_ns"])
        moment = (row["rank"], row["time_ns"], self._seen[key])
        self._seen[key] += 1
        self._series[row["rank"], said.meaning].add(row["metric"])
        self._sorts[row["metric"]] = said.sort
        self._told.setdefault(moment, {})[row["metric"]] = dict(row) | {"meaning": said.meaning}
        for size in sizes(labels[:400]).items():
            place = {key: row.get(key) for key in ("rank", "host", "file", "line")}
            self._layouts.setdefault(size, place | {"name": size[0], "value": size[1], "scope": "layout"})
        return True

    def tables(self) -> Tables:
        """steps: a row for each rank and moment with a loss or a norm; settings: the layout."""
        rows = [row for moment, own in self._told.items() if (row := self._row(moment, own)) is not None]
        return tables_of(steps=rows, settings=self._layouts.values())

    def _chosen(self, rank: int | None, meaning: str) -> str | None:
        """The one series of that meaning which is of the rank itself, as far as names tell."""
        series = self._series.get((rank, meaning), set())
        if meaning in ("loss", "grad_norm"):
            series = series - self._counters
        by_sort = ([one for one in series if self._sorts[one] == sort] for sort in _SORTS)
        alone = next((one for one in by_sort if one), [])
        return alone[0] if len(alone) == 1 else None

    @cached_property
    def _counters(self) -> frozenset[str]:
        """The series that are called totals, and are whole numbers that never fall, on all ranks."""
        told: dict[str, defaultdict[int | None, list[tuple[int, float]]]] = {}
        for (rank, time_ns, count), own in self._told.items():
            for metric, row in own.items():
                if row["value"] is not None and metric.partition("{")[0].endswith("_total"):
                    told.setdefault(metric, defaultdict(list))[rank].append((time_ns or count, row["value"]))
        return frozenset(metric for metric, ranks in told.items() if all(map(_counts_up, ranks.values())))

    def _row(self, moment: _Moment, own: Mapping[str, Mapping[str, Any]]) -> dict[str, Any] | None:
        rank, time_ns, count = moment
        chosen = {name: self._chosen(rank, name) for name in FIGURES}
        figures = {name: own[metric] for name, metric in chosen.items() if metric is not None and metric in own}
        of_all = self._told.get((None, time_ns, count), {})
        told = (row for moment in (own, of_all) for row in moment.values() if row["meaning"] == "step")
        step = next(told, None)
        first = figures.get("loss") or figures.get("grad_norm")
        if first is None:
            return None if step is None or rank is None or time_ns is None else self._count(rank, time_ns, step)
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
            "record": first.get("record"),
            **values,
        }

    @staticmethod
    def _count(rank: int, time_ns: int, step: Mapping[str, Any]) -> dict[str, Any]:
        """The step alone, for figures of that moment in other files (forensics/assemble/figures/steps_told.py)."""
        place = {"file": step["file"], "record": step.get("record"), "time_ns": time_ns, "time_basis": "utc"}
        return place | {"rank": rank, "step": whole(step["value"]), "phase": "figures"}
