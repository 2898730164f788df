"""Progress lines that training scripts print, and how they say that they begin, end or give up.

    2026-01-31 10:11:12.689 [rank3] INFO train: step 5 loss 0.2131 grad_norm 0.87
    2026-01-31 10:11:12.989 [rank3] INFO train: step 6 done (pp=2 dp=0)
    iter 812: loss 1.5455, time: 401.19ms
    iter 16 step 4 | loss train: 2.300, val: n/a | iter time: 12.34 ms (step)
    step:  1  loss:  7.5432  grad_norm:  1.2345  memory:  4.10GiB(44.30%)  tps: 1,234  tflops: 12.34  mfu: 12.30%
    completed step: 240, seconds: 11.913, TFLOP/s/device: 139.1, total_weights: 524288, loss: 4.306       MaxText
    tflops=18.3 step=7 loss=11.64 tgs (tokens/gpu/second)=425.64 loss_scale=65536.0
    Epoch [1/10], Step [100/500], Loss: 2.3000
     iteration      40/     100 | consumed samples:   640 | elapsed time per iteration (ms): 7613.1 | lm loss: 7.3E-01 |
       loss scale: 1.0 | grad norm: 0.75 | number of skipped iterations:   0 | number of nan iterations:   0 |
    iteration 40/100 | elapsed time per iteration: 7613.1 ms |                 (Megatron-Bridge and wrapped terminals: several
    loss scale: 1.0 | grad norm: nan | number of skipped iterations: 0          lines an iteration, joined)
    Epoch: [0][383/1512]  Time 1.4 (2.4)  Loss 6.7861e+00 (6.9e+00)             PyTorch's ImageNet example and its kin
    Train: 3 [  50/1251 (  4%)]  Loss: 6.94 (6.93)                              timm
    01/31 10:11:12 - mmengine - INFO - Epoch(train)  [1][ 50/625]  lr: 1.0000e-02  eta: 0:10:00  loss: 2.3000  grad_norm: nan
    iteration: 32 / 37 | consumed_tokens: 85.8G | elapsed_time_per_iteration_ms: 11.5K | lm_loss: 2.38 | grad_norm: 1.2
    Training epoch 0, iteration 12/14 | lr: 3e-05 | global_step: 12 | reduced_train_loss: 1.23
    { Epoch:[  1/  2], step:[  257/ 1000], loss: 3.126, per_step_time: 880ms, overflow cond: True, loss_scale: 1.0, global_norm: [inf]
    valid loss at iteration 40 | lm loss value: 2.3E+00 | lm loss PPL: 1.0E+01 |
    … | INFO | train_inner | epoch 002:    40 / 90 loss=4.21, nll_loss=3.1, num_updates=130, gnorm=0.7, loss_scale=16
    (TaskRunner pid=4711) step:12 - actor/pg_loss:-0.003 - actor/grad_norm:nan - critic/rewards/mean:nan
    Train epoch time: 508971.470 ms, per step time: 814.354 ms                  MindSpore; a mean since the last such line
    625/625 - 508s - loss: 5.13 - 508s/epoch - 814ms/step                       Keras
    … init done pid=4711 world=8 backend=gloo torch=2.15.0
    epoch: 1 step: 212, loss is 2.3124                                          MindSpore's LossMonitor
    … loss is nan, aborting at step 5

Megatron and Megatron-DeepSpeed leave the field `lm loss` out when the loss of every micro-batch was NaN, and count no
nan iteration for it: `loss_seen` is false then. Steps are as printed, counts within an epoch too. Only lines in which the count and its loss (or
`done`, `ok`) stand together are read, because sentences mention steps, too.

The losses of reinforcement learning cross zero and measure no progress: verl's are kept only where they are not finite.

Printed by: Megatron-LM, Megatron-DeepSpeed, nanotron, NeMo, torchtitan, litgpt, MindFormers, InternLM, Lightning, fairseq, verl
and plain scripts.
Versions: those of 2020 to 2025.
Source: the logging code of these projects; fairseq: logging/progress_bar.py, fairseq_cli/train.py; verl: verl/utils/logger/
(`concat_dict_to_str`).
"""

import re

import polars as pl

