"""Curves as tables: what somebody saved from a dashboard (Weights & Biases, TensorBoard) or a script wrote, a row per step.

    _step,_timestamp,_runtime,train/loss,train/grad_norm            a run's history; what was not logged in a step is empty
    120,1790000000.5,340.2,2.31,0.38
    "Step","tidy-fog-7 - train/loss","tidy-fog-7 - train/loss__MIN","tidy-fog-7 - train/loss__MAX"      one chart
    Wall time,Step,Value                                            one curve, in run-NAME-tag-train_loss.csv
    rank,step,loss,grad_norm                                        a script's own

Which column is the loss is told by curve_names.py. A chart of several runs tells no curve of this job.

Printed by: Weights & Biases, TensorBoard, training scripts.
Versions: wandb 0.10 to 0.22, TensorBoard 1.15 to 2.20.
Source: Run.history of wandb's public API and the CSV of its charts; tensorboard/plugins/scalar/scalars_plugin.py.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from parsers.parser import HEAD_BYTES, FileParser, Source
from parsers.patterns import regex
from parsers.reading import column_names, first_line, first_told, read_table, real, utc_ns, whole
from parsers.tables import Tables
from parsers.training.curve_names import loss_and_norm

_STEPS = ("trainer/global_step", "train/global_step", "global_step", "_step", "Step", "step", "iteration", "iter")
_TIMES = ("_timestamp", "Wall time", "timestamp", "time")
_OTHERS = {"phase", "metric", "tensor", "module", "op", "param", "name"}  # a row is of something within a step
_CURVE = {"Wall time", "Step", "Value"}
_RANGE = ("__MIN", "__MAX")  # of the points that one of a chart stands for
_TAG = regex(r"(?:^|/)run-[^/]{0,200}-tag-(?P<tag>[^/]{1,100})\.csv$")


def accepts(path: str, head: bytes) -> bool:
    """By its names: a step, and a loss or a gradient norm."""
    names = _names(column_names(head))
    if first_line(head).startswith("{") or names.keys().isdisjoint(_STEPS) or names.keys() & _OTHERS:
        return False
    return any(_columns(path, names))


def _names(raw: Iterable[str]) -> dict[str, str]:
    """Name without quotes → as it stands in the first row."""
    return {name.strip('"'): name for name in raw}


def _columns(path: str, names: Mapping[str, str]) -> tuple[str | None, str | None]:
    """The columns of the loss and of the gradient norm."""
    if names.keys() >= _CURVE and (tag := _TAG.search(path)):
        told = {tag["tag"].replace("_", "/", 1): "Value", tag["tag"]: "Value"}
    else:
        runs = {name.rpartition(" - ")[0] for name in names} - {""}
        told = {name.rpartition(" - ")[2]: name for name in names if len(runs) < 2 and not name.endswith(_RANGE)}
    return loss_and_norm(told)


def parse(source: Source) -> Tables:
    """steps: a row where the loss or the gradient norm was logged."""
    with source.open() as stream:
        names = _names(column_names(stream.read(HEAD_BYTES)))
    chosen = [names[column] if column else "" for column in _columns(source.path, names)]
    steps, times = ([names[name] for name in wanted if name in names] for wanted in (_STEPS, _TIMES))

    def made(said: dict[str, Any], _text: str) -> list[dict[str, Any]]:
        loss, norm = (real(said.get(column)) for column in chosen)
        step, time_ns = whole(first_told(said, steps)), utc_ns(first_told(said, times))
        if step is None or (loss is None and norm is None):
            return []
        rank = whole(said.get("rank"))
        return [
            {
                "rank": source.rank if rank is None else rank, "step": step, "phase": "train", "loss": loss, "loss_seen": None if loss is None else True,
                "grad_norm": norm, "time_ns": time_ns, "time_basis": None if time_ns is None else "utc",
            }
        ]  # fmt: skip

    read = read_table(source, "steps", made, "logs neither loss nor gradient norm")
    return {**read, "steps": _logged(read["steps"])}


def _logged(steps: pl.DataFrame) -> pl.DataFrame:
    """Without NaN that stands where nothing was logged: some exports write it, and a loss that is NaN stays so."""
    last = pl.col("line").filter(pl.col("loss").is_finite()).max()
    return steps.filter(~(pl.col("loss").is_nan() & (pl.col("line") < last)).fill_null(False))


PARSER = FileParser(name="metric_exports", accepts=accepts, parse=parse)
