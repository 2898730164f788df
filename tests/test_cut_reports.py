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


LIBRARY = "/opt/env/lib/python3.11/site-packages"
BEGUN = f"""step 40 loss 2.1
step 41 loss 2.0
Traceback (most recent call last):
  File "/srv/app/fit.py", line 31, in main
    save(model)
  File "{LIBRARY}/torch/serialization.py", line 628, in save
"""


@pytest.mark.parametrize("rest", ["", "    _save(obj, zip", "    _save(obj)\n\n"])
def test_a_log_that_ends_within_a_traceback_is_of_a_crash(tmp_path: Path, rest: str) -> None:
    (tmp_path / "train.log").write_text(BEGUN + rest)
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "exception", [])
    assert "cut off" in verdict.summary


def test_one_that_stands_before_more_of_the_log_is_not(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(BEGUN + "".join(f"step {step} loss 2.0\n" for step in range(42, 60)))
    assert analyze(tmp_path).verdict.kind != "crash"


def test_of_one_that_is_cut_the_end_of_another_process_is_told(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(BEGUN)
    (tmp_path / "rank3.log").write_text(
        "[rank3]: Traceback (most recent call last):\n"
        '[rank3]:   File "/srv/app/data.py", line 9, in read\n[rank3]:     return table[key]\n[rank3]: KeyError: 71\n'
    )
    verdict = analyze(tmp_path).verdict
    assert (verdict.cause, verdict.ranks) == ("exception", [3])


RAISED_IN_LIBRARY = f"""Traceback (most recent call last):
  File "/srv/app/fit.py", line 31, in main
    save(model)
  File "{LIBRARY}/torch/serialization.py", line 628, in save
    container(name)
RuntimeError: File out/last.pt cannot be opened.
"""


def test_the_only_failure_that_anything_tells_of_is_why_the_job_ended(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(RAISED_IN_LIBRARY)
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks, verdict.status) == ("crash", "exception", [], "hypothesis")


@pytest.mark.parametrize(
    "beside",
    [
        "[rank1]: torch.distributed.DistNetworkError: Connection reset by peer\n",
        "E0301 10:00:00.000 mlx.cc:1] [Rank 2] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4, OpType=ALLREDUCE, NumelIn=1, "
        "NumelOut=1, Timeout(ms)=600000) ran for 600010 milliseconds before timing out.\n",
    ],
)
def test_beside_others_that_lost_somebody_or_waited_it_is_not(tmp_path: Path, beside: str) -> None:
    (tmp_path / "train.log").write_text(RAISED_IN_LIBRARY)
    (tmp_path / "other.log").write_text(beside)
    assert analyze(tmp_path).verdict.cause != "exception"


@pytest.mark.parametrize(
    ("text", "kind", "cause", "ranks"),
    [
        ("Exception: process 1 terminated with signal SIGKILL\n", "crash", "killed", []),
        ("ERROR launch_utils.py:545] ABORT!!! Out of all 4 trainers, the trainer process with rank=[3] was aborted. Please check its log.\n", "crash", None, []),
        ("TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.\nExited with exit code 130.\n", "crash", "host_oom", []),
        ("TERM_THREADLIMIT: job killed after reaching LSF thread limit.\nExited with exit code 143.\n", "crash", "killed", []),
        ("Exited with exit code 139.\n", "crash", "segfault", []),
        ("[27]PETSC ERROR: Caught signal number 11 SEGV: Segmentation Violation\n", "crash", "segfault", [27]),
        ("mpiexec has exited due to process rank 3 with PID 198 on\nnode n4 exiting improperly. There are two\n", "crash", None, []),
        ("(W pid=11) [E 11 13] logging.cc:361: *** SIGABRT received at time=1748953051 on cpu 22 ***\n", "crash", None, []),
        ("step 3 of 9\n已杀死\n", "crash", "killed", []),
        ("ERROR: Unexpected segmentation fault encountered in worker.\n", "crash", "segfault", []),
        ("F0911 11:40:17.520663 30418 util.cpp:88] Check failed: e == cudaSuccess (2 vs. 0) out of memory\n", "crash", "gpu_oom", []),
        ("/s/Index.cu:27: operator(): block: [0,0,0], thread: [1,0,0] Assertion `i < n` failed.\n", "crash", "exception", []),
        ('exec: "fit": executable file not found in $PATH\n', "launch", "config_drift", []),
        ("slurmstepd: error: execve(): fit.sh: No such file or directory\n", "launch", "config_drift", []),
    ],
)  # fmt: skip
def test_ends_that_launchers_limits_and_handlers_tell(
    tmp_path: Path, text: str, kind: str, cause: str | None, ranks: list[int]
) -> None:
    (tmp_path / "job.out").write_text(f"starting\n{text}")
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks, verdict.status != "established") == (kind, cause, ranks, True)


@pytest.mark.parametrize(
    "text",
    [
        "[3]PETSC ERROR: Caught signal number 15 Terminate: Some process (or the batch system) has told this process to end\n",
        "Exited with exit code 0.\n",
        "the last one exited with exit code 139. We look at that later\n",
    ],
)
def test_what_asks_ends_well_or_is_told_in_prose_is_no_crash_of_a_kind(tmp_path: Path, text: str) -> None:
    (tmp_path / "job.out").write_text(f"starting\n{text}")
    verdict = analyze(tmp_path).verdict
    assert verdict.cause not in ("segfault", "killed", "exception") and verdict.ranks == []


def test_a_job_that_was_not_placed_has_nobody_to_be_killed_for_memory(tmp_path: Path) -> None:
    (tmp_path / "pods.txt").write_text(
        "NAME    READY  STATUS   RESTARTS  AGE\nllm-worker-0  1/1  Running  0  9m\nllm-worker-1  0/1  Pending  0  9m\n"
    )
    (tmp_path / "events.txt").write_text(
        "LAST SEEN  TYPE     REASON            OBJECT            MESSAGE\n"
        "9m         Warning  FailedScheduling  pod/llm-worker-1  0/31 nodes are available: 31 Insufficient nvidia.com/gpu.\n"
    )
    before = analyze(tmp_path).verdict
    (tmp_path / "syslog").write_text(
        "2026-03-01T10:00:00.000000+00:00 elsewhere7 kernel: Out of memory: Killed process 4242 (python3) total-vm:9000kB, anon-rss:8000kB, "
        "file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:1000kB oom_score_adj:0\n"
    )
    after = analyze(tmp_path).verdict
    assert (after.kind, after.cause, after.hosts) == (before.kind, before.cause, []) and after.kind == "launch"