from parsers.schema.event_kinds import BAR, MEAN
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, conform, empty, table
from parsers.text.patterns import regex
from parsers.text.sides import GIVEN, TAKEN
from parsers.text.vocabulary import COPIES
from parsers.training import reduced_losses
from parsers.training.ends import INIT, OF_INIT, happenings
from parsers.training.line_figures import beside_losses
from parsers.training.progress import COUNT, NUMBER, Said, number, rows, scale, whole, with_reporter
from parsers.training.told_values import of_line, rows_of_lines

_MEGATRON = rf"(?:^|[\s\]:])iteration\s+{COUNT}/\s*[0-9]+\s*\|"
_NANOTRON = rf"iteration: {COUNT} / [0-9]+ \|"
_NEMO = r"Training epoch [0-9]+, iteration [0-9]+/[0-9]+ \|"
_EVAL = rf"(?:valid[A-Za-z0-9_]*|test) loss at iteration {COUNT} \|"
_COPY = rf"(?:{'|'.join(COPIES)})"
_JUDGED = rf"(?:^|[\s,;|(])(?:{_COPY}[ _/.])?(?:eval|val|valid|validation|test|dev)[ _/.]?(?:{_COPY}[ _/.])?loss(?:[ _/.]{_COPY})?[\s=:]+"
_EVAL_LOSS, _EVAL_LOST = rf"(?i:{_JUDGED}){NUMBER}", rf"(?i){_JUDGED}[+-]?nan\b"
# What follows an iteration's line and is none of its own: pairs of a name and a value.
_MORE = r"^\s*(?:\|\s*)?(?:[a-z][A-Za-z ()/_-]{1,60}:\s*(?:[-+]?[0-9.][0-9A-Za-z.+-]{0,24}|[+-]?(?i:nan|inf))(?:\s*\|\s*|\s*$))+$"
_JOINED = 6  # lines of one iteration at most
_BRACKETED = (
    rf"\b(?:Epoch|Train|Iter)(?:\(train\))?:?\s*(?:\[?\s*[0-9]{{1,9}}(?:/[0-9]{{1,9}})?\s*\]?:?\s*)?\[\s*{COUNT}\s*/\s*[0-9]{{1,15}}"
    r"(?:\s*\([^)]{0,12}\))?\s*\]"
)
_IN_EPOCH = r"\b(?:Epoch|Train)(?:\(train\))?:?\s*\[?\s*[0-9]{1,9}(?:/[0-9]{1,9})?\s*\]?:?\s*\[\s*[0-9]"  # batches behind the number of an epoch
_BRACKETED_LOSS = rf"\b[Ll]oss:?[\s=]+{NUMBER}"
_MINDFORMERS = rf"\bstep:\[\s*{COUNT}/\s*[0-9]+\], loss: *{NUMBER}"
_FAIRSEQ = rf"\| train_inner \| .*?\bnum_updates(?:=|\": \"){COUNT}"  # its bars `simple` and `json`
_VERL = rf"(?:^|[\s\]])step:{COUNT} - [A-Za-z_]+/"
_SCALAR = r"(?:np\.float(?:32|64)\()?"  # later versions print what numpy calls it
_VERL_PAIR = rf"- (?:response_length|prompt_length|actor|critic|global_seqlen|val|rollout)[\w/.@-]*:{_SCALAR}{NUMBER}"
_AS_PAIR = pl.element().str.replace(r"^- ", "").str.replace(rf":{_SCALAR}", "=")
_PAIRS = (
    r"(?:[\s,;|-]+[A-Za-z_/][A-Za-z0-9_/]{0,24}(?:\[[A-Za-z/,| ]{1,24}\])?[\s=:]+[-+]?(?:[0-9.][0-9.e+-]{0,20}[A-Za-z%/]{0,8}|(?i:nan|inf))"
    r"(?:/[-+]?[0-9.]{1,20})?){0,8}"
)
_LOSS = rf"(?i:(?:(?:train|local)[_ ])?loss(?: train)?)(?:[\s=:]+|\s+is\s+){NUMBER}"
_PLAIN_HEAD = rf"(?:^|[\s\]])(?i:(?:global_|train_)?step|iter(?:ation)?|batch|update)(?:\s+|[=:]\s*)(?:\[\s*)?{COUNT}(?:/[0-9]+)?\]?"
_PLAIN = rf"{_PLAIN_HEAD}(?:\s+(?i:done|ok|completed?|finished)\b|\s*[,:;|-]?\s*{_LOSS})"
_APART = rf"{_PLAIN_HEAD}{_PAIRS}\s*[,:;|-]?\s*{_LOSS}"  # other values stand between the count and its loss
_OF_COUNT = ("step", "iter", "batch", "update")
_COUNTED = pl.col("text").str.contains(_PLAIN) | pl.col("text").str.contains(_APART)
_NOT_TRAINING = (
    r"(?i)(?:checkpoint|sav(?:e|ed|ing)|load(?:ed|ing)|eval[A-Za-z0-9_]*|valid[A-Za-z0-9_]*)\b.{0,60}\b(?:step|iter)"
)
_BAD_COUNT = r"(?i)(?:^|[^a-z])(?:n(?:um)?_?)?(?:non[_-]?fin(?:ite)?|nans?|infs?)(?:_?(?:count|values|elements|num)|_[a-z_]{2,30})?[=: ]{1,3}[0-9]"
_TOOK, _GAVE = (
    rf"(?i)(?:^|[^a-z])(?:{'|'.join(sorted(side))})(?:[_/. ][a-z_]{{1,12}}){{0,2}}[ =:]{{1,2}}(?:[-+]?[0-9]|nan|inf)"
    for side in (TAKEN, GIVEN)
)  # figures of both sides of a part
_COORDINATES = r"\(((?:(?:tp|pp|dp|ep|cp)=[0-9]{1,9}[ ,]*)+)\)"
_PER_S = rf"(?i)(?:\b(?:tok(?:en)?s?|samples?|sequences?|seqs?|ima?ge?s?) ?(?:/|per[_ ]) ?s(?:ec(?:ond)?)?|\btps|\btgs(?: \([^)]{{1,40}}\))?)[\s=:]+{NUMBER}(?:[\s,;|)\]]|$)"
_PER_S_BEHIND = rf"(?i){NUMBER} ?(?:tok(?:en)?s?|samples?|sequences?|seqs?|ima?ge?s?|words|examples) ?(?:/|per) ?s(?:ec(?:ond)?)?(?:\s*$|\s*[,;|)\]]|\s+[^\s=:])"
_EACH = r"(?:step|iter(?:ation)?|batch)"
_OF_MEAN = (
    *(f"per{apart}{each}" for apart in " _-" for each in ("step", "iter", "batch")),
    *(f"{each}{apart}time" for apart in " _" for each in ("step", "iter", "iteration", "batch")),
    *(f"s/{each}" for each in ("step", "iter", "batch")),
)  # one stands in each line that _PER_STEP finds
_PER_STEP = (
    rf"(?i)\b(?:per[ _-]{_EACH}(?:[ _]time)?|(?:time|seconds) per {_EACH}|(?:avg|average|mean)[ _]{_EACH}[ _]time)[\s:=]{{1,3}}{NUMBER} ?(ms|s)\b",
    rf"(?i)[\s:=(]{NUMBER} ?(ms|s)/{_EACH}\b",
)
_OF_MICRO = r"(?i)(?:^|[^a-z])(?:mbs?|ubatch|micro[a-z _-]{0,16})[ =:#_]{1,3}\d"  # what of_line may find one by
_AXES = ("tp", "pp", "dp", "ep", "cp")
_SCALES = {"K": 1e3, "M": 1e6, "G": 1e9, "B": 1e9, "T": 1e12}


