"""Failures that programs which no parser knows tell: by the level of a record, by plain words for ends, waits and NaN."""

from pathlib import Path
from typing import Any

import pytest

import parsers
from parsers.logs.failures import PARSER
from tests.lines import lines

AT = "2026-01-31 10:11:12,689"


def _read(text: str, **columns: Any) -> list[tuple[Any, ...]]:
    return PARSER.parse(lines(text, **columns))["events"].select("kind", "code", "severity", "rank").rows()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{AT} ERROR trainer: no shard 7", [("other", None, "error", None)]),
        (f"{AT} CRITICAL [rank 4] no shard 7", [("other", None, "fatal", 4)]),
        (f"{AT} ERROR app.OwnError: no shard", [("exception", "app.OwnError", "error", None)]),
        (f"[{AT}][app][ERROR] - failed: CUDA error: unspecified launch failure",
         [("cuda_error", "unspecified launch failure", "error", None)]),
        (f"{AT} ERROR RuntimeError: CUDA out of memory.",
         [("exception", "RuntimeError", "error", None), ("gpu_oom", None, "error", None)]),
        (f"{AT} WARNING trainer: no shard 7", []),
        (f"{AT} INFO trainer: the ERROR: of before is gone", []),
        ("an ERROR is what nobody wants", []),
        ("", []),
    ],
)  # fmt: skip
def test_level(text: str, expected: list[tuple[Any, ...]]) -> None:
    assert _read(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("worker 3 (pid 4711) exited with exit code 1", [("exit", "1", "error", None)]),
        ("rank 3 exited with code -9", [("exit", "SIGKILL", "error", 3)]),
        # What a watchdog does afterwards is no end of whom it speaks; a number within a kind of group is no global rank.
        ("Subprocess s_3 (pid=4711) crashed with exit code 3. Triggering SIGQUIT", [("exit", "3", "error", None)]),
        ("DP worker rank=3 (pid=4711) exited with code=-9; failing", [("exit", "SIGKILL", "error", None)]),
        ("['python', 'a.py'] exits with return code = -11", [("exit", "SIGSEGV", "error", None)]),
        ("global_rank=12: process 4711 was killed by signal 9", [("exit", "SIGKILL", "error", 12)]),
        ("the job died with <Signals.SIGSEGV: 11>", [("exit", "SIGSEGV", "error", None)]),
        (
            "*** SIGABRT (@0xe21) received by PID 4711 (TID 0x7f) from PID 4711; stack trace: ***",
            [("exit", "SIGABRT", "error", None)],
        ),
        (
            "*** SIGSEGV (@(nil)), see go/signals#s15 received by PID 4711 (TID 31) on cpu 5; stack trace: ***",
            [("exit", "SIGSEGV", "error", None)],
        ),
        ("./run.sh exits with return code = -9", [("exit", "SIGKILL", "error", None)]),
        ("./run.sh exits with return code = 9", []),
        ("worker 3 exited with exit code 0", []),
        ("worker 3 was terminated by signal 15", []),
        ("the tests know exit code 3", []),
        ("signal 9 dBm at the antenna", []),
    ],
)
def test_ends(text: str, expected: list[tuple[Any, ...]]) -> None:
    assert _read(text) == expected


