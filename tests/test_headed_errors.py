"""Exceptions of several processes that one of them prints, each below a heading which tells whose it is."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict

PIDS = {rank: 29400 + 7 * rank for rank in range(4)}
OWN = """\
  File "/job/tab.py", line 26, in fit
    x, y = self.batch(step)
  File "/job/tab.py", line 21, in batch
    v = float(c)
ValueError: could not convert string to float: 'n/a'
"""
OF_OTHERS = """\
  File "/job/tab.py", line 29, in fit
    dist.all_reduce(p.grad)
  File "/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 3913, in all_reduce
    work.wait()
RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:129] Timed out waiting 30000ms for send operation to complete
"""
HEAD = "Traceback (most recent call last):\n"
CALL = "ray::Trainer.fit() (pid={pid}, ip=10.0.0.2, actor_id=7c6, repr=<tab.Trainer object at 0x7f86>)\n"
FORMS: Mapping[str, str] = {
    "actors, by their callers": "{at} fit raised in trainer {rank}\n\x1b[36m" + CALL.replace(" (pid", "\x1b[39m (pid") + "        ^^^^^^\n",
    "actors, by their pids": CALL,
    "trainer": "{at} trainer {rank} raised:\n" + HEAD,
    "rank": "--- rank {rank} ---\n" + HEAD,
    "worker": "worker {rank} failed with\n" + HEAD,
    "pid": "child with pid {pid} failed:\n" + HEAD,
    "a pool of processes": 'learner {rank} gave up:\nconcurrent.futures.process._RemoteTraceback: \n"""\n' + HEAD,
}  # fmt: skip
# The same of words for a process that nobody has taught: shards, requests and tests are counted alike.
NOBODYS: Mapping[str, str] = {
    "Chinese": "训练进程 {rank} 抛出异常\n" + HEAD,
    "German": "Ausnahme im Arbeiter Nr. {rank}:\n" + HEAD,
    "a word that nobody knows": "zorp #{rank} gave up\n" + HEAD,
    "counted from 1": "player {next} of the job:\n" + HEAD,
    "record": "2026-11-30 {at},100 ERROR driver: task failed on actor={rank}\n" + HEAD,
    "name with its number": "fit-{rank} returned an error:\n" + HEAD,
    "shards": "shard {rank} failed:\n" + HEAD,
    "whose worker": "tokenizer worker {rank} failed:\n" + HEAD,
    "no number": "a worker failed:\n" + HEAD,
    "a try": "attempt {rank} failed:\n" + HEAD,
    "a fold": "fold {rank} failed:\n" + HEAD,
    "a local rank": "local rank {rank} failed:\n" + HEAD,
    "a loader's worker": "loader worker {rank} failed:\n" + HEAD,
    "no rank of the job": "actor {beyond} failed:\n" + HEAD,
    "an error of another": "RuntimeError: rank {rank} left\nall of it is over\n" + HEAD,
    "one for all": "player 2 failed:\n" + HEAD,
}


def judged(folder: Path, heading: str, order: Sequence[int] = (2, 3, 0, 1), after: str = "exit status 1\n") -> Verdict:
    """Logs of four workers, and what their caller prints of those in `order`."""
    (folder / "logs").mkdir()
    for rank, pid in PIDS.items():
        said = f"2026-11-30 07:32:43,2{rank}9 INFO rank {rank} of 4 ready, pid {pid}\n"
        for step in range(0, 10, 2):
            said += f"2026-11-30 07:32:45,{step}{rank}3 INFO rank {rank} step {step} loss {2.5 - step / 10 + rank / 7:.4f}\n"
        (folder / "logs" / f"worker-{pid}.log").write_text(said)
    told = ""
    for at, rank in enumerate(order):
        when = "07:32:46" if rank == 2 else f"07:33:1{at}"
        told += heading.format(rank=rank, pid=PIDS[rank], at=when, next=rank + 1, beyond=rank + 7)
        told += OWN if rank == 2 else OF_OTHERS
    (folder / "driver.out").write_text(told + after)
    return analyze(folder).verdict


@pytest.mark.parametrize("heading", FORMS.values(), ids=FORMS)
def test_whose_exception_it_is_stands_above_it(tmp_path: Path, heading: str) -> None:
    verdict = judged(tmp_path, heading)
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "exception", [2])


@pytest.mark.parametrize("heading", NOBODYS.values(), ids=NOBODYS)
def test_what_counts_no_processes_names_nobody(tmp_path: Path, heading: str) -> None:
    assert judged(tmp_path, heading).ranks == []


@pytest.mark.parametrize(("heading", "ranks"), [("trainer", [2]), ("a word that nobody knows", [])])
def test_one_heading_alone_must_call_a_process(tmp_path: Path, heading: str, ranks: list[int]) -> None:
    assert judged(tmp_path, {**FORMS, **NOBODYS}[heading], order=(2,)).ranks == ranks


def test_a_caller_that_goes_on_has_not_outlived_it(tmp_path: Path) -> None:
    said = judged(
        tmp_path, FORMS["worker"], after="2026-11-30 07:33:20,000 INFO driver: shutting down, 4 of 4 failed\n"
    )
    assert said.ranks == [2]


def test_what_is_raised_again_is_of_the_same(tmp_path: Path) -> None:
    """A pool quotes what its process raised, and raises it once more."""
    again = '"""\n\nThe above exception was the direct cause of the following exception:\n\n{last}\n'
    said = "".join(
        FORMS["a pool of processes"].format(rank=rank) + raised + again.format(last=raised.splitlines()[-1])
        for rank, raised in ((2, OWN), (0, OF_OTHERS), (1, OF_OTHERS), (3, OF_OTHERS))
    )
    judged(tmp_path, FORMS["rank"])
    (tmp_path / "driver.out").write_text(said)
    assert analyze(tmp_path).verdict.ranks == [2]


@pytest.mark.parametrize("word", ["trainer", "learner", "zorp", "参与者"])
def test_files_of_ids_tell_by_their_lines_who_they_are(tmp_path: Path, word: str) -> None:
    """`worker-2c5f…-29416.err`, and in nearly all lines of it the same number behind a word."""
    (tmp_path / "logs").mkdir()
    for rank, name in enumerate(
        ("f2a29a7dbf47-29417", "2c5fd68eb625-29416", "66f5236fd715-29549", "2ec914de7f6d-29550")
    ):
        said = "".join(
            f"2026-11-30 07:32:4{step},{rank}59 INFO {word} {rank} step {step} mse {9.5 - step + rank / 7:.4f}\n"
            for step in range(0, 10, 2)
        )
        (tmp_path / "logs" / f"worker-{name}.err").write_text(":actor_name:Trainer\n" + said)
    (tmp_path / "driver.out").write_text(CALL.format(pid=29549) + OWN)
    assert analyze(tmp_path).verdict.ranks == [2]
