"""What kernels of two nodes say, as people paste it into one file: of which node a line is, its prompt or its heading tells; one fact, one answer."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import analyze
from parsers import read
from tests.sources import written

HOSTS = ("vela-07", "vela-12")
PIDS = (30411, 30412, 30413, 30414, 30411, 30412, 30413, 30414)  # by rank: both nodes count alike
ABSENT = 5


def job() -> list[str]:
    own = [
        f"{rank:2d}: 2026-03-11 02:06:4{rank} | INFO | boot | hello from {HOSTS[rank // 4]} (pid {PIDS[rank]}, gpu {rank % 4})"
        for rank in range(8)
    ]
    own += [
        f" 0: 2026-03-11 02:0{7 + step // 60}:{step % 60:02d} | INFO | loop | step {100 + step // 10} loss 2.3{step}"
        for step in range(0, 90, 10)
    ]
    own += [
        f"{rank:2d}: [rank{rank}]:[E311 03:14:16.99{rank}243047 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective operation timeout:"
        " WorkNCCL(SeqNum=812, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=1800000) ran for 1800032 milliseconds before timing out."
        for rank in range(8)
        if rank != ABSENT
    ]
    return own


def quiet(_: str) -> list[str]:
    return ["[Wed Mar 11 01:40:02 2026] mlx5_core 0000:1a:00.0: firmware version: 28.39.1002"]


def blocked(_: str) -> list[str]:
    return [
        f"[Wed Mar 11 02:50:17 2026] INFO: task python:{PIDS[ABSENT]} blocked for more than 122 seconds.",
        "[Wed Mar 11 02:50:17 2026]       Tainted: P           OE     5.14.0-427.el9.x86_64 #1",
        f"[Wed Mar 11 02:52:20 2026] INFO: task python:{PIDS[ABSENT]} blocked for more than 245 seconds.",
    ]


def headed(*headings: str) -> Callable[[str], list[str]]:
    return lambda host: [one.format(host=host) for one in headings]


HEADS: dict[str, Callable[[str], list[str]]] = {
    "a prompt in brackets": headed("[ops@{host} ~]$ sudo dmesg -T | tail -6"),
    "a prompt with a path": headed("root@{host}:~# dmesg -T"),
    "an environment before it": headed("(base) lm@{host}:/mnt/run$ dmesg -T | grep -v audit"),
    "a login, then a prompt": headed("ops@login1:~$ ssh {host}", "ops@{host}:~$ dmesg -T | tail"),
    "a host as a prompt": headed("{host}# dmesg -T | tail -20"),
    "a host as a prompt of users": headed("{host}$ dmesg -T"),
    "set off": headed("===== {host} ====="),
    "set off by dashes": headed("--- {host} ---"),
    "below a mark of a part": headed("### {host}"),
    "with a colon": headed("{host}:"),
    "as tail heads files": headed("==> {host} <=="),
    "words around it": headed("=== dmesg of {host} ==="),
    "what was typed": headed("$ ssh {host} dmesg -T | tail"),
    "in brackets": headed("[{host}]"),
    "a field": headed("Host: {host}"),
    "a title": headed("## {host} (dmesg)"),
    "a time beside it": headed("*** {host} 03:28:59 ***"),
}


def answer(folder: Path, files: dict[str, list[str]]) -> tuple[list[int], str | None]:
    verdict = analyze(str(written(folder, files | {"job.out": job()}))).verdict
    return verdict.ranks, verdict.cause


def hosts(folder: Path, lines: list[str]) -> set[str | None]:
    """Of which a kernel found a task blocked."""
    events = read(str(written(folder, {"notes.txt": lines, "job.out": job()}))).tables["events"]
    return {host for kind, host in events.select("kind", "host").iter_rows() if kind == "hung_task"}


@pytest.mark.parametrize("form", HEADS)
def test_a_kernel_speaks_for_the_host_above_it(form: str, tmp_path: Path) -> None:
    head = HEADS[form]
    lines = [*head(HOSTS[0]), *quiet(""), "", *head(HOSTS[1]), *blocked("")]
    assert hosts(tmp_path, lines) == {HOSTS[1]}


def test_whose_process_it_is_follows(tmp_path: Path) -> None:
    lines = ["=== vela-07 ===", *quiet(""), "", "=== vela-12 ===", *blocked("")]
    assert answer(tmp_path, {"notes.txt": lines}) == ([ABSENT], "rank_absent")


OTHERS = {
    "no heading": [*blocked("")],
    "the other node, where that number is another process": ["=== vela-07 ===", *blocked("")],
    "a host that is no node": ["=== vela-12 ===", *quiet(""), "=== login1 ===", *blocked("")],
    "a prompt of a host that is no node": ["[a@vela-12 ~]$ dmesg", *quiet(""), "[a@login1 ~]$ dmesg", *blocked("")],
    "a heading of both": ["=== vela-07 vela-12 ===", *blocked("")],
    "what is said of a host": ["vela-12 was drained at noon, and what follows is from the storage:", *blocked("")],
    "a stale number": ["=== vela-12 ===", *(line.replace("30412", "30499") for line in blocked(""))],
}


@pytest.mark.parametrize("case", OTHERS)
def test_nobody_is_named_by_what_another_host_says(case: str, tmp_path: Path) -> None:
    assert answer(tmp_path, {"notes.txt": OTHERS[case]}) == ([], None)


def test_a_part_ends_where_the_next_begins(tmp_path: Path) -> None:
    lines = ["=== vela-12 ===", *quiet(""), "=== vela-07 ===", *blocked("")]
    assert answer(tmp_path, {"notes.txt": lines}) == ([], None)


FRAMES = [
    "[<0>] cl_sync_io_wait+0x1f2/0x310 [obdclass]",
    "[<0>] osc_io_fsync_end+0x86/0xf0 [osc]",
    "[<0>] ll_fsync+0x21c/0x7b0 [lustre]",
    "[<0>] do_fsync+0x38/0x70",
    "[<0>] do_syscall_64+0x5b/0x1b0",
]
ASKED = {
    "a prompt": ["[ops@vela-12 ~]$ sudo cat /proc/{pid}/stack"],
    "a host as a prompt": ["vela-12# cat /proc/{pid}/stack"],
    "sent there": ["$ ssh vela-12 sudo cat /proc/{pid}/stack"],
    "a heading each": ["=== vela-12 ===", "/proc/{pid}/stack:"],
    "a number below the host": ["### vela-12", "pid {pid}"],
}


@pytest.mark.parametrize("form", ASKED)
def test_where_a_process_sleeps_is_told_below_its_number(form: str, tmp_path: Path) -> None:
    head = [line.format(pid=PIDS[ABSENT]) for line in ASKED[form]]
    talk = ["came in at three, looked around a little,", "and this is what I noted down for the others.", ""]
    lines = [
        *talk,
        "[a@vela-12 ~]$ dmesg -T",
        *blocked(""),
        "[a@vela-12 ~]$ uptime",
        " 03:17:05 up 44 days",
        *head,
        *FRAMES,
    ]
    verdict = analyze(str(written(tmp_path, {"notes.txt": lines, "job.out": job()}))).verdict
    assert (verdict.ranks, verdict.site) == ([ABSENT], "storage_io")


@pytest.mark.parametrize("form", ["a prompt with a path", "set off", "words around it", "with a colon", "in brackets"])
def test_hosts_may_have_no_number(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = ("alpha", "beta")
    monkeypatch.setattr("tests.test_kernels_below_headings.HOSTS", named)
    lines = [*HEADS[form](named[0]), *quiet(""), "", *HEADS[form](named[1]), *blocked("")]
    assert hosts(tmp_path, lines) == {"beta"}


def test_words_that_no_process_tells_are_no_hosts(tmp_path: Path) -> None:
    lines = ["=== before ===", *quiet(""), "=== after ===", *blocked("")]
    assert hosts(tmp_path, lines) == {None}
