"""Writes tensor statistics of a large job as Parquet: one output row per module, pass, step and rank; one NaN spreads.

Run: python benchmarks/make_tensor_rows.py FOLDER [--ranks 1024] [--steps 100] [--modules 500] [--files 64]. The default
is 102 million rows. A NaN is born in the backward pass of one module of one rank, in the last step but one; the gradient
all_reduce of that step (a row per rank and step) carries it to all ranks. Same arguments, same rows.
"""

import json
import math
from pathlib import Path
from typing import Any

import click
import polars as pl

CULPRIT_SHARE, MODULE_SHARE = 0.37, 0.61


def rows(first: int, last: int, ranks: int, steps: int, modules: int) -> pl.LazyFrame:
    """Rows of ranks first … last - 1, in program order."""
    per_step = 2 * modules + 1
    culprit, place = int(CULPRIT_SHARE * ranks), int(MODULE_SHARE * modules)
    count = (last - first) * steps * per_step
    number = pl.int_range(count, dtype=pl.Int64, eager=False)
    frame = pl.select(number.alias("n")).lazy()
    inside, step = pl.col("n") % per_step, pl.col("n") // per_step % steps
    rank = first + pl.col("n") // (per_step * steps)
    frame = frame.select(rank.alias("rank"), step.alias("step"), inside.alias("inside"), "n")
    forward, sync = pl.col("inside") < modules, pl.col("inside") == 2 * modules
    layer = pl.when(forward).then(pl.col("inside")).otherwise(2 * modules - 1 - pl.col("inside"))
    born = (pl.col("rank") == culprit) & (pl.col("step") == steps - 2) & ~forward & (layer <= place)
    bad = born | (sync & (pl.col("step") == steps - 2)) | (pl.col("step") > steps - 2)
    size = 1.0 + (pl.col("n").hash(7) % (1 << 23)) / (1 << 23)
    size = pl.when(sync).then(2.0).otherwise(size)
    module = pl.when(sync).then(pl.lit("grad_norm")).otherwise(pl.format("layers.{}.linear", layer))
    return frame.select(
        pl.col("rank").cast(pl.Int32), pl.col("step").cast(pl.Int32),
        pl.when(sync).then(pl.lit("grad_sync")).when(forward).then(pl.lit("forward")).otherwise(pl.lit("backward"))
        .alias("phase"),
        module.alias("module"),
        pl.when(sync).then(pl.lit("all_reduce")).otherwise(pl.lit("Linear")).alias("op"),
        pl.when(sync).then(pl.lit("grad_out")).when(forward).then(pl.lit("output")).otherwise(pl.lit("grad_input"))
        .alias("tensor"),
        size.cast(pl.Float32).alias("absmax"),
        pl.when(bad).then(3).otherwise(0).cast(pl.Int32).alias("nan_count"),
        pl.lit(0, pl.Int32).alias("inf_count"),
        pl.when(sync).then(pl.lit("world")).otherwise(None).alias("group"),
        pl.when(sync).then(pl.lit(f"0-{ranks - 1}")).otherwise(None).alias("group_ranks"),
    )  # fmt: skip


def make_lines(folder: Path, ranks: int, steps: int, modules: int) -> int:
    """Writes the same rows as JSON Lines as the probe writes them, a file per rank, where they are not there; how many."""
    folder.mkdir(parents=True, exist_ok=True)
    for rank in range(ranks):
        target = folder / f"rank_{rank}.jsonl"
        if not target.exists():
            frame = rows(rank, rank + 1, ranks, steps, modules).collect()
            target.write_text(
                "".join(json.dumps(_observed(seq, row)) + "\n" for seq, row in enumerate(frame.iter_rows(named=True)))
            )
    return ranks * steps * (2 * modules + 1)


def _observed(seq: int, row: dict[str, Any]) -> dict[str, Any]:
    """A row with what the probe says besides; figures of a tensor with a NaN are NaN."""
    size = math.nan if row["nan_count"] else row["absmax"]
    told = {name: value for name, value in row.items() if value is not None}
    what = {
        "seq": seq,
        "dtype": "bfloat16",
        "shape": [8, 1024, 4096],
        "numel": 1 << 25,
        "timestamp": 1.795e9 + seq / 1000,
    }
    return {**told, **what, "min": -size, "max": size, "l2norm": 77.1 * size, "absmax": size}


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--ranks", default=1024, show_default=True)
@click.option("--steps", default=100, show_default=True)
@click.option("--modules", default=500, show_default=True)
@click.option("--files", default=64, show_default=True)
def main(folder: Path, ranks: int, steps: int, modules: int, files: int) -> None:
    """Write the files, skipping those that are there."""
    print(f"{make(folder, ranks, steps, modules, files):,} rows in {folder}")


def make(folder: Path, ranks: int, steps: int, modules: int, files: int) -> int:
    """Writes the files that are not there; how many rows they hold in all."""
    folder.mkdir(parents=True, exist_ok=True)
    each = -(-ranks // files)
    for number, first in enumerate(range(0, ranks, each)):
        target = folder / f"tensor_stats_{number:04d}.parquet"
        if not target.exists():
            part = target.with_suffix(".part")
            rows(first, min(first + each, ranks), ranks, steps, modules).sink_parquet(part, compression="zstd")
            part.rename(target)
    return ranks * steps * (2 * modules + 1)


if __name__ == "__main__":
    main()
