"""Bad figures of evaluations. One rank's alone accuses nobody: a rank whose part of the data is empty has no mean to show. Where all ranks show
one, or who prints for the job, the evaluation of the job is bad, whoever's that is; if few ranks' own were no numbers then, and all others'
were, it is theirs that made it so.

A record that tells a loss of the training as well may fill in NaN where nothing was evaluated: its first ones are numbers, and none comes after
a NaN, or it says nothing; nor does a NaN that comes sooner after a number than any other number did.

What only judges (a recall, the loss of one class) has no value where there is nothing to judge: while the losses of all stay numbers, nothing came of it.
"""

import polars as pl

from forensics.model.told import has_kind, values

_FIRST = 2  # figures of evaluations that were numbers, of a record that may fill in others
_JUDGES = r"(?i)(?:^|[^a-z])(?:loss(?:es)?|recall|precision|f1|auc|auroc|acc(?:uracy)?|iou|map|ap|bleu|rouge|wer|cer|ppl|perplexity)(?:[^a-z=\s][^=\s]*)?="
_SCOPE = '{"scope": "evaluation"}'


def without_evaluations(events: pl.DataFrame, steps: pl.DataFrame, job: frozenset[int]) -> pl.DataFrame:
    """Events, steps → events without those of some ranks alone; those of all are of no rank, or of the ranks that made them bad."""
    shown = _shown(steps)
    lost = shown.filter(pl.col("loss").is_nan())
    if not lost.height and not has_kind(events, "nan_assert"):
        return events
    is_told = pl.col("detail").cast(pl.String).str.contains('"scope": "evaluation"', literal=True)
    is_of_it = (pl.col("kind") == "nan_assert") & is_told.fill_null(False)
    kept = events.filter(~is_of_it)
    told = pl.concat([events.filter(is_of_it), _as_events(lost, events)])
    ranks = frozenset(values(told["rank"]))
    is_of_nobody = bool(told["rank"].is_null().any())
    at = told.filter(pl.col("rank").is_not_null())["step"].drop_nulls()
    then = pl.col("step").is_in(at.implode()) if len(at) else pl.lit(value=True)
    fine = frozenset(values(shown.filter(pl.col("loss").is_finite() & then)["rank"])) - ranks
    is_of_all = bool(ranks) and (job <= ranks if job else True)
    if not (is_of_nobody or is_of_all or _is_by_printer(shown, ranks)):
        return kept
    made = is_of_nobody and ranks and 2 * len(ranks) < len(job) and ranks | fine == job
    whose = pl.col("rank").is_in(sorted(ranks) if made else [])
    columns = ("rank", "rank_space", "names_ranks", "names_rank_space")
    return pl.concat([kept, told.with_columns(pl.when(whose).then(name).alias(name) for name in columns)])


def _shown(steps: pl.DataFrame) -> pl.DataFrame:
    """The losses of evaluations, in the order of their printers; without what only fills in."""
    loss = pl.col("loss").is_not_null()
    own = steps.filter((pl.col("phase") == "eval") & loss).sort("file", "line", nulls_last=True)
    if not own.height:
        return own
    trained = steps.filter((pl.col("phase").fill_null("train") == "train") & loss).select("file", "line").unique()
    mixed = own.join(trained, on=["file", "line"], how="semi")
    printer = ("file", "rank")
    is_lost = pl.col("loss").is_nan()
    at = pl.int_range(pl.len()).over(printer)
    first = at.filter(is_lost).min().over(printer)
    is_real = (first >= _FIRST) & (is_lost | (at < first)).all().over(printer)
    line = pl.col("line").cast(pl.Int64)
    numbers = line.filter(~is_lost)
    is_between = line - numbers.max().over(printer) < numbers.diff().min().over(printer)
    mixed = mixed.filter(~is_lost | (is_real & ~is_between.fill_null(False)))
    return pl.concat([own.join(trained, on=["file", "line"], how="anti"), mixed])


def _is_by_printer(shown: pl.DataFrame, ranks: frozenset[int]) -> bool:
    """Is it one rank's that alone prints figures of evaluations, and printed numbers before: those of the job?"""
    told = frozenset(values(shown["rank"]))
    return len(ranks) == 1 and ranks == told and bool(shown["loss"].is_finite().any())


def _as_events(lost: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    said = {"kind": "nan_assert", "code": "loss", "severity": "error", "detail": _SCOPE}
    space = pl.when(pl.col("rank").is_not_null()).then(pl.lit("global"))
    rows = lost.with_columns(*(pl.lit(value).alias(name) for name, value in said.items()), space.alias("rank_space"))
    rows = rows.with_columns(pl.format("loss of an evaluation: {}", "loss").alias("text"))
    given = [name for name in events.columns if name in rows.columns]
    empty = [pl.lit(None).alias(name) for name in events.columns if name not in rows.columns]
    return rows.select(*given, *empty).select(events.columns).cast(events.schema)


def without_judging(values: pl.DataFrame, steps: pl.DataFrame, job: frozenset[int]) -> pl.DataFrame:
    """Rows of `values` without the bad figures that only judge, where every rank tells losses from the first of them on, and all of these are numbers."""
    bad = pl.col("bad").str.split(" ")
    of_it = pl.element().str.contains(_JUDGES)
    first = values.filter(pl.col("bad").str.contains(_JUDGES))["step"].min()
    if not isinstance(first, int):
        return values
    after = steps.filter(
        (pl.col("phase").fill_null("train") == "train") & pl.col("loss").is_not_null() & (pl.col("step") >= first)
    )
    if not after["loss"].is_finite().all() or not job <= {*after["rank"].drop_nulls()}:
        return values
    kept = bad.list.eval(pl.element().filter(~of_it)).list.join(" ")
    return values.with_columns(pl.when(kept != "").then(kept).alias("bad"))
