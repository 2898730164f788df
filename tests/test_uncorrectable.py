"""Errors that no program can bring about, in the words of runtimes that nobody has taught."""

from pathlib import Path

import pytest

from forensics import analyze
from parsers.forms.records import record
from parsers.logs.failures import PARSER
from tests.lines import lines

HEAD = "2026-Jan-31 17:50:21.828300 {pid}:{thread} ERROR  RT:exec  "
SAID = [
    ("encountered uncorrectable memory error on Neuron Device 2", 2),
    ("uncorrected HBM fault, chip 2", 2),
    ("Double-bit ECC error detected on device 2", 2),
    ("multiple bit error in SRAM of NPU 2", 2),
    ("uncorrectable ECC error", None),
]
ORDINARY = [
    "correctable memory error on device 2",
    "uncorrectable error counter is 0 on device 2",
    "out of memory on device 2",
    "illegal address on device 2",
]


@pytest.mark.parametrize(("text", "device"), SAID)
def test_what_a_device_alone_can_do(text: str, device: int | None) -> None:
    [row] = PARSER.parse(lines(HEAD.format(pid=4711, thread=5011) + text))["events"].rows(named=True)
    assert (row["kind"], row["device_index"], row["pid"]) == ("gpu_error", device, 4711)
    assert row["text"].endswith(text)


@pytest.mark.parametrize("text", ORDINARY)
def test_what_a_program_can_do_as_well(text: str) -> None:
    events = PARSER.parse(lines(HEAD.format(pid=4711, thread=5011) + text))["events"]
    assert "gpu_error" not in events["kind"].to_list()


@pytest.mark.parametrize(("text", "device"), SAID)
@pytest.mark.parametrize("bad", [0, 3])
def test_the_rank_of_the_process_that_met_it_is_named(tmp_path: Path, text: str, device: int | None, bad: int) -> None:
    del device
    own = [f"[rank {rank}] host=n1 pid={4711 + rank} core {rank}" for rank in range(4)]
    steps = [f"[rank {rank}] step {step} loss 2.1" for step in range(20) for rank in range(4)]
    raised = [
        f"[rank {bad}] Traceback (most recent call last):",
        f'[rank {bad}]   File "/opt/train.py", line 3, in train',
        f"[rank {bad}]     mark_step()",
        f"[rank {bad}] RuntimeError: execute status=1201",
    ]
    fault = HEAD.format(pid=4711 + bad, thread=5011 + bad) + text
    (tmp_path / "n1.log").write_text("\n".join([*own, *steps, fault, *raised]) + "\n")
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks, verdict.hosts) == ("crash", "gpu_fault", [bad], ["n1"])


@pytest.mark.parametrize(
    ("text", "pid", "message"),
    [
        ("2026-Jan-31 17:50:21.8 4711:4712 ERROR  NRT:load   no such file", 4711, "no such file"),
        ("2026-01-31 17:50:21 4711 ERROR trainer: no such file", None, "no such file"),
        ("Jan 31 17:50:21 2026 ERROR: no such file", None, "no such file"),
    ],
    ids=["process and thread", "a number", "a year"],
)
def test_a_process_number_before_a_level(text: str, pid: int | None, message: str) -> None:
    found = record(text)
    assert found is not None and (found.pid, found.severity) == (pid, "error")
    assert found.message.endswith(message)
