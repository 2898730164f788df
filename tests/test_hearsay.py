"""What is only told of a rank, in a report, in the output of a test, in generated text, names nobody whose own record says otherwise."""

from pathlib import Path

import pytest

from forensics.analyze import analyze
from forensics.model.incident import Verdict
from tests.flight_dumps import dump, entry, pickled

RANKS = 4
TIMEOUT = (
    "[rank{0}]:[E1120 03:22:10.312100252 ProcessGroupNCCL.cpp:632] [Rank {0}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=48211, OpType=ALLREDUCE, NumelIn=1024, NumelOut=1024, Timeout(ms)=600000) ran for 600031 milliseconds "
    "before timing out."
)
ENDED = "2026-11-20 03:12:32.192 [rank{0}] INFO train: training finished, all steps done, exiting"
AGENT = (
    "I1120 03:12:35.000000 3900 torch/distributed/elastic/agent/server/api.py:879] [default] worker group successfully finished. "
    "Waiting 300 seconds for other agents to finish.\n"
)
ASSERTION = (
    "Rank 2: found NaN in local grad norm in backward pass before data-parallel communication collective. Device: 2"
)
TABLE = """============================================================
pretrain.py FAILED
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-20_03:10:05
  host      : n1
  rank      : 2 (local_rank: 2)
  exitcode  : -9 (pid: 4102)
  error_file: <N/A>
  traceback : Signal 9 (SIGKILL) received by PID 4102
============================================================"""


def lines(rank: int, last: str, said: str = "") -> str:
    """The log of one rank: an init line of NCCL, steps, what else it prints between them, and how it ends."""
    init = (
        f"n1:410{rank}:410{rank} [{rank}] NCCL INFO ncclCommInitRankConfig comm 0x55d000{rank}000 rank {rank} nranks {RANKS} "
        f"cudaDev {rank} nvmlDev {rank} busId 1{rank}000 commId 0x0bf2f21aefa4def2 - Init COMPLETE"
    )
    steps = [
        f"2026-11-20 03:1{at}:10.000 [rank{rank}] INFO train: step {1200 + at} loss 2.904 grad_norm 0.53"
        for at in range(3)
    ]
    return "\n".join([init, *steps[:2], *([said] if said else []), steps[2], last.format(rank)]) + "\n"


def verdict(folder: Path, last: str, files: dict[str, str], said: str = "") -> Verdict:
    """Of a job in which every rank's log ends with `last`; rank 1 prints `said` on the way."""
    logs = {f"logs/rank_{rank}.log": lines(rank, last, said if rank == 1 else "") for rank in range(RANKS)}
    for name, content in (logs | files).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    report = analyze(folder)
    return report.incident.verdict


@pytest.mark.parametrize(
    ("files", "said"),
    [
        pytest.param({"report.txt": "RESULT: FAIL\nRank 2 failed. exitcode : -9\n"}, "", id="a report without a time"),
        pytest.param({"ci.txt": f"test_kill FAILED\nE   AssertionError: {ASSERTION}\n"}, "", id="the output of a test"),
        pytest.param({}, f"[rank1] INFO sample 0: 'Once upon a time {ASSERTION} and then'", id="generated text"),
        pytest.param({}, TABLE, id="a launcher's table in the log of another rank"),
        pytest.param(
            {}, "[rank99]: RuntimeError: CUDA error: an illegal memory access was encountered", id="no such rank"
        ),
        pytest.param({}, "[rank3]: RuntimeError: simulated", id="a rank that has a log of its own"),
        pytest.param({}, "[rank1] INFO train: loss inf? no, it is 2.9", id="a question"),
        pytest.param(
            {"panel.csv": "site,rank,metric,alert\nnorth,2,loss,rank 2 loss is nan\n"}, "", id="a table of another site"
        ),
    ],
)
def test_a_job_that_ended_well_stays_well(tmp_path: Path, files: dict[str, str], said: str) -> None:
    found = verdict(tmp_path, ENDED, {"agent.log": AGENT, **files}, said)
    assert (found.kind, found.ranks) == ("healthy", [])


@pytest.mark.parametrize(
    "files",
    [
        pytest.param(
            {"ticket.txt": "> [Rank 0]: Rank 1 failed to pass monitoredBarrier in 600000 ms\n"}, id="a ticket"
        ),
        pytest.param(
            {
                "old.html": "<!doctype html><html><pre>[Rank 0]: Rank 1 failed to pass monitoredBarrier in 600000 ms</pre>"
            },
            id="a page",
        ),
        pytest.param(
            {
                f"stacks/pyspy_rank_{rank}.txt": f"Process 410{rank}: python3 pretrain.py\nPython v3.11.7 (/opt/python3.11)\n\n"
                f'Thread 410{rank} (idle): "MainThread"\n    {frame} (torch/{rank}.py:1)\n    main (pretrain.py:290)\n'
                for rank, frame in enumerate(["all_reduce", "_next_data", "all_reduce", "all_reduce"])
            },
            id="stacks of another hour",
        ),
    ],
)
def test_who_timed_out_with_all_others_was_there(tmp_path: Path, files: dict[str, str]) -> None:
    found = verdict(tmp_path, TIMEOUT, files)
    assert (found.kind, found.ranks) == ("hang", [])


