"""One brings another call of the group of all, which lines know by its name alone: its size is that of the job, where that is told."""

from pathlib import Path

import pytest

from tests.test_roll_calls import Logs, verdict

SIZE, ODD = 8, 5


def gave_up(calls: dict[int, str], group: str, told: str = f" of {SIZE}, world_size={SIZE}") -> Logs:
    return {
        f"w.rank{rank}.log": [
            f"05-04 03:00:00.10{rank} egret.{rank} comm: rank {rank}{told}",
            f"05-04 03:00:01.10{rank} egret.{rank} comm: op#412 {call} bf16 n=4096 group={group} ... waiting",
            f"05-04 03:05:09.20{rank} egret.{rank} comm: op#412 not finished after 300 s",
            f"05-04 03:10:09.20{rank} egret.{rank} comm: op#412 gave up after 600 s, destroying group {group}",
        ]
        for rank, call in calls.items()
    }


def of(ranks: range, odd: str = "broadcast", usual: str = "allreduce") -> dict[int, str]:
    return {rank: odd if rank == ODD else usual for rank in ranks}


@pytest.mark.parametrize(("odd", "usual"), [("broadcast", "allreduce"), ("allgather", "reduce_scatter")])
@pytest.mark.parametrize("group", ["world", "default_pg"])
def test_who_alone_brings_another_call_of_the_group_of_all_is_named(
    tmp_path: Path, group: str, odd: str, usual: str
) -> None:
    found = verdict(tmp_path, gave_up(of(range(SIZE), odd, usual), group))
    assert (found.cause, found.ranks) == ("collective_mismatch", [ODD])


@pytest.mark.parametrize(
    ("calls", "group"),
    [
        (of(range(SIZE)), "tp"),  # several groups may be called so, and be pairs
        (of(range(3, SIZE - 1)), "world"),  # no more than half agree, and half are not heard
        (of(range(SIZE)) | {0: "broadcast", 1: "broadcast", 2: "broadcast"}, "world"),
    ],
    ids=["another group", "half unheard", "halves"],
)
def test_otherwise_nobody_is_named(tmp_path: Path, calls: dict[int, str], group: str) -> None:
    assert verdict(tmp_path, gave_up(calls, group)).ranks == []


def test_of_a_job_whose_size_is_not_told_nobody_is_named(tmp_path: Path) -> None:
    assert verdict(tmp_path, gave_up(of(range(SIZE)), "world", "")).ranks == []
