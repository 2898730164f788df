"""A table of processes whose commands get a name that a list gives a rank: the pid is that rank's. And lists of numbers that launches wrote down, of which hosts
show most: the rest of them are processes, too."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import analyze
from parsers import read
from tests.sources import written

HOSTS = ("gx01", "gx02")
NAMES = ("gx01-b", "gx02-a", "gx02-b", "gx01-a")  # by rank
PIDS = (27718, 36284, 39172, 58377)
Files = dict[str, list[str]]
TABLE = {"plan.txt": ["worker  rank", *(f"{name}  {rank}" for rank, name in enumerate(NAMES))]}
RECORDS = {
    "a list of records": {"plan.json": ["[" + ", ".join(f'{{"worker": "{name}", "rank": {rank}}}' for rank, name in enumerate(NAMES)) + "]"]},
    "a table with marks": {"plan.csv": ["worker,rank", *(f"{name},{rank}" for rank, name in enumerate(NAMES))]},
    "columns": {"plan.txt": ["worker    address              rank", *(f"{name}    10.31.4.1{rank}:4002{rank}    {rank}" for rank, name in enumerate(NAMES))]},
}  # fmt: skip
COMMANDS: dict[str, Callable[[str], str]] = {
    "an option": lambda name: f"/opt/bin/dask worker tcp://10.31.4.10:8786 --name {name} --nthreads 8",
    "with a mark": lambda name: f"python -m worker --name={name} --nthreads 8",
    "a short one": lambda name: f"worker -n {name} -j 8",
    "another word": lambda name: f"python train.py --worker-id {name}",
    "in quotes": lambda name: f'python train.py --label "{name}" --port 40021',
    "behind one that all have": lambda name: f"python train.py --scheduler gx00 --as {name}",
    "before a leader": lambda name: f"python train.py --as {name} --master {NAMES[0]}",
    "with a path": lambda name: f"/srv/run/worker --log /var/log/w --name {name}",
}


def ps(host: str, rank: int, command: str) -> str:
    return f"  {PIDS[rank]}    3100 tab      Rl   Wed Oct 28 08:13:37 2026 08:17:49 {command}"


def tables(command: Callable[[str], str]) -> Files:
    head = "    PID    PPID USER     STAT                  STARTED     TIME COMMAND"
    return {
        f"hosts/{host}.txt": [
            f"[ops@{host} ~]$ ps -eo pid,ppid,user,stat,lstart,time,args",
            head,
            *(ps(host, rank, command(name)) for rank, name in enumerate(NAMES) if name.startswith(host)),
        ]
        for host in HOSTS
    }


def told(folder: Path, files: Files) -> dict[int, int]:
    rows = read(str(written(folder, files))).tables["ranks"].drop_nulls(["rank", "pid"])
    return dict(rows.select("pid", "rank").iter_rows())


WHOLE = {pid: rank for rank, pid in enumerate(PIDS)}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_tells_whose_process_it_is(command: str, tmp_path: Path) -> None:
    assert told(tmp_path, TABLE | tables(COMMANDS[command])) == WHOLE


@pytest.mark.parametrize("record", RECORDS)
def test_whoever_tells_of_the_names(record: str, tmp_path: Path) -> None:
    assert told(tmp_path, RECORDS[record] | tables(COMMANDS["an option"])) == WHOLE


@pytest.mark.parametrize(
    "command",
    [
        lambda name: f"python train.py --peer {name}",
        lambda name: f"python train.py --next-worker {name}",
        lambda name: f"python train.py --upstream {name}",
        lambda name: "python train.py --name gx01-a",
        lambda name: f"python train.py --name {name} --name gx01-a",
        lambda name: f"cat {name}.log",
    ],
    ids=["a peer", "the next one", "whom it reads from", "all alike", "two of one option", "no option"],
)
def test_commands_that_tell_of_nobody(command: Callable[[str], str], tmp_path: Path) -> None:
    assert told(tmp_path, TABLE | tables(command)) == {}


# --- numbers that a launch wrote down

START = [
    "HOSTS=(n2 n0 n1)",
    'for i in "${!HOSTS[@]}"; do h=${HOSTS[$i]}',
    '  ssh $h "for g in 0 1 2; do RANK=\\$(( $i*3 + g )) WORLD_SIZE=9 nohup python fit.py > out/${h}_gpu\\$g.out & echo gpu\\$g \\$! >> pids/$h.txt; done"',
    "done",
]
ORDER = ("n2", "n0", "n1")
NUMBERS = {(host, at): 5100 + 137 * node + 3 * at for node, host in enumerate(ORDER) for at in range(3)}
LISTS: dict[str, Callable[[str, int], str]] = {
    "word and number": lambda host, at: f"gpu{at} {NUMBERS[host, at]}",
    "set apart": lambda host, at: f"gpu{at}: {NUMBERS[host, at]}",
    "with an equals sign": lambda host, at: f"gpu{at}={NUMBERS[host, at]}",
    "with a dash": lambda host, at: f"gpu-{at} {NUMBERS[host, at]}",
}


def launch(line: Callable[[str, int], str], gone: tuple[str, int] | None = ("n1", 1)) -> Files:
    lists = {f"pids/{host}.txt": [line(host, at) for at in range(3)] for host in ORDER}
    seen = [
        f"{host}:  {NUMBERS[host, at]} Rl  02:54:46 03:04:48 python fit.py"
        for host in sorted(ORDER)
        for at in range(3)
        if (host, at) != gone
    ]
    head = [f"{ORDER[0]}:    PID STAT     ELAPSED     TIME COMMAND"]
    logs = {
        f"out/{host}_gpu{at}.out": [
            f"[11/18/26 20:11:34] {host} gpu{at}: chunk search done",
            *(f"[11/18/26 20:1{step}:08] {host} gpu{at}: iter {step} peak 65 GiB" for step in range(2, 7)),
            *([f"[rank{node * 3 + at}]:[E1118 23:23:35.597669 ProcessGroupNCCL.cpp:616] [Rank {node * 3 + at}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=140, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=1800000) ran for 1800033 milliseconds before timing out."] if (host, at) != gone else []),
        ]
        for node, host in enumerate(ORDER)
        for at in range(3)
    }  # fmt: skip
    return {"start.sh": START, "ps.txt": [*head, *seen]} | lists | logs


@pytest.mark.parametrize("form", LISTS)
def test_a_number_that_no_host_shows_any_more_is_a_process(form: str, tmp_path: Path) -> None:
    expected = {NUMBERS[host, at]: node * 3 + at for node, host in enumerate(ORDER) for at in range(3)}
    assert told(tmp_path, launch(LISTS[form])) == expected


def test_who_is_gone_is_named(tmp_path: Path) -> None:
    verdict = analyze(str(written(tmp_path, launch(LISTS["word and number"])))).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("hang", "rank_died", [7])


def test_all_there_is_nobody(tmp_path: Path) -> None:
    verdict = analyze(str(written(tmp_path, launch(LISTS["word and number"], None)))).verdict
    assert verdict.ranks == []


def test_most_gone_are_no_processes(tmp_path: Path) -> None:
    files = launch(LISTS["word and number"])
    few = {"ps.txt": files["ps.txt"][:3]}
    assert analyze(str(written(tmp_path, files | few))).verdict.ranks == []


def test_sizes_beside_names_are_no_processes(tmp_path: Path) -> None:
    """None of these is a process of its host."""
    files = launch(lambda host, at: f"gpu{at} {60000 + NUMBERS[host, at]}", None)
    assert told(tmp_path, files) == {}
