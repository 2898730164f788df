"""Whether a record precedes what ended the attempt."""

from typing import Any

import pytest

from tests.log_cases import case

DAY, HOUR = 86_400, 3_600
T0 = 20_000 * DAY


def ns(second: float) -> int:
    return int((T0 + second) * 1e9)


def record(second: float | None, basis: str | None = "utc", host: str = "n1") -> dict[str, Any]:
    return {"time_ns": None if second is None else ns(second), "time_basis": basis, "host": host}


def wait(basis: str = "utc", **columns: Any) -> dict[str, Any]:
    """A call that began at second 0 and was given up after ten minutes."""
    stamp = {"time_ns": ns(600), "time_basis": basis, "value": 600_000.0}
    return {"kind": "collective_timeout", "rank": 0, "seq": 5, **stamp, **columns}


@pytest.mark.parametrize(
    ("basis", "row", "expected"),
    [
        ("utc", record(-3), "before"),
        ("utc", record(20), "before"),
        ("utc", record(60), "apart"),
        ("utc", record(-2 * HOUR), "apart"),
        ("local", record(-3), "before"),
        ("local", record(300), "apart"),
        ("local", record(-3 - 8 * HOUR), "unknown"),
        ("local", record(-3 - 5.75 * HOUR), "unknown"),
        ("local", record(-3 - 6.25 * HOUR), "apart"),
        ("local", record(-900 - 8 * HOUR), "apart"),
        ("local", record(600 + 5.5 * HOUR), "apart"),
        ("local", record(-3 - 16 * HOUR), "apart"),
        ("local", record(-8 * DAY, "local"), "apart"),
        ("utc", record(500, "boot"), "unknown"),
        ("utc", record(None, None), "unknown"),
    ],
    ids=[
        "just before", "within a step", "during the wait", "long before", "as printed", "as printed, during", "eight zones off",
        "Nepal", "no zone has these quarters", "no zone fits", "no zone fits, later", "beyond all zones", "without zone, last week", "clock of a boot", "no time",
    ],
)  # fmt: skip
def test_when(basis: str, row: dict[str, Any], expected: str) -> None:
    assert case([wait(basis)]).anomaly_window.when(row) == expected


@pytest.mark.parametrize(
    ("second", "number", "expected"),
    [
        (8 * HOUR - 3, {"pid": 77}, "unknown"),
        (8 * HOUR - 3, {"pid": None}, "apart"),
        (8.25 * HOUR, {"pid": 77}, "apart"),
    ],
    ids=["the job's process, in another zone", "some process", "no zone fits"],
)
def test_a_kernel_that_names_a_process_of_the_job(second: float, number: dict[str, Any], expected: str) -> None:
    """The host's log and the container's have no zones, and need not keep the same."""
    killed = record(second, "local") | {"kind": "host_oom", "rank": 3, "rank_space": "global"} | number
    assert case([wait("local")]).anomaly_window.when(killed) == expected


def test_without_an_anomaly_that_has_a_time() -> None:
    assert case([wait() | {"time_ns": None}]).anomaly_window.when(record(0)) == "unknown"


def test_what_is_older_than_the_launch_by_a_day_is_of_another_time() -> None:
    files = [{"file": "0/stderr.log", "attempt": 0, "time_first_ns": ns(0)}]
    onset = case([wait() | {"time_ns": None}], files=files).anomaly_window
    assert [onset.when(record(hours * HOUR)) for hours in (-20, -10)] == ["apart", "unknown"]


def test_a_failure_has_no_step_to_wait_for() -> None:
    failed = case([{"kind": "exception", "code": "KeyError", "rank": 3, "time_ns": ns(0), "time_basis": "utc"}])
    assert [failed.anomaly_window.when(record(second)) for second in (-5, 30)] == ["before", "apart"]


def test_what_the_job_outlived() -> None:
    steps = [{"rank": 0, "step": n, "time_ns": ns(-1000 + 5 * n), "time_basis": "utc"} for n in range(199)]
    early = {"kind": "exception", "code": "OSError", "rank": 1, "time_ns": ns(-600), "time_basis": "utc"}
    onset = case([wait(), early], steps=steps).anomaly_window
    assert [onset.when(record(second)) for second in (-605, -200, -12, -3)] == ["apart", "apart", "before", "before"]


def test_no_work_was_completed_since_however_long_the_wait() -> None:
    steps = [{"rank": 0, "step": 1, "time_ns": ns(-3 * HOUR), "time_basis": "utc"}]
    onset = case([wait()], steps=steps).anomaly_window
    assert [onset.when(record(second)) for second in (-3 * HOUR + 5, -4 * HOUR)] == ["before", "apart"]


@pytest.mark.parametrize(("boots", "expected"), [(-100, "apart"), (5000, "before")], ids=["before it", "after it"])
def test_a_boot_of_the_host(boots: int, expected: str) -> None:
    told = [{"name": "boot_time_ns", "host": "n1", "value": str(ns(boots)), "scope": "clock"}]
    assert case([wait()], settings=told).anomaly_window.when(record(-200)) == expected


def test_a_clock_of_a_boot_that_is_tied_to_the_wall() -> None:
    told = [{"name": "boot_time_ns", "host": "n1", "value": str(ns(-500)), "scope": "clock"}]
    row = {"time_ns": 495 * 10**9, "time_basis": "boot", "host": "n1"}
    events = [wait(), {"kind": "gpu_error", **row}]
    onset = case(events, settings=told).anomaly_window
    assert [onset.when(row | {"time_ns": second * 10**9}) for second in (495, 700)] == ["before", "apart"]


def test_a_process_may_notice_late() -> None:
    onset = case([wait()]).anomaly_window
    row = record(500) | {"rank": 3, "rank_space": "global", "pid": None}
    assert [onset.counts(row | change) for change in ({}, {"pid": 77}, {"rank": None})] == [True, False, False]
