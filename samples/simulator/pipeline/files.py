"""The rows of a simulated job in the forms that programs write such traces in: other names, units, stamps and files."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import polars as pl

from samples.simulator.pipeline.job import Row

_EPOCH_MS = 1_772_359_200_000.0
_OTHER = {
    "forward-compute": "fwd", "backward-compute": "bwd", "forward-send": "send_forward", "forward-recv": "recv_forward",
    "backward-send": "send_backward", "backward-recv": "recv_backward", "params-all-gather": "allgather_params",
    "grads-reduce-scatter": "reduce_scatter_grads", "grad-norm-all-reduce": "allreduce_grad_norm", "optimizer": "optimizer_step",
}  # fmt: skip


def _parquet(rows: Sequence[Row], folder: Path) -> None:
    pl.DataFrame(
        [
            {
                "dp_rank": row.dp, "stage": row.pp, "tp_rank": row.tp, "rank": row.rank, "step": row.step, "optype": row.kind,
                "start_ts": row.start_ms / 1e3, "duration": (row.end_ms - row.start_ms) / 1e3,
            }
            for row in rows
        ]
    ).write_parquet(folder / "trace.parquet")  # fmt: skip


def _csv(rows: Sequence[Row], folder: Path) -> None:
    text = io.StringIO()
    out = csv.writer(text)
    out.writerow(("rank", "step", "op", "start_us", "end_us", "dp_rank", "pp_rank", "tp_rank"))
    for row in rows:
        out.writerow(
            (
                row.rank,
                row.step,
                _OTHER[row.kind],
                round(row.start_ms * 1e3),
                round(row.end_ms * 1e3),
                row.dp,
                row.pp,
                row.tp,
            )
        )
    (folder / "operations.csv").write_text(text.getvalue())


def _json(rows: Sequence[Row], folder: Path) -> None:
    """A file per rank, nanoseconds since 1970."""
    texts: dict[int, list[str]] = {}
    for row in rows:
        said = {
            "rank": row.rank, "iteration": row.step, "name": row.kind, "start": round((_EPOCH_MS + row.start_ms) * 1e6),
            "dur": round((row.end_ms - row.start_ms) * 1e6), "pipeline_stage": row.pp, "data_parallel_rank": row.dp,
            "tensor_parallel_rank": row.tp,
        }  # fmt: skip
        texts.setdefault(row.rank, []).append(json.dumps(said))
    for rank, lines in texts.items():
        (folder / f"rank_{rank}.jsonl").write_text("\n".join(lines) + "\n")


FORMS: Mapping[str, Callable[[Sequence[Row], Path], None]] = {"parquet": _parquet, "csv": _csv, "json": _json}


def write(rows: Sequence[Row], form: str, folder: Path) -> None:
    """The bundle of one job in one form."""
    folder.mkdir(parents=True)
    FORMS[form](rows, folder)
