"""Situations next to what new rules are about, in which they must say nothing."""

import gzip
import lzma
from pathlib import Path

import pytest

import parsers
from forensics import analyze
from parsers.archive import titled, undecorated

RAISED = (
    "Traceback (most recent call last):\n  File \"/job/fit.py\", line 61, in <module>\n    run()\nKeyError: 'bos'\n"
)


@pytest.mark.parametrize("name", ["mem_gb", "queue", "lag", "zorp"])
def test_a_figure_that_comes_back_left_no_replica(name: str, tmp_path: Path) -> None:
    for rank in range(4):
        lines = [f"rank {rank} of 4 ready"]
        for step in range(40):
            value = 19.0 + step / 10 + (0.1 if (rank, step) == (2, 30) else 0)
            lines += [f"step {step} loss {2 - step / 50 + rank / 900:.4f} {name}={value:.1f}"]
        (tmp_path / f"rank{rank}.log").write_text("\n".join([*lines, "training finished"]) + "\n")
    assert analyze(tmp_path).verdict.ranks == []


def test_a_part_of_a_run_that_ended_is_not_its_end(tmp_path: Path) -> None:
    for rank in range(4):
        lines = [f"2026-11-30 07:40:00,000 INFO rank {rank}/4 pid 470{rank} host n{rank}"]
        for step in range(36):
            lines += [f"2026-11-30 07:40:{step + 1:02},{rank}00 INFO step {step} loss {2 - step / 50 + rank / 900:.4f}"]
            lines += (
                [f"2026-11-30 07:40:{step + 1:02},950 INFO rank {rank} training finished, phase 2"]
                if step == 19
                else []
            )
        (tmp_path / f"rank{rank}.log").write_text("\n".join(lines) + "\n")
    (tmp_path / "launcher.log").write_text("2026-11-30 07:40:50 launcher: rank 2 (pid 4702) exited with code -9\n")
    said = analyze(tmp_path).verdict
    assert (said.kind, said.cause, said.ranks) == ("crash", "killed", [2])


def test_a_word_and_a_number_are_no_address(tmp_path: Path) -> None:
    for rank in range(4):
        rows = 12600 if rank == 3 else 12608
        lines = [
            f"process {rank}/4 starts on n{rank}",
            f"init lm_head.weight bf16, {rows} rows",
            "TimeoutError: no group of 4 after 60 s",
        ]
        (tmp_path / f"proc{rank}.log").write_text("\n".join(lines) + "\n")
    said = analyze(tmp_path).verdict
    assert (said.cause, said.ranks) != ("config_drift", [3])


def test_an_address_that_only_one_attempt_differs_in(tmp_path: Path) -> None:
    for attempt in (0, 1):
        for rank in range(4):
            port = 29611 if (attempt, rank) == (1, 3) else 29601
            at = tmp_path / f"attempt_{attempt}" / str(rank) / "stderr.log"
            at.parent.mkdir(parents=True)
            at.write_text(
                f"process {rank}/4 starts\n07:31:50 Connecting to service on 10.0.0.1:{port}\nTimeoutError: no group of 4 after 60 s\n"
            )
    assert analyze(tmp_path).verdict.ranks in ([], [3])  # it ends, and nobody else is named


def test_two_files_that_differ_in_how_they_are_compressed(tmp_path: Path) -> None:
    (tmp_path / "job.log.gz").write_bytes(gzip.compress(RAISED.encode()))
    (tmp_path / "job.log.xz").write_bytes(lzma.compress(b"10:02:03 step 7 loss 0.5\n"))
    tables = parsers.read(tmp_path).tables
    assert tables["files"]["file"].to_list() == ["job.log.gz", "job.log.xz"]
    assert set(tables["events"]["file"]) == {"job.log.gz"}


@pytest.mark.parametrize("title", ["===== {}/10 =====", "----- train{}/metrics -----", "== {}/4 =="])
def test_sections_of_a_log_are_no_files(title: str) -> None:
    assert titled.parts_of("".join(f"{title.format(at)}\nstep {at} loss 2.1\n" for at in range(1, 5)).encode()) == []


@pytest.mark.parametrize("first", [0, 1000, 100003, 998871])
def test_a_column_of_steps_is_no_number_of_a_line(first: int) -> None:
    assert undecorated.lines_of("".join(f"{first + at}\tloss=2.{at}\n" for at in range(12)).encode()) is None


def test_who_looks_through_all_logs_is_no_host_of_theirs(tmp_path: Path) -> None:
    shown = "".join(
        f"ops@login1:~/run$ cat logs/rank{rank}.log\n"
        + "10:02:03 step 7 loss 0.5\n" * 4
        + (RAISED if rank == 2 else "")
        for rank in range(4)
    )
    (tmp_path / "session.txt").write_text(shown)
    said = analyze(tmp_path).verdict
    assert (said.ranks, said.hosts) == ([2], [])
