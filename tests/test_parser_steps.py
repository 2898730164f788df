"""Progress lines become steps; sentences that merely mention a step do not."""

import math
from typing import Any

import pytest

from parsers.training.steps import PARSER
from tests.lines import lines

MEGATRON = (
    " iteration       40/     100 | consumed samples:          640 | consumed tokens:      81920 | elapsed time per "
    "iteration (ms): 7613.1 | learning rate: 6.680E-06 | global batch size:    16 | lm loss: "
    "7.334521E-01 | loss scale: "
    "2048.0 | grad norm: 0.752 | number of skipped iterations:   1 | number of nan iterations:   0 | TFLOPs: 78.36 |"
)


def _steps(text: str, **columns: Any) -> list[dict[str, Any]]:
    return PARSER.parse(lines(text, **columns))["steps"].rows(named=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            MEGATRON,
            {"step": 40, "loss": 0.7334521, "loss_seen": True, "grad_norm": 0.752, "loss_scale": 2048.0, "skipped": 1,
             "nan_iterations": 0, "elapsed_ms": 7613.1, "tflops": 78.36, "samples": 640, "tokens": 81920},
            id="megatron",
        ),
        pytest.param(
            MEGATRON.replace("(ms): 7613.1", "(s): 7.5").replace(" lm loss: 7.334521E-01 |", ""),
            {"step": 40, "loss": None, "loss_seen": False, "elapsed_ms": 7500.0, "framework": "megatron"},
            id="megatron-without-loss",
        ),
        pytest.param(MEGATRON[:120], {"step": 40, "loss": None, "loss_seen": None}, id="megatron-cut-before-loss"),
        pytest.param(
            "iteration: 32 / 37 | consumed_tokens: 85.8G | elapsed_time_per_iteration_ms: 11.5K | lm_loss: 2.38 | "
            "model_tflops_per_gpu: 38.3 | grad_norm: 1.25",
            {"step": 32, "loss": 2.38, "tokens": 85_800_000_000, "elapsed_ms": 11500.0, "framework": "nanotron"},
            id="nanotron",
        ),
        pytest.param(
            "Training epoch 0, iteration 12/14 | lr: 3e-05 | global_step: 112 | reduced_train_loss: 1.233",
            {"step": 112, "loss": 1.233, "framework": "nemo"},
            id="nemo-is-not-megatron",
        ),
        pytest.param(
            "{ Epoch:[  1/  2], step:[   57/ 1000], loss: 3.126, per_step_time: 880ms, lr: 9e-06, overflow cond: True, "
            "loss_scale: 4.0, global_norm: [inf], train_throughput_per_npu: 171.7T",
            {"step": 57, "loss": 3.126, "elapsed_ms": 880.0, "loss_scale": 4.0, "grad_norm": math.inf, "skipped": 1},
            id="mindformers",
        ),
        pytest.param("rank=3 step=812 local_loss=nan lr=1e-4", {"step": 812, "loss_seen": True}, id="own-loss"),
        pytest.param(
            "valid loss at iteration 45000 | lm loss value: 2.327091E+00 | lm loss PPL: 1.024808E+01 |",
            {"step": 45000, "phase": "eval", "loss": 2.327091},
            id="evaluation",
        ),
        pytest.param(
            "2026-11-20 21:25:33.512 [rank3] INFO train: step 5 loss 0.03884 grad_norm 0.87\r",
            {"step": 5, "loss": 0.03884, "grad_norm": 0.87, "rank": 3, "time_ns": 1795209933512000000,
             "time_basis": "local", "phase": "train"},
            id="logger-crlf",
        ),
        pytest.param("Epoch: [3][383/1512]\tTime  1.425 ( 2.465)\tLoss 6.7861e+00 (6.9e+00)",
                     {"step": 383, "loss": 6.7861, "elapsed_ms": 1425.0}, id="imagenet"),
        pytest.param("Train: 3 [  50/1251 (  4%)]  Loss: nan (6.93)  Time: 0.5s", {"step": 50, "loss_seen": True}, id="timm"),
        pytest.param("01/31 10:11:12 - mmengine - INFO - Epoch(train)  [1][ 50/625]  lr: 1.0000e-02  eta: 0:10:00  time: 0.5  "
                     "loss: 2.3000  grad_norm: 1.5", {"step": 50, "loss": 2.3, "grad_norm": 1.5, "framework": "mmengine"},
                     id="mmengine"),
        pytest.param("mmdet - INFO - Iter(train) [  50/40000]  loss: 2.3", {"step": 50, "loss": 2.3}, id="mmengine-iter"),
        pytest.param("step=5/800 loss=2.8882 toks/s=52.7k", {"step": 5, "loss": 2.8882, "per_s": None}, id="a name behind a figure"),
        pytest.param("step 5 loss 2.8882 tokens/s : 5.5", {"step": 5, "loss": 2.8882, "per_s": 5.5}, id="a name set off from its figure"),
        pytest.param("step 5 loss 2.8882, 410.5 tokens/s", {"step": 5, "loss": 2.8882, "per_s": 410.5}, id="a unit at the end"),
        pytest.param("Step:7 | lr: 1.0e-04 | tokens/s: 12k | loss:2.5", {"step": 7, "loss": 2.5, "per_s": None}, id="values between"),
        pytest.param("Epoch 1 Batch 20 Loss 2.5", {"step": 20, "loss": 2.5}, id="batch"),
        pytest.param("step 4 done (pp=2 dp=0)", {"step": 4, "loss": None, "loss_seen": None}, id="done"),
        pytest.param("iter 83592: loss 1.5455, time: 4401.19ms", {"step": 83592, "elapsed_ms": 4401.19}, id="iter"),
        pytest.param("iter 12 step 3: loss 1.5455, iter time: 401.5ms (optimizer.step)",
                     {"step": 3, "loss": 1.5455, "elapsed_ms": 401.5}, id="lit-gpt"),
        pytest.param("Epoch 1 | iter 16 step 4 | loss train: 2.300, val: n/a | iter time: 12.34 ms (step)",
                     {"step": 4, "loss": 2.3, "elapsed_ms": 12.34}, id="litgpt-epoch"),
        pytest.param("[titan] 2026-01-31 10:11:12,345 - root - INFO - step: 12  loss:  7.5432  grad_norm:  1.2345  "
                     "memory:  4.10GiB(44.30%)  tps: 1,234  tflops: 1,012.34  mfu: 12.30%",
                     {"step": 12, "loss": 7.5432, "grad_norm": 1.2345, "tflops": 1012.34, "per_s": 1234.0, "framework": "torchtitan"},
                     id="torchtitan"),
        pytest.param("tflops=18.3 step=7 loss=11.64 tgs (tokens/gpu/second)=425.64 loss_scale=65536.0 lr=1e-06",
                     {"step": 7, "loss": 11.64, "tflops": 18.3, "per_s": 425.64, "loss_scale": 65536.0}, id="internlm"),
        pytest.param("step 7/90 loss 2.5 dt 0.4s tok/s 159474", {"step": 7, "per_s": 159474.0}, id="tokens per second"),
        pytest.param("Epoch [1/10], Step [100/500], Loss: 2.3000", {"step": 100, "loss": 2.3}, id="brackets"),
        pytest.param("step=5 loss=1.5e-3", {"step": 5, "loss": 0.0015}, id="equals"),
        pytest.param("step 7 grad_norm inf | scale nan | loss 2.5", {"step": 7, "loss": 2.5, "grad_norm": float("inf")}, id="bad values between"),
        pytest.param("step: 7, loss: 2.5", {"step": 7, "loss": 2.5}, id="colon"),
        pytest.param("2026-01-31 10:11:12 | INFO | train_inner | epoch 002:     40 / 90 loss=4.21, nll_loss=3.1, ppl=8.66, "
                     "num_updates=130, lr=1e-05, gnorm=0.7, clip=0, loss_scale=16, train_wall=43",
                     {"step": 130, "loss": 4.21, "grad_norm": 0.7, "loss_scale": 16.0, "framework": "fairseq"}, id="fairseq"),
        pytest.param('2026-01-31 10:11:12 | INFO | train_inner | {"epoch": 2, "update": 1.4, "loss": "4.21", "nll_loss": "3.1", '
                     '"num_updates": "130", "gnorm": "0.7", "loss_scale": "16"}',
                     {"step": 130, "loss": 4.21, "grad_norm": 0.7, "loss_scale": 16.0}, id="fairseq, json"),
        pytest.param("(TaskRunner pid=4711) step:12 - actor/kl_loss:0.001 - actor/pg_loss:-0.003 - actor/grad_norm:0.2",
                     {"step": 12, "loss": None, "loss_seen": None, "grad_norm": 0.2, "framework": "verl"}, id="verl"),
        pytest.param("step:12 - training/epoch:0 - actor/pg_loss:np.float64(-0.003) - actor/grad_norm:np.float32(0.2)",
                     {"step": 12, "loss": None, "grad_norm": 0.2, "framework": "verl"}, id="verl, scalars of numpy"),
    ],
)  # fmt: skip
def test_progress_lines(text: str, expected: dict[str, Any]) -> None:
    [row] = _steps(text)
    assert {key: row[key] for key in expected} == expected


