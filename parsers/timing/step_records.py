"""A row per step, or per rank and step, in any form of parsers/forms/framings.py: what a script, a tracker or a dashboard wrote.

Columns: a count of the step; its loss, its gradient norm, or durations of its parts (two at least where it has neither); who, when, how
much. parsers/text/vocabulary.py says what a name means, parsers/text/durations.py which names are durations.

    rank,step,loader_s,compute_s,iter_s                             a script's own
    3,7,0.0118,0.331,0.428
    _step,_timestamp,_runtime,train/loss,train/grad_norm            a run's history; what was not logged in a step is empty
    120,1790000000.5,340.2,2.31,0.38
    "Step","tidy-fog-7 - train/loss","tidy-fog-7 - train/loss__MIN","tidy-fog-7 - train/loss__MAX"      one chart
    Wall time,Step,Value                                            one curve, in run-NAME-tag-train_loss.csv
    1790000000123 2.31 120                                          likewise, in metrics/train/loss
    step,tag,value                                                  a figure a row: Aim, scripts
    {"log_history": [{"step": 5, "loss": 2.31, "grad_norm": 0.38}]}

A chart of several runs tells no curve of this job, unless each is called after a rank (parsers/training/spread.py). Objects of a line each are for line parsers, and so are lines of pairs that do not say whose
they are: those may stand in a log.

Printed by: Weights & Biases, TensorBoard, MLflow, Hugging Face's Trainer, training scripts.
Versions: wandb 0.10 to 0.22, TensorBoard 1.15 to 2.20, MLflow 1 to 3.
Source: Run.history of wandb's public API and the CSV of its charts; tensorboard/plugins/scalar/scalars_plugin.py; FileStore of MLflow.
"""

from parsers.forms import framings
from parsers.forms.curves import name_of
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables
from parsers.text import vocabulary
from parsers.training.spread import bare_names
from parsers.training.step_figures import figures, has_figures, one_figure
from parsers.training.step_tables import names_in, step_tables

_HEAD = 16384
_OF_CALLS = ("op", "group", "group_ranks", "call")
_PHASES = ("forward", "backward", "recompute", "grad_sync", "optimizer", "comm", "eval")


def accepts(path: str, head: bytes) -> bool:
    """By the names of its first record."""
    form, names = framings.framing(path, head), framings.names(path, head)
    if form not in (None, "objects") and "value" in names:  # a figure a row, each with its name
        names = frozenset(one_figure(framings.first(path, head)))
    if form == "curve":
        return name_of(path) is not None
    told = bare_names(list(names_in(names).values()), name_of(path))
    is_told = form not in (None, "objects") and has_figures(frozenset(told), is_of_ranks=len(told) < len(names))
    if not is_told or _is_version_1(names, path, head):
        return False
    if form == "blocks":  # its lines are nobody else's then: they must be what they look like
        return figures(framings.first(path, head), {"file": path, "line": None, "time_ns": None}) is not None
    return form not in ("logfmt", "prose") or "rank" in vocabulary.meanings(sorted(names))


def _is_version_1(names: frozenset[str], path: str, head: bytes) -> bool:
    """Are these digests of tensors in the form that this project defines, by what they tell of communications and phases (tensor_stats.py)?"""
    is_named_so = "checksum" in names and not names.isdisjoint(("tensor", "module"))
    return is_named_so and (not names.isdisjoint(_OF_CALLS) or framings.first(path, head).get("phase") in _PHASES)


def parse(source: Source) -> Tables:
    """timings, a row per part of a step; steps; ranks; `unread` for rows that log neither (parsers/training/step_tables.py)."""
    with source.open() as stream:
        form = framings.framing(source.path, stream.read(_HEAD))
    return step_tables(source, form, is_of_parts=form == "outlined")


PARSER = FileParser(name="step_records", accepts=accepts, parse=parse)
