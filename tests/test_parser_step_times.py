"""Times of parts of a step in the lines of training scripts, and the load of experts."""

from typing import Any

import pytest

from parsers.timing.step_times import PARSER as TIMES
from parsers.training.expert_load import PARSER as LOAD
from tests.lines import lines


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INFO train: step 5 loss 0.21 step_time 0.691 s data_time 0.003 s",
         [(5, "step", "step_time", 691.0), (5, "data", "data_time", 3.0)]),
        ("Epoch(train)  [1][ 50/625]  lr: 1.0e-02  time: 0.2389  data_time: 0.0045  loss: 2.3", [(50, "data", "data_time", 4.5)]),
        ("iter: 19  total_loss: 1.2  time: 0.31  data_time: 0.0112  last_data_time: 0.0031", [(19, "data", "last_data_time", 3.1)]),
        ("step=7 forward_ms=101.5 backward_ms=203.9", [(7, "forward", "forward_ms", 101.5), (7, "backward", "backward_ms", 203.9)]),
        ("step 7 comm_time 250 us", [(7, "comm", "comm_time", 0.25)]),
        ("step 7/5000 loss 9.1 step_time 0.4s data 0.1s fwd 0.2s tok/s 1594", [(7, "step", "step_time", 400.0),
         (7, "data", "data", 100.0), (7, "fwd", "fwd", 200.0)]),
        ("iter 7 | loss 9.17 | total 579.8 ms | forward 106.4 ms", [(7, "total", "total", 579.8), (7, "forward", "forward", 106.4)]),
        ("step 7 loss 9.1 step_time 0.4 data 0.1 sync 0.2 tps 9000", [(7, "step", "step_time", 400.0), (7, "data", "data", 100.0),
         (7, "sync", "sync", 200.0)]),
        ("step 7 loss 9.1 data 0.1 sync 0.2", []),
        ("step 7 eta_time 9000 s total_time: 12 avg_data_time 3 elapsed_time_per_iteration_ms: 11.5", []),
        ("data_time 0.003 s", []),
        ("step 7 data_time nan", []),
        ("", []),
    ],
    ids=["plain", "mmengine", "detectron2", "ms", "us", "units", "bars", "no units", "no times", "totals", "no step", "nan", "empty"],
)  # fmt: skip
def test_parts_of_a_step(text: str, expected: list[tuple[Any, ...]]) -> None:
    rows = TIMES.parse(lines(text, rank=3))["timings"]
    found = rows.select("step", "phase", "name", "value_ms").rows()
    assert [(*row[:3], pytest.approx(row[3])) for row in expected] == found
    assert set(rows["rank"]) <= {3}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("moe: step 5 tokens per expert max 90000 mean 30000 recompute enabled (threshold 60000)", [(5, 3.0, True)]),
        ("step=5 tokens_per_expert: max=90000, avg=30000", [(5, 3.0, False)]),
        ("layer 3 tokens per expert: mean 4096, max 8192", [(None, 2.0, False)]),
        ("tokens per expert max 9 mean 0", []),
        ("tokens per expert are balanced", []),
        ("", []),
    ],
)  # fmt: skip
def test_load_of_experts(text: str, expected: list[tuple[Any, ...]]) -> None:
    rows = LOAD.parse(lines(text, rank=3))["events"]
    found = [
        (step, value, '"recompute": true' in detail)
        for step, value, detail in rows.select("step", "value", "detail").rows()
    ]
    assert found == expected