@pytest.mark.parametrize(("text", "sign"), [("nan", 0), ("NaN", 0), ("inf", 1), ("-inf", -1)])
def test_a_policy_loss_that_is_not_finite_is_kept(text: str, sign: int) -> None:
    [row] = _steps(f"step:12 - actor/pg_loss:{text} - actor/grad_norm:{text} - critic/rewards/mean:{text}")
    for value in (row["loss"], row["grad_norm"]):
        assert math.isnan(value) if sign == 0 else value == sign * math.inf


@pytest.mark.parametrize(("text", "sign"), [("nan", 0), ("NaN", 0), ("inf", 1), ("-inf", -1)])
def test_values_that_are_not_finite(text: str, sign: int) -> None:
    [row] = _steps(f"step 5 loss {text} grad_norm {text}")
    assert math.isnan(row["loss"]) if not sign else row["loss"] == sign * math.inf
    assert row["loss_seen"]


@pytest.mark.parametrize(
    "text",
    ["", "the first step 5 was done", "epoch 3 begins", "saved checkpoint at step 5 done", "loss 3 at step five",
     "step 5", "next step: 5 more files", f"step {'9' * 40} done"],
    ids=["empty", "sentence", "epoch", "checkpoint", "words", "bare", "files", "huge"],
)  # fmt: skip
def test_sentences_are_not_progress(text: str) -> None:
    assert _steps(text) == []


