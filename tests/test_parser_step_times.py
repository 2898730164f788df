"""Times of parts of a step in the lines of training scripts, and the load of experts."""

from math import inf, nan
from typing import Any

import pytest

from parsers.logs.field_lines import PARSER as JSON
from parsers.text import durations
from parsers.timing.checkpoint_times import PARSER as SAVES
from parsers.timing.step_times import PARSER as TIMES
from parsers.training.expert_load import PARSER as LOAD
from parsers.training.recompute import PARSER as RECOMPUTE
from tests.lines import lines


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INFO train: step 5 loss 0.21 step_time 0.691 s data_time 0.003 s",
         [(5, "step", "step_time", 691.0), (5, "data", "data_time", 3.0)]),
        ("Epoch(train)  [1][ 50/625]  lr: 1.0e-02  time: 0.2389  data_time: 0.0045  loss: 2.3", [(50, "data", "data_time", 4.5)]),
        ("iter: 19  total_loss: 1.2  time: 0.31  data_time: 0.0112  last_data_time: 0.0031", [(19, "data", "last_data_time", 3.1)]),
        ("step=7 forward_ms=101.5 backward_ms=203.9", [(7, "forward", "forward_ms", 101.5), (7, "backward", "backward_ms", 203.9)]),
        ("step 7 data 0.5 fwd 0.25 bwd 0.125 allreduce 1.5 loss 2.9",
         [(7, "data", "data", 500.0), (7, "fwd", "fwd", 250.0), (7, "bwd", "bwd", 125.0), (7, "allreduce", "allreduce", 1500.0)]),
        ("step 7 data 3 fwd 2 bwd 1 allreduce 4 loss 2.9", []),  # without a fraction they may be counts
        ("step 7 data 0.5 loss 2.9 forward 0.5", []),
        ("step 7 comm_time 250 us", [(7, "comm", "comm_time", 0.25)]),
        ("step 7 eta_time 9000 s total_time: 12 avg_data_time 3 elapsed_time_per_iteration_ms: 11.5", []),
        ("step 7/90 loss 2.1 step_time 0.4s data 0.013s fwd 0.11s grad_sync 0.05s tok/s 159474",
         [(7, "step", "step_time", 400.0), (7, "data", "data", 13.0), (7, "fwd", "fwd", 110.0), (7, "grad_sync", "grad_sync", 50.0)]),
        ("iter 7 | loss 9.170 | total 580 ms | data 10.6 ms | forward 106 ms | allreduce: 224 ms",
         [(7, "total", "total", 580.0), (7, "data", "data", 10.6), (7, "forward", "forward", 106.0), (7, "allreduce", "allreduce", 224.0)]),
        ("step 7 loss 2.1 step_time 0.423 data 0.011 compute 0.32", [(7, "step", "step_time", 423.0), (7, "data", "data", 11.0), (7, "compute", "compute", 320.0)]),
        ("step=7 step_ms=423 data=11 compute=320", [(7, "step", "step_ms", 423.0), (7, "data", "data", 11.0), (7, "compute", "compute", 320.0)]),
        ("step 7 step time: 0.4 s data loading: 12 ms", [(7, "step", "step time", 400.0), (7, "data_loading", "data loading", 12.0)]),
        ("step 7 time/fwd=0.11 time/bwd=0.22", [(7, "fwd", "time/fwd", 110.0), (7, "bwd", "time/bwd", 220.0)]),
        ("step:7 - actor/lr:1e-06 - training/global_step:7 - timing_s/gen:58.8 - timing_s/update_actor:89.2 - timing_s/step:167.0",
         [(7, "gen", "timing_s/gen", 58800.0), (7, "update_actor", "timing_s/update_actor", 89200.0), (7, "step", "timing_s/step", 167000.0)]),
        ("step 7 step_time 0.423 data 5120 batch 32", [(7, "step", "step_time", 423.0)]),
        ("Epoch: [3]  [  20/900]  eta: 0:08:51  lr: 0.1  loss: 6.1 (6.2)  time: 0.46  data: 0.012  max mem: 41", [(20, "data", "data", 12.0)]),
        ("Epoch: [0][ 20/900]\tTime  0.412 ( 0.480)\tData  0.012 ( 0.031)\tLoss 6.9e+00", [(20, "data", "Data", 12.0)]),
        ("Epoch: [3]  [  20/900]  loss: 6.1 (6.2)  time: 0.46  data: 5120", []),
        ("Test:  [  20/98]  eta: 0:00:51  loss: 6.1 (6.2)  time: 0.46  data: 0.312", []),
        ("step 7 data 5120 forward 3 of 9", []),
        ("step 7 samples/s 12 data/s 30 total 9000 s data 10 ms", [(7, "data", "data", 10.0)]),
        ("step 7 timeout 30 s loss_time 3 s in 5s", []),
        ("data_time 0.003 s", []),
        ("step 7 data_time nan", []),
        ("", []),
    ],
    ids=[
        "plain", "mmengine", "detectron2", "ms", "parts alone", "counts", "two parts", "us", "totals", "a unit behind each", "between bars", "unit of the step", "unit of the names",
        "two words", "paths", "verl", "other numbers", "torchvision", "ImageNet example",
        "more than the step", "a test", "nothing says time", "rates and sums", "other times", "no step", "nan", "empty",
    ],
)  # fmt: skip
def test_parts_of_a_step(text: str, expected: list[tuple[Any, ...]]) -> None:
    rows = TIMES.parse(lines(text, rank=3))["timings"]
    found = rows.select("step", "phase", "name", "value_ms").rows()
    assert [(*row[:3], pytest.approx(row[3])) for row in expected] == found
    assert set(rows["rank"]) <= {3}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("moe: step 5 tokens per expert max 90000 mean 30000 recompute enabled (threshold 60000)", [(5, 3.0)]),
        ("step=5 tokens_per_expert: max=90000, avg=30000", [(5, 3.0)]),
        ("layer 3 tokens per expert: mean 4096, max 8192", [(None, 2.0)]),
        ("tokens per expert max 9 mean 0", []),
        ("tokens per expert are balanced", []),
        ("", []),
    ],
)  # fmt: skip
def test_load_of_experts(text: str, expected: list[tuple[Any, ...]]) -> None:
    rows = LOAD.parse(lines(text, rank=3))["events"]
    found = rows.select("step", "value").rows()
    assert found == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"time": "2026-01-31T10:11:12.5Z", "rank": 5, "host": "n1", "step": 7, "data_ms": 3.5, "allreduce_ms": 60, "step_ms": 400}',
         [(5, 7, "data", 3.5), (5, 7, "allreduce", 60.0), (5, 7, "step", 400.0)]),
        ('{"step_s": 0.4, "dataloader_s": 0.125, "iteration": 7, "hostname": "n1", "global_rank": 5}', [(5, 7, "step", 400.0), (5, 7, "dataloader", 125.0)]),
        ('{"step": 7, "times_ms": {"fwd": 210, "bwd": 430}}', [(3, 7, "fwd", 210.0), (3, 7, "bwd", 430.0)]),
        ('{"global_step": 7, "train/loss": 2.1, "time/step": 0.5, "time/data": 0.125}', [(3, 7, "step", 500.0), (3, 7, "data", 125.0)]),
        ('{"step": 7, "step_time": 0.5, "data": 0.125, "compute": 0.25, "batch": 32}', [(3, 7, "step", 500.0), (3, 7, "data", 125.0), (3, 7, "compute", 250.0)]),
        ('{"step": 7, "iterTimeMs": 400, "dataTimeMs": 12}', [(3, 7, "iter", 400.0), (3, 7, "data", 12.0)]),
        ('{"step": 7, "eta_s": 9000, "requests_per_s": 5, "loss_ms": 3, "avg_step_ms": 5, "data_ms": null, "fwd_ms": true}', []),
        ('{"rank": 5, "data_ms": 3.5}', []),
        ('{"step": 7, "data_ms": 3.5', []),
        ('step 7 "data_ms": 3', []),
    ],
    ids=["timer", "other names and order", "nested", "tracker", "unit of the step", "humps", "no times of a step", "no step", "cut", "no object"],
)  # fmt: skip
def test_steps_as_json(text: str, expected: list[tuple[Any, ...]]) -> None:
    read = JSON.parse(lines(text, rank=3))
    assert read["timings"].select("rank", "step", "phase", "value_ms").rows() == expected
    assert read["steps"].select("rank", "step").rows() == [row[:2] for row in expected[:1]]
    assert read["ranks"].select("rank", "host").rows() == [(5, "n1")] * ('"n1"' in text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"step": 7, "loss": NaN, "grad_norm": 0.5}', [(7, nan, 0.5)]),
        ('{"iteration": 7, "train/local_loss": -Infinity}', [(7, -inf, None)]),
        ('{"step": 7, "data_ms": 3.5, "loss": NaN}', [(7, nan, None)]),
        ('{"step": 7, "metrics": {"loss": "nan", "grad_norm": Infinity}}', [(7, nan, inf)]),
        ('{"step": 7, "loss": 2.5, "local_loss": 2.25}', [(7, 2.25, None)]),
        ('{"step": 7, "eval/loss": NaN}', []),
        ('{"step": 7, "split": "val", "loss": NaN}', []),
        ('{"step": 7, "lr": NaN, "norm": 3}', []),
        ('{"step": 7, "loss": NaN, }', [(7, nan, None)]),
    ],
    ids=["beside a norm", "below zero", "beside a time", "nested", "own before all's", "evaluation", "of an evaluation",
         "no loss", "a comma too many"],
)  # fmt: skip
def test_losses_as_json(text: str, expected: list[tuple[Any, ...]]) -> None:
    assert repr(
        JSON.parse(lines(text))["steps"].filter(phase="train").select("step", "loss", "grad_norm").rows()
    ) == repr(expected)


