"""A row per rank and step with a column per part."""

from typing import Any

import pytest

from parsers.timing.step_records import PARSER
from tests.sources import source

JSON = """{"time": "2026-11-18T09:12:27Z", "rank": 3, "host": "w0", "step": 7, "loss": 2.5, "data_ms": 12.0, "step_ms": 415.3, "tokens": 99}
{"rank": 3, "step": 8, "forward_s": 0.1, "avg_step_s": 0.4, "eta_s": 900}
"""
CSV = "rank,step,loader_s,compute_us,iter_time\n3,7,0.0118,331000,0.428\n"


@pytest.mark.parametrize(
    ("content", "timings"),
    [
        (JSON, [(3, 7, "data", 12.0, 99), (3, 7, "step", 415.3, 99), (3, 8, "forward", 100.0, None)]),
        (CSV, [(3, 7, "loader", 11.8, None), (3, 7, "compute", 331.0, None), (3, 7, "iter", 428.0, None)]),
    ],
    ids=["json", "csv"],
)
def test_parts(content: str, timings: list[tuple[Any, ...]]) -> None:
    assert PARSER.accepts("x", content.encode())
    read = PARSER.parse(source(content))
    rows = read["timings"].select("rank", "step", "phase", "value_ms", "tokens").rows()
    assert rows == [(*row[:3], pytest.approx(row[3]), row[4]) for row in timings]


def test_steps_and_who_runs_where() -> None:
    read = PARSER.parse(source(JSON))
    assert read["steps"].select("rank", "step", "loss", "elapsed_ms").rows() == [(3, 7, 2.5, 415.3), (3, 8, None, None)]
    assert read["ranks"].select("rank", "host").rows() == [(3, "w0")]


@pytest.mark.parametrize(
    "foreign",
    [b"", b"hello\n", b"{}", b'{"step": 1, "loss": 2.0}\n', b'{"rank": 1, "step": 1, "phase": "comm", "ms": 3.0, "x_ms": 1}\n',
     b"rank,step,phase,ms\n", b'{"time": 1, "host": "a", "step": 1, "lr_s": 3}\n'],
)  # fmt: skip
def test_foreign(foreign: bytes) -> None:
    assert not PARSER.accepts("x", foreign)
    PARSER.parse(source(b"\xff\xfe" + JSON.encode()[:60] + foreign))