def test_init_line() -> None:
    tables = PARSER.parse(lines("[rank3] INFO train: init done pid=83 world=8 backend=gloo torch=2.15.0+cu132"))
    [claim] = tables["ranks"].rows(named=True)
    assert (claim["rank"], claim["pid"], claim["world_size"]) == (3, 83, 8)
    assert [(s["name"], s["value"]) for s in tables["settings"].rows(named=True)] == [
        ("backend", "gloo"),
        ("torch", "2.15.0+cu132"),
    ]
    assert tables["events"]["kind"].to_list() == ["job_start"]


def test_coordinates_are_claimed_once() -> None:
    tables = PARSER.parse(lines("step 1 done (pp=2 dp=0)\nstep 2 done (pp=2 dp=0)", path_rank=6))
    [claim] = tables["ranks"].rows(named=True)
    assert (claim["rank"], claim["pp"], claim["dp"], claim["tp"], claim["line"]) == (6, 2, 0, None, 1)


def test_the_end_of_another_training_is_not_the_jobs() -> None:
    assert PARSER.parse(lines("tokenizer: done training in 3.2 seconds, 8 ranks wait", rank=4))["events"].is_empty()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ERROR train: loss is nan, aborting at step 5", {"kind": "bad_loss", "code": "nan", "step": 5, "rank": 4}),
        ("Loss is inf, stopping training", {"kind": "bad_loss", "code": "inf", "step": None}),
        ("NaN loss detected at iteration 7, aborting", {"kind": "bad_loss", "code": "nan", "step": 7}),
        ("ValueError: The loss returned in `training_step` is nan.", {"kind": "bad_loss", "code": "nan"}),
        ("Monitored metric val_loss = inf is not finite. Previous best value was 2.1. Signaling Trainer to stop.",
         {"kind": "bad_loss", "code": "inf"}),
        ("training finished", {"kind": "job_end"}),
        ("INFO: `Trainer.fit` stopped: `max_epochs=1` reached.", {"kind": "job_end"}),
        ("{'train_runtime': '3.05', 'train_loss': '32.33', 'epoch': '1'}", {"kind": "job_end"}),
        ("[after training is done] datetime: 2026-01-31 10:11:12", {"kind": "job_end"}),
        ("2026-01-31 10:11:12 | INFO | fairseq_cli.train | done training in 2652.4 seconds", {"kind": "job_end"}),
        ("Training completed successfully in 3 h", {"kind": "job_end"}),
        ("[rank0] run completed successfully, 40 steps", {"kind": "job_end"}),
        ("2026-01-31 10:11:12,118 - INFO - Job 'raysubmit_kT7Qm2' succeeded", {"kind": "job_end"}),
        ("No more batches: training is done.", {"kind": "job_end"}),
        ("training finished: 3 of 3 epochs, rank 2 leaving", {"kind": "job_end"}),
        ("Training completed (40/40)", {"kind": "job_end"}),
        ("train end, best acc 0.81 in epoch 6", {"kind": "job_end"}),
        ("[train] training end.", {"kind": "job_end"}),
        ("worker 3: train end", {"kind": "job_end"}),
    ],
    ids=["nan", "inf", "adjective", "lightning", "lightning-metric", "end", "lightning-end", "hf-end", "megatron-end", "fairseq-end", "successfully", "run-end", "ray-job", "after-a-clause", "all-epochs", "all-steps", "train-end", "training-end", "worker-end"],
)  # fmt: skip
def test_happenings(text: str, expected: dict[str, Any]) -> None:
    [row] = PARSER.parse(lines(text, rank=4))["events"].rows(named=True)
    assert {key: row[key] for key in expected} == expected