def test_an_end_says_its_process() -> None:
    [row] = PARSER.parse(lines("worker 3 (pid 4711) exited with exit code 1"))["events"].rows(named=True)
    assert row["pid"] == 4711


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{AT} ERROR comm: all_reduce timed out after 600 s", [("collective_timeout", None, "error", None)]),
        ("barrier: time-out exceeded, giving up", [("collective_timeout", None, "error", None)]),
        ("tcp store: get timed out", [("store_timeout", None, "error", None)]),
        (
            "2026:01:31-10:11:12:( 4711) |CCL_ERROR| ofi.cpp:3: update: timed out",
            [("collective_timeout", None, "error", None)],
        ),
        (f"{AT} WARNING loader: request timed out", [("other", "timed_out", "warning", None)]),
        (f"{AT} INFO loader: request timed out, again", []),
        ("barrier timeout is 600 s", []),
        ("heartbeat of worker 3 lost for 60 s", [("heartbeat_lost", None, "warning", None)]),
        (f"{AT} ERROR no heartbeat from node 3", [("heartbeat_lost", None, "error", None)]),
        ("heartbeat sent to node 3", []),
        # Who cannot send says nothing of who stands still; a store of objects is not where a group meets.
        (f"{AT} ERROR discovery: heartbeat send failed, 2 of 5", [("other", None, "error", None)]),
        (f"{AT} ERROR spill: object store did not answer, timed out", [("other", "timed_out", "error", None)]),
        (f"{AT} ERROR spill: the store did not answer, timed out", [("store_timeout", None, "error", None)]),
        (f"{AT} WARNING n7: store job 3 timed out", [("other", "timed_out", "warning", None)]),
        (f"{AT} WARNING the input pipeline has stalled", [("other", "stalled", "warning", None)]),
        ("Hang detected: no step for 1800 s", [("other", "stalled", "warning", None)]),
        (f"{AT} ERROR monitor: hang was detected on 3 ranks", [("other", "stalled", "error", None)]),
        ("the change in phang detected by us", []),
        ("installed 3 packages", []),
    ],
)
def test_waits(text: str, expected: list[tuple[Any, ...]]) -> None:
    assert _read(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("total loss is NaN at step 12", [("nan_assert", "loss", "error", None)]),
        ("grad_norm=nan", [("nan_assert", "grad_norm", "error", None)]),
        ("loss = tensor(nan, device='cuda:0')", [("nan_assert", "loss", "error", None)]),
        ("loss: -inf", [("nan_assert", "loss", "error", None)]),
        ("detected NaN in the gradients of block 3", [("nan_assert", "grad_norm", "error", None)]),
        ("grad norm: inf", [("other", "grad_norm", "warning", None)]),
        ("best loss: inf", []),
        ("max_grad_norm=inf", []),
        ("val_loss improved from inf to 0.5", []),
        ("check_for_nan_in_loss_and_grad ... True", []),
        ("the loss may become nan one day", []),
        ("loss: info follows", []),
        ("loss: 0.1, nan_count: 0", []),
    ],
)
def test_values(text: str, expected: list[tuple[Any, ...]]) -> None:
    assert _read(text) == expected


def test_step_rank_and_time_are_told() -> None:
    [row] = PARSER.parse(lines(f"{AT} ERROR [rank 4] loss is nan at step 12"))["events"].rows(named=True)
    assert (row["step"], row["rank"], row["rank_space"], row["time_basis"]) == (12, 4, "global", "local")
    [row] = PARSER.parse(lines("ERROR gone", rank=2, time_ns=5, time_basis="utc"))["events"].rows(named=True)
    assert (row["rank"], row["time_ns"], row["time_basis"]) == (2, 5, "utc")


def test_lines_that_another_parser_reads_make_no_second_row(tmp_path: Path) -> None:
    """An error of a collective library behind a logger's level stays that library's; foreign ones are heard."""
    known = f"{AT} ERROR [Rank 2] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE)"
    (tmp_path / "a.log").write_text(f"{known}\n{AT} ERROR no shard 7\n")
    events = parsers.read(str(tmp_path)).tables["events"]
    assert events.select("line", "kind").rows() == [(1, "collective_timeout"), (2, "other")]


def test_what_a_line_lists_as_possible_causes_was_not_observed() -> None:
    text = "worker 3 (pid 4711) is gone. Possible causes: killed by signal 9, or crashed due to SIGSEGV"
    assert PARSER.parse(lines(text))["events"]["kind"].to_list() == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Lustre: 711:0:(llite_lib.c:9) s1: dirty page discard: 10.0.0.9@tcp:/s1/fid: /a may get corrupted (rc -108)",
         ("other", "io_error", None)),
        ("mlx5_core 0000:41:00.0: CREATE_QP(0x500) timed out while waiting for a slot.",
         ("other", "call_failed", "0000:41:00.0")),
        ("NVRM: GSP RM heartbeat timed out", ("other", "device_error", None)),
    ],
)  # fmt: skip
def test_a_kernel_speaks_of_its_device_and_of_no_process(text: str, expected: tuple[Any, ...], tmp_path: Path) -> None:
    (tmp_path / "messages").write_text(f"Jan 31 10:11:12 n7 kernel: {text}\n")
    assert parsers.read(str(tmp_path)).tables["events"].select("kind", "code", "pci").rows() == [expected]


@pytest.mark.parametrize(
    ("words", "kinds"),
    [
        (
            "Out of memory error on GPU 2. Cannot allocate 3.5GB memory on GPU 2, 70.1GB memory has been allocated.",
            ["gpu_oom"],
        ),
        ("Please check whether there is any other process using GPU 2.", []),
    ],
)
def test_what_is_said_below_an_error_without_words_is_heard(words: str, kinds: list[str], tmp_path: Path) -> None:
    """Paddle raises a bare MemoryError, and tells lines later which memory was full."""
    before = [
        "Traceback (most recent call last):",
        '  File "/app/t.py", line 3, in main',
        "    go()",
        "MemoryError: ",
        "",
        "ResourceExhaustedError: ",
        "",
    ]
    (tmp_path / "rank_1.log").write_text("\n".join([*before, words, ""]))
    found = parsers.read(str(tmp_path)).tables["events"]["kind"].to_list()
    assert [kind for kind in found if kind != "exception"] == kinds
