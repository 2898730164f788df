"""What the number format has to do with a first bad value: how the tensors of its operation are scaled, and whether the
operation bears few digits. Matrix products bear them best, sums and means less, exponents and quotients worst."""

from collections.abc import Iterator
from math import isfinite

import polars as pl

from forensics.detectors.numerics.anomaly_rows import Row, ref, same
from forensics.facts.figures.scales import bad_scales
from forensics.graph.numerics.births import Births
from forensics.graph.numerics.tensor_rules import MASK_CONSUMERS
from forensics.model.finding import Claim
from forensics.model.said import Said, joined
from forensics.words import numerics as words

_FEW_DIGITS = ("float8", "e4m3", "e5m2", "float16", "half", "bfloat16", "fp8", "fp16", "bf16")
_SHOWN = 3


def scaling_claims(tensors: pl.DataFrame, births: Births, row: Row) -> Iterator[Claim]:
    """`row`: the first bad one. Formats, amax and scales of the tensors of its operation up to it; the first bad scale of
    all is told as a finding of its own."""
    first = [ref(one) for one in bad_scales(tensors).head(1).iter_rows(named=True)]
    here = births.rows.filter(same(row, "rank", "step", "module"), pl.col("place") <= row["place"])
    kept = here.filter(pl.col("format").is_not_null() | pl.col("scale").is_not_null())
    for one in kept.tail(_SHOWN).iter_rows(named=True):
        if ref(one) not in first:
            yield Claim(_scaled(one), "for", (ref(one),))
    word = row["format"] or row["dtype"] or ""
    if (row["op"] or "").lower() in MASK_CONSUMERS and any(name in word.lower() for name in _FEW_DIGITS):
        yield Claim(words.EXPONENTIALS(op=row["op"], dtype=word), "for", (ref(row),))


def _scaled(one: Row) -> Said:
    """ "its input is kept as e4m3, amax 0, scale Inf: 0 times Inf is NaN"."""
    parts = [
        words.KEPT_AS(format=one["format"]) if one["format"] else "",
        words.AMAX(value=_number(one["amax"])) if one["amax"] is not None else "",
        words.SCALE(value=_number(one["scale"])) if one["scale"] is not None else "",
    ]
    text = words.ITS_TENSOR(tensor=one["tensor"], how=joined(parts, ", "))
    if one["scale"] is None or isfinite(one["scale"]):
        return text
    return (words.NO_FINITE_SCALE if one["amax"] == 0 else words.NOTHING_SURVIVES)(tensor=text)


def _number(value: float) -> str:
    return f"{value:.4g}".replace("inf", "Inf").replace("nan", "NaN")
