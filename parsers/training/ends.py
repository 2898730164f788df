"""How scripts say that a training begins, ends or gives up, beside the lines of its steps: events, settings."""

from typing import Any

import polars as pl

from parsers.schema.event_kinds import CLOSING, LAST_STEP
from parsers.schema.lines import event
from parsers.schema.tables import empty, table
from parsers.text import vocabulary
from parsers.text.patterns import regex
from parsers.training.progress import BARE_END, COUNT, Said, whole

INIT, OF_INIT = rf"\binit done pid={COUNT}", ("init done pid=",)
_BAD_LOSS = (
    r"(?i)\bloss is ([+-]?(?:nan|inf)[A-Za-z0-9_]*)|\b(nan|inf(?:inite)?) loss\b.{0,80}\b(?:stop|abort|exit|terminat|halt)"
    r"|\bloss returned in `[A-Za-z0-9_]+` is (nan|[+-]?inf)|\bMonitored metric \S+ = (nan|[+-]?inf) is not finite"
)
_SENTENCE = r"\btraining (?:is )?(?:finished|completed?|done)\b|\btraining (?:is )?over(?:[.!]|\s*$)|\btrain(?:ing)? end(?:[.,!;]|\s*$)|\b(?:finished|completed) training\b|\b(?:training|job|run) completed successfully\b|\bJob '[0-9A-Za-z_-]*raysubmit_[0-9A-Za-z_]+' succeeded\b|训练(?:已|全部)?(?:完成|结束)(?:$|[\x00-/:-@\[-^`{-\x7f。、，；：！？）】]|了)"
_END = (
    rf"(?i){_SENTENCE}|\| done training in [0-9.]+ (?:seconds|minutes|hours)|\[after training is done\]|\[exiting program at iteration"
    r"|`Trainer\.fit` stopped: `max_[a-z_]{1,12}=\S{1,24}` reached|['\"]train_runtime['\"]: "  # Lightning; HF's Trainer
)
# One of these stands in all that a pattern finds.
_OF_END = (
    "training finished", "training complete", "training done", "training over", "training is ", "train end", "training end",
    "finished training", "completed training", "completed successfully", "raysubmit_", "训练", "done training", "exiting program",
    "trainer.fit", "train_runtime",
)  # fmt: skip
_OF_BAD = ("loss is ", "nan loss", "inf loss", "infinite loss", "loss returned in ", "monitored metric ")
# The sentence tells of no end where its clause hangs on another one, or denies it, or asks; where a condition follows, a
# share, or a part of the training ("finished training epoch 3").
_HANGS_ON = (
    r"(?:once|if|when|whenever|after|until|till|unless|before|while|as soon as|in case|whether|should|will|would|can|could|may|might|must"
    r"|to be|not|never|no|without|waiting for)"
)
_PART = r"(?:epoch|step|iteration|batch|phase|stage|round|fold|task|chunk|shard)s?"
_HANGS = (
    rf"(?i)\b{_HANGS_ON}\b[^.;:!?|\]]{{0,80}}?(?:{_SENTENCE})"
    rf"|(?:等待|直到|尚未|没有|未|如果|若|当|在)[^。;；,，]{{0,20}}?(?:{_SENTENCE})"
)
_NO_END = (
    rf"{_HANGS}|(?:{_SENTENCE})(?:\s*\?|[\s,]+(?:if|when|once|unless|until|only)\b"
    rf"|[\s:=,(-]*[0-9.]{{1,9}}\s*(?:%|/|of\b)|[\s:,(-]*(?:for |of |the |on )*{_PART}\s*[#:=]?\s*[0-9])"
)
# The whole is no share (`training finished: 3 of 3 epochs`).
_WHOLE = rf"(?i)(?:{_SENTENCE})[\s:=,(-]*([0-9]{{1,9}})\s*(?:/|of\b)\s*([0-9]{{1,9}})\b"
# So is the last part of it; beside more that comes after it, it is no end of the job.
_LAST_PART = rf"(?i)(?:{_SENTENCE})[\s:,(\[-]*(?:(?:for|of|the|on|after|last) )*{_PART}\s*[#:=]?\s*\[?([0-9]{{1,9}})\s*(?:/|of\b)\s*([0-9]{{1,9}})\b"
_SAYS_LAST_PART = (
    pl.col("text").str.contains(_LAST_PART)
    & (pl.col("text").str.extract(_LAST_PART, 1) == pl.col("text").str.extract(_LAST_PART, 2))
    & ~pl.col("text").str.contains(_HANGS)
).fill_null(False)
_SAYS_END = pl.col("text").str.contains(_END) & (
    ~pl.col("text").str.contains(_NO_END)
    | (pl.col("text").str.extract(_WHOLE, 1) == pl.col("text").str.extract(_WHOLE, 2)).fill_null(False)
    | pl.col("text").str.contains(r"(?i)\[after training is done\]|['\"]train_runtime['\"]: ")
)
# What alone says nothing but that something is done: the end only where all that print steps say it (assemble/ends/closings.py).
_BEFORE = r"(?:\[[^\]]*\]|[^\s:]+:|[\d:.,-]{4,}|INFO|\s|-)*"  # what stands before the words of a line; with bounds it takes 10 ms to compile
_CLOSING = (
    r"(?i)\b(?:finished|completed|done(?: with)?)(?: all)? ([0-9]{1,9}) (?:training )?(?:steps|iterations)(?:[.!]?\s*$|[,;] ?[a-z])"
    rf"|^{_BEFORE}{BARE_END}"
)
_LAST_OF = (
    r"(?:^|[\s\]:])iteration\s+([0-9]{1,15})/\s*([0-9]{1,15})\s*\|",
    r"iteration: ([0-9]{1,15}) / ([0-9]{1,15}) \|",
    rf"(?i)^{_BEFORE}(?:done|finished|completed?)\W{{1,3}}([0-9]{{1,15}}) of ([0-9]{{1,15}}) (?:training )?(?:steps|batches|iterations)\b",
    rf"(?i)^{_BEFORE}(?:step|iter(?:ation)?|it|update|batch)\W{{1,3}}([0-9]{{1,15}}) {{0,4}}(?:/|of) {{0,4}}([0-9]{{1,15}})\b",
)
_OF_LAST = regex(r"[0-9]\s*(?:/|of)\s*[0-9]")
# Of a line that stands with its loss, whatever words are before the count.
_LAST_COUNTED = rf"(?:^|[\s\]])(?i:(?:global_|train_)?step|iter(?:ation)?)(?:\s+|[=:]\s*)\[?\s*{COUNT}\s*/\s*{COUNT}\b"
_OTHERS_STEPS = r"(?i)\b(?:eval|val|valid|test|warm-?up|infer|predict|sampl|decod)[a-z]*\b"
_IS_LAST = (
    pl.any_horizontal(pl.col("text").str.extract(one, 1) == pl.col("text").str.extract(one, 2) for one in _LAST_OF)
    | (
        pl.col("is_counted")
        & ~pl.col("text").str.contains(_OTHERS_STEPS)
        & (pl.col("text").str.extract(_LAST_COUNTED, 1) == pl.col("text").str.extract(_LAST_COUNTED, 2))
    )
).fill_null(False) & ~pl.col("text").str.contains(r"(?i)\bep(?:och)?\b")  # the last of an epoch is not that of the job

