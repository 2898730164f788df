"""Bad figures of evaluations accuse nobody: a rank whose part of the data is empty has no mean to show. Where all ranks show one, the
evaluation of the job is bad, whoever's that is."""

import polars as pl

from forensics.model.told import has_kind


def without_evaluations(events: pl.DataFrame, job: frozenset[int]) -> pl.DataFrame:
    """Events → without those of some ranks alone; those of all are of no rank."""
    if not has_kind(events, "nan_assert"):
        return events
    text = pl.col("detail").cast(pl.String)
    is_of_it = (pl.col("kind") == "nan_assert") & text.str.contains('"scope": "evaluation"', literal=True).fill_null(
        False
    )
    told = events.filter(is_of_it)
    if not told.height:
        return events
    if not job or not job <= set(told["rank"].drop_nulls().to_list()):
        return events.filter(~is_of_it)
    nobody = [
        pl.when(~is_of_it).then(name).alias(name) for name in ("rank", "rank_space", "names_ranks", "names_rank_space")
    ]
    return events.with_columns(nobody)
