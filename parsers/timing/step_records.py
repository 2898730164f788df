"""A row per step, or per rank and step, in any form of parsers/framings.py: what a script, a tracker or a dashboard wrote.

Columns: a count of the step; its loss, its gradient norm, or durations of its parts (two at least where it has neither); who, when, how
much. parsers/vocabulary.py says what a name means, parsers/timing/words.py which names are durations.

    rank,step,loader_s,compute_s,iter_s                             a script's own
    3,7,0.0118,0.331,0.428
    _step,_timestamp,_runtime,train/loss,train/grad_norm            a run's history; what was not logged in a step is empty
    120,1790000000.5,340.2,2.31,0.38
    "Step","tidy-fog-7 - train/loss","tidy-fog-7 - train/loss__MIN","tidy-fog-7 - train/loss__MAX"      one chart
    Wall time,Step,Value                                            one curve, in run-NAME-tag-train_loss.csv
    1790000000123 2.31 120                                          likewise, in metrics/train/loss
    {"log_history": [{"step": 5, "loss": 2.31, "grad_norm": 0.38}]}

A chart of several runs tells no curve of this job. Objects of a line each are for line parsers, and so are lines of pairs that do not say whose
they are: those may stand in a log.

Printed by: Weights & Biases, TensorBoard, MLflow, Hugging Face's Trainer, training scripts.
Versions: wandb 0.10 to 0.22, TensorBoard 1.15 to 2.20, MLflow 1 to 3.
Source: Run.history of wandb's public API and the CSV of its charts; tensorboard/plugins/scalar/scalars_plugin.py; FileStore of MLflow.
"""

from collections.abc import Collection
from typing import Any

import polars as pl

from parsers import framings, vocabulary
from parsers.parser import FileParser, Source
from parsers.tables import Rows, Tables, table
from parsers.training.step_figures import figures, has_figures

_RANGE = ("__MIN", "__MAX")  # of the points that one of a chart stands for


def accepts(path: str, head: bytes) -> bool:
    """By the names of its first record."""
    form, names = framings.framing(path, head), framings.names(path, head)
    if form in (None, "objects") or not has_figures(frozenset(_names(names).values())):
        return False
    return form not in ("logfmt", "prose") or "rank" in vocabulary.meanings(sorted(names))


def _names(raw: Collection[str]) -> dict[str, str]:
    """Name → without the run's name that a chart puts before it; nothing of a chart of several."""
    runs = {name.rpartition(" - ")[0] for name in raw} - {""}
    return {name: name.rpartition(" - ")[2] for name in raw if len(runs) < 2 and not name.endswith(_RANGE)}


def parse(source: Source) -> Tables:
    """timings, a row per part of a step, level 0; steps; ranks: who runs where; `unread` for rows that log neither."""
    steps, timings = Rows("steps"), Rows("timings")
    hosts: dict[tuple[Any, ...], dict[str, Any]] = {}
    claimed: list[dict[str, Any]] = []
    unread: list[dict[str, Any]] = []
    shown: dict[tuple[str, ...], dict[str, str]] = {}
    common = {"rank": source.rank, "local_rank": source.local_rank, "host": source.host, "file": source.path}
    for number, _text, said in framings.rows(source):
        place = {"file": source.path, "line": number}
        if said is framings.HEADER:
            claimed.append(place)
            continue
        if said is not None and tuple(said) not in shown:
            shown = {tuple(said): _names(said)}  # rows of a table are alike
        own = {} if said is None else {name: said[raw] for raw, name in shown[tuple(said)].items()}
        found = figures(own, common | {"line": number})
        if found is None:
            unread.append(place | {"reason": "logs neither loss, gradient norm nor times"})
            continue
        for row in found.steps:
            steps.append(row)
        for row in found.timings:
            timings.append(row)
        for row in found.ranks:
            hosts.setdefault((row["rank"], row["host"]), row)
    times = timings.table()
    return {
        "timings": times,
        "steps": _logged(steps.table()) if times.is_empty() else steps.table(),
        "ranks": table("ranks", hosts.values()),
        "claimed": table("claimed", claimed),
        "unread": table("unread", unread),
    }


def _logged(steps: pl.DataFrame) -> pl.DataFrame:
    """Without NaN that stands where nothing was logged: some exports write it, and a loss that is NaN stays so."""
    last = pl.col("line").filter(pl.col("loss").is_finite()).max().over("rank")
    return steps.filter(~(pl.col("loss").is_nan() & (pl.col("line") < last)).fill_null(False))


PARSER = FileParser(name="step_records", accepts=accepts, parse=parse)
