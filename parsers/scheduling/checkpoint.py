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

from typing import Any

import polars as pl

from parsers.schema.parser import LineParser
from parsers.schema.rules import Refine, Rule, read_rules
from parsers.schema.tables import Tables
from parsers.text.patterns import regex

_STEP = r"(?P<step>\d{1,12})"
_TO = r"(?: to (?P<path>[^\s\[]{1,300}))?"  # where it lies


def _says(**columns: Any) -> Refine:
    return lambda _groups: columns


_BEGIN, _END = _says(detail={"phase": "begin"}), _says(detail={"phase": "end"})
_IN_MEMORY, _FAILED = _says(code="memory", detail={"phase": "end"}), _says(code="checkpoint", severity="error")
# A kind of event, what is said besides, and the words.
RULES = tuple(
    Rule(regex(words), kind, "info", refine=said)
    for kind, said, words in (
        ("checkpoint_save", _END, rf"successfully saved checkpoint from iteration\s+{_STEP}{_TO}"),
        ("checkpoint_save", _BEGIN, rf"saving checkpoint at iteration\s+{_STEP}{_TO}"),
        ("checkpoint_save", _BEGIN, rf"scheduled an async checkpoint save at iteration\s+{_STEP}"),
        ("checkpoint_load", _END, rf"successfully loaded checkpoint from (?P<path>.{{1,400}}?)(?: \[[^\]]{{0,40}}\])? at iteration\s+{_STEP}"),
        ("checkpoint_load", _BEGIN, rf"loading checkpoint from .{{1,400}}? at iteration\s+{_STEP}"),
        ("checkpoint_save", _END, rf"[Cc]heckpoint global_step{_STEP} is (?:ready|committed)"),
        ("checkpoint_save", _BEGIN, rf"(?:About to save|Saving model) checkpoint:? .{{0,300}}?global_step{_STEP}\b"),
        ("checkpoint_save", _BEGIN, rf"Saving (?P<path>\S{{0,300}}?/global_step{_STEP})/"),
        ("checkpoint_load", _BEGIN, rf"Loading checkpoint .{{0,300}}?global_step{_STEP}\b"),
        ("checkpoint_save", _BEGIN, rf"Saving a (?:full|model only) checkpoint .{{0,60}}?step,? {_STEP}"),
        ("checkpoint_save", _END, r"Finished saving the checkpoint(?: \(or staging if async is enabled\))? ?in (?P<value>[\d.]{1,12}\d) seconds"),
        ("checkpoint_load", _BEGIN, rf"Loading the checkpoint (?:at step |from .{{1,300}}?/step-){_STEP}"),
        ("checkpoint_load", _END, r"Finished loading the checkpoint in (?P<value>[\d.]{1,12}\d) seconds"),
        ("checkpoint_persist", _END, rf"Async checkpoint save for step {_STEP} .{{0,300}}?finalized successfully"),
        ("checkpoint_save", _BEGIN, rf"Scheduled async checkpoint save for .{{0,300}}?step=?{_STEP}"),
        ("checkpoint_save", _END, rf"(?i)Successfully saved checkpoint .{{0,300}}?step[=: ]{_STEP}"),
        ("checkpoint_save", _IN_MEMORY, rf"(?:[Ss]ave|[Ss]aving) (?:the )?(?:checkpoint|state ?dict) .{{0,60}}?step {_STEP}"
                                        rf" .{{0,40}}?(?:memory|shm)"),
        ("checkpoint_persist", _END, rf"(?:[Pp]ersist|[Ff]inish(?:ed)? saving) .{{0,80}}?step {_STEP}\b.{{0,60}}?(?P<ok>successfully|success)"),
        ("checkpoint_persist", _BEGIN, rf"[Pp]ersist .{{0,80}}?step {_STEP}\b{_TO}"),
        # What was wrong with an argument or an option failed before anything was written.
        ("storage_error", _FAILED, r"^(?![^\n]*(?:\b(?:argument|option|parameter|keyword|attribute)s?\b|(?:^|\s)--\w|\bmust\b|\bshould\b"
                                   r"|\bsupport|\binvalid\b|\b(?:Type|Value)Error\b))[^\n]*?"
                                   rf"(?:[Ff]ail(?:ed)?|[Cc]annot|[Ee]rror).{{0,60}}?(?:save|saving|persist).{{0,60}}?checkpoint"
                                   rf"(?:.{{0,80}}?step[ =:]{_STEP})?"),
        ("checkpoint_save", _BEGIN, rf"Saving model checkpoint to (?P<path>\S{{1,300}}?checkpoint-{_STEP})\b"),
        ("checkpoint_load", _BEGIN, rf"[Rr]esum(?:e|ing) (?:training )?from (?:checkpoint )?\S{{1,300}}?checkpoint-{_STEP}\b"),
        # Scripts of people say in words of their own that something was loaded, and of which step it is.
        ("checkpoint_load", _END, rf"(?i)\b(?:resum(?:ed|ing)|(?:(?:re)?load|restor)(?:ed|ing)\b(?=.{{0,300}}(?:checkpoint|ckpt|snapshot|resum)))\b"
                                  rf".{{0,300}}?(?:iteration|iter|step|update|checkpoint)[ =:_#-]{{0,2}}{_STEP}\b"),
    )
)  # fmt: skip


def parse(lines: pl.DataFrame) -> Tables:
    """events checkpoint_save, checkpoint_persist, checkpoint_load with `step`; `value` = seconds where printed."""
    return read_rules(lines, RULES)


PARSER = LineParser(
    name="checkpoint",
    anchors=(
        b"checkpoint from", b"checkpoint at", b"checkpoint save", b"heckpoint global_step", b"global_step", b"checkpoint:", b"a full checkpoint",
        b"a model only checkpoint", b"the checkpoint", b"state dict", b"state_dict", b"ersist", b"saved checkpoint", b"save checkpoint",
        b"ave checkpoint of", b"aving checkpoint", b"saving checkpoint", b"model checkpoint to", b"checkpoint-", b"Save checkpoint",
        b"Successfully saved", b"esumed", b"esuming", b"oaded checkpoint", b"oading checkpoint", b"estored checkpoint", b"napshot", b"ckpt",
    ),
    parse=parse,
)  # fmt: skip
