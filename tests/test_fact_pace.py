"""How long a step takes, beside what the person expects and what the printed arguments and devices allow: facts, no verdict."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from forensics.analyze import analyze
from forensics.cli import cli
from forensics.facts.durations.pace import pace
from forensics.facts.durations.spent import Spent
from forensics.model.expected import NOTHING_EXPECTED, Expected
from parsers.schema.tables import TABLE_NAMES, table

# 12 · 64 · 1024 · 24 · 2048² · (1 + 1 + 1024 / 2048 / 2 + 4 + 49152 / (2 · 24 · 2048)) operations
ARGUMENTS: dict[str, str] = {
    "num_layers": "24", "hidden_size": "2048", "seq_length": "1024", "global_batch_size": "64", "num_attention_heads": "16",
    "padded_vocab_size": "49152", "world_size": "8", "num_experts": "None", "recompute_granularity": "None",
}  # fmt: skip
OPERATIONS = 12 * 64 * 1024 * 24 * 2048**2 * 6.75
H100 = "NVIDIA H100 80GB HBM3"


def told(
    took: float | None = 0.2, gpu: str | None = H100, expected: Expected = NOTHING_EXPECTED, **changed: str | None
) -> list[str]:
    held = {name: value for name, value in {**ARGUMENTS, **changed}.items() if value is not None}
    rows = [{"name": name, "value": value, "scope": "argument"} for name, value in held.items()]
    rows += [{"name": "gpu_name", "value": gpu, "scope": "gpu 0"}] if gpu else []
    steps = [{"step": step, "phase": "train", "tflops": 80.0, "per_s": 320.0} for step in range(5)]
    given: dict[str, list[dict[str, Any]]] = {"settings": rows, "steps": steps}
    tables = {name: table(name, given.get(name, [])) for name in TABLE_NAMES}
    return pace(tables, 0, Spent(step_s=took), expected)


def test_what_the_arguments_and_the_devices_allow() -> None:
    reached = OPERATIONS / 0.2 / 8 / 1e12
    [text] = told()
    assert f"a step is {OPERATIONS / 1e15:.4g} PFLOP: {reached:.4g} TFLOPS on each of 8 devices" in text
    assert f"{100 * reached / 989:.0f} % of the peak of H100 SXM (989 in 16 bits)" in text
    assert text.endswith("instead of 0.2 s")


def test_recomputation_is_work_of_the_device() -> None:
    [text] = told(recompute_granularity="full")
    assert f"a step is {12 * 64 * 1024 * 24 * 2048**2 * (6.25 * 4 / 3 + 0.5) / 1e15:.4g} PFLOP" in text


def test_without_a_known_device_no_peak_is_told() -> None:
    [text] = told(gpu=None)
    assert text.endswith("on each of 8 devices, at 0.2 s a step")
    assert told(gpu="MetaX C500") == [text]


@pytest.mark.parametrize(
    "changed",
    [
        {"took": None},
        {"num_layers": None},
        {"num_experts": "64"},
        {"multi_latent_attention": "True"},
        {"rampup_batch_size": "[16, 16, 1000]"},
        {"took": 0.001},
    ],
    ids=["no step", "an argument lacks", "experts", "another attention", "a batch that grows", "more than the peak"],
)
def test_nothing_is_computed(changed: dict[str, Any]) -> None:
    assert told(**changed) == []


@pytest.mark.parametrize(
    ("gpu", "name"),
    [("NVIDIA H100 PCIe", "H100 PCIe"), ("NVIDIA H20", "H20"), ("NVIDIA H200", "H200 SXM"), ("NVIDIA A100-SXM4-80GB", "A100")],
)  # fmt: skip
def test_devices_by_their_printed_name(gpu: str, name: str) -> None:
    assert f"of the peak of {name} (" in told(took=2.0, gpu=gpu)[0]


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        (Expected(step=0.16), "a step takes 0.2 s at the median, 25 % longer than the 0.16 s that you expect"),
        (Expected(step=0.2), "a step takes 0.2 s at the median, as the 0.2 s that you expect"),
        (Expected(tflops=100), "the log prints 80 TFLOPS at the median, 20 % less than the 100 TFLOPS that you expect"),
        (
            Expected(rate=256),
            "the log prints 320 per second at the median, 25 % more than the 256 per second that you expect",
        ),
    ],
)
def test_what_the_person_expects(expected: Expected, text: str) -> None:
    assert told(expected=expected, num_layers=None) == [text]


def test_it_is_shown_and_decides_nothing(tmp_path: Path) -> None:
    lines = [
        f" iteration {at}/ 90 | elapsed time per iteration (ms): 2000.0 | lm loss: 2.0E+00 |" for at in range(1, 31)
    ]
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n")
    plain, slower = analyze(tmp_path), analyze(tmp_path, expect={"step": 1.0})
    assert slower.verdict == plain.verdict
    assert slower.ledger.pace == ["a step takes 2 s at the median, 100 % longer than the 1 s that you expect"]
    answer = CliRunner().invoke(cli, ["-v", "analyze", str(tmp_path), "--expect", "step=1"])
    assert "100 % longer than the 1 s that you expect" in " ".join(answer.stdout.split())
    for wrong in ("step", "step=0", "mood=1"):
        assert CliRunner().invoke(cli, ["analyze", str(tmp_path), "--expect", wrong]).exit_code == 2