def parse(lines: pl.DataFrame) -> Tables:
    """steps, one row per progress line; values, where bad ones are counted; ranks, settings; events job_start, job_end, bad_loss."""
    known = with_reporter(lines)
    known, joined = _joined(known)
    said = Said(known)
    counts = said.holds(*_OF_COUNT) and said.holds("loss", "done", "ok", "complete", "finished")
    known = known.with_columns(is_counted=_COUNTED if counts else pl.lit(value=False))
    counted = known.filter("is_counted")
    forms = [form(known) for form, words in _FORMS.items() if said.holds(*words)]
    plain = [_beside(counted), _plain(counted, said)] if counts else []
    steps = pl.concat([empty("steps"), *forms, *plain])
    beside = beside_losses(known, steps)
    reduced = [reduced_losses.of_lines(known, steps)] if said.holds("nan", "inf") else []
    means = [_means(known, steps)] if said.holds(*_OF_MEAN) else []
    steps = pl.concat([beside["steps"], *reduced, *means])
    events, settings = happenings(known, said)
    told = _values(counted, said)
    others = beside["values"].join(told, on=["file", "line"], how="anti", maintain_order="left")
    return {
        "steps": _in_parts(steps, known).sort("file", "line", maintain_order=True),
        "ranks": _claims(known, said),
        "settings": settings,
        "events": events,
        "values": pl.concat([told, others]),
        "claimed": joined,
    }


