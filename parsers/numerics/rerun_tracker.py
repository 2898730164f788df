"""Megatron-LM's rerun state machine: was an unexpected result reproducible, and on another device?

The tracker file (`--result-rejected-tracker-filename`), one line per refused result:

    ts=2026-01-31 10:11:12.345678 node=n07 device=1 jobID=77 rank=5 iteration=812 status=initial_run result=nan message='found NaN in local forward loss calculation'

and its lines in the training log:

    Unexpected result nan at /megatron/training.py line 90, invokation #1 at iteration #812 (message='found NaN in …')
    Unexpected result nan on rank 3 at iteration #812 invocation #4 (message='found NaN in …')            (since 0.12)
    Rank 5, node n07, device 1, iteration #812: First rerun: unexpected result is reproducible within … (nan = nan). …
    First rerun: unexpected result is not reproducible within the tolerance (nan != 2.1)
    Rank 5, node n07, device 1: Possible transient error!!
    Got rescheduled on the same GPU. Need to resume again from the same checkpoint (node: n07, gpu: 1)

Events: `nan_assert` where a result was NaN or Inf, else `other`; code = the status (initial_run,
first_rerun_not_reproducible = a transient fault, first_rerun_reproducible, second_rerun_not_reproducible = the first
device computes wrongly, second_rerun_reproducible = not the hardware, rerun_disabled) or the diagnosis
(transient_error, persistent_error, correct_result, same_device). names_ranks and names_hosts = whom the line names;
`detail`: where, result, message, job.

Printed by: Megatron-LM's rerun state machine.
Versions: those that have the machine; under Python 3.12 the status is `RerunValidationStatus.INITIAL_RUN`.
Source: Megatron-LM core/rerun_state_machine.py.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from parsers.schema.parser import LineParser
from parsers.schema.rules import Rule, integer, read_rules
from parsers.schema.tables import Tables
from parsers.text.patterns import regex

_NOT_FINITE = regex(r"(?i)\b(?:nan|[+-]?inf(?:inity)?)\b")
_MESSAGE = r"(?:\(?message='(?P<message>[^']{0,1000})|$)"
_DEVICE = (
    r"Rank (?P<named>\d{1,9}), node (?P<node>[^\s,]{1,253}), device (?P<device_index>\d{1,6})"
    r"(?:, iteration #(?P<iteration>-?\d{1,15}))?: "
)
_STATUS = r"first_rerun_(?:not_)?reproducible|second_rerun_(?:not_)?reproducible|initial_run|rerun_disabled"


def _result(groups: Mapping[str, str]) -> dict[str, Any]:
    message, result = groups.get("message", ""), groups.get("result", "")
    low = message.lower()
    where = "grad_norm" if "grad" in low else "forward_loss" if "loss" in low else None
    step = integer(groups.get("iteration"))
    is_bad = _NOT_FINITE.search(result) or _NOT_FINITE.search(message)
    made: dict[str, Any] = {"step": step if step is not None and step >= 0 else None}
    return made | {"kind": "nan_assert" if is_bad else "other", "detail": {"where": where}}


def _tracked(groups: Mapping[str, str]) -> dict[str, Any]:
    """A line of the tracker file: it stands for the rank that wrote it."""
    made = _result(groups) | {"code": groups["status"].lower(), "rank": int(groups["named"])}
    made |= {"rank_space": "global", "names_ranks": [int(groups["named"])], "names_hosts": [groups["host"]]}
    made["detail"] |= {"named": None, "ts": None, "status": None}
    try:
        stamp = datetime.fromisoformat(groups["ts"])
    except ValueError:
        return made
    since = (stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    basis = "local" if stamp.tzinfo is None else "utc"
    return made | {"time_ns": since // timedelta(microseconds=1) * 1000, "time_basis": basis}


def _initial(groups: Mapping[str, str]) -> dict[str, Any]:
    """The line that names the rank whose result was refused: that rank prints it."""
    made = _result(groups)
    made["detail"]["named"] = None
    return made | {"names_ranks": [int(groups["named"])], "rank": int(groups["named"]), "rank_space": "global"}


def _diagnosed(groups: Mapping[str, str]) -> dict[str, Any]:
    step = integer(groups.get("iteration"))
    return {
        "names_ranks": [int(groups["named"])],
        "names_hosts": [groups["node"]],
        "step": step if step is not None and step >= 0 else None,
        "detail": {"named": None, "iteration": None},
    }


def _rerun(groups: Mapping[str, str]) -> dict[str, Any]:
    made = _diagnosed(groups) if "named" in groups else {"detail": {}}
    made["code"] = f"{groups['nth'].lower()}_rerun_{'not_' if 'not' in groups else ''}reproducible"
    made["detail"] |= {"nth": None, "not": None}
    return made


RULES = (
    Rule(
        regex(
            r"\bts=(?P<ts>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\S{0,40}) node=(?P<host>\S{1,253}) "
            r"device=(?P<device_index>\d{1,6}) jobID=(?P<job>\S{1,100}) rank=(?P<named>\d{1,9}) "
            rf"iteration=(?P<iteration>-?\d{{1,15}}) status=(?:RerunValidationStatus\.)?(?P<status>(?i:{_STATUS})) "
            rf"result=(?P<result>.{{1,200}}?) {_MESSAGE}"
        ),
        "nan_assert",
        refine=_tracked,
    ),
    Rule(
        regex(
            r"Unexpected result (?P<result>.{1,200}?) at (?P<source>\S{1,500}) line (?P<source_line>\d{1,9}), "
            rf"invokation #(?P<call>\d{{1,9}}) at iteration #(?P<iteration>-?\d{{1,15}}) {_MESSAGE}"
        ),
        "nan_assert",
        code="initial_run",
        refine=_result,
    ),
    Rule(
        regex(
            r"Unexpected result (?P<result>.{1,200}?) on rank (?P<named>\d{1,9}) at iteration #(?P<iteration>-?\d{1,15}) "
            rf"invocation #(?P<call>\d{{1,9}}) {_MESSAGE}"
        ),
        "nan_assert",
        code="initial_run",
        refine=_initial,
    ),
    Rule(regex(rf"{_DEVICE}Possible transient error"), "other", code="transient_error", refine=_diagnosed),
    Rule(regex(rf"{_DEVICE}Possible persistent error"), "other", code="persistent_error", refine=_diagnosed),
    Rule(
        regex(rf"{_DEVICE}Correct result \(but possible Application error\)"),
        "other", severity="warning", code="correct_result", refine=_diagnosed,
    ),
    Rule(
        regex(
            rf"(?:{_DEVICE})?(?P<nth>First|Second) rerun: unexpected result is (?P<not>not )?reproducible"
            r"(?: within the tolerance)?(?: \((?P<result>[^()]{1,200})\))?"
        ),
        "other", severity="warning", refine=_rerun,
    ),
    Rule(
        regex(r"Got rescheduled on the same GPU\..{0,120}?\(node: (?P<node>[^\s,]{1,253}), gpu: (?P<gpu>\d{1,6})\)"),
        "other", severity="warning", code="same_device", refine=lambda groups: {"names_hosts": [groups["node"]]},
    ),
)  # fmt: skip


def parse(lines: pl.DataFrame) -> Tables:
    """events nan_assert and other."""
    return read_rules(lines, RULES)


PARSER = LineParser(
    name="rerun_tracker",
    anchors=(
        b" jobID=", b", invokation #", b" invocation #", b"ossible transient error", b"ossible persistent error",
        b"Correct result (but possible", b" rerun: unexpected result is ", b"Got rescheduled on the same GPU",
    ),
    parse=parse,
)  # fmt: skip
