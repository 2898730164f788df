"""From what flowed to rows of tensor statistics, as files and as the table that the parser makes of them."""

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from parsers.schema.tables import conform
from parsers.text.rank_list import rank_text
from samples.simulator.job import Job
from samples.simulator.numerics.model import Form, Model, Tensor
from samples.simulator.numerics.shapes import Row

COLUMNS = (
    "rank", "step", "seq", "microbatch", "phase", "module", "op", "tensor", "dtype", "numel", "min", "max", "mean", "l2norm",
    "absmax", "nan_count", "inf_count", "checksum", "timestamp", "group", "group_ranks", "call", "peer", "tag", "reduce_op",
)  # fmt: skip
NUMEL = 4096
_STEP_S, _ROW_S, _BEGIN_S = 3.0, 0.0005, 1_767_225_600.0
_GRADIENT_SYNC = ("grad_norm", "found_inf")


def shown(row: Row, form: Form, hooked: frozenset[str] | None) -> bool:
    """Whether the hooks write this tensor. `hooked`: the modules with hooks, None = all."""
    site, base = row.site, row.tensor.partition(".")[0]
    local = row.call is None
    if not local and form.calls == "none":
        return False
    if site.module in _GRADIENT_SYNC and not form.norm:
        return False
    if base == "param_grad" and not form.gradients:
        return False
    if base == "param" and local and site.phase != "optimizer" and not form.params:
        return False
    if base in ("input", "grad_output") and local and not form.inputs:
        return False
    if site.op == "recv" and base == "input":
        return form.prefilled
    return not (local and hooked is not None and site.module not in hooked)


def records(
    rows: Sequence[Row], job: Job, model: Model, form: Form, hooked: frozenset[str] | None, skew_s: float
) -> Iterator[tuple[Any, ...]]:
    """Values in the order of COLUMNS, of the rows that are shown."""
    seq = 0
    for place, row in enumerate(_by_slot(rows, form)):
        if not shown(row, form, hooked):
            continue
        site, value = row.site, row.value
        members: tuple[int, ...] | None = None
        name = None
        if row.group is not None and form.calls in ("stated", "named"):
            group = job.groups[row.group]
            name = group.name
            members = group.members if form.calls == "stated" else None
        stated = form.calls == "stated"
        when = round(_BEGIN_S + skew_s + site.step * _STEP_S + place * _ROW_S, 4)
        yield (
            site.rank, site.step, seq if form.seq else None, site.microbatch if form.microbatch else None, site.phase,
            site.module, site.op, row.tensor, model.dtype, NUMEL, *_figures(value, form), when, name, members,
            row.call if stated else None, row.peer if form.calls in ("stated", "named") else None,
            row.tag if form.calls in ("stated", "named") else None,
            "sum" if stated and site.op in ("all_reduce", "reduce_scatter") else None,
        )  # fmt: skip
        seq += 1


def _by_slot(rows: Sequence[Row], form: Form) -> Iterator[Row]:
    """Where slots are not shown, the worst slice stands for all."""
    if form.slices:
        yield from rows
        return
    held: list[Row] = []
    for row in rows:
        base, _, slot = row.tensor.partition(".")
        if row.call is not None and slot.isdigit():
            if held and (held[0].site != row.site or held[0].tensor.partition(".")[0] != base):
                yield _worst(held)
                held = []
            held.append(row)
            continue
        if held:
            yield _worst(held)
            held = []
        yield row
    if held:
        yield _worst(held)


def _worst(rows: list[Row]) -> Row:
    worst = max(rows, key=lambda row: (row.value.bad == "nan", bool(row.value.bad)))
    return worst._replace(tensor=worst.tensor.partition(".")[0])


def _six(number: float) -> float:
    return float(f"{number:.6g}")


def _figures(value: Tensor, form: Form) -> tuple[Any, ...]:
    """min, max, mean, l2norm, absmax, nan_count, inf_count, checksum."""
    one, two = (value.content & 0xFFFFFF) / 0x1000000, (value.content >> 24 & 0xFFFFFF) / 0x1000000
    most = _six(value.size * (0.5 + one / 2)) if value.size != 60_000.0 else 60_000.0
    low, mean, norm = _six(-most * two), _six(value.size * (two - 0.5) / 8), _six(most * math.sqrt(NUMEL) / 3)
    figures = [low, most, mean, norm, most]
    count = 1 + value.content % 97
    nans, infs = (count if value.bad == "nan" else 0), (count if value.bad in ("inf", "-inf") else 0)
    if value.bad and not (form.finite and form.counts):
        nan, inf = math.nan, math.inf
        figures = {
            "nan": [nan, nan, nan, nan, nan], "inf": [low, inf, inf, inf, inf], "-inf": [-inf, most, -inf, inf, inf],
        }[value.bad]  # fmt: skip
    checksum = f"{value.content:014x}" if form.checksum else None
    return (*figures, *((nans, infs) if form.counts else (None, None)), checksum)


def frame(rows: Sequence[tuple[Any, ...]], file: str, attempt: int | None, fmt: str) -> pl.DataFrame:
    """Rows of one file → table `tensors`."""
    columns = dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True)) if rows else {}
    ranks = columns.pop("group_ranks", [])
    types = {name: pl.Float64() for name in ("min", "max", "mean", "l2norm", "absmax", "timestamp")}
    made = pl.DataFrame(columns, schema_overrides={name: kind for name, kind in types.items() if name in columns})
    made = made.with_columns(
        pl.Series("group_ranks", [told and rank_text(told) for told in ranks], dtype=pl.String), pl.lit(attempt, pl.Int64).alias("attempt"),
        pl.lit(file).alias("file"), pl.int_range(pl.len(), dtype=pl.Int64).alias("record"),
    )  # fmt: skip
    line = pl.col("record") + 1 if fmt == "jsonl" else pl.lit(None, pl.Int64)
    return conform("tensors", made.with_columns(line.alias("line")))


def lines(rows: Sequence[tuple[Any, ...]]) -> bytes:
    """JSON Lines; what was not observed is left out, NaN and Inf are tokens."""
    text = [
        json.dumps({name: value for name, value in zip(COLUMNS, row, strict=True) if value is not None}) for row in rows
    ]
    return ("\n".join(text) + "\n").encode() if text else b""
