"""What a process survived did not end it; what cannot be told apart from its end is left as it is."""

from typing import Any

import polars as pl
import pytest

from forensics.survived import without_survived
from parsers.tables import TABLE_NAMES, TableName, table

SECOND = 1_000_000_000


def kinds(events: list[dict[str, Any]], steps: list[dict[str, Any]]) -> list[str]:
    """Kinds of the events afterwards, in their order."""
    rows: dict[TableName, list[dict[str, Any]]] = {
        "events": [{"file": "r3.log", "rank": 3, "severity": "error", "text": "x", **row} for row in events],
        "steps": [{"file": "r3.log", "rank": 3, "phase": "train", "time_basis": "local", **row} for row in steps],
    }
    tables = {name: table(name, rows.get(name, [])) for name in TABLE_NAMES}
    return without_survived(tables)["events"]["kind"].to_list()


def raised(line: int, **row: Any) -> dict[str, Any]:
    return {"kind": "exception", "line": line, **row}


def step(line: int, **row: Any) -> dict[str, Any]:
    return {"step": line, "line": line, "time_ns": line * SECOND, **row}


END = {"kind": "job_end", "line": 90, "severity": "info"}
TIMEOUT = {"kind": "collective_timeout", "line": 80}


@pytest.mark.parametrize(
    ("events", "steps", "expected"),
    [
        pytest.param([raised(10), END], [step(20)], "other", id="the job ended well afterwards"),
        pytest.param([raised(10), TIMEOUT], [step(20)], "other", id="a step, and another failure"),
        pytest.param(
            [raised(10, time_ns=10 * SECOND, time_basis="local")], [step(20)], "other", id="a step with a later stamp"
        ),
        pytest.param(
            [{"kind": "port_error", "line": 10, "rank": None}, END | {"rank": None}], [], "other", id="no rank"
        ),
        pytest.param([raised(10, file="err.log"), END], [], "other", id="its end in another file"),
        pytest.param([{"kind": "store_timeout", "line": 95}, END], [step(20)], "other", id="others left after its end"),
        pytest.param([raised(10)], [step(20)], "exception", id="lines alone: steps may be flushed at the end"),
        pytest.param([raised(10)], [step(5)], "exception", id="nothing afterwards"),
        pytest.param([raised(10), TIMEOUT], [step(5)], "exception", id="no step between two failures"),
        pytest.param([raised(10), END | {"rank": 4}], [], "exception", id="the end of another rank"),
        pytest.param([raised(10), END | {"line": 15}], [step(20)], "exception", id="an end that was none"),
        pytest.param([raised(95), END], [step(20)], "exception", id="an exception after the end"),
        pytest.param(
            [raised(10, time_ns=10 * SECOND, time_basis="utc")], [step(20)], "exception", id="stamps of two kinds"
        ),
        pytest.param(
            [raised(10, time_ns=30 * SECOND, time_basis="local")], [step(20)], "exception", id="an earlier stamp"
        ),
        pytest.param([{"kind": "gpu_error", "line": 10}, END], [step(20)], "gpu_error", id="a device's error stays"),
        pytest.param([{"kind": "nan_assert", "line": 10}, END], [step(20)], "nan_assert", id="a NaN stays"),
    ],
)
def test_errors(events: list[dict[str, Any]], steps: list[dict[str, Any]], expected: str) -> None:
    assert kinds(events, steps)[0] == expected


def test_nothing_else_changes() -> None:
    tables = {name: table(name, []) for name in TABLE_NAMES}
    events = table("events", [{"file": "a", "line": 1, "kind": "exception", "severity": "error", "text": "x"}])
    after = without_survived({**tables, "events": events})
    assert after["events"].equals(events) and isinstance(after["steps"], pl.DataFrame)
