"""Panels of a dashboard about a training, exported as tables: a moment in each row, a series in each column.

    "Time","avg by (run) (train_loss{run=""r41""})"            in `Train loss-data-2026-01-05 10_11_12.csv`
    "Time","train_loss{rank=""0""}","train_loss{rank=""1""}"
    Time;rank 0;rank 1                                         in `local loss.csv`: of what, the file's name says

What a column is, its own name tells, else that of the file: a loss, a norm, a rate, a scale or the count of steps; whose it is, a label, a word for a
rank or a name that the bundle knows. What is made of many (`avg by (run) (…)`) is of no rank. Tables that count steps are read as such (forms/framings.py).

Printed by: Grafana ("Inspect: data"), Prometheus' and VictoriaMetrics' own pages, spreadsheets.
Versions: any.
Source: Grafana's manual, "Export data from a panel"; Prometheus: operators.
"""

from typing import NamedTuple

from parsers.device.labels import sample
from parsers.forms.reading import all_bytes, cells_of, real
from parsers.forms.wide import titles, who_of_head
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, table
from parsers.text import vocabulary
from parsers.text.patterns import regex
from parsers.training.gauges import FIGURES, Gauges
from parsers.training.step_figures import time_of

_BYTES = 64 << 20
_MARKS = (",", ";", "\t")
_SERIES = regex(r"(?P<metric>(?:[A-Za-z_][\w:]{0,100})?)\{(?P<labels>[^{}]{0,2000})\}")
_LABEL = regex(r"(\w{1,60})\s{0,2}=~?\s{0,2}\"{1,2}([^\",}]{1,200})\"{1,2}")
_OF_MANY = regex(
    r"(?i)\b(?:avg|mean|sum|max|min|quantile|median|stddev)\b(?!.{0,40}\b(?:by|on)\b ?\([^)]*\b(?:rank|pod|instance)\b)"
)
_HEAD = 16384


class _Column(NamedTuple):
    metric: str
    labels: dict[str, str]


def accepts(path: str, head: bytes) -> bool:
    """By a first column of moments and another one that means something of a training."""
    lines = head[:_HEAD].decode(errors="replace").splitlines()[:2]
    return len(lines) > 1 and _columns(path, lines) is not None


def parse(source: Source) -> Tables:
    """steps: a row for each moment and rank."""
    data = all_bytes(source, _BYTES)
    lines = (data or b"").decode(errors="replace").splitlines()
    found = _columns(source.path, lines[:2])
    if found is None:
        return {"unread": table("unread", [{"file": source.path, "reason": f"larger than {_BYTES} bytes"}])}
    mark, columns = found
    gauges = Gauges()
    for number, line in enumerate(lines[1:], 2):
        cells = cells_of(line, mark)
        moment, _ = time_of(cells[0].strip().strip('"') if cells else "")
        for at, column in columns.items():
            value = cells[at].strip().strip('"') if at < len(cells) else ""
            if moment is None or real(value) is None:
                continue
            row = sample(column.metric, column.labels, value, source)
            name = column.labels.get("worker")
            rank = source.labels.names.of_cell(name) if row["rank"] is None and name else row["rank"]
            gauges.takes(row | {"rank": rank, "time_ns": moment, "file": source.path, "line": number})
    claimed = [{"file": source.path, "line": number} for number in range(1, len(lines) + 1)]
    return {**gauges.tables(), "claimed": table("claimed", claimed)}


def _columns(path: str, lines: list[str]) -> tuple[str, dict[int, _Column]] | None:
    """(the mark between its cells, the columns that mean something)."""
    if len(lines) < 2:
        return None
    for mark in _MARKS:
        heads, first = ([cell.strip().strip('"') for cell in cells_of(line, mark)] for line in lines)
        if len(heads) != len(first) or len(heads) < 2:
            continue
        said = vocabulary.meaning_of(heads[0])
        is_time = said is not None and said.meaning == "time" and time_of(first[0])[0] is not None
        if not is_time or "step" in vocabulary.meanings(heads):
            continue
        if any(cell and real(cell) is None for cell in first[1:]):
            continue  # it says whose a row is: no series in each column
        named = [(at, _column(path, head)) for at, head in enumerate(heads[1:], 1)]
        columns = {at: column for at, column in named if column is not None}
        if columns:
            return mark, columns
    return None


def _column(path: str, head: str) -> _Column | None:
    series = _SERIES.search(head)
    names = [series["metric"]] if series and series["metric"] else [head, *titles(path)]
    if vocabulary.is_of_evaluation(head):
        return None
    told = (name for name in names if (said := vocabulary.meaning_of(name)) and said.meaning in ("step", *FIGURES))
    metric = next(told, None)
    if metric is None:
        return None
    if series is None:
        return _Column(metric, {} if metric == head else who_of_head(head))
    return _Column(metric, {} if _OF_MANY.search(head) else dict(_LABEL.findall(series["labels"])))


PARSER = FileParser(name="panels", accepts=accepts, parse=parse, whole=True)
