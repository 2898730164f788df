"""Stacks of Go programs: what their runtime prints is read as stacks, and who stands elsewhere is told by them."""

from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from parsers import read

MAIN = "main.main()\n\t/src/loom/cmd/weave/main.go:41 +0x1c5\n"
STEP = "loom/work.(*Loop).Step(0xc000190000, 0x1f4)\n\t/src/loom/work/loop.go:88 +0x2e1\n"
SUM = "loom/thread.(*Ring).Sum(0xc0000b2000, {0xc004000000, 0x10000, 0x10000})\n\t/src/loom/thread/ring.go:61 +0x9c\n"
POLL = "internal/poll.runtime_pollWait(0x7f02, 0x72)\n\t/usr/local/go/src/runtime/netpoll.go:351 +0x85\nnet.(*conn).Read(0xc000112040, {0xc01a, 0x4000, 0x4000})\n\t/usr/local/go/src/net/net.go:189 +0x45\n"
MUTEX = "sync.runtime_SemacquireMutex(0xc0?, 0x0?, 0x1?)\n\t/usr/local/go/src/runtime/sema.go:95 +0x25\nsync.(*Mutex).lockSlow(0xc0001)\n\t/usr/local/go/src/sync/mutex.go:173 +0x15d\n"
GROUP = "sync.runtime_Semacquire(0xc0?)\n\t/usr/local/go/src/runtime/sema.go:71 +0x25\nsync.(*WaitGroup).Wait(0xc0)\n\t/usr/local/go/src/sync/waitgroup.go:118 +0x48\n"
HTTP = "net/http.(*persistConn).roundTrip(0xc0, 0xc1)\n\t/usr/local/go/src/net/http/transport.go:2674 +0x9b5\nloom/store.(*Client).List(0xc2)\n\t/src/loom/store/client.go:30 +0x6e\n"
SHELF = "loom/shelf.(*Shelf).Take(0xc3)\n\t/src/loom/shelf/shelf.go:19 +0x3d\n"
OTHER = "goroutine 21 [select]:\nloom/thread.(*Beat).run(0xc9)\n\t/src/loom/thread/beat.go:12 +0x10a\ncreated by loom/thread.Dial in goroutine 1\n\t/src/loom/thread/dial.go:8 +0x3b2\n"


def dump(rank: int, state: str, inside: str, head: str = "# h{0} rank={0} stacks") -> str:
    return f"{head.format(rank)}\n\ngoroutine 1 [{state}]:\n{inside}{STEP}{MAIN}\n{OTHER}"


def verdict(tmp_path: Path, state: str, inside: str, before: str = "") -> Verdict:
    for rank in range(5):
        waits = [("IO wait, 12 minutes", POLL + SUM), ("chan receive, 12 minutes", SUM)][rank % 2]
        own = (state, inside) if rank == 3 else waits
        (tmp_path / f"h{rank}.txt").write_text(before + dump(rank, *own))
    return analyze(tmp_path).verdict


@pytest.mark.parametrize(
    ("state", "inside"),
    [
        ("sync.Mutex.Lock, 12 minutes", MUTEX + SHELF),
        ("semacquire, 11 minutes", MUTEX + SHELF),
        ("select, 12 minutes", HTTP),
    ],
)
def test_who_stands_elsewhere_for_minutes_is_named(tmp_path: Path, state: str, inside: str) -> None:
    found = verdict(tmp_path, state, inside)
    assert (found.kind, found.cause, found.ranks) == ("hang", "rank_absent", [3])


@pytest.mark.parametrize(
    ("state", "inside"),
    [
        ("sync.Mutex.Lock, 12 minutes", MUTEX + SUM),
        ("semacquire, 12 minutes", GROUP + SUM),
        ("semacquire, 12 minutes", GROUP + SHELF),
        ("running", SHELF),
        ("chan receive, 12 minutes", SUM),
    ],
    ids=["a lock of the ring itself", "waits for its own ring", "waits for nobody knows whom", "runs", "as the others"],
)
def test_whose_place_tells_nothing_is_not(tmp_path: Path, state: str, inside: str) -> None:
    assert verdict(tmp_path, state, inside).ranks == []


def test_after_a_panic_they_show_where_it_ended(tmp_path: Path) -> None:
    found = verdict(tmp_path, "sync.Mutex.Lock, 12 minutes", MUTEX + SHELF, "panic: close of closed channel\n\n")
    assert found.ranks == []


@pytest.mark.parametrize("number", ["1", "1 gp=0xc0000061c0 m=nil", "1 gp=0xc000 m=3 mp=0xc01"])
def test_rows(tmp_path: Path, number: str) -> None:
    text = dump(0, "IO wait, 2 minutes", POLL + SUM).replace("goroutine 1 [", f"goroutine {number} [")
    (tmp_path / "weave.log").write_text(f"SIGQUIT: quit\nPC=0x47 m=0 sigcode=0\n\n{text}\nrax 0x0\n")
    stacks = read(str(tmp_path)).tables["stacks"]
    main = stacks.filter("is_main")
    assert (stacks.height, main.height, main["thread"].to_list()) == (3, 2, ["1", "1"])
    frames = [(one["function"], one["line"]) for one in main["frames"][0]]
    assert frames == [("thread.Ring.Sum", 61), ("work.Loop.Step", 88), ("main.main", 41)]


@pytest.mark.parametrize("head", ["# node rank={0}", "lora rank=8, h{0}", "# h{0}", "# rank={0}\n[rank7]: up"])
def test_a_head_that_tells_no_rank_of_the_job(tmp_path: Path, head: str) -> None:
    for rank in range(5):
        (tmp_path / f"h{rank}.txt").write_text(dump(rank, "chan receive", SUM, head))
    assert read(str(tmp_path)).tables["ranks"].height == 0
