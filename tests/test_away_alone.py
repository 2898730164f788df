"""All ranks but one time out in one wait: where its own records show that the one was elsewhere in the program, it is named."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from forensics import analyze

RANKS = 4
WAIT = "Timed out waiting 20000ms for recv operation to complete"
GLOO = f"RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] {WAIT}"
CLOSED = "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.7]:4711"
Lines = Sequence[str]


def stamped(seconds: float, text: str) -> str:
    minute, second = divmod(seconds, 60)
    return f"2026-03-02 04:{int(minute):02}:{second:06.3f} {text}"


def gave_up(rank: int, error: str = GLOO, line: int = 44, call: str = "dist.barrier()") -> list[str]:
    told = ["Traceback (most recent call last):", f'  File "/job/fit.py", line {line}, in <module>', f"    {call}",
            '  File "/env/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 4159, in barrier',
            "    work.wait()", error]  # fmt: skip
    return [f"[rank{rank}]: {one}" for one in told]


def judged(folder: Path, logs: Callable[[int], Lines], name: str = "job-{}.log") -> tuple[str, str | None, list[int]]:
    for rank in range(RANKS):
        (folder / name.format(rank)).write_text("\n".join(logs(rank)) + "\n")
    verdict = analyze(folder).verdict
    return verdict.kind, verdict.cause, verdict.ranks


def steps(rank: int, upto: int = 4) -> list[str]:
    start = stamped(0, f"rank {rank} of world size {RANKS} starts")
    return [start, *(stamped(n, f"rank {rank} step {10 * n} loss 2.{n}3") for n in range(1, upto + 1))]


def one_counts(rank: int, counts: Lines, alone: int = 2, line: int = 44) -> list[str]:
    if rank != alone:
        return [*steps(rank), *gave_up(rank, line=line if rank == 0 else 44)]
    return [*steps(rank), *(stamped(6 + 5 * n, text) for n, text in enumerate(counts))]


@pytest.mark.parametrize(
    "counts",
    [
        ["dev set: beam search 8 / 300 clips", "dev set: beam search 16 / 300 clips", "dev set: beam search 24 / 300 clips"],
        ["INFO exporter wrote shard 1 of 12", "INFO exporter wrote shard 2 of 12"],
        ["Scoring:   4%|4         | 2/50 [00:02<01:10,  1.4s/it]", "Scoring:   8%|8         | 4/50 [00:05<01:04,  1.4s/it]"],
    ],
    ids=["a decoder", "an export", "a bar"],
)  # fmt: skip
def test_who_counts_on_alone_behind_the_last_step_was_elsewhere(tmp_path: Path, counts: Lines) -> None:
    assert judged(tmp_path, lambda rank: one_counts(rank, counts)) == ("hang", "rank_absent", [2])


@pytest.mark.parametrize(
    "counts",
    [
        ["waiting for the others: 5 / 20 s", "waiting for the others: 10 / 20 s"],
        ["dev set: beam search 150 / 300 clips", "dev set: beam search 300 / 300 clips"],
        ["dev set: beam search 8 / 300 clips"],
        ["gpu memory 38 / 80 GiB", "gpu memory 38 / 80 GiB"],
        ["cache cleared", "cache cleared"],
    ],
    ids=["its own wait", "done", "once", "a gauge", "no count"],
)  # fmt: skip
def test_what_counts_no_work_of_its_own_names_nobody(tmp_path: Path, counts: Lines) -> None:
    assert judged(tmp_path, lambda rank: one_counts(rank, counts))[2] == []


def test_a_bar_that_runs_between_the_steps_names_nobody(tmp_path: Path) -> None:
    """Rank 0 alone shows the batches of an epoch: in the last one it stood with the others."""

    def logs(rank: int) -> list[str]:
        bar = [stamped(0, f"batches {n} / 30") for n in (10, 20)] if rank == 0 else []
        course = [text for one in steps(rank) for text in (one, *bar)]
        return course if rank == 0 else [*course, *gave_up(rank)]

    assert judged(tmp_path, logs)[2] == []


def test_where_one_gave_up_at_another_line_nobody_is_named(tmp_path: Path) -> None:
    counts = ["dev set: beam search 8 / 300 clips", "dev set: beam search 16 / 300 clips"]
    assert judged(tmp_path, lambda rank: one_counts(rank, counts, line=71))[2] == []


def one_is_late(rank: int, late: float, said: str = "inputs are ready", began: float = 0) -> list[str]:
    own, own_start = (late, began) if rank == 1 else (0.1, 0)
    told = [stamped(own_start, f"rank {rank}: opening the cache"), stamped(0.2 + own, f"rank {rank}: {said}")]
    return [*told, *gave_up(rank, CLOSED if rank == 1 else GLOO)]


@pytest.mark.parametrize("said", ["inputs are ready", "INFO vocabulary loaded from /data/v.json", "mesh built"])
def test_who_comes_later_than_the_others_waited_kept_them_waiting(tmp_path: Path, said: str) -> None:
    assert judged(tmp_path, lambda rank: one_is_late(rank, 48, said)) == ("hang", "rank_absent", [1])


@pytest.mark.parametrize(("late", "began"), [(12, 0), (48, 46)], ids=["within the wait", "its clock is ahead"])
def test_who_came_in_time_or_by_another_clock_is_not_named(tmp_path: Path, late: float, began: float) -> None:
    assert judged(tmp_path, lambda rank: one_is_late(rank, late, began=began))[2] == []


def in_thread(rank: int, error: str, where: str, frame: str, name: str = "fitter") -> list[str]:
    threading = '  File "/env/lib/python3.11/threading.py", line 982, in run'
    told = [f"Exception in thread {name}:", "Traceback (most recent call last):", threading,
            "    self._target(*self._args, **self._kwargs)", f'  File "/job/serve.py", line {where}', f"    {frame}"]  # fmt: skip
    beat = "INFO MainThread probe answered 200"
    return [f"replica-{rank}  | {text}" for text in (*told, error, stamped(30 + rank, beat), stamped(40 + rank, beat))]


WAITED = (GLOO, "51, in fit", "loss.backward()")


@pytest.mark.parametrize(
    ("own", "ranks"),
    [
        (("KeyError: 'tram'", "47, in fit", "label = table[name]"), [3]),
        (("IndexError: list index out of range", "48, in fit", "row = rows[at]"), [3]),
        (("AssertionError: empty batch", "49, in fit", "assert len(batch), 'empty batch'"), [3]),
        (("KeyError: 'tram'", "90, in upload", "sink.write(row['tram'])"), []),
    ],
    ids=["a key", "an index", "an assertion", "another thread of it"],
)  # fmt: skip
def test_who_failed_in_the_thread_in_which_all_others_waited(
    tmp_path: Path, own: tuple[str, str, str], ranks: list[int]
) -> None:
    """Python ends no process for it, and the service goes on answering."""
    log = [f"replica-{rank}  | {text}" for rank in range(RANKS) for text in steps(rank)]
    log += in_thread(3, *own)
    log += [text for rank in range(3) for text in in_thread(rank, *WAITED)]
    (tmp_path / "compose.log").write_text("\n".join(log) + "\n")
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.ranks) == ("hang", ranks)


def looks(away: int, at: Sequence[str], times: int = 2) -> list[str]:
    """What every process prints of itself, without its rank."""
    waits = ['  File "/env/lib/python3.11/site-packages/torch/autograd/graph.py", line 823 in _engine_run_backward',
             '  File "/job/fit.py", line 44 in <module>']  # fmt: skip
    told = []
    for _ in range(times):
        for rank in (2, 0, 3, 1):
            frames = at if rank == away else waits
            told += ["Timeout (0:01:00)!", f"Thread 0x00007f00000{rank}0b80 (most recent call first):", *frames, ""]
    return told


READS = ['  File "/env/lib/python3.11/site-packages/torch/utils/data/dataloader.py", line 701 in __next__',
         '  File "/job/fit.py", line 39 in <module>']  # fmt: skip
SAVES = ['  File "/env/lib/python3.11/site-packages/torch/serialization.py", line 850 in _save',
         '  File "/env/lib/python3.11/site-packages/torch/serialization.py", line 619 in save',
         '  File "/job/fit.py", line 60 in <module>']  # fmt: skip
LOCKS = ['  File "/env/lib/python3.11/site-packages/filelock/_api.py", line 226 in acquire', '  File "/job/fit.py", line 61 in <module>']  # fmt: skip


@pytest.mark.parametrize(
    ("at", "times", "ranks"),
    [(READS, 2, [1]), (SAVES, 3, [1]), (LOCKS, 2, [1]), (READS, 1, [])],
    ids=["reads", "saves", "locks", "one look"],
)
def test_the_one_process_elsewhere_is_the_one_rank_that_did_not_time_out(
    tmp_path: Path, at: list[str], times: int, ranks: list[int]
) -> None:
    log = [text for rank in range(RANKS) for text in steps(rank)] + looks(1, at, times)
    log += [text for rank in (0, 2, 3) for text in gave_up(rank, call="loss.backward()")]
    (tmp_path / "out.log").write_text("\n".join(log) + "\n")
    assert analyze(tmp_path).verdict.ranks == ranks


def test_of_two_ranks_nobody_is_named(tmp_path: Path) -> None:
    log = [stamped(n, f"rank {rank} step {n} loss 2.{n}3") for n in (1, 2, 3) for rank in range(2)]
    log = ["rank 0 of world size 2", "rank 1 of world size 2", *log]
    log += in_thread(1, "KeyError: 'tram'", "47, in fit", "label = table[name]")
    (tmp_path / "compose.log").write_text("\n".join([*log, *in_thread(0, *WAITED)]) + "\n")
    assert analyze(tmp_path).verdict.ranks == []


def test_where_two_stand_elsewhere_nobody_is_named(tmp_path: Path) -> None:
    log = [text for rank in range(RANKS) for text in steps(rank)]
    log += [text.replace("line 44 in", "line 12 in") if n % 4 else text for n, text in enumerate(looks(1, READS))]
    log += [text for rank in (0, 2, 3) for text in gave_up(rank, call="loss.backward()")]
    (tmp_path / "out.log").write_text("\n".join(log) + "\n")
    assert analyze(tmp_path).verdict.ranks == []
