"""Progress of DeepSpeed, Hugging Face's Trainer and Lightning; and that every real training log is read."""

import math
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import parsers
from parsers.schema.parser import LineParser
from parsers.schema.tables import SCHEMAS
from parsers.training.deepspeed import PARSER as DEEPSPEED
from parsers.training.hf_trainer import PARSER as HF
from parsers.training.lightning import PARSER as LIGHTNING
from tests.lines import lines

CASES = Path(os.environ.get("FORENSICS_CASES", Path(__file__).resolve().parent.parent.parent / "shared" / "cases"))
BAR = " {percent}%|███▌      | {count}/{total} [00:10<00:20,  2.00s/it]"


def _steps(parser: LineParser, text: str, **columns: Any) -> list[dict[str, Any]]:
    return parser.parse(lines(text, **columns))["steps"].rows(named=True)


def _bar(count: int, total: int = 100) -> str:
    return BAR.format(percent=count, count=count, total=total)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", [], id="empty"),
        pytest.param("warm-up steps: 100 of them", [], id="sentence"),
        pytest.param("steps: 100 loss: 2.3451 iter time (s): 0.532 samples/sec: 15.038",
                     [{"step": 100, "loss": 2.3451, "elapsed_ms": 532.0, "loss_seen": True}], id="pipeline"),
        pytest.param("steps: 100 loss: nan iter time (s): 0.5", [{"step": 100, "loss": math.nan}], id="nan"),
        pytest.param("[INFO] [Rank 0] step=10, skipped=0, lr=[1e-05], mom=[(0.9, 0.95)]\r",
                     [{"step": 10, "skipped": 0, "rank": 0, "loss_seen": None}], id="report-crlf"),
        pytest.param("[Rank 0] step=10, skipped=7, lr=[1]\n[Rank 0] step=20, skipped=9, lr=[1]",
                     [{"step": 10, "skipped": None}, {"step": 20, "skipped": 2}], id="skipped-counts-from-the-start"),
        pytest.param("epoch=0/micro_step=20/global_step=10, RunningAvgSamplesPerSec=12.3, CurrSamplesPerSec=1",
                     [{"step": 10}], id="timer"),
        pytest.param("step=10, skipped=0, lr=[1]\nepoch=0/micro_step=20/global_step=10, RunningAvgSamplesPerSec=1, CurrSamplesPerSec=12.5",
                     [{"step": 10, "skipped": 0, "per_s": 12.5}], id="timer-beside-report"),
        pytest.param("steps: 100 lo", [], id="cut"),
    ],
)  # fmt: skip
def test_deepspeed(text: str, expected: list[dict[str, Any]]) -> None:
    rows = _steps(DEEPSPEED, text)
    assert len(rows) == len(expected)
    for row, wanted in zip(rows, expected, strict=True):
        assert row["framework"] == "deepspeed"
        assert repr({key: row[key] for key in wanted}) == repr(wanted)


