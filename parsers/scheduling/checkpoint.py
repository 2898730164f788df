"""Lines that say a checkpoint was written, reached storage, or was loaded.

Megatron-LM, DeepSpeed, NeMo / Lightning, torchtitan, DLRover's flash checkpoint, Hugging Face Trainer:

    saving checkpoint at iteration     500 to /ckpt in torch_dist format
      successfully saved checkpoint from iteration     500 to /ckpt [ t 1/2, p 1/8 ]
     successfully loaded checkpoint from /ckpt [ t 1/2, p 1/8 ] at iteration 500
    [Torch] Saving /ckpt/global_step500/mp_rank_00_model_states.pt...
    [Torch] Checkpoint global_step500 is ready now!
    Saving a full checkpoint at step 500        |  Finished saving the checkpoint in 49.27 seconds.   (torchtitan)
    Loading the checkpoint at step 500.
    Scheduled async checkpoint save for /ckpt/step=500.ckpt   |   Async checkpoint save for step 500 (…) finalized
    Save checkpoint of step 500 to memory …  |  Persist state_dict of step 500 …  |  The number of ready shards is 8 …
    Saving model checkpoint to /out/checkpoint-500
    Loaded checkpoint /ckpt/last.pt, resuming at iteration 500          |  => loaded checkpoint 'last.pth' (step 500)

Where the checkpoint lies is `detail.path`. A save that a line only announces has `detail.phase` "begin"; only "end" counts as saved. Megatron's asynchronous save
prints "scheduled" at first and "successfully saved" when the files are complete: the latter is a persist.

Printed by: Megatron-LM, DeepSpeed, NeMo and Lightning, torchtitan, DLRover's flash checkpoint, Hugging Face Trainer.
Versions: those of 2021 to 2025.
Source: the logging calls of their checkpoint code.
"""

import re
from collections.abc import Mapping
from typing import Any

import polars as pl

from parsers.schema.parser import LineParser
from parsers.schema.rules import Rule, read_rules
from parsers.schema.tables import Tables
from parsers.text.patterns import regex

_STEP = r"(?P<step>\d{1,12})"
_TO = r"(?: to (?P<path>[^\s\[]{1,300}))?"  # where it lies


def _phase(name: str, kind: str | None = None) -> Any:
    def refine(_groups: Mapping[str, str]) -> Mapping[str, Any]:
        said: dict[str, Any] = {"detail": {"phase": name}}
        return said | {"kind": kind} if kind else said

    return refine


