"""Checks inside a training process that found NaN or Inf, and say on which rank.

    AssertionError: Rank 5: found NaN in local forward loss calculation. Device: 1, node: n07
    AssertionError: Rank 5: found NaN in local grad norm in backward pass before data-parallel communication collective.
    RuntimeError: Rank 5, node n07, device 1, iteration 812: Unexpected result nan (message='found NaN in local grad
        norm for bucket #3 in backward pass before data-parallel communication collective')
    RuntimeError: (PreconditionNotMet) There are NAN or INF (num_nan=0, num_inf=6, num_zero=0) in [device=gpu:3,
        op=matmul_v2, tensor=, dtype=fp16].
    [PRECISION] [ERROR] in [device=gpu:2, op=matmul_grad, tensor=, dtype=fp32], numel=1600, num_nan=1, num_inf=0, …
    /x/NanCheck.cu:21: checkForNaN: block: [0,0,0], thread: [0,0,0] Assertion `!isnan(val)` failed.
    RuntimeError: NaN detected in input tensor for 'all_reduce' on comm 'dp': check_for_nan failed          (TorchComms)
    [rank0]:[E1120 17:31:56.885473996 Utils.cu:30] CUDA error during checkForNan: device-side assert triggered

Events `nan_assert`, names_ranks = the rank that the message names, else the printer's; code = forward_loss, grad_norm,
nan_check, operator or validation, and the same as `where` in `detail`. Megatron-LM checks before the data-parallel reduction,
PyTorch (TORCH_NCCL_NAN_CHECK) before the collective: the named rank held the NaN itself. A results check that refused a
finite value (a spike) is an event `other`. In the middle of a sentence the words are a quotation (a sample of generated text). An iteration of -1 (Megatron without its state machine) is not observed.
A message that names rank and node tells where the rank runs (table `ranks`).
The device prints its assertion once per thread: the first of a printer counts, the others are claimed.

Printed by: Megatron-LM, Paddle's FLAGS_check_nan_inf, PyTorch's TORCH_NCCL_NAN_CHECK (and torch_musa's), TorchComms' NanCheckHook.
Versions: Megatron-LM with and without its rerun state machine; PyTorch where TORCH_NCCL_NAN_CHECK exists.
Source: Megatron-LM (training loop, param_and_grad_buffer, rerun_state_machine), PyTorch's Utils.cu and NanCheck.cu, nan_check.py of TorchComms.
"""

import re
from collections.abc import Mapping
from typing import Any

import polars as pl

from parsers.schema.lines import claimed, reporter
from parsers.schema.parser import LineParser
from parsers.schema.rules import Rule, integer, read_rules
from parsers.schema.tables import Tables, conform
from parsers.text.patterns import regex

_RANK = r"Rank (?P<named>\d{1,9})"
_HOOK = r"NaN detected in (?P<tensor>input|output) tensor for '(?P<op>\w{1,40})' on comm '(?P<group>[^']{1,200})'"
_CHECK = r"\bNanCheck\.(?:cu|hip|mu):\d{1,6}: \w{1,80}: block: ?\[.{1,60}?Assertion|checkForNaN: block: ?\[.{1,60}?Assertion|CUDA error during checkForNan"
_PADDLE = (
    r"There are NAN or INF \(num_nan=(?P<nans>\d{1,18}), num_inf=\d{1,18}, num_zero=\d{1,18}\) in "
    r"\[device=\w{1,20}(?::\d{1,4})?, op=(?P<function>\w{1,80}), tensor="
)
_PRECISION = (
    r"\[PRECISION\] \[ERROR\] in \[device=\w{1,20}(?::\d{1,4})?, op=(?P<function>\w{1,80}), tensor=[^\]]{0,200}\], numel=\d{1,18}, "
    r"(?!num_nan=0, num_inf=0\b)num_nan=(?P<nans>\d{1,18}), num_inf=\d{1,18}"
)  # it prints such lines of sound tensors as well
_NOT_FINITE = regex(r"(?i)\b(?:nan|[+-]?inf(?:inity)?)\b")


def _where(text: str) -> str:
    low = text.lower()
    if "grad" in low:
        return "grad_norm"
    return "forward_loss" if "loss" in low else "validation"