def test_deepspeed_says_what_a_step_is_spent_with() -> None:
    text = (
        "time (ms) | fwd: 1.0\n[Rank 0] step=10, skipped=0, lr=[1]\n"
        "[Rank 0] time (ms) | fwd: 300.5 | bwd: 750.25 | bwd_allreduce: 110.5 | step_microstep: 71.5\n"
        "elapsed time (ms) | nothing"
    )
    timings = DEEPSPEED.parse(lines(text))["timings"]
    assert timings.select("rank", "step", "phase", "level", "value_ms", "line").rows() == [
        (0, 10, "fwd", 0, 300.5, 3), (0, 10, "bwd", 0, 750.25, 3), (0, 10, "bwd_allreduce", 1, 110.5, 3), (0, 10, "optimizer", 0, 71.5, 3),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 9.7e-06, 'epoch': 0.53}",
                     [{"step": None, "loss": 0.0, "grad_norm": math.nan, "phase": "train"}], id="hidden-nan"),
        pytest.param("{'loss': '2.5', 'grad_norm': '0.5', 'learning_rate': '1e-05', 'epoch': '1.0'}",
                     [{"loss": 2.5, "grad_norm": 0.5}], id="texts"),
        pytest.param("{'eval_loss': 1.9, 'eval_runtime': 3.4, 'epoch': 1.0}", [{"loss": 1.9, "phase": "eval"}], id="eval"),
        pytest.param("{'loss': 1.2, 'lr': 1e-5, 'epoch': 0.4, 'global_step/max_steps': '40/100'}",
                     [{"step": 40, "loss": 1.2}], id="swift"),
        pytest.param('{"current_steps": 40, "total_steps": 100, "loss": 1.2, "lr": 1e-05, "epoch": 0.4}',
                     [{"step": 40, "loss": 1.2}], id="llama-factory"),
        pytest.param(f"{_bar(30)}\n{_bar(30)}{{'loss': 2.0, 'learning_rate': 1e-5, 'epoch': 0.3}}\n{_bar(31)}",
                     [{"step": 30, "loss": None}, {"step": 30, "loss": 2.0}, {"step": 31, "loss": None}], id="bars"),
        pytest.param(f"{_bar(30)}{{'loss': 2.0, 'learning_rate': 1e-5, 'epoch': 0.3}}\n{_bar(31).replace('2.00s/it', '4.00it/s, loss=2')}",
                     [{"step": 30, "elapsed_ms": 2000.0}, {"step": 31, "elapsed_ms": 250.0}], id="pace-of-the-bar"),
        pytest.param(f"{_bar(30)}\n{_bar(5, 8)}\n{{'eval_loss': 2.0, 'epoch': 0.3}}",
                     [{"step": 30, "loss": None}, {"step": 30, "loss": 2.0}], id="shorter-bar-of-evaluation"),
        pytest.param(f"{_bar(30)}\n{_bar(31)}", [], id="bars-alone-prove-nothing"),
        pytest.param("{'loss': 2.0491, 'learning_rate'", [], id="cut"),
        pytest.param("config = {'loss': 'mse', 'lr': 3}", [], id="a-configuration"),
        pytest.param("reward model {'loss': 2.0}", [], id="foreign-dict"),
    ],
)  # fmt: skip
def test_hf_trainer(text: str, expected: list[dict[str, Any]]) -> None:
    rows = _steps(HF, text)
    assert len(rows) == len(expected)
    for row, wanted in zip(rows, expected, strict=True):
        assert repr({key: row[key] for key in wanted}) == repr(wanted)


def _dict(loss: float, epoch: str) -> str:
    return f"{{'loss': '{loss}', 'learning_rate': '0.001', 'epoch': '{epoch}'}}"