_BEGIN, _END = _phase("begin"), _phase("end")
RULES = (
    Rule(
        regex(rf"successfully saved checkpoint from iteration\s+{_STEP}{_TO}"), "checkpoint_save", "info", refine=_END
    ),
    Rule(regex(rf"saving checkpoint at iteration\s+{_STEP}{_TO}"), "checkpoint_save", "info", refine=_BEGIN),
    Rule(
        regex(rf"scheduled an async checkpoint save at iteration\s+{_STEP}"), "checkpoint_save", "info", refine=_BEGIN
    ),
    Rule(
        regex(
            rf"successfully loaded checkpoint from (?P<path>.{{1,400}}?)(?: \[[^\]]{{0,40}}\])? at iteration\s+{_STEP}"
        ),
        "checkpoint_load",
        "info",
        refine=_END,
    ),
    Rule(
        regex(rf"loading checkpoint from .{{1,400}}? at iteration\s+{_STEP}"), "checkpoint_load", "info", refine=_BEGIN
    ),
    Rule(regex(rf"[Cc]heckpoint global_step{_STEP} is (?:ready|committed)"), "checkpoint_save", "info", refine=_END),
    Rule(
        regex(rf"(?:About to save|Saving model) checkpoint:? .{{0,300}}?global_step{_STEP}\b"),
        "checkpoint_save",
        "info",
        refine=_BEGIN,
    ),
    Rule(regex(rf"Saving (?P<path>\S{{0,300}}?/global_step{_STEP})/"), "checkpoint_save", "info", refine=_BEGIN),
    Rule(regex(rf"Loading checkpoint .{{0,300}}?global_step{_STEP}\b"), "checkpoint_load", "info", refine=_BEGIN),
    Rule(
        regex(rf"Saving a (?:full|model only) checkpoint .{{0,60}}?step,? {_STEP}"),
        "checkpoint_save",
        "info",
        refine=_BEGIN,
    ),
    Rule(
        regex(
            r"Finished saving the checkpoint(?: \(or staging if async is enabled\))?"
            r" ?in (?P<value>[\d.]{1,12}\d) seconds"
        ),
        "checkpoint_save",
        "info",
        refine=_END,
    ),
    Rule(
        regex(rf"Loading the checkpoint (?:at step |from .{{1,300}}?/step-){_STEP}"),
        "checkpoint_load",
        "info",
        refine=_BEGIN,
    ),
    Rule(
        regex(r"Finished loading the checkpoint in (?P<value>[\d.]{1,12}\d) seconds"),
        "checkpoint_load",
        "info",
        refine=_END,
    ),
    Rule(
        regex(rf"Async checkpoint save for step {_STEP} .{{0,300}}?finalized successfully"),
        "checkpoint_persist",
        "info",
        refine=_END,
    ),
    Rule(
        regex(rf"Scheduled async checkpoint save for .{{0,300}}?step=?{_STEP}"),
        "checkpoint_save",
        "info",
        refine=_BEGIN,
    ),
    Rule(
        regex(rf"Successfully saved checkpoint .{{0,300}}?step[=: ]{_STEP}", re.I),
        "checkpoint_save",
        "info",
        refine=_END,
    ),
    Rule(
        regex(
            rf"(?:[Ss]ave|[Ss]aving) (?:the )?(?:checkpoint|state ?dict) .{{0,60}}?step {_STEP}"
            rf" .{{0,40}}?(?:memory|shm)"
        ),
        "checkpoint_save",
        "info",
        "memory",
        _END,
    ),
    Rule(
        regex(
            rf"(?:[Pp]ersist|[Ff]inish(?:ed)? saving) .{{0,80}}?step {_STEP}\b.{{0,60}}?(?P<ok>successfully|success)"
        ),
        "checkpoint_persist",
        "info",
        refine=_END,
    ),
    Rule(regex(rf"[Pp]ersist .{{0,80}}?step {_STEP}\b{_TO}"), "checkpoint_persist", "info", refine=_BEGIN),
    Rule(
        regex(
            # What was wrong with an argument or an option failed before anything was written.
            r"^(?![^\n]*(?:\b(?:argument|option|parameter|keyword|attribute)s?\b|(?:^|\s)--\w|\bmust\b|\bshould\b|\bsupport|\binvalid\b|\b(?:Type|Value)Error\b))[^\n]*?"
            rf"(?:[Ff]ail(?:ed)?|[Cc]annot|[Ee]rror).{{0,60}}?(?:save|saving|persist).{{0,60}}?checkpoint"
            rf"(?:.{{0,80}}?step[ =:]{_STEP})?"
        ),
        "storage_error",
        "error",
        "checkpoint",
    ),
    Rule(
        regex(rf"Saving model checkpoint to (?P<path>\S{{1,300}}?checkpoint-{_STEP})\b"),
        "checkpoint_save",
        "info",
        refine=_BEGIN,
    ),
    Rule(
        regex(rf"[Rr]esum(?:e|ing) (?:training )?from (?:checkpoint )?\S{{1,300}}?checkpoint-{_STEP}\b"),
        "checkpoint_load",
        "info",
        refine=_BEGIN,
    ),
    # Scripts of people say in words of their own that something was loaded, and of which step it is.
    Rule(
        regex(
            rf"(?i)\b(?:resum(?:ed|ing)|(?:(?:re)?load|restor)(?:ed|ing)\b(?=.{{0,300}}(?:checkpoint|ckpt|snapshot|resum)))\b"
            rf".{{0,300}}?(?:iteration|iter|step|update|checkpoint)[ =:_#-]{{0,2}}{_STEP}\b"
        ),
        "checkpoint_load",
        "info",
        refine=_END,
    ),
)


def parse(lines: pl.DataFrame) -> Tables:
    """events checkpoint_save, checkpoint_persist, checkpoint_load with `step`; `value` = seconds where printed."""
    return read_rules(lines, RULES)


PARSER = LineParser(
    name="checkpoint",
    anchors=(
        b"checkpoint from",
        b"checkpoint at",
        b"checkpoint save",
        b"heckpoint global_step",
        b"global_step",
        b"checkpoint:",
        b"a full checkpoint",
        b"a model only checkpoint",
        b"the checkpoint",
        b"state dict",
        b"state_dict",
        b"ersist",
        b"saved checkpoint",
        b"save checkpoint",
        b"ave checkpoint of",
        b"aving checkpoint",
        b"saving checkpoint",
        b"model checkpoint to",
        b"checkpoint-",
        b"Save checkpoint",
        b"Successfully saved",
        b"esumed",
        b"esuming",
        b"oaded checkpoint",
        b"oading checkpoint",
        b"estored checkpoint",
        b"napshot",
        b"ckpt",
    ),
    parse=parse,
)