def _in_parts(steps: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """The same with the micro-batch that a line is of, where several lines tell a loss of one step."""
    parts = steps.filter(pl.col("loss").is_not_null() & (pl.len().over("file", "rank", "step") > 1))
    texts = known.join(parts, on=["file", "line"], how="semi").select("file", "line", "text")
    texts = texts.filter(pl.col("text").str.contains(_OF_MICRO))
    said = ((file, line, (of_line(text)[1] or {}).get("microbatch")) for file, line, text in texts.iter_rows())
    found = [one for one in said if one[2] is not None]
    told = pl.DataFrame(
        found, schema={"file": steps.schema["file"], "line": pl.Int64, "_micro": pl.Int64}, orient="row"
    )
    if told.is_empty():
        return steps
    joined = steps.join(told.unique(["file", "line"]), on=["file", "line"], how="left", maintain_order="left")
    return joined.with_columns(pl.coalesce("microbatch", "_micro").alias("microbatch")).drop("_micro")


def _joined(lines: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Lines, those of one iteration as one; and the places of what was joined to the line before. Others that came only
    because they follow a hit are left out."""
    if lines["hit"].all():
        return lines, empty("claimed")
    head = pl.col("text").str.contains(_MEGATRON)
    marked = lines.with_columns(_at=pl.when(head).then("line").forward_fill().over("file"))
    follows = (pl.col("line") - pl.col("_at")).is_between(1, _JOINED) & pl.col("text").str.contains(_MORE) & ~head
    marked = marked.with_columns(_more=follows.fill_null(False))
    # Only an unbroken run of such lines belongs to the head.
    run = pl.col("_more").cum_sum().over("file", "_at") == pl.col("line") - pl.col("_at")
    marked = marked.with_columns(_more=pl.col("_more") & run.fill_null(False))
    rest = marked.filter("_more")
    if rest.is_empty():
        return lines.filter("hit"), empty("claimed")
    more = pl.col("text").str.strip_chars().str.join(" | ").alias("_rest")
    texts = rest.group_by("file", pl.col("_at").alias("line"), maintain_order=True).agg(more)
    own = marked.filter(pl.col("hit") & ~pl.col("_more"))
    whole = own.join(texts, on=["file", "line"], how="left", maintain_order="left")
    text = pl.when(pl.col("_rest").is_not_null()).then(pl.concat_str("text", pl.lit(" | "), "_rest")).otherwise("text")
    return whole.with_columns(text=text).drop("_at", "_more", "_rest"), conform("claimed", rest.select("file", "line"))


def _megatron(lines: pl.DataFrame) -> pl.DataFrame:
    text = pl.col("text")
    mine = lines.filter(text.str.contains(_MEGATRON) & ~text.str.contains(_NEMO))
    elapsed = number(rf"elapsed time per iteration \(ms\): *{NUMBER}")
    elapsed_s = number(rf"elapsed time per iteration \(s\): *{NUMBER}")
    elapsed = pl.coalesce(elapsed, number(rf"elapsed time per iteration: *{NUMBER} *ms"))
    loss = rf"\| *(?:lm )?loss:? *{NUMBER}"
    # The loss stands before these, so a line that was cut before them says nothing of its absence.
    has_passed_loss = text.str.contains(r"loss scale:? |grad norm:? |number of (?:skipped|nan) iterations:? ")
    seen = pl.when(text.str.contains(loss)).then(pl.lit(True)).when(has_passed_loss).then(pl.lit(False))
    return rows(
        mine,
        "megatron",
        step=whole(_MEGATRON),
        loss=number(loss),
        loss_seen=seen,
        grad_norm=number(rf"grad norm:? *{NUMBER}"),
        loss_scale=number(rf"loss scale:? *{NUMBER}"),
        skipped=whole(rf"number of skipped iterations:? *{COUNT}"),
        nan_iterations=whole(rf"number of nan iterations:? *{COUNT}"),
        elapsed_ms=pl.coalesce(elapsed, elapsed_s * 1000),
        tflops=pl.coalesce(number(rf"TFLOPs: *{NUMBER}"), number(rf"throughput per GPU \(TFLOP/s/GPU\): *{NUMBER}")),
        samples=whole(rf"consumed samples: *{COUNT}"),
        tokens=whole(rf"consumed tokens: *{COUNT}"),
    )


def _means(lines: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """What a step took on average, on lines that count none: `step` counts these lines of the file."""
    text = pl.col("text")
    mine = lines.filter(pl.any_horizontal(text.str.contains(one) for one in _PER_STEP))
    mine = mine.join(steps, on=["file", "line"], how="anti", maintain_order="left").sort("file", "line")
    unit = pl.coalesce(text.str.extract(one, 2) for one in _PER_STEP).str.to_lowercase()
    return rows(
        mine,
        None,
        phase=pl.lit(MEAN),
        step=pl.int_range(1, pl.len() + 1).over("file"),
        elapsed_ms=pl.coalesce(number(one) for one in _PER_STEP) * pl.when(unit == "ms").then(1.0).otherwise(1000.0),
    )


def _human(name: str) -> pl.Expr:
    """`11.5K` → 11500.0"""
    pattern = rf"\b{name}: {NUMBER}([KMGBT]?)"
    unit = pl.col("text").str.extract(pattern, 2).replace_strict(_SCALES, default=1.0, return_dtype=pl.Float64())
    return number(pattern) * unit


def _nanotron(lines: pl.DataFrame) -> pl.DataFrame:
    return rows(
        lines.filter(pl.col("text").str.contains(_NANOTRON)),
        "nanotron",
        step=whole(_NANOTRON),
        loss=_human("lm_loss"),
        grad_norm=_human("grad_norm"),
        elapsed_ms=_human("elapsed_time_per_iteration_ms"),
        tflops=_human("model_tflops_per_gpu"),
        tokens=_human("consumed_tokens").round().cast(pl.Int64, strict=False),
    )


def _nemo(lines: pl.DataFrame) -> pl.DataFrame:
    return rows(
        lines.filter(pl.col("text").str.contains(_NEMO)),
        "nemo",
        step=whole(rf"global_step: {COUNT}"),
        loss=number(rf"reduced_train_loss: {NUMBER}"),
        grad_norm=number(rf"grad_norm: {NUMBER}"),
        elapsed_ms=number(rf"train_step_timing in s: {NUMBER}") * 1000,
        samples=whole(rf"consumed_samples: {COUNT}"),
    )


def _mindformers(lines: pl.DataFrame) -> pl.DataFrame:
    text = pl.col("text")
    return rows(
        lines.filter(text.str.contains(_MINDFORMERS)),
        "mindformers",
        step=whole(_MINDFORMERS),
        loss=number(_MINDFORMERS, 2),
        loss_seen=pl.lit(True),
        grad_norm=number(rf"global_norm: *\[?{NUMBER}"),
        loss_scale=number(rf"loss_scale: *{NUMBER}"),
        skipped=text.str.extract(r"overflow cond: (True|False)", 1).eq("True").cast(pl.Int64),
        elapsed_ms=number(rf"per_step_time: *{NUMBER}ms"),
    )


def _fairseq(lines: pl.DataFrame) -> pl.DataFrame:
    return rows(
        lines.filter(pl.col("text").str.contains(_FAIRSEQ)),
        "fairseq",
        step=whole(_FAIRSEQ),
        loss=_fairseq_value("loss"),
        grad_norm=_fairseq_value("gnorm"),
        loss_scale=_fairseq_value("loss_scale"),
    )


def _fairseq_value(name: str) -> pl.Expr:
    return number(rf"[\s,\"]{name}(?:=|\": \"){NUMBER}")


def _verl(lines: pl.DataFrame) -> pl.DataFrame:
    mine = lines.filter(pl.col("text").str.contains(_VERL))
    loss = number(rf"\bactor/pg_loss:{_SCALAR}{NUMBER}")
    return rows(
        mine,
        "verl",
        step=whole(_VERL),
        loss=pl.when(~loss.is_finite()).then(loss),
        loss_seen=pl.lit(None, dtype=pl.Boolean),
        grad_norm=number(rf"\bactor/grad_norm:{_SCALAR}{NUMBER}"),
        figures=pl.col("text").str.extract_all(_VERL_PAIR).list.eval(_AS_PAIR).list.join(" "),
    )


def _evaluation(lines: pl.DataFrame) -> pl.DataFrame:
    mine = lines.filter(pl.col("text").str.contains(_EVAL))
    return rows(mine, "megatron", step=whole(_EVAL), phase=pl.lit("eval"), loss=number(rf"lm loss value: {NUMBER}"))


def _beside(counted: pl.DataFrame) -> pl.DataFrame:
    """Of an evaluation, beside the loss of the training, in the line of a step; of several, the one that is no number."""
    mine = counted.filter(pl.col("text").str.contains(_EVAL_LOSS))
    loss = pl.when(pl.col("text").str.contains(_EVAL_LOST)).then(float("nan")).otherwise(number(_EVAL_LOSS))
    return rows(mine, None, step=_step(), phase=pl.lit("eval"), loss=loss)


def _bracketed(lines: pl.DataFrame) -> pl.DataFrame:
    text = pl.col("text")
    mine = lines.filter(text.str.contains(_BRACKETED) & ~pl.col("is_counted"))
    if mine.height:
        mine = mine.filter(text.str.contains(_BRACKETED_LOSS) & ~text.str.contains(_MINDFORMERS))
    is_of_mm, is_in_epoch = text.str.contains(r"- mm\w+ - "), text.str.contains(_IN_EPOCH)
    return rows(
        mine,
        pl.when(is_of_mm).then(pl.lit("mmengine")).when(is_in_epoch).then(pl.lit(BAR)),
        step=whole(_BRACKETED),
        loss=number(_BRACKETED_LOSS),
        grad_norm=number(rf"\bgrad_norm: *{NUMBER}"),
        elapsed_ms=number(rf"\b[Tt]ime:? +{NUMBER}") * 1000,
    )


# Form → words of which one stands in each of its lines.
_FORMS = {
    _megatron: ("iteration",), _nanotron: ("iteration: ",), _nemo: ("training epoch ",), _mindformers: ("step:[",), _fairseq: ("train_inner",),
    _verl: ("step:",), _evaluation: ("loss at iteration ",), _bracketed: ("epoch", "train", "iter"),
}  # fmt: skip


def _plain(counted: pl.DataFrame, said: Said) -> pl.DataFrame:
    text = pl.col("text")
    others = said.holds("checkpoint", "sav", "load", "eval", "valid")
    mine = counted.filter(~text.str.contains(_NOT_TRAINING)) if others else counted
    loss = number(_LOSS)
    rare: dict[str, pl.Expr] = {}
    if said.holds("grad"):
        rare["grad_norm"] = number(rf"\bgrad[_ ]norm[\s=:]+{NUMBER}")
    if said.holds("scale"):
        rare["loss_scale"] = scale()
    if said.holds("tflops"):
        rare["tflops"] = _without_commas().str.extract(rf"\btflops[\s=:]+{NUMBER}", 1).cast(pl.Float64, strict=False)
    if said.holds("time", "sec"):
        rare["elapsed_ms"] = pl.coalesce(
            number(rf"\btime[\s=:]+{NUMBER} ?ms\b"),
            number(rf"\btime[\s=:]+{NUMBER} ?s\b") * 1000,
            number(rf"(?:^|[\s,;|])sec(?:ond)?s?[=:]\s*{NUMBER}(?:[\s,;|]|$)") * 1000,
        )
    if said.holds("per", "/s", "/ s", "tps", "tgs"):
        rare["per_s"] = pl.coalesce(
            _without_commas().str.extract(one, 1).cast(pl.Float64, strict=False) for one in (_PER_S, _PER_S_BEHIND)
        )
    return rows(
        mine,
        pl.when(text.str.contains(r"\bmfu: *[0-9]")).then(pl.lit("torchtitan")) if said.holds("mfu: ") else None,
        step=_step(),
        loss=loss,
        loss_seen=pl.when(loss.is_not_null()).then(pl.lit(True)),
        **rare,
    )


def _step() -> pl.Expr:
    """Of lines that count one beside their loss."""
    return pl.coalesce(whole(_PLAIN), whole(_APART))


def _without_commas() -> pl.Expr:
    return pl.col("text").str.replace_all(r"([0-9]),([0-9]{3})\b", "$1$2")


def _values(counted: pl.DataFrame, said: Said) -> pl.DataFrame:
    """What was bad, where the line of a step tells beside its loss how many values of something were, or what a part was given and what it gave."""
    text = pl.col("text")
    is_asked = said.holds(*GIVEN) and said.holds(*TAKEN)
    is_two_sided = text.str.contains(_GAVE) & text.str.contains(_TOOK) if is_asked else pl.lit(value=False)
    if counted.is_empty():
        return empty("values")
    mine = counted.filter(text.str.contains(_BAD_COUNT) | is_two_sided)
    return table("values", rows_of_lines(mine.iter_rows(named=True)))


def _claims(lines: pl.DataFrame, said: Said) -> pl.DataFrame:
    """Who is who: the line of initialisation, and each rank's coordinates where they first stand."""
    is_init, is_placed = said.holds(*OF_INIT), said.holds(*(f"({axis}=" for axis in _AXES))
    if not (is_init or is_placed):
        return empty("ranks")
    lines = lines.filter(pl.col("rank").is_not_null())
    init = lines.filter(pl.col("text").str.contains(INIT)).select(
        "rank", "host", "local_rank", "file", "line",
        pid=whole(INIT), world_size=whole(rf"\bworld={COUNT}"), how=pl.lit("init line"),
    )  # fmt: skip
    if not is_placed:
        return conform("ranks", init)
    places = (
        lines.filter(pl.col("text").str.contains(_PLAIN))
        .with_columns(at=pl.col("text").str.extract(_COORDINATES, 1))
        .filter(pl.col("at").is_not_null())
        .unique(["file", "rank", "at"], keep="first", maintain_order=True)
    )
    axes = {axis: pl.col("at").str.extract(rf"\b{axis}=([0-9]+)", 1).cast(pl.Int64, strict=False) for axis in _AXES}
    coordinates = places.select("rank", "host", "local_rank", "file", "line", how=pl.lit("step line"), **axes)
    return pl.concat([conform("ranks", init), conform("ranks", coordinates)])


_ANCHORS = (
    b"step ", b"step=", b"step:", b"Step ", b"Step:", b"iter ", b"iter:", b"Iter", b"iteration", b"init done pid=", b"Epoch",
    b"Train: ", b"train_inner", b"batch ", b"Batch ", b"update ", b"s/step", b"s/batch", b"s/iter", b"per step", b"per batch",
    b"oss is nan", b"oss is inf", b"oss is NaN", b"nan loss", b"NaN loss", b"inf loss", b"Inf loss", b"infinite loss",
    b"oss returned in `", b"Monitored metric ", b"raining finished", b"inished training", b"ompleted training",
    b"raining complete", "训练".encode(), b"raining is finished", b"raining Over", b"raining over", b"raining is over", b"raining done", b"rain end", b"raining end", b"done training in", b" done", b"Done", b"DONE", b"training is done", b"completed successfully", b"raysubmit_",
    b"` stopped: `max_", b"train_runtime", b"inished ", b"ompleted ", b" steps", b" batches", b" iterations",
)  # fmt: skip
PARSER = LineParser(
    name="steps",
    anchors=_ANCHORS,
    holds=regex(rb"(?<![a-z])iter[ :]|" + b"|".join(re.escape(one) for one in _ANCHORS if one[:5] not in (b"iter ", b"iter:"))),  # a writer is none
    parse=parse,
    after=_JOINED,
    follows=regex(rb"^[^\n]{0,160}?[a-z)]:\s*[0-9A-Za-z.+-]{1,24}\s*(?:\||$)"),
)  # fmt: skip
