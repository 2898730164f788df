"""Lines of a training log, one training after another, and the first of them that is not finite."""

from collections.abc import Mapping, Sequence
from math import isfinite, isnan
from typing import Any

import msgspec
import polars as pl

from forensics.facts.rows.event_rows import detail
from forensics.model.ref import Ref
from forensics.model.said import Said
from forensics.words import losses as words
from parsers.schema.event_kinds import BAR
from parsers.schema.tables import Tables, spelled
from parsers.training.reduced_losses import REDUCED

Row = Mapping[str, Any]
_WELL = 3  # lines with a finite loss and norm after an infinite norm


class Bad(msgspec.Struct, frozen=True):
    row: Row
    value: str
    why: Said


def streams_of(steps: pl.DataFrame) -> list[list[Row]]:
    """Training lines of one file and rank, cut where the steps begin anew."""
    train = steps.filter(pl.col("phase").fill_null("train").is_in(["train", REDUCED]))
    train = train.sort("file", "line", nulls_last=True)
    found: list[list[Row]] = []
    for part in train.partition_by("file", "rank", "local_rank", maintain_order=True):
        rows: list[Row] = []
        for row in part.iter_rows(named=True):
            if rows and None not in (row["step"], rows[-1]["step"]) and row["step"] < rows[-1]["step"]:
                found.append(rows)
                rows = []
            rows.append(row)
        found.append(rows)
    return found


def when(row: Row) -> tuple[int, str, int]:
    return (row["step"] if row["step"] is not None else 1 << 62, row["file"] or "", row["line"] or 0)


def printed(value: float) -> str:
    """NaN, Inf and -Inf as people write them."""
    return f"{value:g}".replace("nan", "NaN").replace("inf", "Inf")


def first_nan(rows: Sequence[Row]) -> Bad | None:
    """The first line that shows a bad value. An infinite norm beside a finite loss, or in a curve of norms alone, is none where lines that are finite
    follow: had that update been done, none would be finite after it."""
    had_loss = False
    is_curve = all(row["loss"] is None for row in rows)
    finite = [at for at, row in enumerate(rows) if _is_fine(row, is_curve)]
    # What a line before it shows was not taken over into the parameters.
    well = finite[-_WELL] if len(finite) >= _WELL else -1
    for at, row in enumerate(rows):
        loss, norm = row["loss"], row["grad_norm"]
        # Where none is finite from there on, nothing is learnt any more, whatever was left out.
        goes_on = len(rows) - at < _WELL or (bool(finite) and finite[-1] > at)
        skipped = (row["skipped"] or _is_lowered(rows, at)) and (goes_on or loss is None or not isnan(norm or 0.0))
        if loss is not None and not isfinite(loss):
            return Bad(row, "nan" if isnan(loss) else "inf", words.LOSS_IS(value=printed(loss)))
        bad_norm = norm is not None and not isfinite(norm)
        # An infinite norm and a skip are how a loss scale finds its height; a NaN is none of that.
        is_skip = bool(skipped) and not (norm is not None and isnan(norm))
        if row["loss_seen"] is False and not is_skip and (bad_norm or had_loss):
            return Bad(row, "nan", words.LOSS_AND_NORM_VANISHED if bad_norm else words.LOSS_VANISHED)
        left_out = norm is not None and not isnan(norm) and (loss is not None or is_curve) and at < well
        if bad_norm and not skipped and not left_out:
            form = words.NORM_IS_BESIDE_ZERO if loss == 0 else words.NORM_IS
            return Bad(row, "nan" if isnan(norm) else "inf", form(value=printed(norm)))
        had_loss |= loss is not None
    return None


def _is_lowered(rows: Sequence[Row], at: int) -> bool:
    """Did the loss scale fall with that line, whether it shows the scale before or after? Then its update was left out."""
    here = rows[at]["loss_scale"]
    ahead = rows[at - 1]["loss_scale"] if at else None
    behind = rows[at + 1]["loss_scale"] if at + 1 < len(rows) else None
    return here is not None and ((ahead is not None and here < ahead) or (behind is not None and behind < here))


def _is_fine(row: Row, is_curve: bool) -> bool:
    loss, norm = row["loss"], row["grad_norm"]
    return (is_curve or (loss is not None and isfinite(loss))) and norm is not None and isfinite(norm)


def line_ref(row: Row) -> Ref:
    names = ("step", "loss", "grad_norm", "loss_scale", "skipped")
    return ref_to(row, " ".join(f"{name}={row[name]}" for name in names if row[name] is not None))


def ref_to(row: Row, text: str | None) -> Ref:
    line = row["line"] if row["line"] is not None else row.get("record")
    return Ref(file=row["file"] or "", line=line, text=text or "")


def asserts_of(events: pl.DataFrame) -> Sequence[Row]:
    """Checks that found a NaN, scripts that gave up for one, and the anomaly mode of automatic differentiation."""
    anomaly = pl.col("text").str.contains(r"returned nan values in its \d+\w* output").fill_null(False)
    kinds = pl.col("kind").is_in(["nan_assert", "bad_loss"])
    found = events.filter(kinds | anomaly).sort("step", "file", "line", nulls_last=True).to_dicts()
    known = {(row["file"], row["line"]) for row in found if not is_by_message(row)}  # by who knows the check
    raised = events.filter((pl.col("kind") == "exception") & pl.col("rank").is_not_null()).sort("file", "line")
    ends = raised.select("file", "rank", "line", anomaly.alias("is_nan")).rows()
    found = [row for row in found if not _is_of_another_error(row, ends)]
    return [row for row in found if not is_by_message(row) or (row["file"], row["line"]) not in known]


def _is_of_another_error(row: Row, ends: Sequence[tuple[str, int, int | None, bool]]) -> bool:
    """Is it the anomaly mode's warning of whatever a backward function raises, and was that, as its own rank tells behind it, no NaN?"""
    if row["code"] != "anomaly_mode" or row["severity"] != "warning" or row["rank"] is None:
        return False
    behind = (one for one in ends if one[:2] == (row["file"], row["rank"]) and (one[2] or 0) > (row["line"] or 0))
    return not next(behind, ("", 0, 0, True))[3]


def without_late(tables: Tables, asserts: Sequence[Row], bad: Row) -> Sequence[Row]:
    """Without checks that tell no step and stand behind records of steps after that of a bad line, as a last word of what was trained: by then all had it."""
    if bad["step"] is None or all(row["step"] is not None for row in asserts):
        return asserts
    told = [spelled(tables[name].select("file", "line", "step")) for name in ("steps", "values")]
    later = pl.concat(told).filter(pl.col("step") > bad["step"]).group_by("file").agg(pl.col("line").min())
    begun = dict(later.iter_rows())
    return [row for row in asserts if row["step"] is not None or (row["line"] or 0) < begun.get(row["file"], 1 << 62)]


def is_by_message(row: Row) -> bool:
    """Is it a check only by what an exception of nobody in particular says?"""
    return detail(row).get("where") == "message"


def by_steps(nans: list[Bad]) -> list[Bad]:
    """Without those of progress bars, which may count from an epoch's beginning, where a line with a step tells of a NaN as well."""
    told = [bad for bad in nans if bad.row["framework"] != BAR and bad.row["step"] is not None]
    return told or nans
