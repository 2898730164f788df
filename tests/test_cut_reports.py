"""What a launcher or a library reports when its report is cut, late, or in the words of another version."""

from pathlib import Path

import pytest

from forensics.analyze import analyze

RAISED = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
HEAD = f"{'=' * 60}\ntrain.py FAILED\n{'-' * 60}\nFailures:\n"
ROOT = f"{'-' * 60}\nRoot Cause (first observed failure):\n"


def entry(number: int, at: str, rank: int, code: int | None, pid: int) -> str:
    told = f"[{number}]:\n  time      : 2026-03-01_{at}\n  host      : n1\n  rank      : {rank} (local_rank: {rank})\n"
    return told if code is None else f"{told}  exitcode  : {code} (pid: {pid})\n  error_file: <N/A>\n"


@pytest.mark.parametrize("code", [None, 1])
def test_whom_a_launcher_kills_half_a_minute_later_is_no_origin(tmp_path: Path, code: int | None) -> None:
    late = entry(1, "10:00:05", 3, 1, 43) + entry(2, "10:00:37", 0, -9, 40) + entry(3, "10:00:37", 2, -15, 42)
    (tmp_path / "train.log").write_text(RAISED + HEAD + late + ROOT + entry(0, "10:00:05", 1, code, 41))
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", None, [])


def test_whom_something_else_kills_at_the_same_time_is_the_origin(tmp_path: Path) -> None:
    late = entry(1, "10:00:05", 3, 1, 43)
    (tmp_path / "train.log").write_text(RAISED + HEAD + late + ROOT + entry(0, "10:00:05", 1, -9, 41))
    verdict = analyze(tmp_path).verdict
    assert (verdict.cause, verdict.ranks) == ("killed", [1])


@pytest.mark.parametrize(
    "line",
    [
        "n1:310:402 [5] ibvwrap.c:262 NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_1:1, curr state INIT",
        "n1:310:402 [5] misc/ibvwrap.cc:187 NCCL WARN Call to ibv_modify_qp failed with error Network is unreachable",
        "rdma: Failed to modify QP to RTR: Connection timed out",
        "could not modify QP to RTS: No route to host",
    ],
)
def test_a_queue_pair_that_reaches_nobody_is_the_network(tmp_path: Path, line: str) -> None:
    (tmp_path / "worker.log").write_text(line + "\n")
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("launch", "network_fault", [])


def test_a_queue_pair_of_wrong_arguments_is_not(tmp_path: Path) -> None:
    (tmp_path / "worker.log").write_text("rdma: Failed to modify QP to RTR: Invalid argument\n")
    assert analyze(tmp_path).verdict.cause != "network_fault"


def test_an_accelerator_that_another_process_holds_is_a_set_up(tmp_path: Path) -> None:
    told = "[ERROR] 2026-03-01-10:00:00 (PID:92, Device:3, RankID:3) ERR02200 DIST call hccl api failed.\n"
    told += "EJ0001: 2026-03-01-10:00:00.167.645 Failed to initialize the HCCP process. Reason: Maybe the last training process is running.\n"
    (tmp_path / "train.log").write_text(told)
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.ranks, verdict.status != "established") == ("launch", [], True)
