"""What was looked at and found clean is said of a run that is well, or of which nobody knows; and of nothing that is not clean."""

import json
from typing import Any, get_args

import msgspec
import pytest

from forensics.report import schema
from forensics.verdict.told.checked import checked
from forensics.words import checked as words
from reports import html, markdown, terminal
from tests.analysed import sample
from tests.log_cases import case

RANKS = range(4)
TENSORS = [
    {"rank": rank, "step": step, "phase": "forward", "module": "a", "op": "Linear", "tensor": "output", "nan_count": 0, "inf_count": 0, "absmax": 1.0}
    for rank in RANKS for step in range(3)
]  # fmt: skip
STEPS = [{"rank": rank, "step": step, "loss": 2.0, "phase": "train"} for rank in RANKS for step in range(3)]
TIMES = [{"rank": rank, "step": step, "phase": phase, "name": phase, "value_ms": 20.0}
         for rank in RANKS for step in range(5) for phase in ("forward", "backward")]  # fmt: skip
GPUS = [
    {"host": f"n{n}", "device_index": 0, "metric": "temp", "quantity": "temperature", "value": 60.0} for n in range(4)
]
CALLS = [
    {"rank": rank, "step": 1, "phase": "grad_sync", "module": "a", "op": "all_reduce", "tensor": "grad_out", "group": "dp", "group_ranks": "0-3",
     "call": 0, "absmax": 1.0, "nan_count": 0}
    for rank in RANKS
]  # fmt: skip
KERNEL = [{"file": "n1/dmesg", "parsers": ["kernel_log"], "host": "n1", "lines": 9, "recognised": 2}]
LOGS = [{"file": "a.log", "parsers": ["steps"], "lines": 40, "recognised": 40}]
DUMPS = [
    {"rank": rank, "pg_id": 0, "group": "0", "seq": 4, "kind": "all_reduce", "state": "completed", "record": 0}
    for rank in RANKS
]
COUNTS = [
    {"rank": rank, "pg_id": 0, "group": "0", "scope": "all", "last_enqueued": 7, "last_started": 7, "last_completed": 7} for rank in RANKS
]  # fmt: skip
SAVED = {"kind": "checkpoint_save", "step": 500, "severity": "info"}
XID = {"kind": "gpu_error", "code": "xid:79", "severity": "fatal", "host": "n1"}
CHECK = {"kind": "node_check", "code": "ok", "host": "n1", "severity": "info", "detail": '{"test": "matmul"}'}


@pytest.mark.parametrize(
    ("what", "clean", "not_clean"),
    [
        ("tensors", {"tensors": TENSORS}, None),
        ("replicas", {"tensors": CALLS}, {"tensors": CALLS[:1]}),  # compared with nobody
        (
            "steps",
            {"steps": STEPS},
            {"steps": [*STEPS, {"rank": 0, "step": 3, "loss": float("nan"), "phase": "train"}]},
        ),
        ("kernel", {"files": KERNEL}, {"files": KERNEL, "events": [XID]}),
        (
            "records",
            {"operations": DUMPS},
            {"operations": [*DUMPS, DUMPS[0] | {"seq": 5, "state": "started", "record": 1}]},
        ),
        (
            "phases",
            {"timings": TIMES},
            {"timings": [row | {"value_ms": 90.0} if row["rank"] == 2 else row for row in TIMES]},
        ),
        ("devices", {"devices": GPUS}, None),
        ("checks", {"events": [CHECK]}, {"events": [CHECK, CHECK | {"code": "failed", "severity": "error"}]}),
        ("checkpoints", {"events": [SAVED]}, {"events": [SAVED, {"kind": "storage_error", "code": "checkpoint"}]}),
        (
            "ras",
            {"events": [{"kind": "ras_status", "severity": "info"}]},
            {"events": [{"kind": "ras_status", "severity": "warning"}]},
        ),
        (
            "scheduler",
            {"events": [{"kind": "scheduler", "severity": "info"}]},
            {"events": [{"kind": "scheduler", "severity": "error"}]},
        ),
        ("counters", {"progress": COUNTS}, {"progress": [*COUNTS[1:], COUNTS[0] | {"last_completed": 6}]}),
        ("lines", {"files": LOGS}, {"files": LOGS, "events": [{"kind": "exception", "rank": 0}]}),
    ],
)
def test_each_sort_of_evidence(what: words.What, clean: dict[str, Any], not_clean: dict[str, Any] | None) -> None:
    assert words.WHAT[what] in [one.what for one in checked(case(**clean), ())]
    if not_clean is not None:
        assert words.WHAT[what] not in [one.what for one in checked(case(**not_clean), ())]


def test_every_sort_has_its_words() -> None:
    assert set(get_args(words.What)) == set(words.WHAT)


def test_how_much_was_looked_at() -> None:
    [tensors] = [one for one in checked(case(tensors=TENSORS), ()) if one.what == "tensor statistics"]
    assert (tensors.scope, tensors.result) == ("4 ranks × 3 steps, 12 tensors", "no NaN, no Inf")
    [kernel] = [
        one
        for one in checked(case([{"kind": "job_start", "host": "n2", "rank": 0, "severity": "info"}], files=KERNEL), ())
        if one.what == "kernel logs"
    ]
    assert kernel.scope == "1 of 2 hosts"


def test_what_a_finding_speaks_of_is_not_called_clean() -> None:
    assert checked(case(tensors=TENSORS, timings=TIMES), ("numerics", "slow")) == []


@pytest.mark.parametrize("name", ["healthy_tensors", "logs_deepspeed_scale"])
def test_every_report_says_it(name: str) -> None:
    report = sample(name)
    assert report.verdict.kind in ("healthy", "unknown")
    [first, *_] = report.incident.checked
    for language, text in (("en", first.result), ("zh", first.result.zh)):  # type: ignore[attr-defined]
        assert text in terminal.render(report, color=False, width=None, language=language)  # type: ignore[arg-type]
        assert text in markdown.render(report, language)  # type: ignore[arg-type]
        assert text in html.render(report, language=language)  # type: ignore[arg-type]
    told = json.loads(msgspec.json.encode(report, enc_hook=str))["incidents"][report.primary]["checked"]
    assert told[0] == {"what": str(first.what), "scope": str(first.scope), "result": str(first.result)}


def test_a_named_culprit_needs_no_such_list() -> None:
    assert sample("nan_birth").incident.checked == []


def test_the_schema_knows_it() -> None:
    assert "checked" in schema()["$defs"]["Incident"]["properties"]
