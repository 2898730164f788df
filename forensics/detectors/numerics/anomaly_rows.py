"""How a row of tensor statistics is named, quoted and pointed to."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import polars as pl

from forensics.model.drawn import TensorRow
from forensics.model.incident import FirstAnomaly
from forensics.model.ref import Ref
from forensics.model.said import Said, joined
from forensics.model.texts import PHASE, ranges
from forensics.words import numerics as words
from parsers.text.rank_list import rank_list

Row = Mapping[str, Any]
DRAWN = ("step", "microbatch", "phase", "module", "op", "tensor")
_FIGURES = ("nan_count", "inf_count", "min", "max", "absmax", "mean", "l2norm", "checksum")


def value_of(row: Row) -> str:
    """nan, inf or finite: what the row holds."""
    if row.get("nan"):
        return "nan"
    return "inf" if row.get("inf") or row.get("bad") else "finite"


def shown_value(row: Row) -> Said:
    """As `value_of`, as people write it."""
    return words.VALUE[value_of(row)]


def speaker(rank: int) -> Said:
    """`rank 3`, or the words for a process whose rank nobody printed."""
    return words.RANK(rank=rank) if rank >= 0 else words.NO_RANK


def where(row: Row) -> Said:
    """`blocks.1.fc2 (Linear, output), forward, step 4, micro-batch 1`."""
    inner = joined((str(row[name]) for name in ("op", "tensor") if row[name] is not None), ", ")
    module = row["module"] or words.UNNAMED_MODULE
    place = words.MODULE(module=module, inner=inner) if inner else joined((module,), "")
    if row["phase"]:
        place = words.PART(place=place, part=PHASE.get(row["phase"], row["phase"]))
    place = words.PART(place=place, part=f"step {row['step']}")
    return place if row["microbatch"] is None else words.PART(place=place, part=f"micro-batch {row['microbatch']}")


def name_of(row: Row) -> str:
    """`blocks.1.fc2.weight`: a parameter by its own name, any other tensor by that of its module."""
    own = str(row["tensor"]).removeprefix("param").lstrip(".") if str(row["tensor"]).startswith("param") else ""
    return ".".join(str(part) for part in (row["module"], own) if part) or str(row["tensor"])


def same(row: Row, *names: str) -> pl.Expr:
    """Is all of this as in that row, or told in neither?"""
    return pl.all_horizontal(pl.col(name).eq_missing(pl.lit(row[name])) for name in names)


def describe(row: Row) -> Said:
    """As `where`, with the rank."""
    return words.AT(who=speaker(row["rank"]), where=where(row))


def drawn(row: Row, rank: int, value: str, role: str) -> TensorRow:
    """A row for the page."""
    return TensorRow(rank=rank, value=value, role=role, **{name: row[name] for name in DRAWN})


def ref(row: Row) -> Ref:
    """The place of a row, and its figures as text."""
    figures = " ".join(f"{name}={row[name]}" for name in _FIGURES if row[name] is not None)
    names = " ".join(str(row[name]) for name in ("module", "op", "tensor") if row[name] is not None)
    line = row["line"] if row["line"] is not None else row["record"]
    return Ref(file=str(row["file"]), line=line, text=f"{speaker(row['rank'])} step {row['step']} {names}: {figures}")


def first_anomaly(row: Row, rank: int | None, after: str | None, cause: str | None) -> FirstAnomaly:
    """`rank`: whom the anomaly belongs to; None where it was only observed on `row`'s rank."""
    value = value_of(row)
    signature = "/".join(str(part) for part in (cause or "unknown", row["phase"], row["module"], row["op"], value))
    return FirstAnomaly(
        time_utc=_time(row["timestamp"]),
        rank=rank if rank is None or rank >= 0 else None,
        host=row["host"] if rank is not None else None,
        device=row["device"] if rank is not None else None,
        step=row["step"],
        microbatch=row["microbatch"],
        chunk=row["chunk"],
        phase=row["phase"],
        module=row["module"],
        op=row["op"],
        tensor=row["tensor"],
        value=value,
        after=after,
        group=row["group"],
        group_ranks=ranges(rank_list(row["group_ranks"]) or ()) if row["group_ranks"] is not None else None,
        seq=row["call"] if row["call"] is not None else row["seq"],
        signature=signature,
    )


def _time(seconds: float | None) -> str | None:
    if seconds is None or not 0 < seconds < 4e9:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
