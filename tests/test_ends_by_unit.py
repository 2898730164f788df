"""Supervisors of several hosts call their processes alike: whose end it is says the log of that name beside theirs, also where nothing in it is understood."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

LOST = [
    "Traceback (most recent call last):",
    '  File "/w/fit.py", line 9, in step',
    "    loss.backward()",
    "torch.distributed.DistBackendError: NCCL error in: x.cpp:275, remote process exited or there was a network error",
]
SCRIPT = [". /etc/job", "export RANK=$((NODE_RANK * 2 + LOCAL_RANK)) WORLD_SIZE=4", "exec python fit.py"]
FORMS = {
    "supervisord": "2026-02-01 04:22:{s},331 INFO exited: {name} (terminated by SIGKILL; not expected)",
    "no words of it": "2026-02-01 04:22:{s},331 reaped {name}: killed by signal 9 (SIGKILL)",
}


def files(dead: Sequence[int], form: str, name: str = "fit_{:02}") -> dict[str, list[str]]:
    made: dict[str, list[str]] = {"run.sh": SCRIPT}
    for node in (0, 1):
        folder = f"cab-{node + 1}"
        made[f"{folder}/job"] = [f"NODE_RANK={node}"]
        made[f"{folder}/super.conf"] = [
            "[program:fit]",
            "process_name=fit_%(process_num)02d",
            "numprocs=2",
            'environment=LOCAL_RANK="%(process_num)d"',
        ]
        ends = [FORMS[form].format(s=10, name=name.format(rank % 2)) for rank in dead if rank // 2 == node]
        ends += [
            f"2026-02-01 04:22:1{rank},100 INFO exited: fit_{rank % 2:02} (exit status 1; not expected)"
            for rank in range(4)
            if rank not in dead and rank // 2 == node
        ]
        made[f"{folder}/supervisord.log"] = ends
        for local in (0, 1):
            rank = node * 2 + local
            told = [f"2026-02-01T04:{minute:02}:00 step={minute} ndcg=0.4{minute} ex/s=900" for minute in range(20)]
            made[f"{folder}/logs/fit_{local:02}.log"] = [f"up, device {local}", *told, *([] if rank in dead else LOST)]
    return made  # fmt: skip


def of_bases(script: list[str], setting: str, second: int) -> dict[str, list[str]]:
    """Each place has a file that tells its first rank."""
    made = files([3], "supervisord") | {"run.sh": script}
    return made | {f"cab-{node + 1}/job": [setting.format(node * second)] for node in (0, 1)}


@pytest.mark.parametrize(
    ("script", "setting"),
    [
        (["export LOCAL_RANK=$1", "export RANK=$((FIRST_RANK + $1)) WORLD_SIZE=4"], "Environment=FIRST_RANK={}"),
        (["rank = offset + local_rank", "world_size = 4"], "offset: {}"),
        (["export RANK=$(( $1 + BASE ))", "export WORLD_SIZE=4"], 'environment=A="b",BASE="{}"'),
    ],
)
def test_a_place_tells_its_first_rank(tmp_path: Path, script: list[str], setting: str) -> None:
    assert analyze(written(tmp_path, of_bases(script, setting, 2))).verdict.ranks == [3]


def counted_from(first: int, script: list[str], seconds: tuple[int, int] = (0, 2)) -> dict[str, list[str]]:
    """The same, whose processes are counted from another number."""
    made = files([3], "supervisord", f"fit_{first + 1:02}") | {"run.sh": script}
    made |= {f"cab-{node + 1}/job": [f'environment=A="b",BASE="{seconds[node]}"'] for node in (0, 1)}

    def renamed(text: str) -> str:
        return re.sub(r"(?<=fit_)0([01])", lambda found: f"{int(found[1]) + first:02}", text)

    return {renamed(path): [line if "(term" in line else renamed(line) for line in own] for path, own in made.items()}


@pytest.mark.parametrize(
    "script",
    [
        ["export RANK=$(( BASE + $1 - 1 )) WORLD_SIZE=4"],
        ["export WORLD_SIZE=4", "N=$1", "export RANK=$((N - 1 + BASE))"],
        ["export WORLD_SIZE=4 RANK=$(($1 + $BASE - 1))"],
        ["ExecStart=/bin/sh -c 'WORLD_SIZE=4 RANK=$$((BASE + %i - 1)) exec python fit.py'"],
    ],
)
def test_processes_that_are_counted_from_1(tmp_path: Path, script: list[str]) -> None:
    assert analyze(written(tmp_path, counted_from(1, script))).verdict.ranks == [3]


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (counted_from(1, ["export RANK=$(( BASE + $1 )) WORLD_SIZE=4"]), "files are counted from 1"),
        (counted_from(2, ["export RANK=$(( BASE + $1 - 1 )) WORLD_SIZE=4"]), "files are counted from 2"),
        (counted_from(1, ["export RANK=$(( BASE + $1 - 1 )) WORLD_SIZE=4"], (1, 3)), "ranks would begin at 1"),
        (counted_from(1, ["export RANK=$(( BASE + $1 - 1 )) WORLD_SIZE=4"], (0, 0)), "one base of both"),
        (counted_from(1, ["export RANK=$(( BASE - $1 )) WORLD_SIZE=4"]), "counted down"),
        (counted_from(1, ["export RANK=$(( BASE + $1 + 1 )) WORLD_SIZE=4"]), "1 more"),
    ],
)
def test_processes_that_are_counted_otherwise(tmp_path: Path, made: dict[str, list[str]], why: str) -> None:
    assert analyze(written(tmp_path, made)).verdict.ranks == [], why


def test_a_log_of_that_name_that_is_nobodys(tmp_path: Path) -> None:
    made = {path: own for path, own in files([2], "supervisord").items() if path not in ("run.sh", "cab-2/job")}
    made |= {
        f"cab-1/logs/fit_{at:02}.log": [f"rank {at} of 4, pid 71{at}", *made[f"cab-1/logs/fit_{at:02}.log"]]
        for at in (0, 1)
    }
    assert analyze(written(tmp_path, made)).verdict.ranks == []


def test_two_places_of_one_first_rank(tmp_path: Path) -> None:
    script = ["export RANK=$((BASE + LOCAL_RANK))", "export WORLD_SIZE=4"]
    assert analyze(written(tmp_path, of_bases(script, "BASE={}", 0))).verdict.ranks == []


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dead", [0, 1, 3])
def test_the_log_of_that_name_beside_it(tmp_path: Path, form: str, dead: int) -> None:
    found = analyze(written(tmp_path, files([dead], form))).verdict
    assert (found.kind, found.cause, found.ranks) == ("crash", "killed", [dead])


def test_a_name_that_no_process_there_has(tmp_path: Path) -> None:
    assert analyze(written(tmp_path, files([3], "supervisord", "web_{:02}"))).verdict.ranks == []


LAYOUTS = {
    "a folder for each place": ("cab-1/logs", "cab-2/logs", "cab-2/supervisord.log"),
    "the end in a folder beside": ("cab-1/logs", "cab-2/logs", "cab-2/sup/supervisord.log"),
    "called after its place": ("cab-1/logs", "cab-2/logs", "journals/cab-2.txt"),
    "called after its place, above": ("cab-1/logs", "cab-2/logs", "supervisord.cab-2.log"),
    "places of words": ("oak/logs", "elm/logs", "elm/supervisord.log"),
    "places of numbers": ("1/logs", "2/logs", "2/supervisord.log"),
    "deeper": ("job/cab-1/logs", "job/cab-2/logs", "job/cab-2/sup/out.txt"),
}
SECOND = {
    "known": "rank {rank} of 4, pid {pid}",
    "nobody's": "up, pid {pid}",
    "empty": "",
    "no log": None,
}


def of_places(layout: str, second: str, name: str) -> dict[str, list[str]]:
    """Two places call their processes alike, and number them from 0; rank 3 was killed, as is told at the second one."""
    *folders, ends = LAYOUTS[layout]
    made = {ends: [FORMS["supervisord"].format(s=10, name=name.format(1))]}
    for rank in range(4):
        says = SECOND["known" if rank < 2 else second]
        steps = [f"2026-02-01T04:{minute:02}:00 step={minute} loss=0.4{minute}" for minute in range(20)]
        if says is not None:
            log = f"{folders[rank // 2]}/{name.format(rank % 2)}.log"
            made[log] = [says.format(rank=rank, pid=810 + rank), *steps, *([] if rank == 3 else LOST)] if says else []
    return made


@pytest.mark.parametrize(("layout", "name"), [*((one, "fit_{:02}") for one in LAYOUTS), ("deeper", "train-{}")])
@pytest.mark.parametrize("second", SECOND)
def test_an_end_that_one_place_tells_is_of_none_at_another(tmp_path: Path, layout: str, name: str, second: str) -> None:
    found = analyze(written(tmp_path, of_places(layout, second, name))).verdict
    assert 1 not in found.ranks and found.suspects.ranks != [1]
    if second == "known" and layout not in ("called after its place", "called after its place, above"):
        assert found.ranks == [3]


@pytest.mark.parametrize("ends", ["supervisord.log", "sup/supervisord.log", "head/logs/out.txt"])
@pytest.mark.parametrize("folder", ["", "logs/", "job-7/"])
def test_one_place_holds_all_of_a_job(tmp_path: Path, ends: str, folder: str) -> None:
    made = {ends: [FORMS["supervisord"].format(s=10, name="fit_03")]}
    for rank in range(4):
        steps = [f"2026-02-01T04:{minute:02}:00 step={minute} loss=0.4{minute}" for minute in range(20)]
        made[f"{folder}fit_{rank:02}.log"] = [f"rank {rank} of 4, pid {rank}", *steps, *([] if rank == 3 else LOST)]
    assert analyze(written(tmp_path, made)).verdict.ranks == [3]
