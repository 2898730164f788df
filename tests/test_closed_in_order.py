"""A run of several programs that came to its announced end: what one of them complained of before is no failure, and what may be one is."""

from pathlib import Path

import pytest

from forensics import analyze

COMPLAINT = "2026-03-01 10:00:09 ERROR [serving.py:310] Error in preprocessing a prompt\nTraceback (most recent call last):\nValueError: the prompt has 16390 tokens\n"
LATE = COMPLAINT.replace("10:00:09", "10:09:59")
SACCT = "JobID|State|ExitCode\n77|{state}|{code}\n77.0|{state}|{code}\n"


def _kind(folder: Path, last: int = 40, engine: str = "", sacct: str = "") -> str:
    for rank in range(4):
        steps = "".join(
            f"2026-03-01 10:00:{step:02} SUCCESS rank {rank} step {step}/40 loss {3 - step / 50:.3f}\n"
            for step in range(1, last + 1)
        )
        (folder / f"rank_{rank}.log").write_text(f"2026-03-01 10:00:00 INFO rank {rank}/4 starting\n{steps}")
    if engine:
        (folder / "engine.log").write_text(
            f"2026-03-01 10:00:01 INFO engine ready\n{engine}2026-03-01 10:00:50 INFO Finished server process\n"
        )
    if sacct:
        (folder / "sacct.txt").write_text(sacct)
    return analyze(folder).verdict.kind


@pytest.mark.parametrize(
    ("how", "kind"),
    [
        ({}, "healthy"),
        ({"engine": COMPLAINT}, "healthy"),
        ({"engine": LATE}, "unknown"),
        ({"engine": LATE, "sacct": SACCT.format(state="COMPLETED", code="0:0")}, "healthy"),
        ({"engine": LATE, "sacct": SACCT.format(state="RUNNING", code="0:0")}, "unknown"),
        ({"last": 39}, "unknown"),
    ],
    ids=["nothing", "an older complaint", "one after the end", "all completed", "still running", "not the last step"],
)
def test_the_last_step_that_was_announced(tmp_path: Path, how: dict[str, str], kind: str) -> None:
    assert _kind(tmp_path, **how) == kind  # type: ignore[arg-type]


@pytest.mark.parametrize("what", ["eval", "validation", "warmup", "test"])
def test_the_last_step_of_something_else_is_no_end(tmp_path: Path, what: str) -> None:
    for rank in range(4):
        steps = "".join(
            f"2026-03-01 10:00:{step:02} INFO rank {rank} train step {step} loss {3 - step / 50:.3f}\n"
            for step in range(1, 31)
        )
        (tmp_path / f"rank_{rank}.log").write_text(
            f"{steps}2026-03-01 10:00:40 INFO rank {rank} {what} step 20/20 loss 2.5\n"
        )
    assert analyze(tmp_path).verdict.kind == "unknown"


# --- several processes in one log, and records of figures beside it ---------------------------------------------------


@pytest.mark.parametrize(
    ("told", "at", "kind"),
    [
        ("process {r} says: training complete", 30, "healthy"),
        ("process {r} says: training finished", 30, "healthy"),
        ("process {r} says: training complete", 20, "unknown"),
    ],
    ids=["behind the last step", "in other words", "and then more steps"],
)
def test_ends_that_are_told_one_after_the_other(tmp_path: Path, told: str, at: int, kind: str) -> None:
    lines = [f"step {step} loss {3 - step / 50:.3f}" for step in range(1, 31)]
    lines[at:at] = [told.format(r=rank) for rank in range(4)]
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n")
    assert analyze(tmp_path).verdict.kind == kind


@pytest.mark.parametrize(("last", "kind"), [(30, "healthy"), (27, "unknown")])
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_record_of_figures_ends_with_the_announced_step(tmp_path: Path, form: str, last: int, kind: str) -> None:
    for rank in range(4):
        own = [(step, 3 - step / 50 + rank / 90) for step in range(1, (last if rank == 2 else 30) + 1)]
        rows = {
            "csv": ["step,loss_own", *(f"{step},{loss:.4f}" for step, loss in own)],
            "jsonl": [f'{{"step": {step}, "loss_own": {loss:.4f}}}' for step, loss in own],
        }[form]
        (tmp_path / f"rank{rank}.{form}").write_text("\n".join(rows) + "\n")
    lines = [f"[rank 0] step {step}/30 loss_avg={3 - step / 50:.4f}" for step in range(10, 31, 10)]
    (tmp_path / "run.log").write_text("\n".join(lines) + "\n")
    assert analyze(tmp_path).verdict.kind == kind


# --- what others tell beside a run that came to its end ------------------------------------------------------------------

