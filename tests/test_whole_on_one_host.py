"""Files of places on a host are ranks where they are as many as the world that is told, and a launcher may tell the rank of a process that ended."""

from pathlib import Path

import pytest

from forensics import analyze

WORLD = 4
GROUP = (
    "[WARNING] DISTRIBUTED(91{0:02},38e0eca7,python):2026-05-08-01:20:08.132.472 [mindspore/ccsrc/distributed/collective/"
    "collective_manager.cc:341] CreateCommunicationGroup] Start to create communication group: {1} [const vector]{{{2}}}, async: 1\n"
)
ERROR = (
    "Traceback (most recent call last):\n"
    '  File "/work/run.py", line 12, in <module>\n'
    "    raise ValueError('page 771 is broken')\n"
    "ValueError: page 771 is broken\n"
)


def job(at: Path, file: str, group: str, world: int, more: str = "") -> tuple[list[int], list[int]]:
    for place in range(WORLD):
        log = GROUP.format(place, group, ", ".join(map(str, range(world))))
        log += "".join(f"2026-05-08 01:2{step}:30,527 - INFO - step:[ {step}/ 4000], loss: 8.0{place}\n" for step in range(1, 6))  # fmt: skip
        path = at / file.format(place)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(log + (ERROR if place == 2 else ""))
    if more:
        (at / "launch.out").write_text(more)
    found = analyze(at).incidents[0].verdict
    return list(found.ranks), list(found.suspects.ranks)


@pytest.mark.parametrize("file", ["msrun_log/worker_{}.log", "log/workerlog.{}", "attempt_0/{}/stderr.log"])
def test_all_places_of_the_one_host(file: str, tmp_path: Path) -> None:
    assert job(tmp_path, file, "hccl_world_group", WORLD)[0] == [2]


@pytest.mark.parametrize(
    ("group", "world"),
    [("hccl_world_group", 8), ("hccl_dp_group_0", WORLD)],
    ids=["half of a job of two hosts", "a group of the job"],
)
def test_places_that_may_be_of_a_larger_job(group: str, world: int, tmp_path: Path) -> None:
    assert job(tmp_path, "msrun_log/worker_{}.log", group, world)[0] == []


def test_the_launcher_tells_whose_process_it_was(tmp_path: Path) -> None:
    more = (
        "[ERROR] ME(8990,e95227c1,python):2026-05-08-01:43:56.544.673 [mindspore/parallel/cluster/process_entity/_api.py:341] "
        "Worker process 9102 exit with exception. rank: 2, exit code: 1. Killing other workers.\n"
    )
    ranks, suspects = job(tmp_path, "msrun_log/worker_{}.log", "hccl_world_group", 8, more)
    assert set(ranks) | set(suspects) <= {2}