@pytest.mark.parametrize(
    ("last", "said"),
    [
        pytest.param(ENDED, "Loss is nan, stopping training", id="a rank's own log"),
        pytest.param(
            "2026-11-20 03:13:10.000 [rank{0}] INFO train: step 1203 loss nan\n" + ENDED, "", id="its last loss"
        ),
        pytest.param("", "", id="nobody says that it ended well"),
    ],
)
def test_a_bad_loss_that_the_job_does_not_deny_stands(tmp_path: Path, last: str, said: str) -> None:
    found = verdict(tmp_path, last, {"notes.csv": "rank,alert\n2,Loss is nan\n"}, said)
    assert (found.kind, found.ranks) == ("numerics", [])


def test_a_page_is_listed_as_unread(tmp_path: Path) -> None:
    (tmp_path / "old.html").write_text("\n<!DOCTYPE html>\n<html><body>[rank1]: ValueError: x</body></html>\n")
    (tmp_path / "rank_0.log").write_text("[rank0]: ValueError: y\n")
    unread = analyze(tmp_path).coverage.unreadable
    assert [(row.file, row.reason.partition(":")[0]) for row in unread] == [("old.html", "an HTML page")]


def test_a_launchers_own_word_of_a_crash_after_the_end_stands(tmp_path: Path) -> None:
    """A process may crash while it leaves: its launcher says when."""
    found = verdict(tmp_path, ENDED, {"agent.log": TABLE.replace("03:10:05", "03:12:40").replace("-9", "-11")})
    assert (found.kind, found.ranks) == ("crash", [2])


def test_a_barriers_error_that_is_cut_short_is_no_error_of_its_reporter(tmp_path: Path) -> None:
    cut = '[rank0]: Traceback (most recent call last):\n[rank0]:   File "train.py", line 290, in main\n[rank0]: RuntimeError: [Rank 0]: Ranks 3, 1'
    reached = (
        "[rank{0}]:[E1120 03:41:10.000818310 ProcessGroupGloo.cpp:144] Rank {0} successfully reached monitoredBarrier, but "
        "received errors while waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank."
    )
    found = verdict(tmp_path, reached, {"logs/rank_0.log": lines(0, cut)})
    assert found.ranks == []


def test_a_log_that_ends_in_zero_bytes_is_read(tmp_path: Path) -> None:
    raised = '[rank0]: Traceback (most recent call last):\n[rank0]:   File "train.py", line 290, in main\n[rank0]: ValueError: y'
    (tmp_path / "rank_0.log").write_bytes(lines(0, raised).encode() + bytes(4096))
    report = analyze(tmp_path)
    assert (report.incident.verdict.ranks, report.coverage.unreadable) == ([0], [])


@pytest.mark.parametrize("foreign", [2, 3])
def test_a_flight_record_of_another_launch_is_no_record_of_this_rank(tmp_path: Path, foreign: int) -> None:
    """Rank 3 never came to call 8; the record in the place of `foreign` has a default group of two."""
    for rank in range(RANKS):
        members, last = ([0, 1], 5) if rank == foreign else ([*range(RANKS)], 7 + (rank != 3))
        calls = [
            entry(at, process_group=("0", "default_pg"), pg_id=0, state="completed" if at < 7 else "started")
            for at in range(last)
        ]
        group = {"name": "0", "desc": "default_pg", "ranks": str(members)}
        status = {
            "0": {
                "last_enqueued_collective": last,
                "last_started_collective": last,
                "last_completed_collective": min(last, 7),
            }
        }
        record = dump(calls, pg_config={"0": group}, pg_status=status)
        (tmp_path / f"nccl_trace_rank_{rank}").write_bytes(pickled(record))
    report = analyze(tmp_path)
    found = report.incident.verdict
    assert (found.ranks, found.suspects.ranks) == ([], [3])  # nothing tells that the job stood still
    assert any("flight records of another launch" in limit for limit in report.limits)


def test_an_exception_without_a_time_beside_a_wait_is_said(tmp_path: Path) -> None:
    raised = '[rank3]: Traceback (most recent call last):\n[rank3]:   File "train.py", line 290, in main\n[rank3]: ValueError: boom\n'
    found = verdict(tmp_path, TIMEOUT, {"stderr.txt": raised})
    assert (found.kind, found.ranks) == ("hang", [])
    report = analyze(tmp_path)
    assert [one.claim for one in report.incident.evidence if "ValueError: boom" in one.claim] == [
        "whether rank 3 raised “ValueError: boom” before its wait or after it: the line has no time"
    ]