@pytest.mark.parametrize("cut", range(0, len(MEGATRON), 23))
def test_a_cut_line_never_invents_a_missing_loss(cut: int) -> None:
    assert all(row["loss_seen"] is not False for row in _steps(MEGATRON[:cut]))


def test_an_iteration_in_several_lines() -> None:
    text = (
        "iteration 5/60 | elapsed time per iteration: 500.5 ms |\nlearning rate: 1.4E-04 | global batch size: 32 |\n"
        "loss scale: 1.0 | grad norm: nan |\nnumber of skipped iterations: 2 | number of nan iterations: 1\nother: text\n"
        "iteration 6/60 | elapsed time per iteration: 400.0 ms | lm loss: 2.5 |"
    )
    hits = [True, False, False, True, False, True]
    tables = PARSER.parse(lines(text, hit=hits))
    first, second = tables["steps"].rows(named=True)
    assert (first["step"], first["elapsed_ms"], first["skipped"], first["nan_iterations"]) == (5, 500.5, 2, 1)
    assert math.isnan(first["grad_norm"])
    assert (second["step"], second["loss"], second["skipped"]) == (6, 2.5, None)
    assert tables["claimed"]["line"].to_list() == [2, 3, 4]


def test_values_behind_another_line_are_of_no_iteration() -> None:
    text = "iteration 5/60 | elapsed time per iteration: 500.5 ms |\nsaving 3 files\ngrad norm: 7.0 |"
    [row] = PARSER.parse(lines(text, hit=[True, False, False]))["steps"].rows(named=True)
    assert row["grad_norm"] is None


@pytest.mark.parametrize(
    "text",
    [
        "Once training is finished, the best model will be loaded.",  # Hugging Face's, at the start
        "set this if further training is done with it",
        "A callback failed after training finished.",
        "The optimizer state is kept until the training is complete",
        "Checkpoints will be uploaded when the job completed successfully",
        "Job 'preprocess-7' succeeded",  # another one's
        "Training is not done, never was training finished",
        "waiting for training to be finished, not yet training done",
        "Is training done?",
        "training done if the loss is below 0.1",
        "Training completed: 50%",
        "training completed 20/40 steps",
        "training finished: 2 of 3 epochs",
        "train end of epoch 3",
        "callback on_train_end, 3 to go",
        "waiting for train end",
        "finished training epoch 3",
        "Training finished for step 12",
    ],
)
def test_a_condition_advice_or_a_part_is_no_end(text: str) -> None:
    assert PARSER.parse(lines(text, rank=4))["events"].is_empty()