_RULES = {"init": (INIT, OF_INIT), "bad": (_BAD_LOSS, _OF_BAD)}


def happenings(lines: pl.DataFrame, said: Said) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rare lines, one at a time: events, settings. `is_counted`: whether a line counts a step beside its loss."""
    text, nothing = pl.col("text"), pl.lit(value=False)
    rules = {name: rule for name, (rule, words) in _RULES.items() if said.holds(*words)}
    told = [text.str.contains(pattern) for pattern in rules.values()]
    is_end = said.holds(*_OF_END) and lines["text"].str.contains(_END).any()
    lines = lines.with_columns(says_end=_SAYS_END if is_end else nothing)
    is_last = _IS_LAST if said.finds(_OF_LAST) else nothing
    is_closing = text.str.contains(_CLOSING) if said.holds("done", "finished", "completed") else nothing
    is_closing |= _SAYS_LAST_PART if is_end else nothing
    is_last, is_closing = is_last & ~pl.col("says_end"), is_closing & ~pl.col("is_counted")
    lines = lines.with_columns(weak=pl.when(is_last).then(pl.lit(LAST_STEP)).when(is_closing).then(pl.lit(CLOSING)))
    found = lines.filter(pl.any_horizontal(*told, "says_end", pl.col("weak").is_not_null()))
    if found.is_empty():
        return empty("events"), empty("settings")
    nobody = pl.lit(None, dtype=pl.String)
    found = found.with_columns(
        (text.str.extract(rf"({rules[name]})", 1) if name in rules else nobody).alias(name) for name in _RULES
    )
    found = found.with_columns(
        value=pl.coalesce(text.str.extract(_BAD_LOSS, group) for group in range(1, 5)) if "bad" in rules else nobody,
        of=pl.when(pl.col("weak") == CLOSING).then(whole(_CLOSING)),
        at=whole(r"(?i)\b(?:at |in )?(?:step|iteration)[ =:]+([0-9]{1,15})"),
        pid_=whole(INIT),
        backend=text.str.extract(r"\bbackend=([A-Za-z0-9_]+)", 1),
        torch=text.str.extract(r"\btorch=(\S+)", 1),
    )
    events: list[dict[str, Any]] = []
    settings: list[dict[str, Any]] = []
    for row in found.iter_rows(named=True):
        if row["init"]:
            events.append(event(row, "job_start", severity="info", pid=row["pid_"]))
            place = {key: row[key] for key in ("rank", "host", "file", "line")} | {"pid": row["pid_"]}
            if row["backend"]:
                settings.append(place | {"name": "backend", "value": row["backend"], "scope": "argument"})
            if row["torch"]:
                settings.append(place | {"name": "torch", "value": row["torch"], "scope": "version"})
        elif row["bad"] and vocabulary.is_of_evaluation(" ".join(row["text"].partition(" is ")[0].split()[-2:])):
            continue  # parsers/numerics/bad_values.py says whose
        elif row["bad"]:
            events.append(event(row, "bad_loss", severity="error", code=row["value"].lower(), step=row["at"]))
        else:
            events.append(event(row, "job_end", severity="info", code=row["weak"], step=row["of"]))
    return table("events", events), table("settings", settings)
