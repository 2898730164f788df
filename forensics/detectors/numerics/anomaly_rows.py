"""How a row of tensor statistics is named, quoted and pointed to."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from forensics.model.incident import FirstAnomaly
from forensics.model.ref import Ref
from forensics.model.texts import ranges
from parsers.rank_list import rank_list

Row = Mapping[str, Any]
_FIGURES = ("nan_count", "inf_count", "min", "max", "absmax", "mean", "l2norm", "checksum")


def value_of(row: Row) -> str:
    """nan, inf or finite: what the row holds."""
    if row.get("nan"):
        return "nan"
    return "inf" if row.get("inf") or row.get("bad") else "finite"


def shown_value(row: Row) -> str:
    """As `value_of`, as people write it."""
    return {"nan": "NaN", "inf": "Inf"}.get(value_of(row), "a finite value")


def speaker(rank: int) -> str:
    """`rank 3`, or the words for a process whose rank nobody printed."""
    return f"rank {rank}" if rank >= 0 else "a process without a rank"


def where(row: Row) -> str:
    """`blocks.1.fc2 (Linear, output), forward, step 4, micro-batch 1`."""
    inner = ", ".join(str(row[name]) for name in ("op", "tensor") if row[name] is not None)
    parts = [f"{row['module'] or 'an unnamed module'} ({inner})" if inner else str(row["module"])]
    if row["phase"]:
        parts.append(str(row["phase"]))
    parts.append(f"step {row['step']}")
    if row["microbatch"] is not None:
        parts.append(f"micro-batch {row['microbatch']}")
    return ", ".join(parts)


def describe(row: Row) -> str:
    """As `where`, with the rank."""
    return f"{speaker(row['rank'])}: {where(row)}"


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