KERNEL = "2026-{day}T{at}.000000+00:00 {host} kernel: {text}\n"
OOM = "Out of memory: Killed process {pid} (python3) total-vm:9000000kB, anon-rss:8000000kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:1000kB oom_score_adj:0"
XID = "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
CAUGHT = '[rank1]: Traceback (most recent call last):\n[rank1]:   File "/opt/app/media.py", line 88, in open_decoder\n[rank1]:     return Fast(path)\n[rank1]: RuntimeError: not built for this platform\n'


def _beside(folder: Path, name: str, text: str) -> str:
    for rank in range(2):
        lines = [
            f"2026-03-01 10:00:00 | rank {rank} | INFO | host=n{rank} pid={500 + rank} rank={rank} world_size=2 local_rank=0",
            *(f"2026-03-01 10:00:{step + 10:02} | rank {rank} | INFO | step={step} loss=0.0{step}" for step in range(20)),
            f"2026-03-01 10:00:40 | rank {rank} | INFO | finished 20 steps",
        ]  # fmt: skip
        (folder / f"n{rank}.log").write_text("\n".join(lines) + "\n")
    (folder / name).write_text(text)
    return analyze(folder).verdict.kind


@pytest.mark.parametrize(
    ("name", "text", "is_healthy"),
    [
        ("pip.log", "ERROR: the resolver does not look at all packages\n", True),
        ("syslog", KERNEL.format(day="03-01", at="10:00:20", host="n99", text=OOM.format(pid=4242)), True),
        ("syslog", KERNEL.format(day="03-01", at="10:00:20", host="n99", text=XID), True),
        ("syslog", KERNEL.format(day="01-30", at="10:00:20", host="n1", text=XID), True),
        ("syslog", KERNEL.format(day="03-01", at="10:00:20", host="n1", text=OOM.format(pid=4242)), True),
        ("media.log", f"{CAUGHT}[rank1]: 2026-03-01 10:00:15 WARNING media: using the slow decoder\n", True),
        ("syslog", KERNEL.format(day="03-01", at="10:00:20", host="n1", text=XID), False),
        ("media.log", CAUGHT, False),
        ("save.log", CAUGHT.replace("[rank1]: ", ""), False),
        ("save.log", "ERROR: [Errno 28] No space left on device: '/ckpt/20'\n", False),
    ],
    ids=[
        "words of nobody", "a foreign host's memory", "a foreign host's device", "a device, a month ago", "another program",
        "caught", "a device of the job", "raised by a rank", "raised by nobody known", "a failure in known words",
    ],
)  # fmt: skip
def test_what_others_tell_is_no_failure_of_ranks_that_closed(
    tmp_path: Path, name: str, text: str, is_healthy: bool
) -> None:
    assert (_beside(tmp_path, name, text) == "healthy") is is_healthy


# --- a last word without a number -------------------------------------------------------------------------------------


def _last_words(folder: Path, words: str, after: str = "", on: int = 3) -> str:
    for rank in range(3):
        steps = "".join(f"10:00:1{step} [rank{rank}] INFO train: step {step} loss 2.{step}\n" for step in range(8))
        (folder / f"rank_{rank}.log").write_text(
            steps + (f"10:00:20 {words.format(r=rank)}\n{after}" if rank < on else "")
        )
    return analyze(folder).verdict.kind


@pytest.mark.parametrize(
    "words", ["[rank{r}] INFO train: done 9.7 s", "[rank{r}] INFO train: Done.", "[rank{r}] INFO train: all done", "[rank{r}] INFO train: finished in 0:12:31"]
)  # fmt: skip
def test_the_last_word_of_all_that_print_steps_ends_the_job(tmp_path: Path, words: str) -> None:
    assert _last_words(tmp_path, words) == "healthy"


@pytest.mark.parametrize(
    ("words", "after", "on"),
    [
        ("[rank{r}] INFO ckpt: done 9.7 s", "", 3),  # a save is done
        ("[rank{r}] INFO train: done with the first epoch", "", 3),
        ("[rank{r}] INFO train: done 9.7 s", "10:00:30 INFO train: now the next phase\n", 3),
        ("[rank{r}] INFO train: done 9.7 s", "", 2),  # not all of them
    ],
)
def test_the_last_word_of_something_else_ends_nothing(tmp_path: Path, words: str, after: str, on: int) -> None:
    assert _last_words(tmp_path, words, after, on) != "healthy"


def test_what_a_script_prints_beside_its_framework_is_of_the_same_rank(tmp_path: Path) -> None:
    lines = [
        line
        for step in range(5, 65, 5)
        for line in (
            f"[2026-11-22 07:50:2{step // 10},963] [INFO] [logging.py:123:log_dist] [Rank 0] step={step}, skipped={int(step > 9) * 2}, lr=[0.001], mom=[(0.9, 0.999)]",
            f"2026-11-22 07:50:2{step // 10},964 INFO train: step {step}/60 loss 0.0{step}",
        )
    ]
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n")
    report = analyze(tmp_path)
    assert report.verdict.kind == "healthy"
    assert any("steps up to 10 were skipped" in str(row.result) for row in report.incidents[0].checked)
