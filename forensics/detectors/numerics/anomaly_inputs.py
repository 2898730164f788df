"""What the rows show of that which went into the operation that gave the first bad value: finite, masked, or not recorded; whether arithmetic
lets such inputs give it at all; and whether other ranks had the same, and had it clean.

Only what is recorded is said: an operation without rows of its inputs, or with figures missing, proves nothing.
"""

from math import isfinite
from typing import Literal, NamedTuple

import polars as pl

from forensics.detectors.numerics.anomaly_rows import Row, same
from forensics.graph.numerics.births import Births
from forensics.graph.numerics.growth import limit
from forensics.graph.numerics.tensor_rules import LARGEST, LINEAR, MASK_CONSUMERS

Given = Literal["finite", "masked", "unseen"]
_ROUNDING = 2.0  # far more than sums lose
_FIGURES = ("min", "max", "l2norm")


class Mask(NamedTuple):
    """Values of the input that are -Inf, here and at the other ranks (null where these differ or are not seen), and the row that holds them."""

    row: Row
    own: int | None
    others: int | None


class Inputs(NamedTuple):
    """`bound`: the most that a sum of products of these inputs comes to, where that is too little to leave the format. `well`: ranks that computed
    the same operation in the same step, all of them clean."""

    given: Given = "unseen"
    bound: float | None = None
    mask: Mask | None = None
    well: tuple[int, ...] = ()


def clean_before(births: Births, row: Row) -> Row | None:
    """The last row of the same rank before it that is known to be clean."""
    is_before = (pl.col("rank") == row["rank"]) & (pl.col("place") < row["place"])
    mine = births.rows.filter(is_before, pl.col("role").is_not_null(), ~pl.col("bad").fill_null(True))
    return mine.row(-1, named=True) if mine.height else None


def inputs_of(births: Births, row: Row) -> Inputs:
    """`row`: the first bad one, an output."""
    if row["role"] != "out":
        return Inputs()
    rows = _given(births, row)
    peers = _peers(births, row)
    well = () if peers["bad"].fill_null(True).any() else tuple(sorted(peers["rank"].unique().to_list()))
    if not (rows["role"] == "in").any():
        return Inputs(well=well)
    masked = rows.filter(pl.col("inf").fill_null(False) & ~pl.col("nan").fill_null(False))
    is_masked = (row["op"] or "").lower() in MASK_CONSUMERS or not rows["bad"].fill_null(True).any()
    if masked.height and is_masked:
        held = masked.row(0, named=True)
        others = _peers(births, held)["inf_count"].unique().to_list()
        mask = Mask(held, held["inf_count"], others[0] if len(others) == 1 else None)
        return Inputs("masked", mask=mask, well=well)
    if rows["bad"].fill_null(True).any() or masked.height:
        return Inputs(well=well)
    return Inputs("finite", _bound(rows, row), well=well)


def near_end(births: Births, row: Row) -> dict[str, str] | None:
    """The largest input and the end of the format, where an Inf came out of what was within one doubling of it. A format that nobody
    prints is float16's where that fits: no other one ends there."""
    inputs = _given(births, row).filter(pl.col("role") == "in")
    given = [size for one in inputs.iter_rows(named=True) if (size := _largest(one))]
    most = limit(row) or LARGEST["float16"]
    if row["role"] != "out" or not row["inf"] or row["nan"] or not given or not most / 2 <= max(given) <= most:
        return None
    name = str(row["format"] or row["dtype"] or "float16").removeprefix("torch.")
    return {"most": f"{max(given):.3g}", "end": f"{most:.5g}", "format": name}


def largest_given(births: Births, row: Row) -> float | None:
    """The largest value that went in, where all rows of it tell theirs."""
    sizes = [_largest(one) for one in _given(births, row).iter_rows(named=True) if one["role"] == "in"]
    return max((size for size in sizes if size is not None), default=None) if None not in sizes else None


def has_bad_scale(births: Births, row: Row) -> bool:
    """Is a scale of what went in no finite number?"""
    return any(one["scale"] is not None and not isfinite(one["scale"]) for one in _given(births, row).to_dicts())


def is_finite(row: Row) -> bool:
    return not (row["inf"] or row["nan"] or row["bad"])


def clean_readers(births: Births, row: Row) -> tuple[int, ...]:
    """Ranks that had the batch of this row clean, where all of them had the same, and this rank had it as they did the step before: then
    it is the copy that is bad, not what was read."""
    peers = _peers(births, row)
    ranks = tuple(sorted(peers["rank"].unique().to_list()))
    if len(ranks) < 2 or peers["bad"].fill_null(True).any() or not _are_alike(peers):
        return ()
    alike, theirs = same(row, "module", "tensor", "phase"), pl.col("rank").is_in([*ranks, row["rank"]])
    first = births.history.filter(alike, theirs, pl.col("step") < row["step"])
    steps = first.group_by("step").agg(pl.col("rank").n_unique().alias("n")).filter(pl.col("n") == len(ranks) + 1)
    if not steps.height:
        return ()
    before = first.filter(pl.col("step") == steps["step"].max())
    before = before.unique(["rank", "microbatch"], keep="first", maintain_order=True)
    return ranks if all(_are_alike(one) for one in before.partition_by("microbatch")) else ()


