"""How long a step takes, beside what it should: by the person's word, and by the arguments and the devices that are printed.

The operations of a step are those of Megatron-LM's own count for a dense transformer: matrix products of attention (with
grouped queries) and of the feed-forward layers, the logits, forward and backward (three times the forward pass), and once more
the forward pass where all of it is recomputed. The devices' peak is that of the data sheet, for dense 16-bit products
(forensics/data/device_peaks.csv). Nothing is computed where an argument lacks or differs, of experts and other models, of a
batch that grows, or where more than the peak would come out: then the arguments are not those of these steps.

These are facts beside a verdict and never one: no job reaches the peak, and what is usual differs from model to model.
"""

import csv
import re
from functools import cache
from importlib.resources import files

import polars as pl

from forensics.facts.durations.spent import Spent
from forensics.model.expected import Expected
from forensics.model.said import Form, Said
from forensics.model.told import values
from forensics.words import facts as words
from parsers.schema.tables import Tables

_OPS = 12  # of a product of matrices: multiply and add, forward and twice backward, in two of a layer's products each
_RECOMPUTED = 4 / 3  # the forward pass is done twice
_OTHERWISE = (
    "num_experts", "multi_latent_attention", "is_hybrid_model", "rampup_batch_size", "hybrid_override_pattern",
)  # fmt: skip
_PLAIN = (None, "None", "False", "0", "1")  # values of these that leave a dense transformer and one size of a batch
_FEWEST = 3  # printed figures of which a median is told


def pace(tables: Tables, world: int, spent: Spent, expected: Expected) -> list[Said]:
    """Tables of one attempt → sentences; none where the log prints no step."""
    if not tables["steps"].height:
        return []
    steps = tables["steps"].filter((pl.col("phase") == "train").fill_null(True))
    return [
        *_beside(words.STEP_TAKES, spent.step_s, expected.step, words.SECONDS, ("longer", "shorter")),
        *_beside(words.PRINTS_TFLOPS, _middle(steps["tflops"]), expected.tflops, words.TFLOPS),
        *_beside(words.PRINTS_RATE, _middle(steps["per_s"]), expected.rate, words.PER_SECOND),
        *_by_arguments(tables["settings"], world, spent.step_s),
    ]


def _middle(figures: pl.Series) -> float | None:
    told = figures.filter(figures.is_finite()) if figures.dtype.is_float() else figures
    value = told.median() if len(told) >= _FEWEST else None
    return value if isinstance(value, float) and value > 0 else None


def _beside(
    what: Form, told: float | None, wanted: float | None, unit: Said, ways: tuple[str, str] = ("more", "less")
) -> list[Said]:
    if told is None or wanted is None:
        return []
    share = 100 * (told / wanted - 1)
    way = "as" if abs(share) < 0.5 else ways[0] if share > 0 else ways[1]
    expected = words.BESIDE_EXPECTED[way](percent=abs(share), wanted=wanted, unit=unit)
    return [words.WITH(text=what(figure=told), more=expected)]


def _by_arguments(settings: pl.DataFrame, world: int, took: float | None) -> list[Said]:
    if took is None:
        return []
    operations, peak = _operations(settings), _peak(settings)
    size = _number(settings, "world_size") or world
    if operations is None or not size:
        return []
    reached = operations / took / size / 1e12
    text = words.BY_ARGUMENTS(operations=operations / 1e15, reached=reached, size=size)
    if peak is None:
        return [words.WITH(text=text, more=words.AT_PACE(took=took))]
    name, most = peak
    if reached > most:
        return []
    least = operations / size / most / 1e12
    share = words.OF_PEAK(percent=100 * reached / most, name=name, most=most, least=least, took=took)
    return [words.WITH(text=text, more=share)]


def _operations(settings: pl.DataFrame) -> float | None:
    """Floating-point operations of a step, those of recomputation included."""
    names = ("num_layers", "hidden_size", "seq_length", "global_batch_size", "num_attention_heads")
    told = [_number(settings, name) for name in names]
    if any(value is None for value in told) or any(_text(settings, name) not in _PLAIN for name in _OTHERWISE):
        return None
    layers, hidden, length, batch, heads = (float(value or 0) for value in told)
    inner = _number(settings, "ffn_hidden_size") or 4 * hidden
    is_grouped = _text(settings, "group_query_attention") == "True"
    groups = (_number(settings, "num_query_groups") if is_grouped else None) or heads
    across = (_number(settings, "kv_channels") or hidden / heads) * heads / hidden
    gated = 1.5 if _text(settings, "swiglu") == "True" else 1.0
    attention = (1 + groups / heads + length / hidden / 2) * across  # half of the scores: no token sees later ones
    logits = (_number(settings, "padded_vocab_size") or 0) / (2 * layers * hidden)
    per_layer = attention + inner / hidden * gated
    again = _RECOMPUTED if _text(settings, "recompute_granularity") == "full" else 1.0
    return _OPS * batch * length * layers * hidden**2 * (per_layer * again + logits)


def _text(settings: pl.DataFrame, name: str) -> str | None:
    """The one value that is printed under a name; null where they differ."""
    told = values(settings.filter(pl.col("name") == name)["value"]) if settings.height else ()
    return str(*told) if len(told) == 1 else None


def _number(settings: pl.DataFrame, name: str) -> int | None:
    text = _text(settings, name) or ""
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < 10 else None


def _peak(settings: pl.DataFrame) -> tuple[str, float] | None:
    """(name, TFLOPS) of the devices, where all are of one kind that is listed."""
    found = {_listed(name) for name in values(settings.filter(pl.col("name") == "gpu_name")["value"])}
    return found.pop() if len(found) == 1 else None


@cache
def _rows() -> tuple[tuple[str, str, float], ...]:
    text = files("forensics.data").joinpath("device_peaks.csv").read_text(encoding="utf-8")
    return tuple((row["pattern"], row["name"], float(row["tflops"])) for row in csv.DictReader(text.splitlines()))


def _listed(name: str) -> tuple[str, float] | None:
    words = name.replace("-", " ")
    rows = ((called, most) for pattern, called, most in _rows() if re.search(rf"\b{pattern}\b", words, re.IGNORECASE))
    return next(rows, None)
