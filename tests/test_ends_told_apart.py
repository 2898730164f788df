"""Errors whose process is told by something else: a thread's panic by the abort behind it, an error without a name by who called MPI_Abort."""

from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict

RANKS, OUT = 6, 4
LOST = "RuntimeError: NCCL communicator was aborted: remote process exited or there was a network error, NCCL version 2.10.3"
OWN = "src/codec/topk.rs:204:58"
WORDS = "called `Result::unwrap()` on an `Err` value: BadIndex(1048641)"


def panicked(
    folder: Path, *, place: str = OWN, words: str = WORDS, aborts: bool = True, lost: int = RANKS - 1
) -> Verdict:
    lines = [f"[{rank}] 16:00:1{rank} rank {rank} of {RANKS}, pid {3300 + rank}" for rank in range(RANKS)]
    lines += [f"[{rank}] 16:0{n}:00 step {n} loss 2.{n}" for n in range(1, 9) for rank in range(RANKS)]
    lines += [f"[{OUT}] thread 'comm-worker-0' panicked at '{words}', {place}"]
    lines += [f"[{OUT}] Fatal Python error: Aborted"] if aborts else []
    others = [rank for rank in range(RANKS) if rank != OUT][:lost]
    lines += [f"[{rank}] 16:10:1{rank} {LOST}" for rank in others]
    lines += [f"launch: rank {OUT} (pid {3300 + OUT}) exited with status {134 if aborts else 1}"]
    (folder / "job.log").write_text("\n".join(lines) + "\n")
    return analyze(folder).verdict


@pytest.mark.parametrize("place", [OWN, "./crates/ring/src/lib.rs:12:5"])
@pytest.mark.parametrize("words", [WORDS, "index out of bounds: the len is 8 but the index is 9"])
def test_a_thread_s_panic_that_aborts_its_process_is_its_own(tmp_path: Path, place: str, words: str) -> None:
    found = panicked(tmp_path, place=place, words=words)
    assert (found.kind, found.cause, found.ranks) == ("crash", "exception", [OUT])


@pytest.mark.parametrize(
    "how",
    [
        {"aborts": False},
        {"lost": 2},
        {"words": "called `Result::unwrap()` on an `Err` value: peer 2 closed the connection"},
        {"place": "/root/.cargo/registry/src/index/ring-0.2/src/lib.rs:12:5"},
    ],
    ids=["no abort", "most others say nothing", "it tells of a peer", "a package's place"],
)
def test_a_panic_that_may_be_another_s_is_not(tmp_path: Path, how: dict[str, object]) -> None:
    assert panicked(tmp_path, **how).ranks == []  # type: ignore[arg-type]


ERRORS = {
    "Julia": "ERROR: LoadError: Out of GPU memory trying to allocate 1.750 GiB",
    "C++": "terminate called after throwing an instance of 'shards::BadHeader'\n  what():  shard 19: magic 0x0",
    "Python": 'Traceback (most recent call last):\n  File "/w/fit.py", line 8, in <module>\n    x = table[k]\nKeyError: 7',
}


def aborted(folder: Path, error: str, *, twice: bool = False, by: int | None = OUT) -> Verdict:
    lines = [
        f"[r{rank:02} @ n{rank // 2}] 16:00:1{rank} rank {rank} of {RANKS}, pid {3300 + rank}" for rank in range(RANKS)
    ]
    lines += [
        f"[r{rank:02} @ n{rank // 2}] 16:0{n}:00 iter {n} loss 2.{n}" for n in range(1, 9) for rank in range(RANKS)
    ]
    lines += [ERRORS[error]] * (2 if twice else 1)
    lines += (
        [f"MPI_ABORT was invoked on rank {by} in communicator MPI_COMM_WORLD", "with errorcode 1."]
        if by is not None
        else []
    )
    (folder / "job.log").write_text("\n".join(lines) + "\n")
    return analyze(folder).verdict


@pytest.mark.parametrize("error", ERRORS)
def test_an_error_without_a_name_is_of_who_called_for_the_end(tmp_path: Path, error: str) -> None:
    found = aborted(tmp_path, error)
    assert found.kind == "crash"
    assert found.ranks == [OUT] or (found.ranks == [] and error == "C++"), found.summary
    assert error != "Julia" or found.cause == "gpu_oom"


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("how", [{"twice": True}, {"by": None}], ids=["two errors", "nobody called"])
def test_of_two_errors_or_without_a_call_nobody_is_told(tmp_path: Path, error: str, how: dict[str, object]) -> None:
    assert aborted(tmp_path, error, **how).ranks == []  # type: ignore[arg-type]
