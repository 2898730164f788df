"""A logger's rendering of what it caught is of its record's printer (parsers/pytorch/carried.py), whose number stands at its head where a launcher
calls these numbers those of processes (parsers/who/speakers.py)."""

from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

HOSTS = ("worker-7", "worker-2")  # a name that is a host where the launcher says so
PIDS = {(host, at): 4000 * node + 911 + 7 * at for node, host in enumerate(HOSTS, 1) for at in (0, 1)}
CULPRIT = ("worker-2", 1)
FORMS = {
    "bars": "2026-04-02 01:20:{s:02}.064 | {level:<8} | {pid} | fit:run:71 - {words}",
    "brackets": "2026-04-02 01:20:{s:02}.064 [{pid}] {level:<8} fit:run:71 - {words}",
    "pid=": "2026-04-02 01:20:{s:02},064 pid={pid} {level} fit: {words}",
}
RENDERED = [
    "Traceback (most recent call last):",
    "",
    '> File "/job/fit.py", line 9, in run',
    "    step(batch)",
    "    └ <function step at 0x7f36>",
    "",
    "KeyError: 'ids'",
]
BARE = [RENDERED[0], '  File "/job/fit.py", line 9, in run', RENDERED[3], RENDERED[-1]]


def named(folder: Path, lines: list[str]) -> list[int]:
    return analyze(str(written(folder, {"run.log": lines}))).incident.verdict.ranks


def launched() -> list[str]:
    said = []
    for node, host in enumerate(HOSTS):
        before = f"{host}: [2026-04-02 01:20:01,146] [INFO] [launch.py"
        said += [
            f"{before}:151:main] nnodes=2, num_local_procs=2, node_rank={node}",
            f"{before}:162:main] global_rank_mapping=defaultdict(<class 'list'>, {{'worker-7': [0, 1], 'worker-2': [2, 3]}})",
            f"{before}:163:main] dist_world_size=4",
        ]
        said += [
            f"{before}:253:main] process {PIDS[host, at]} spawned with command: ['python', 'fit.py', '--local_rank={at}']"
            for at in (0, 1)
        ]
    return said


def log(form: str, words: str, caught: list[str], number: int = 0) -> list[str]:
    lines = launched()
    for second in range(2, 10):
        said = [
            (who, form.format(s=second, level="INFO", pid=pid + number, words=f"step {second} loss 2.1"))
            for who, pid in PIDS.items()
        ]
        lines += [f"{host}: {one}" for (host, _), one in said]
    record = form.format(s=12, level="ERROR", pid=PIDS[CULPRIT] + number, words=words)
    lines += [f"{CULPRIT[0]}: {one}" for one in (record, *caught)]
    return lines + [f"worker-7: {one}" for one in (*BARE[:-1], "ConnectionError: peer closed")]


@pytest.mark.parametrize("words", ["An error has been caught in function '<module>'", "训练中断"])
@pytest.mark.parametrize("form", FORMS)
def test_what_a_logger_renders_is_of_whom_the_launcher_began(tmp_path: Path, form: str, words: str) -> None:
    assert named(tmp_path, log(FORMS[form], words, [*RENDERED, *BARE])) == [3]


def test_an_empty_line_may_lack_its_blank(tmp_path: Path) -> None:
    lines = [line.rstrip() for line in log(FORMS["bars"], "caught", RENDERED)]
    assert named(tmp_path, lines) == [3]


def test_what_an_interpreter_prints_below_a_record_is_nobodys(tmp_path: Path) -> None:
    assert named(tmp_path, log(FORMS["bars"], "gives up on a sample", BARE)) == []


def test_numbers_that_nobody_calls_those_of_processes_are_none(tmp_path: Path) -> None:
    assert named(tmp_path, log(FORMS["bars"], "caught", RENDERED, number=70000)) == []
