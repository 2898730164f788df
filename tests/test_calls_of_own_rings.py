"""Two rounds of stacks in a program's own words: who stands outside the collective that all others stand in, native and on a Java machine."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from parsers.stacks.process_table import form

NATIVE = (
    '### 2026-01-31 10:1{round}:00 host h{rank} rank {rank} pid {pid}\nThread 2 (LWP {other} "beat"):\n'
    "#0  0x00007f5c in clock_nanosleep () from /lib64/libc.so.6\n#1  0x00005571 in house::Beat::run (this=0x55) at src/beat.cc:9\n\n"
    'Thread 1 (LWP {pid} "weave"):\n{inside}#8  0x00005575 in weave::run (c=...) at src/run.cc:41\n#9  0x00005576 in main (argc=2, argv=0x7f) at src/main.cc:7\n'
)
RING = "#0  0x00007f5c in fi_cntr_read (c=0x1) at /usr/include/fi_eq.h:3\n#1  0x00005573 in loom::Ring::pass (b=0x2) at src/ring.cc:61\n#2  0x00005574 in loom::{} (b=0x2) at src/ring.cc:88\n"
READS = "#0  0x00007f5c in __libc_read (fd=4, n=9) at read.c:26\n#1  0x00005573 in weave::Shelf::take (s=0x2) at src/shelf.cc:19\n"
JAVA = (
    '2026-01-31 10:1{round}:00\nFull thread dump OpenJDK 64-Bit Server VM (17.0.9+9 mixed mode):\n\n# rank={rank} host=h{rank} pid={pid}\n\n"main" #1 prio=5 os_prio=0 cpu=4.1ms '
    "elapsed=9{round}.2s tid=0x00007f3a nid=0x89a {state}  [0x00007f3a]\n   java.lang.Thread.State: RUNNABLE\n{inside}\tat weave.Main.main(Main.java:7)\n\n"
    '"beat" #12 daemon prio=5 os_prio=0 tid=0x00007f3b nid=0x89b waiting on condition\n   java.lang.Thread.State: TIMED_WAITING (sleeping)\n\tat java.lang.Thread.sleep(java.base@17.0.9/Native Method)\n\tat weave.Beat.run(Beat.java:9)\n'
)
SOCKET = "\tat sun.nio.ch.Net.poll(java.base@17.0.9/Native Method)\n\tat loom.Link.fill(Link.java:61)\n\tat loom.Ring.{}(Ring.java:88)\n"
MONITOR = "\tat weave.Shelf.take(Shelf.java:19)\n\t- waiting to lock <0x0000c3> (a weave.Shelf)\n\tat weave.Loop.step(Loop.java:31)\n\t- locked <0x0000c4> (a weave.Loop)\n"


def verdict(
    folder: Path, text: str, waits: Callable[[int], str], odd: str, rounds: tuple[int, ...] = (1, 2)
) -> Verdict:
    for of in rounds:
        (folder / f"round{of}").mkdir()
        for rank in range(6):
            told = {"rank": rank, "pid": 7000 + 10 * rank, "other": 7001 + 10 * rank, "round": of}
            inside = odd if rank == 4 else waits(rank)
            state = "waiting for monitor entry" if "lock <" in inside else "runnable"
            (folder / f"round{of}" / f"bt_{rank:02}.txt").write_text(text.format(**told, inside=inside, state=state))
    return analyze(folder).verdict


@pytest.mark.parametrize("call", ["allreduce", "ring_all_gather", "ReduceScatter"])
def test_who_reads_while_all_others_stand_in_a_collective_of_their_own(tmp_path: Path, call: str) -> None:
    told = verdict(tmp_path, NATIVE, lambda _: RING.format(call), READS)
    assert (told.kind, told.cause, [*told.ranks]) == ("hang", "rank_absent", [4])


@pytest.mark.parametrize("call", ["allReduce", "iallgather", "allToAll"])
def test_who_waits_for_a_monitor_meanwhile(tmp_path: Path, call: str) -> None:
    told = verdict(tmp_path, JAVA, lambda _: SOCKET.format(call), MONITOR)
    assert (told.kind, told.cause, [*told.ranks], told.site) == ("hang", "rank_absent", [4], "lock")


@pytest.mark.parametrize("text", [NATIVE, JAVA])
def test_all_in_the_collective_or_seen_once_name_nobody(tmp_path: Path, text: str) -> None:
    (wait, odd) = (RING, READS) if text == NATIVE else (SOCKET, MONITOR)
    (tmp_path / "all").mkdir()
    assert [*verdict(tmp_path / "all", text, lambda _: wait.format("allReduce"), wait.format("allReduce")).ranks] == []
    (tmp_path / "half").mkdir()
    half = verdict(tmp_path / "half", text, lambda rank: odd if rank % 2 else wait.format("allReduce"), odd)
    assert [*half.ranks] == []


def test_a_listing_whose_header_is_what_was_asked_for() -> None:
    asked = form("# ps -eo pid,stat,wchan:24,etime,comm | grep weave")
    assert asked is not None
    cells = asked.cells("7040 Dl   rpc_wait_bit_killable      19:02:11 weave")
    assert (cells["pid"], cells["state"], cells["wchan"], cells["command"]) == (
        "7040",
        "Dl",
        "rpc_wait_bit_killable",
        "weave",
    )
    assert form("look at ps -o, please") is None
