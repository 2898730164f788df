"""How far the job came: whether it had begun, and the step that was in progress."""

import polars as pl

from parsers.schema.tables import Tables

_AT_START = r"(?i)\b(?:start(?:up|ing)?|init\w*|launch|bring[- ]?up|rendezvous)[ _-]barrier\b|\bbarrier (?:of|at) (?:the )?(?:start|init|launch)"
_TOLD = ("loss", "grad_norm", "elapsed_ms", "learning_rate", "figures", "checksum", "loss_scale", "parts")
_COUNTS = 3  # steps of which a rank prints figures in words that nobody knows


def newest(numbers: pl.Series) -> int | None:
    """The largest of integers, null where there is none."""
    value = numbers.max()
    return value if isinstance(value, int) else None


def step_in_progress(steps: pl.DataFrame, rank: int | None = None, at: int | None = None) -> int | None:
    """Last completed step + 1: the rank's own where it printed steps, else what most ranks say. None where steps are told after `at`, a moment."""
    steps = steps.filter((pl.col("phase") == "train").fill_null(True) & pl.col("step").is_not_null())
    if at is not None and (steps["time_ns"] > at).any():
        return None
    own = steps.filter(pl.col("rank") == rank) if rank is not None else steps.clear()
    if not steps.height:
        return None
    last = completed_last(own if own.height else steps)["step"].value_counts()
    return int(last.sort(["count", "step"], descending=True)["step"][0]) + 1


def completed_last(steps: pl.DataFrame) -> pl.DataFrame:
    """rank, step: the last one that was over. Where that with the highest number lacks what every step before it told, it is the one before: the
    lines of a step are printed one after the other."""
    told = steps.group_by("rank", "step").agg(
        *(pl.col(name).is_not_null().any() for name in _TOLD), pl.col("parts").max().fill_null(0).alias("lines")
    )
    is_last = pl.col("step") == pl.col("step").max().over("rank")
    lacks = pl.any_horizontal(~pl.col(name) & (pl.col(name) | is_last).all().over("rank") for name in _TOLD)
    usual = pl.col("lines").filter(~is_last)
    lacks |= (pl.col("lines") < usual.min().over("rank")) & (usual.n_unique().over("rank") == 1)
    is_open = lacks & (pl.len().over("rank") > _COUNTS)
    return told.select(
        pl.col("rank").filter(is_last), pl.col("step").filter(is_last) - is_open.filter(is_last).cast(pl.Int64)
    )


def has_begun(tables: Tables, events: pl.DataFrame) -> bool:
    """Had the run come past its start: steps, figures of several ranks beside a count of them, recorded operations, or a communication that timed out? One whose line counts who
    joined, or that calls it so, is the barrier of a start."""
    if tables["steps"].height or tables["operations"].height or tables["tensors"].height:
        return True
    counting = tables["values"].drop_nulls(["rank", "step"]).group_by("rank").agg(pl.col("step").n_unique())
    if counting.filter(pl.col("step") >= _COUNTS).height > 1:
        return True
    at_start = (pl.col("op") == "barrier") & pl.col("text").cast(pl.String).str.contains(_AT_START)
    told = events.filter(pl.col("kind").is_in(["collective_timeout", "desync", "checkpoint_save"]))
    told = told.filter(~at_start.fill_null(False))
    if not told.height:
        return False
    joining = events.filter(pl.col("kind") == "missing_members").select("file", "line").drop_nulls()
    return told.join(joining, on=["file", "line"], how="anti").height > 0
