"""Progress of Hugging Face's Trainer and what builds on it (TRL, Swift, LLaMA-Factory): a dict per log, a bar per step.

    {'loss': 2.0491, 'grad_norm': 0.87, 'learning_rate': 1.9e-05, 'epoch': 0.28}
    {'loss': '0.0', 'grad_norm': 'nan', 'learning_rate': '1e-05', 'epoch': '0.53'}        (since 5.0)
    {'eval_loss': 1.9, 'eval_runtime': 3.4, 'epoch': 1.0}
    {'loss': 1.2, 'global_step/max_steps': '40/100', 'epoch': 0.4}                        (Swift)
    {"current_steps": 40, "total_steps": 100, "loss": 1.2, "epoch": 0.4}                  (LLaMA-Factory)
     14%|█▍        | 378/2724 [13:58:09<86:18:35, 132.44s/it]

A loss of 0.0 beside a grad_norm of nan hides a NaN (`logging_nan_inf_filter`): both are given as printed. A dict
without its step takes the count of the bar before it in the same file, null where there is none. A fast training draws its
bar too seldom for that, but draws it again right after each dict: where the counts after the dicts keep step with their
epochs and those before do not, they count. A Trainer's bar has no name before it, and the longest such bar of a file is the
one of training. Bars in files without dicts are no steps: anything may print a bar. What a step takes is the
pace of the bar, which tqdm smooths over the last steps.

Printed by: Hugging Face's Trainer, TRL, Swift, LLaMA-Factory, tqdm.
Versions: transformers 4.x and 5.x.
Source: trainer_callback.py of transformers; tqdm; Swift; LLaMA-Factory.
"""

import polars as pl

from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, conform
from parsers.training.progress import NUMBER, number, whole, with_reporter

_BAR = r"^\s*[0-9]{1,3}%\|[^|]*\|\s*([0-9]{1,15})/([0-9]{1,15}) \[[^\]]*\]"
_PACE = r"[<,]\s*([0-9.]{1,12})(s/it|it/s)[,\]]"
_STEP = r"""['"](?:global_step/max_steps|global_step|current_steps|step)['"]: ['"]?([0-9]{1,15})(?:/[0-9]+)?['"]?[,}]"""
_LOSS = rf"""['"]loss['"]: ['"]?{NUMBER}['"]?[,}}]"""
_EVAL = rf"""['"]eval_(?:[A-Za-z0-9_]+_)?loss['"]: ['"]?{NUMBER}['"]?[,}}]"""
_GRAD = rf"""['"]grad_norm['"]: ['"]?{NUMBER}['"]?[,}}]"""
_EPOCH = rf"""['"]epoch['"]: ['"]?{NUMBER}['"]?[,}}]"""
_DICT = r"""[{,]\s?['"](?:loss|eval_loss|eval_[A-Za-z0-9_]{1,100}_loss|grad_norm)['"]: ['"]?[+-]?(?i:nan|inf|[0-9.])"""
_RATE = r"""['"]epoch['"]: """  # in each of its dicts
_RANK = r"""['"](?:global_|local_|world_)?rank['"]: """  # and this in none: a record of somebody else's
_PRINTER = ["file", "rank", "local_rank", "task"]


def parse(lines: pl.DataFrame) -> Tables:
    """steps: a row per dict and, in files with dicts, per step of the bar; claimed: other pieces of the bar."""
    text = pl.col("text")
    known = with_reporter(lines).with_columns(
        is_dict=text.str.contains(_DICT) & text.str.contains(_RATE) & ~text.str.contains(_RANK),
        count=whole(_BAR),
        total=text.str.extract(_BAR, 2).cast(pl.Int64, strict=False),
        pace=number(_PACE),
    )
    known = known.filter(pl.col("is_dict").any().over(_PRINTER))
    is_training = pl.col("total") == pl.col("total").max().over(_PRINTER)
    of_step = pl.when(text.str.extract(_PACE, 2) == "it/s").then(1e3 / pl.col("pace")).otherwise(1e3 * pl.col("pace"))
    known = known.with_columns(
        count=pl.when(is_training).then(pl.col("count")),
        elapsed_ms=pl.when(is_training & (pl.col("pace") > 0)).then(of_step),
    )
    bars = known.filter(pl.col("count").is_not_null() & ~pl.col("is_dict"))
    count = pl.col("count")
    known = known.with_columns(last=count.forward_fill().over(_PRINTER), next=count.backward_fill().over(_PRINTER))
    steps = pl.concat([_dicts(_counted(known.filter("is_dict"))), _bars(bars)])
    steps = steps.sort("file", "line", "step", nulls_last=True, maintain_order=True)
    claimed = bars.select("file", "line").unique(maintain_order=True)
    return {"steps": steps, "claimed": conform("claimed", claimed)}


def _counted(dicts: pl.DataFrame) -> pl.DataFrame:
    """Adds `count`: of the bar before, or of the one after where these fit the epochs far better."""
    epoch = number(_EPOCH)

    def drift(count: str) -> pl.Expr:
        steps = (pl.col(count) / epoch).filter(epoch > 0)
        return (steps.std() / steps.mean()).over(_PRINTER)

    is_next = drift("next") < drift("last") / 4
    return dicts.with_columns(count=pl.when(is_next).then(pl.coalesce("next", "last")).otherwise("last"))


def _dicts(lines: pl.DataFrame) -> pl.DataFrame:
    is_eval = pl.col("text").str.contains(_EVAL) & ~pl.col("text").str.contains(_LOSS)
    loss = pl.coalesce(number(_LOSS), number(_EVAL))
    return conform("steps", lines.select(
        *_who(), step=pl.coalesce(whole(_STEP), "count"), phase=pl.when(is_eval).then(pl.lit("eval")).otherwise(pl.lit("train")),
        loss=loss, loss_seen=pl.when(loss.is_not_null()).then(pl.lit(True)), grad_norm=number(_GRAD), elapsed_ms=pl.col("elapsed_ms"),
    ))  # fmt: skip


def _bars(lines: pl.DataFrame) -> pl.DataFrame:
    """The first piece of the bar for each step."""
    first = lines.unique([*_PRINTER, "count"], keep="first", maintain_order=True)
    return conform("steps", first.select(*_who(), "elapsed_ms", step=pl.col("count"), phase=pl.lit("train")))


def _who() -> list[pl.Expr]:
    named = [pl.col(name) for name in ("rank", "local_rank", "time_ns", "time_basis", "file", "line")]
    return [*named, pl.lit("hf_trainer").alias("framework")]


PARSER = LineParser(
    name="hf_trainer",
    anchors=(
        b"'loss': ", b'"loss": ', b"'eval_loss': ", b"_loss': ", b"'grad_norm': ", b'"grad_norm": ', b"s/it]", b"it/s]",
    ),
    parse=parse,
)  # fmt: skip