def test_steps_as_json_tell_when_and_how_much() -> None:
    text = '{"ts": 1769854272.5, "rank": 5, "step": 7, "loss": 2.5, "tokens": 4096, "expert_mlp_ms": 90.5}'
    read = JSON.parse(lines(text))
    assert read["steps"].select("time_ns", "time_basis", "loss").rows() == [(1_769_854_272_500_000_000, "utc", 2.5)]
    assert read["timings"].select("phase", "tokens").rows() == [("expert_mlp", 4096)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("checkpoint step 50: wrote shard 00003-of-00008 (5.1 GB) to /ckpt in 9.2s", [(50, "checkpoint", "checkpoint", 9200.0, 5_100_000_000)]),
        ("step 50: saved checkpoint to /ckpt/step50/rank3.pt, took 9.2 seconds", [(50, "checkpoint", "checkpoint", 9200.0, None)]),
        ("iteration 50 dumped state_dict after 250 ms", [(50, "checkpoint", "state_dict", 250.0, None)]),
        ("checkpoint step 50: barrier passed after 196.5s", [(50, "barrier", "barrier", 196500.0, None)]),
        ("async checkpoint of step 50 written in 9.2s", []),
        ("loaded checkpoint of step 50, saved by rank 0, in 9.2s", []),
        ("saving checkpoint at step 50 to /ckpt", []),
        ("saved checkpoint in 9.2 s", []),
        ("", []),
    ],
    ids=["shard", "script", "state dict", "barrier", "beside the training", "loaded", "no duration", "no step", "empty"],
)  # fmt: skip
def test_times_of_checkpoints(text: str, expected: list[tuple[Any, ...]]) -> None:
    rows = SAVES.parse(lines(text, rank=3))["timings"]
    assert rows.select("step", "phase", "name", "value_ms", "tokens").rows() == expected
    assert set(rows["rank"]) <= {3}


