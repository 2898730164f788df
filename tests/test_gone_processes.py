"""A script's list of the processes of a job says that one is gone: one fact, one answer, whatever its words."""

from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

HOSTS = ("nova-1", "nova-3")
PIDS = (11870, 11887, 11903, 11925, 30171, 30188, 30204, 11887)  # by rank: both hosts have an 11887
GONE = 5


def job() -> dict[str, list[str]]:
    files = {
        "run/launch.tsv": ["#node\tgpu\trank\tpid\tlog"]
        + [
            f"{HOSTS[rank // 4]}\t{rank % 4}\t{rank}\t{PIDS[rank]}\tlogs/{HOSTS[rank // 4]}_g{rank % 4}.log"
            for rank in range(8)
        ]
    }
    for rank in range(8):
        own = ["nohup: ignoring input"] + [
            f"[03:0{at}:44] step {3017 + at} done  loss=1.2{rank}{at}  lr=8.1e-06" for at in range(5)
        ]
        if rank != GONE:
            own.append(
                f"[rank{rank}]:[E208 03:17:50.11100{rank}961 ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective operation timeout:"
                " WorkNCCL(SeqNum=48359, OpType=REDUCE_SCATTER, NumelIn=104857600, NumelOut=13107200, Timeout(ms)=600000) ran for 600025"
                " milliseconds before timing out."
            )
        files[f"logs/{HOSTS[rank // 4]}_g{rank % 4}.log"] = own
    return files


def each(form: str, there: str, gone: str, *, headed: str = "") -> list[str]:
    lines = []
    for rank in range(8):
        if headed and rank % 4 == 0:
            lines.append(headed.format(host=HOSTS[rank // 4]))
        state = gone if rank == GONE else there
        lines.append(form.format(host=HOSTS[rank // 4], pid=PIDS[rank], rank=rank, at=rank % 4, state=state))
    return lines


FORMS = {
    "letters": each("{host} {pid}  {state}", "R", "gone"),
    "words": each("{host}:{pid} {state}", "ALIVE", "DEAD"),
    "sentences": each("[{host}] pid {pid}: {state}", "running", "not running"),
    "a table": ["host      pid     state", *each("{host}    {pid}   {state}", "S", "missing")],
    "with commas": ["host,pid,state", *each("{host},{pid},{state}", "Sl", "exited")],
    "below headings": each("{pid} {state}", "R", "gone", headed="=== {host} ==="),
    "below prompts": each("{pid}  {state}", "Rl", "no such process", headed="tr@{host}:~$ ./alive.sh"),
    "by rank": each("rank {rank}: {state}", "alive", "gone"),
    "by rank, the state first": each("{state} rank {rank}", "alive", "dead"),
    "in Chinese": each("{host} 进程 {pid} {state}", "运行中", "不存在"),
    "host and pid as one": each("{host}/{pid} {state}", "running", "exited"),
    "in marks": each("{state} {host} {pid}", "✓", "✗"),
    "pids in brackets": each("{host}[{pid}] {state}", "alive", "gone"),
    "twice": [*each("{host} {pid}  {state}", "R", "gone"), "$ date; ./status.sh   # once more", *each("{host} {pid}  {state}", "R", "gone")],
}  # fmt: skip
OTHERS = {
    "its host does not answer": each("{host} {pid}  {state}", "R", "ssh: timed out"),
    "not seen": each("{host} {pid}  {state}", "R", "denied"),
    "all are gone": each("{host} {pid}  {state}", "gone", "gone"),
    "it is there at the next look": [*each("{host} {pid}  {state}", "R", "gone"), *each("{host} {pid}  {state}", "R", "R")],
    "another number": [*each("{host} {pid}  {state}", "R", "gone")[:5], "nova-3 30999  gone"],
    "one that gave up": [*each("{host} {pid}  {state}", "R", "R")[:3], "nova-3 30204  gone"],
    "a file": each("logs/{host}_g{at}.log {state}", "12 kB", "missing"),
    "a number of two hosts": ["11870 R", "11903 R", "30171 R", "11887 gone"],
}  # fmt: skip


def named(folder: Path, lines: list[str]) -> list[int]:
    return analyze(str(written(folder, job() | {"terminal.txt": lines}))).verdict.ranks


@pytest.mark.parametrize("form", FORMS)
def test_who_is_gone_is_named(form: str, tmp_path: Path) -> None:
    assert named(tmp_path, FORMS[form]) == [GONE]


@pytest.mark.parametrize("case", OTHERS)
def test_nobody_is_named_by_another_word(case: str, tmp_path: Path) -> None:
    assert named(tmp_path, OTHERS[case]) == []
