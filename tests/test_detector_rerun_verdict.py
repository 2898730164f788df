"""T34: what a rerun of the same step on the same device, and on another one, says of the device."""

from typing import Any

import pytest

from forensics.detectors.numerics.rerun_verdict import DETECTOR
from parsers.numerics.rerun_tracker import PARSER
from parsers.schema.parser import LINES
from parsers.schema.tables import empty, table
from tests.log_cases import judged
from tests.tensor_rows import case_of


def tracked(*lines: tuple[str, int, str, str]) -> Any:
    rows = [
        {
            "kind": "nan_assert" if result == "nan" else "other", "code": status, "names_ranks": [5], "names_hosts": [node],
            "device_index": device, "step": 812, "detail": f'{{"result": "{result}"}}', "file": "tracker.txt", "line": line,
        }
        for line, (node, device, status, result) in enumerate(lines, 1)
    ]  # fmt: skip
    return case_of(empty("tensors"), events=table("events", rows))


def test_transient_fault_is_a_suspicion() -> None:
    case = tracked(("n07", 1, "initial_run", "2.5"), ("n07", 1, "first_rerun_not_reproducible", "2.1"))
    found = judged(case, DETECTOR)
    assert (found.ranks, found.suspects, found.suspect_hosts) == ((), (5,), ("n07",))
    assert (found.cause, found.is_proven, found.finding.first_anomaly.value) == ("replica_divergence", False, "finite")


@pytest.mark.parametrize(("first", "cause"), [("nan", "nan_birth"), ("2.5", "replica_divergence")])
@pytest.mark.parametrize("code", ["first_rerun_not_reproducible", "transient_error"])
def test_what_the_first_run_gave_tells_the_cause(first: str, cause: str, code: str) -> None:
    """A repetition that gives a number does not make a NaN a finite difference."""
    found = judged(tracked(("n07", 1, "initial_run", first), ("n07", 1, code, "2.1")), DETECTOR)
    assert (found.cause, found.ranks, found.suspects) == (cause, (), (5,))


def test_persistent_fault_names_the_first_device() -> None:
    case = tracked(
        ("n07", 1, "initial_run", "nan"),
        ("n07", 1, "first_rerun_reproducible", "nan"),
        ("n09", 3, "second_rerun_not_reproducible", "2.1"),
    )
    found = judged(case, DETECTOR)
    assert (found.ranks, found.hosts, found.finding.domain, found.is_proven) == ((5,), ("n07",), "infrastructure", True)
    assert [(device.host, device.index) for device in found.finding.devices] == [("n07", 1)]
    assert (found.cause, found.finding.first_anomaly.step) == ("nan_birth", 812)


def test_the_diagnosis_outranks_the_order_of_lines() -> None:
    case = tracked(("n09", 3, "second_rerun_not_reproducible", "2.1"), ("n07", 1, "persistent_error", "2.1"))
    (found,) = DETECTOR.detect(case)
    assert found.hosts == ("n07",)


def test_reproducible_on_two_devices_is_not_the_hardware() -> None:
    case = tracked(
        ("n07", 1, "initial_run", "nan"),
        ("n07", 1, "first_rerun_reproducible", "nan"),
        ("n09", 3, "second_rerun_reproducible", "nan"),
    )
    (found,) = DETECTOR.detect(case)
    assert (found.ranks, found.suspect_ranks, found.domain) == ((), (), "workload")


@pytest.mark.parametrize("status", ["initial_run", "rerun_disabled", "first_rerun_reproducible"])
def test_a_rerun_that_did_not_end_says_nothing(status: str) -> None:
    assert DETECTOR.detect(tracked(("n07", 1, status, "nan"))) == ()


def test_lines_of_the_tracker_file() -> None:
    import polars as pl

    head = "ts=2026-01-31 10:11:12.345678 node=n07 device=1 jobID=77 rank=5 iteration=812"
    texts = [f"{head} status={status} result=nan message='found NaN in local forward loss calculation'" for status in (
        "initial_run", "first_rerun_not_reproducible")]  # fmt: skip
    frame = pl.DataFrame(
        {"file": "t", "line": [1, 2], "raw": texts, "text": texts, "hit": True}, schema_overrides=LINES
    )
    lines = frame.select(
        pl.col(name) if name in frame.columns else pl.lit(None, kind).alias(name) for name, kind in LINES.items()
    )
    (found,) = DETECTOR.detect(case_of(empty("tensors"), events=PARSER.parse(lines)["events"]))
    assert (found.suspect_ranks, found.first_anomaly.value) == ((5,), "nan")