@pytest.mark.parametrize(
    ("phase", "sort"),
    [
        ("forward", "work"), ("expert_mlp", "work"), ("optimizer_step", "work"), ("bwd_allreduce_microstep", "wait"), ("grad_sync", "wait"),
        ("data_wait", "host"), ("data_parallel_sync", "wait"), ("all_to_all", "wait"), ("checkpoint_save", "host"), ("train_step", "whole"),
        ("iter_total", "whole"), ("step_microstep", None), ("bubble", None), ("loss", None), ("", None),
    ],
)  # fmt: skip
def test_sorts_of_phases(phase: str, sort: str | None) -> None:
    assert durations.sort_of(phase) == sort


@pytest.mark.parametrize(
    ("text", "is_on"),
    [
        ("moe: step 5 tokens per expert max 90000 mean 30000 recompute enabled (threshold 60000)", True),
        ("activation recomputation is on for layers 0-7", True),
        ("Gradient checkpointing: true", True),
        ("recompute_granularity=full", True),
        ("memory above 90%: recomputing activations of 4 layers", True),
        ("recompute disabled (threshold 60000)", False),
        ("recompute_granularity=None", False),
        ("gradient_checkpointing: false", False),
        ("activations were not recomputed on rank 3", False),
    ],
)
def test_activations_that_are_computed_again(text: str, is_on: bool) -> None:
    assert RECOMPUTE.parse(lines(text, rank=3))["events"]["rank"].to_list() == ([3] if is_on else [])
