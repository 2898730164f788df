"""Which file a process writes, by links of /proc and rows of lsof; what it reads tells nothing."""

from pathlib import Path

import pytest

from parsers import read
from tests.sources import written

LINK = "l-wx------ 1 root root 64 Nov 29 15:53 {fd} -> {path}"
ROW = "python3   {pid}   trainer    1w      REG              259,3    828377 8701006 {path}"
TASK = "python3   {pid} 7011  trainer    1w      REG              259,3    828377 8701006 {path}"
LOG = "/tmp/te/run_k0/attempt_0/2/stderr.log"
Told = tuple[int, str | None, int | None, str]

FORMS: dict[str, tuple[list[str], Told]] = {
    "ls below a prompt": (["op@n7:~$ ls -l /proc/4103/fd", "total 0", LINK.format(fd=2, path=LOG)], (4103, "n7", 2, LOG)),
    "ls of root": (["[root@n7 ~]# ls -l /proc/4103/fd | grep log", LINK.format(fd=2, path=LOG)], (4103, "n7", 2, LOG)),
    "a link with its whole path": (["op@n7:~$ ls -l /proc/*/fd/2", LINK.format(fd="/proc/4103/fd/2", path=LOG)], (4103, "n7", 2, LOG)),
    "read and written": (["op@n7:~$ ls -l /proc/4103/fd", LINK.format(fd=2, path=LOG).replace("l-wx", "lrwx")], (4103, "n7", 2, LOG)),
    "a heading of a loop": (["== /proc/4103/fd", LINK.format(fd=1, path="/log/workerlog.6")], (4103, None, 6, "/log/workerlog.6")),
    "lsof": (["op@n7:~$ lsof | grep log", ROW.format(pid=4103, path="/log/workerlog.6")], (4103, "n7", 6, "/log/workerlog.6")),
    "lsof with threads": (["op@n7:~$ lsof", TASK.format(pid=4103, path="/log/workerlog.6")], (4103, "n7", 6, "/log/workerlog.6")),
    "lsof of several hosts": (["==== n6  22:00:01", ROW.format(pid=3001, path="/log/workerlog.1"), "==== n7  22:00:01", ROW.format(pid=4103, path="/log/workerlog.6")], (4103, "n7", 6, "/log/workerlog.6")),
    "a file that tells no number": (["op@n7:~$ ls -l /proc/4103/fd", LINK.format(fd=1, path="/log/a.log")], (4103, "n7", None, "/log/a.log")),
    "pdsh": (["n7: " + ROW.format(pid=4103, path="/log/workerlog.6"), "n8: " + ROW.format(pid=511, path="/log/workerlog.6")], (4103, "n7", 6, "/log/workerlog.6")),
}  # fmt: skip


def told(folder: Path, lines: list[str]) -> list[Told]:
    ranks = read(str(written(folder, {"look.txt": lines}))).tables["ranks"]
    return [
        row for *row, how in ranks.select("pid", "host", "local_rank", "name", "how").iter_rows() if how == "open file"
    ]


@pytest.mark.parametrize("form", FORMS)
def test_which_file_a_process_writes(tmp_path: Path, form: str) -> None:
    lines, expected = FORMS[form]
    assert list(expected) in told(tmp_path, lines)


@pytest.mark.parametrize(
    "lines",
    [
        ["op@n7:~$ ls -l /proc/4103/fd", "lr-x------ 1 root root 64 Nov 29 15:53 41 -> /mnt/shards/part-11822.log"],
        ["op@n7:~$ ls -l /run", "lrwxrwxrwx 1 root root 11 Jan 2 10:11 latest -> /run/0611/a.log"],
        ["op@n7:~$ ls -l /proc/4103/fd", "lrwx------ 1 root root 64 Nov 29 15:53 6 -> /dev/nvidia2", "lrwx------ 1 root root 64 Nov 29 15:53 3 -> socket:[90216644]"],
        ["copied a.ckpt -> /mnt/b.ckpt, log -> /tmp/a.log"],
    ],
    ids=["it reads", "a link of a folder", "devices and sockets", "prose"],
)  # fmt: skip
def test_what_is_no_file_that_it_writes(tmp_path: Path, lines: list[str]) -> None:
    assert told(tmp_path, lines) == []


def test_two_numbers_of_one_process_are_none(tmp_path: Path) -> None:
    lines = ["op@n7:~$ lsof", *(ROW.format(pid=4103, path=f"/log/workerlog.{at}") for at in (1, 2))]
    assert {local for _, _, local, _ in told(tmp_path, lines)} == {None}
