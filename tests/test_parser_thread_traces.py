"""Stacks that programs print of their own threads, and hang detectors as witnesses of time."""

from pathlib import Path

import pytest

import forensics
from parsers.stacks.thread_traces import PARSER
from tests.lines import lines

_FRAMES = (
    '  File "/opt/serve/main.py", line 9, in loop\n    step()\n'
    '  File "/opt/env/lib/python3.12/site-packages/torch/distributed/distributed_c10d.py", line 2810, in all_reduce\n'
    "    work.wait()\n"
)


@pytest.mark.parametrize(
    ("header", "thread"),
    [
        ("Thread 140226401871552 stack trace:", "140226401871552"),
        ("# ThreadID: 140226401871552", "140226401871552"),
        ("### ThreadID: 140226 Thread name: MainThread", "140226"),
        ("--- Stack of thread MainThread (7712) ---", "7712"),
        ("watchdog: stack for thread 7712 (engine loop):", "7712"),
        ("stack trace: thread id=7712, daemon", "7712"),
        ("Traceback for thread 7712 (python3) [Has the GIL,Garbage collecting] (most recent call last):", "7712"),
    ],
)
def test_a_line_that_numbers_a_thread_opens_its_stack(header: str, thread: str) -> None:
    [row] = PARSER.parse(lines(f"{header}\n{_FRAMES}served 3 requests"))["stacks"].iter_rows(named=True)
    assert (row["thread"], row["is_main"]) == (thread, True)
    assert [frame["function"] for frame in row["frames"]] == ["all_reduce", "loop"]


_PYSTACK = """Traceback for thread {worker} (pin_memory) [] (most recent call last):
    (Python) File "/usr/lib/python3.12/threading.py", line 1030, in _bootstrap
        self._bootstrap_inner()
    (C) File "???", line 0, in poll (libc.so.6)
Traceback for thread {pid} (python3) [Has the GIL] (most recent call last):
    (Python) File "/srv/job/main.py", line 9, in <module>
        loop()
    (Python) File "/srv/job/data/pack.py", line 31, in {function}
        {source}
"""


def test_of_a_dumper_from_outside_the_thread_of_the_module_tells_the_process() -> None:
    text = _PYSTACK.format(worker=7719, pid=7712, function="__next__", source="while self.left(c) == 0:")
    worker, main = PARSER.parse(lines(text))["stacks"].iter_rows(named=True)
    assert (main["pid"], main["is_main"], worker["pid"], worker["is_main"]) == (7712, True, 7712, False)
    assert [frame["function"] for frame in worker["frames"]] == ["poll", "_bootstrap"]
    assert worker["frames"][0]["line"] is None


GAVE_UP = "2026-01-31 10:{:02d}:{:02d}.000 [r{}] {}\n"


def _waits(root: Path, silent: tuple[int, ...], function: str, source: str, world: int = 4, pid: int = 402) -> Path:
    """Ranks that give up one call, but some, and the stack of one process."""
    for rank in range(world):
        said = [(0, 0, f"up, rank {rank} of world_size={world} pid={400 + rank}")]
        said += [(0, 5 * step, f"step {step} loss 2.{step}") for step in range(1, 5)]
        if rank not in silent:
            said += [
                (1, 0, "call 40: all_reduce group=dp begins"),
                (16, 0, "call 40: all_reduce open 900 s, giving in"),
            ]
        (root / f"rank{rank}.log").write_text("".join(GAVE_UP.format(*at[:2], rank, at[2]) for at in said))
        members = ", ".join(map(str, range(world)))
        (root / "groups.txt").write_text(f"created group dp with ranks [{members}]\n")
    (root / f"dump_{pid}.txt").write_text(_PYSTACK.format(worker=pid + 7, pid=pid, function=function, source=source))
    return root


