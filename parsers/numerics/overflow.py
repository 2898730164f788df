"""Lines about a dynamic loss scale: a step was skipped because a gradient overflowed, the scale went down or up.

    [loss_scaler.py:183:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 8, reducing to 4
    … OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 4096, but hysteresis is 2. Reducing hysteresis to 1
    Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.
    Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 1024.0
    gradient overflow detected, ignoring gradient, setting loss scale to: 64.0      fairseq; until 0.9 | WARNING: overflow detected, setting …
    FloatingPointError: Minimum loss scale reached (0.0001). Your loss is probably exploding.
    Overflow occurs, the loss scale is adjusted to 512.0
    overflow, still update, loss scale adjust to 1024.0

Events `loss_scale`: value = the scale that holds from then on (null where the line does not say), code = reduced,
raised, hysteresis or minimum; `rank` is the one that the line names (DeepSpeed prints on rank 0 only, for all).
Megatron prints its scale in its progress lines instead.

Printed by: DeepSpeed, apex amp, fairseq, ColossalAI, MindYOLO.
Versions: DeepSpeed of 2021 ([deepscale]) and later; the others in the wordings above.
Source: DeepSpeed's loss_scaler.py and ZeRO optimizers, apex amp's scaler, fairseq's and ColossalAI's scalers.
"""

import polars as pl

from parsers.schema.parser import LineParser
from parsers.schema.rules import Rule, read_rules
from parsers.schema.tables import Tables
from parsers.text.patterns import regex

_NUMBER = r"\d{1,30}\.?\d{0,30}(?:e[+-]?\d{1,3})?"
_BAR = r"^\s*[^|]{0,80}?\d%\|[^|]{0,200}\| (\d{1,12})/\d{1,12} \["
_ATTEMPT = rf"OVERFLOW!\s+(?:Rank (?P<rank>\d{{1,9}}) )?Skipping step\. Attempted loss scale: (?P<%s>{_NUMBER}),"

RULES = (
    Rule(
        regex(rf"{_ATTEMPT % 'value'} but hysteresis is (?P<hysteresis>\d{{1,9}})"),
        "loss_scale", severity="info", code="hysteresis",
    ),
    Rule(regex(rf"{_ATTEMPT % 'attempted'} reducing to (?P<value>{_NUMBER})"), "loss_scale", severity="warning", code="reduced"),
    Rule(regex(r"[Cc]urrent loss scale already at minimum"), "loss_scale", code="minimum"),
    Rule(regex(r"Minimum loss scale reached \((?P<limit>[^)]{1,40})\)"), "loss_scale", code="minimum"),
    Rule(
        regex(
            rf"Gradient overflow\.\s+Skipping step, loss scaler (?P<scaler>\d{{1,9}} )?"
            rf"reducing loss scale to (?P<value>{_NUMBER})"
        ),
        "loss_scale", severity="warning", code="reduced",
    ),
    Rule(
        regex(rf"overflow detected,.{{0,80}}?setting loss scale to: (?P<value>{_NUMBER})"),
        "loss_scale", severity="warning", code="reduced",
    ),
    Rule(
        regex(
            rf"(?:Overflow occurs, the loss scale is adjusted|[Oo]verflow, (?:still update|drop (?:the )?step),? loss scale adjust(?:ed)?) to (?P<value>{_NUMBER})"
        ),
        "loss_scale", severity="warning", code="reduced",
    ),
    Rule(
        regex(rf"No overflow for consecutive (?P<steps>\d{{1,9}}) steps, .{{0,40}}adjusted to (?P<value>{_NUMBER})"),
        "loss_scale", severity="info", code="raised",
    ),
)  # fmt: skip


def parse(lines: pl.DataFrame) -> Tables:
    """events loss_scale; what else the line says is in `detail`, and the step of a bar of tqdm before the words."""
    tables = read_rules(lines, RULES)
    step = pl.col("text").str.extract(_BAR, 1).cast(pl.Int64, strict=False)
    return {**tables, "events": tables["events"].with_columns(step=pl.coalesce("step", step))}


PARSER = LineParser(
    name="loss_scale",
    anchors=(
        b"OVERFLOW!", b"oss scale already at minimum", b"Minimum loss scale reached", b"Gradient overflow.",
        b"overflow detected,", b"loss scale is adjusted to", b"verflow, still update", b"verflow, drop ",
    ),
    parse=parse,
)  # fmt: skip