@pytest.mark.parametrize(
    ("pieces", "steps"),
    [
        # a fast training: the bar is drawn again after each dict, and seldom besides
        ([_bar(0), _dict(3.0, "0.1"), _bar(10), _dict(2.0, "0.2"), _bar(20), _bar(27), _dict(1.0, "0.3"), _bar(30)], (10, 20, 30)),
        # a slow one: at each step
        ([_bar(10), _dict(3.0, "0.1"), _bar(10), _bar(20), _dict(2.0, "0.2"), _bar(20)], (10, 20)),
        # dicts by a logger, which draws no bar: the one after is the next step's
        ([_bar(10), _dict(3.0, "0.1"), _bar(11), _bar(20), _dict(2.0, "0.2"), _bar(21), _bar(30), _dict(1.0, "0.3")], (10, 20, 30)),
    ],
    ids=["fast", "slow", "logger"],
)  # fmt: skip
def test_a_dicts_step_is_that_of_the_bar_which_keeps_step_with_the_epochs(
    pieces: list[str], steps: tuple[int, ...]
) -> None:
    rows = _steps(HF, "\n".join(pieces))
    assert tuple(row["step"] for row in rows if row["loss"] is not None) == steps
    assert [row["step"] for row in rows] == sorted(row["step"] for row in rows)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Epoch 0:   1%|          | 795/77225 [9:07:58<878:01:48, 41.36s/it, loss=3.1, v_num=, "
                     "reduced_train_loss=3.090, global_step=794.0, consumed_samples=1.63e+6]",
                     [{"step": 794, "loss": 3.09, "elapsed_ms": 41360.0, "samples": 1_630_000, "framework": "nemo"}],
                     id="nemo"),
        pytest.param("Epoch 3: 100%|██████| 40/40 [00:10<00:00,  4.00it/s, v_num=2, train_loss_step=nan]",
                     [{"step": 40, "loss": math.nan, "elapsed_ms": 250.0, "framework": "tqdm"}], id="lightning"),
        pytest.param("Validation: 10%|█ | 4/40 [00:10<00:00,  4.00it/s, loss=2.0]",
                     [{"step": 4, "phase": "eval"}], id="validation"),
        pytest.param("9%|█ | 4/40 [00:10<00:00, 4.00it/s, loss=2.0]\n9%|█ | 4/40 [00:10<00:00, 4.00it/s, loss=2.0]",
                     [{"step": 4, "loss": 2.0}], id="drawn-twice"),
        pytest.param("Map: 10%|█ | 4/40 [00:10<00:00,  4.00it/s, done]", [], id="no-loss"),
    ],
)  # fmt: skip
def test_lightning(text: str, expected: list[dict[str, Any]]) -> None:
    rows = _steps(LIGHTNING, text)
    assert len(rows) == len(expected)
    for row, wanted in zip(rows, expected, strict=True):
        assert repr({key: row[key] for key in wanted}) == repr(wanted)


PIECES = st.lists(st.sampled_from([_bar(3), "{'loss': 2.0, 'epoch': 1}", "steps: 3 loss: 2.0 iter", "step=3, skipped=",
                                   "1, lr=[", "9" * 30, "nan", "'grad_norm': ", "\n", ", loss=", "4.0it/s, ", "}", "\x00"]),
                  max_size=12)  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(PIECES)
def test_any_text_keeps_the_schema(pieces: list[str]) -> None:
    for parser in (DEEPSPEED, HF, LIGHTNING):
        for name, frame in parser.parse(lines("".join(pieces))).items():
            assert dict(frame.schema) == dict(SCHEMAS[name])


@pytest.mark.skipif(not (CASES / "training_lines").is_dir(), reason="no real cases here")
@pytest.mark.parametrize(
    ("file", "table", "height"),
    [
        ("training_lines/bigscience_megatron_deepspeed_396.log", "steps", 3),
        ("training_lines/epfllm_megatron_llm_33.log", "steps", 3),
        ("training_lines/hf_trainer_modernbert_233.log", "steps", 3),
        ("training_lines/nanotron_390.log", "steps", 2),
        ("training_lines/nemo_lines.log", "steps", 2),
        ("training_lines/deepspeed_overflow.log", "events", 8),
        ("training_lines/megatron_nan_asserts.log", "events", 2),
        ("training_lines/torch_anomaly.log", "events", 2),
        ("training_lines/hf_debug_underflow_overflow.log", "tensors", 10),
        ("training_lines/te_nvdlfw_stats.log", "tensors", 1),
        ("bloom/bloom_2022-04-12_loss_spike.log", "steps", 11),
        ("bloom/bloom_2022-04-28_throughput_drop.log", "steps", 5),
        ("bloom/tr8b_104B_fp16_losscale_collapse.log", "steps", 9),
    ],
)
def test_real_logs_give_their_rows(file: str, table: str, height: int) -> None:
    evidence = parsers.read(str(CASES / file))
    assert evidence.tables[table].height >= height  # type: ignore[index]
    assert not evidence.tables["unread"].height