def _named(groups: Mapping[str, str]) -> dict[str, Any]:
    """Columns of a message that names a rank, and perhaps a node, a device and an iteration."""
    message = groups.get("message") or groups.get("place") or ""
    where = _where(message)
    step = integer(groups.get("iteration"))
    made: dict[str, Any] = {"names_ranks": [int(groups["named"])], "code": where}
    made |= {"step": step if step is not None and step >= 0 else None, "detail": {"where": where, "named": None}}
    if "node" in groups:
        made["names_hosts"] = [groups["node"].rstrip(".,")]
    if "result" in groups and not (_NOT_FINITE.search(groups["result"]) or _NOT_FINITE.search(message)):
        made |= {"kind": "other", "severity": "warning", "code": "unexpected_result"}
    return made


def _operator(groups: Mapping[str, str]) -> dict[str, Any]:
    """Each operator is asked, one after the other."""
    value = "nan" if groups["nans"].strip("0") else "inf"
    return {"detail": {"where": "operator", "value": value, "nans": None, "compiled": False}}


RULES = (
    Rule(
        regex(
            rf"{_RANK}, node (?P<node>[^\s,]{{1,253}}), device (?P<device_index>\d{{1,6}}), "
            r"iteration (?P<iteration>-?\d{1,15}): Unexpected result (?P<result>.{1,200}?)"
            r"(?: \(message='(?P<message>[^']{0,1000})'?|$)"
        ),
        "nan_assert",
        refine=_named,
    ),
    Rule(
        regex(
            rf"(?<!\w ){_RANK}[:,] found (?:NaN|Inf)(?:/\w+)? in (?P<place>[^.]{{1,300}})"
            r"(?:\.? Device: (?P<device_index>\d{1,6}))?(?:,? node: (?P<node>[\w.-]{1,253}?)(?=Rank \d|[^\w.-]|$))?"
        ),
        "nan_assert",
        refine=_named,
    ),
    Rule(
        regex(_HOOK),
        "nan_assert",
        code="nan_check",
        refine=lambda groups: {"detail": {"where": "nan_check", "tensor": groups["tensor"]}},
    ),
    Rule(regex(_PADDLE), "nan_assert", code="operator", refine=_operator),
    Rule(regex(_PRECISION), "nan_assert", code="operator", refine=_operator),
    Rule(regex(_CHECK), "nan_assert", code="nan_check", refine=lambda _: {"detail": {"where": "nan_check"}}),
)


def parse(lines: pl.DataFrame) -> Tables:
    """events nan_assert (and `other` for a refused finite value); claimed: repetitions of a device assertion."""
    repeated = _repeated(lines)
    found = dict(read_rules(lines.filter(~repeated), RULES))
    events = found["events"]
    own = pl.when(pl.col("code").is_in(["nan_check", "operator"]) & pl.col("rank").is_not_null())
    events = events.with_columns(
        names_ranks=own.then(pl.concat_list("rank")).otherwise("names_ranks"),
        names_rank_space=own.then("rank_space").otherwise("names_rank_space"),
    )
    known = claimed(lines.filter(repeated).select("file", "line").rows())
    return found | {"events": events, "ranks": _placed(events), "claimed": pl.concat([found["claimed"], known])}


def _placed(events: pl.DataFrame) -> pl.DataFrame:
    """Where the ranks run that messages name with their node."""
    told = events.filter((pl.col("names_ranks").list.len() == 1) & (pl.col("names_hosts").list.len() == 1))
    rank, host = (pl.col(name).list.first() for name in ("names_ranks", "names_hosts"))
    return conform(
        "ranks", told.select("device_index", "file", "line", rank=rank, host=host, how=pl.lit("check for NaN"))
    )


def _repeated(lines: pl.DataFrame) -> pl.Series:
    """Which lines repeat the assertion of a printer; one event tells as much as a thousand."""
    seen: set[tuple[Any, ...]] = set()
    again = []
    for row in lines.iter_rows(named=True):
        key = tuple(value for name, value in reporter(row).items() if name != "line")
        is_check = re.search(_CHECK, row["text"] or "") is not None
        again.append(is_check and key in seen)
        if is_check:
            seen.add(key)
    return pl.Series(again, dtype=pl.Boolean())


PARSER = LineParser(
    name="nan_asserts",
    anchors=(
        b"found NaN in", b"found Inf in", b"found NaN/Inf in", b": Unexpected result ", b"checkForNa", b"NanCheck.",
        b"NaN detected in ", b"There are NAN or INF ", b"[PRECISION] [ERROR] ",
    ),
    parse=parse,
)  # fmt: skip
