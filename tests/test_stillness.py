"""Whoever watches a job says for how long nothing moved: a witness of time, of nobody."""

from pathlib import Path

import pytest

from forensics import analyze
from parsers.logs.stillness import PARSER
from tests.lines import lines

STACK = """\
PID {pid} - process
TID {pid}:
{frames}
#3  0x0000552631897be3 _PyEval_EvalFrameDefault
#4  0x00005526342a7aba Py_RunMain
#5  0x0000552632f67f1a _start
"""
WAITS = "#0  0x00007f2631a63708 sched_yield\n#1  0x00007f2631f73e08 {sync}\n#2  0x00007f263214aaa4 c10d::ProcessGroupNCCL::WorkNCCL::wait()"
READS = "#0  0x00007fca96764ea2 {call}\n#1  0x00007fca97b84432 shards::fill(unsigned long)\n#2  0x00007fca97cae279 shards::next()"
WORDS = [
    ("mon job=a1 alive=4 last_step=2424 age=1860s ALARM no step for >900s", 900.0),
    ("[guard] no progress in 30 min, collecting stacks", 1800.0),
    ("WARNING: training stalled for 1200 seconds", 1200.0),
    ("cron: job 4711: last iteration 25 minutes ago", 1500.0),
    ("no output since 0.5 hours, GPUs at 0 %", 1800.0),
    ("the run looks stuck for 90 secs already", 90.0),
    ("watch.sh[311]: step timeout of 45 min exceeded, sending SIGKILL", 2700.0),
    ("no new minibatch for 600 s", 600.0),
    ("supervise: heartbeat limit 1800 s reached", 1800.0),
]


@pytest.mark.parametrize(("text", "seconds"), WORDS)
def test_for_how_long_nothing_moved(text: str, seconds: float) -> None:
    [row] = PARSER.parse(lines(text, rank=3))["events"].rows(named=True)
    assert (row["kind"], row["value"], row["rank"]) == ("heartbeat_lost", seconds, None)


@pytest.mark.parametrize(
    ("text", "pids"),
    [
        ("guard: no progress for 900 s, sending SIGKILL to pids 4711 and 4712", [4711, 4712]),
        ("guard: training stalled for 20 min, sending SIGTERM to process 4711", [4711]),
        ("no output since 0.5 hours, killing processes [4711, 4712, 4713] with SIGKILL", [4711, 4712, 4713]),
        ("guard: no progress for 900 s, sending SIGKILL to ports 4711 and 4712", []),
    ],
)
def test_whoever_watches_and_ends_processes_says_both(text: str, pids: list[int]) -> None:
    events = PARSER.parse(lines(text))["events"]
    assert events.filter(kind="heartbeat_lost").height == 1
    assert events.filter(kind="closing_signal")["pid"].to_list() == pids


@pytest.mark.parametrize(
    "text",
    [
        "will abort if there is no progress for 900 s",
        "no progress for 5 s",
        "stuck at 40 percent for now",
        "last step 2424 took 3 s",
        "checkpoint saved 20 minutes ago",
        "watch.sh: step timeout 45 min, poll every 30 s",
        "retry limit of 300 s exceeded",
    ],
    ids=[
        "a limit",
        "too short",
        "no time",
        "a duration",
        "something else",
        "a limit that is set",
        "a limit of something else",
    ],
)
def test_other_words(text: str) -> None:
    assert PARSER.parse(lines(text))["events"].is_empty()


@pytest.mark.parametrize(
    "call",
    [
        "__libc_pread64",
        "pread64",
        "fsync",
        "__openat64",
        "copy_file_range",
        "__pread64_nocancel - /usr/lib64/libc.so.6",
        "fdatasync - /lib/x86_64-linux-gnu/libpthread-2.31.so",
    ],
)
@pytest.mark.parametrize("sync", ["mcStreamSynchronize", "cudaStreamSynchronize", "musaStreamSynchronize"])
def test_one_that_reads_a_file_while_all_wait_is_named_where_the_job_stood_still(
    tmp_path: Path, call: str, sync: str
) -> None:
    for rank in range(4):
        frames = READS.format(call=call) if rank == 2 else WAITS.format(sync=sync)
        (tmp_path / f"rank{rank}.eu-stack").write_text(STACK.format(pid=4700 + rank, frames=frames))
    without = analyze(tmp_path).verdict
    (tmp_path / "monitor.log").write_text(f"2026-01-31 10:11:12 {WORDS[0][0]}\n")
    verdict = analyze(tmp_path).verdict
    assert without.ranks == []
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("hang", "rank_absent", [2])


@pytest.mark.parametrize("text", [text for text, _ in WORDS])
def test_a_pause_that_the_run_got_over_is_none(tmp_path: Path, text: str) -> None:
    before, after = ("\n".join(f"step {step} loss 2.1" for step in range(*ends)) for ends in ((0, 20), (20, 40)))
    (tmp_path / "run.log").write_text(f"{before}\n{text}\n{after}\ntraining finished\n")
    assert analyze(tmp_path).verdict.kind == "healthy"
