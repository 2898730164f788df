"""Progress bars that carry the loss: PyTorch Lightning, NeMo 1 and scripts that set tqdm's postfix.

    Epoch 0:   1%|     | 795/77225 [9:07:58<878:01:48, 41.36s/it, loss=3.1, reduced_train_loss=3.090, global_step=794.0]
    Epoch 3: 100%|██████| 40/40 [00:10<00:00,  4.00it/s, v_num=2, train_loss_step=nan, train_loss_epoch=2.1]

Step = global_step where it is printed, else the bar's count (framework `tqdm`), which begins anew with each epoch. A bar is drawn again
and again: of pieces with the same figures the first counts. elapsed_ms is tqdm's smoothed figure. Bars of validation,
tests and predictions are phase `eval`.

Printed by: PyTorch Lightning, NeMo 1, scripts with tqdm's postfix.
Versions: Lightning 1.x and 2.x, NeMo 1.x.
Source: the progress bars of Lightning and NeMo; tqdm.
"""

import polars as pl

from parsers.schema.event_kinds import BAR
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, conform
from parsers.training.progress import COUNT, NUMBER, number, rows, whole, with_reporter

_BAR = rf"[0-9]{{1,3}}%\|[^|]{{0,200}}\|\s*{COUNT}/[0-9]{{1,15}} \[[^\]]{{0,60}}?(?:s/it|it/s|\?it/s), .{{0,2000}}?[Ll]oss[A-Za-z0-9_]*="
_LOSSES = ("reduced_train_loss", "train_loss_step", "train_loss", r"(?:train/)?[Ll]oss")


def parse(lines: pl.DataFrame) -> Tables:
    """steps; claimed: pieces of the bar that say nothing new."""
    known = with_reporter(lines)
    text = pl.col("text")
    mine = known.filter(text.str.contains(_BAR))
    loss = pl.coalesce(number(rf"[ ,]{name}={NUMBER}") for name in _LOSSES)
    others = rf"[ ,][A-Za-z0-9_]{{1,40}}[Ll]oss={NUMBER}"  # the only one, under a name of the script's own
    is_other = text.str.contains(r"[ ,](?:val|eval|test|best|min|prev|last)\w*=")
    is_one = (text.str.count_matches(r"[Ll]oss[A-Za-z0-9_]*=") == 1) & ~is_other
    loss = pl.coalesce(loss, pl.when(is_one).then(number(others)))
    global_step = number(rf"\bglobal_step={NUMBER}").cast(pl.Int64, strict=False)
    per_step = number(r"[ ,]([0-9.]{1,20})s/it")
    per_second = number(r"[ ,]([0-9.]{1,20})it/s")
    framework = (
        pl.when(global_step.is_null()).then(pl.lit(BAR))
        .when(text.str.contains("reduced_train_loss=")).then(pl.lit("nemo"))
        .when(text.str.contains("v_num=")).then(pl.lit("lightning"))
    )  # fmt: skip
    is_eval = text.str.contains(r"^\s*(?:Valid|Test|Predict|Sanity)")
    made = rows(
        mine,
        framework,
        phase=pl.when(is_eval).then(pl.lit("eval")).otherwise(pl.lit("train")),
        step=pl.coalesce(global_step, whole(_BAR)),
        loss=pl.when(~is_eval).then(loss),  # its bar goes on showing that of the training
        loss_seen=pl.when(loss.is_not_null() & ~is_eval).then(pl.lit(True)),
        grad_norm=number(rf"[ ,]grad(?:ient)?_norm={NUMBER}"),
        elapsed_ms=pl.coalesce(per_step, pl.when(per_second > 0).then(1 / per_second)) * 1000,
        samples=number(rf"[ ,]consumed_samples={NUMBER}").cast(pl.Int64, strict=False),
    )
    steps = made.unique(["file", "rank", "local_rank", "step", "phase", "loss"], keep="first", maintain_order=True)
    places = mine.select("file", "line").unique(maintain_order=True)
    return {"steps": steps, "claimed": conform("claimed", places)}


PARSER = LineParser(name="lightning", anchors=(b"s/it, ", b"it/s, "), parse=parse)