@pytest.mark.parametrize(
    ("silent", "world", "function", "source", "pid", "named"),
    [
        ((2,), 4, "__next__", "batch = next(batches)", 402, [2]),
        ((2,), 4, "wait", "self.flag.wait()", 402, []),  # a place that nobody knows
        ((2,), 4, "__next__", "batch = next(batches)", 403, []),  # the stack of one that gave up
        ((2,), 4, "__next__", "batch = next(batches)", 9402, []),  # of a process that nobody knows
        ((2, 3), 4, "__next__", "batch = next(batches)", 402, []),  # two are silent
        ((1,), 2, "__next__", "batch = next(batches)", 401, []),  # of two
    ],
)
def test_who_alone_did_not_give_up_and_stands_elsewhere_is_named(
    tmp_path: Path, silent: tuple[int, ...], world: int, function: str, source: str, pid: int, named: list[int]
) -> None:
    verdict = forensics.analyze(_waits(tmp_path, silent, function, source, world, pid)).verdict
    assert (verdict.kind, verdict.ranks) == ("hang", named)
    if named:
        assert (verdict.cause, verdict.site) == ("rank_absent", "data_loading")


@pytest.mark.parametrize(
    "text",
    ["stack trace: thread 77120 is fine", f"Traceback (most recent call last):\n{_FRAMES}KeyError: 3", "ThreadID: 7"],
)
def test_what_no_frame_follows_is_no_stack(text: str) -> None:
    assert PARSER.parse(lines(text))["stacks"].is_empty()


def _dumps(root: Path, form: str, ranks: int = 4) -> Path:
    """An engine whose ranks all say that they hang; rank 2 stands in a file, the others in an all-reduce."""
    held = '  File "/opt/serve/main.py", line 9, in loop\n  File "/usr/lib/python3.12/pathlib.py", line 1013, in open\n'
    text = "".join(
        f"{form.format(rank=rank, what='Hang detected after 300 seconds.')}\n"
        f"{form.format(rank=rank, what=f'Thread 1400{rank} stack trace:')}\n{held if rank == 2 else _FRAMES}"
        for rank in range(ranks)
    )
    start = "".join(
        form.format(rank=rank, what=f"ready, rank {rank} of {ranks} pid {400 + rank}") + "\n" for rank in range(ranks)
    )
    (root / "engine.log").write_text(start * 2 + text)
    return root


@pytest.mark.parametrize(
    "form",
    [
        "[08/12/2026-15:27:08] [TRT-LLM] [E] [_torch][RANK {rank}] {what}",
        "[08/12/2026-15:27:08] [TRT-LLM] [RANK {rank}] [E] {what}",
        "[rank{rank}]: [08/12/2026-15:27:08] [TRT-LLM] [E] {what}",
        "2026-08-12 15:27:08 [TP{rank}] {what}",
        "2026-08-12 15:27:08 (rank {rank}) engine: {what}",
    ],
)
def test_who_stands_elsewhere_is_named_by_the_dump_of_a_hang_detector(tmp_path: Path, form: str) -> None:
    verdict = forensics.analyze(_dumps(tmp_path, form)).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("hang", "rank_absent", [2])


@pytest.mark.parametrize(
    "announces", ["Pyspy dump for PID {pid}:", "py-spy dump for pid {pid} follows", "writing a dump for PID {pid}"]
)
def test_the_dump_that_a_rank_announces_is_its_own(tmp_path: Path, announces: str) -> None:
    wait = "    all_reduce (torch/distributed/distributed_c10d.py:2810)\n"
    held = "    open (pathlib.py:1013)\n"
    text = "".join(
        f"[2026-05-19 04:15:4{rank} rank {rank} of 4] {announces.format(pid=9120 + rank)}\nProcess {9120 + rank}: scheduler\n"
        f'Thread {9120 + rank} (active): "MainThread"\n{held if rank == 1 else wait}    run (serve/loop.py:7)\n'
        for rank in range(4)
    )
    (tmp_path / "engine.log").write_text(
        text + "[2026-05-19 04:15:49 rank 0 of 4] Watchdog timeout (watchdog_timeout=300)\n"
    )
    assert forensics.analyze(tmp_path).verdict.ranks == [1]


def test_a_call_of_the_system_stands_in_the_line_and_in_no_frame() -> None:
    text = 'Thread 1400 stack trace:\n  File "/opt/kv.py", line 8, in save\n    os.pwrite(self.fd, view, off)\n'
    [row] = PARSER.parse(lines(text))["stacks"].iter_rows(named=True)
    assert [frame["function"] for frame in row["frames"]] == ["pwrite", "save"]