def clean_holders(births: Births, row: Row) -> tuple[int, ...]:
    """Ranks whose row of the same tensor in the same step is clean."""
    peers = _peers(births, row)
    return tuple(sorted(peers.filter(pl.col("bad") == False)["rank"].unique().to_list()))  # noqa: E712


def clean_copies(births: Births, row: Row) -> tuple[int, ...]:
    """Ranks that hold the same parameter as replicas of each other, all of them clean; parts of one, as sharding leaves them, differ."""
    peers, holders = _peers(births, row), clean_holders(births, row)
    is_whole = len(holders) > 1 and not peers["bad"].fill_null(True).any()
    return holders if is_whole and _are_alike(peers) else ()


def clean_update(births: Births, row: Row) -> Row | None:
    """The row of the same parameter after the update of the step before, if it was clean: then it went bad in between."""
    return None if row["phase"] == "optimizer" else _same_clean(births, row, pl.col("phase") == "optimizer")


def clean_use(births: Births, row: Row) -> Row | None:
    """Of a parameter that an update left bad: its row of the same step before it, if it was clean: then the update made it bad."""
    used = (pl.col("step") == row["step"]) & (pl.col("phase") != "optimizer")
    return _same_clean(births, row, used) if row["phase"] == "optimizer" else None


def _same_clean(births: Births, row: Row, when: pl.Expr) -> Row | None:
    """The last row of the same tensor before this one, then; None where it was not clean."""
    own = same(row, "rank", "module") & (pl.col("tensor") == str(row["tensor"]))
    found = births.rows.filter(own, when, pl.col("place") < row["place"])
    last = found.tail(1).row(0, named=True) if found.height else None
    return last if last is not None and last["bad"] is False and is_finite(last) else None


def _given(births: Births, row: Row) -> pl.DataFrame:
    """What went in, parameters included."""
    rows = births.rows.filter((pl.col("operation") == row["operation"]) & pl.col("role").is_in(["in", "state"]))
    return rows.filter(pl.col("place") <= row["place"])


def _peers(births: Births, row: Row) -> pl.DataFrame:
    here = same(row, "step", "microbatch", "phase", "module", "tensor")
    return births.rows.filter(here, pl.col("rank") != row["rank"])


def _are_alike(rows: pl.DataFrame) -> bool:
    """Do all show the same figures, and at least two of them?"""
    told = [name for name in _FIGURES if rows[name].null_count() == 0]
    return len(told) > 1 and all(rows[name].n_unique() == 1 for name in told)


def mask_maker(births: Births, mask: Mask) -> Row | None:
    """The output of an operation before it that first holds as many -Inf: who masked."""
    if mask.own is None:
        return None
    here = same(mask.row, "rank", "step", "microbatch", "phase") & (pl.col("place") < mask.row["place"])
    made = births.rows.filter(here, pl.col("role") == "out", pl.col("inf_count") == mask.own).tail(1)
    return made.row(0, named=True) if made.height else None


def _bound(rows: pl.DataFrame, row: Row) -> float | None:
    """What |x| |w| K + |b| comes to, where a linear layer's output cannot leave its format by that. Scaled formats are left alone."""
    most = limit(row)
    is_scaled = rows.select((pl.col("scale").is_not_null() | pl.col("format").is_not_null()).any()).item()
    if (row["op"] or "").lower().removeprefix("nn.") not in LINEAR or most is None or is_scaled:
        return None
    size = {"input": 0.0, "weight": 0.0, "bias": 0.0}
    width = None
    for one in rows.iter_rows(named=True):
        largest = _largest(one)
        part = str(one["tensor"]).rpartition(".")[2] if one["base"] == "param" else "input"
        if largest is None or part not in size:
            return None
        size[part] = max(size[part], largest)
        if part == "input":
            width = _width(one["shape"])
    if width is None or not rows.filter(pl.col("base") == "param").height:
        return None
    bound = width * size["input"] * size["weight"] + size["bias"]
    return bound if bound * _ROUNDING < most else None


def _largest(one: Row) -> float | None:
    known = [abs(one[name]) for name in ("absmax", "min", "max") if one[name] is not None]
    whole = one["absmax"] is not None or (one["min"] is not None and one["max"] is not None)
    return max(known) if whole and all(isfinite(value) for value in known) else None


def _width(shape: object) -> int | None:
    """The last size, over which products are summed."""
    sizes = shape if isinstance(shape, list) else str(shape or "").strip("[]() ").split(",")
    last = str(sizes[-1]).strip() if sizes else ""
    return int(last) if last.isdigit() else None
