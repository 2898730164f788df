"""Supervisors of several hosts call their processes alike: whose end it is says the log of that name beside theirs, also where nothing in it is understood."""

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
