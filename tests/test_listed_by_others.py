"""Who is who by a listing or by what a hub says when each of them joins, and calls that were given up under such names."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from forensics import analyze
from parsers import read
from tests.sources import written

ORDER = (2, 0, 3, 1)  # ranks, in the order of their names
ADDRESSES = ("10.0.0.9:7001", "10.0.0.9:7002", "10.0.0.4:7001", "10.0.0.4:7002")
JOINED = {
    "a member": 'ts={} src=hub msg="joined {} as member {} of 4"',
    "a worker": "ts={} src=hub msg=ready who={} \tworker {}/4",
    "a participant": "ts={} lvl=info hub accepted {} participant #{} of 4",
}


def losses(folder: Path, listed: Sequence[str], names: Sequence[str], head: str) -> dict[float, int | None]:
    """Loss, which is 2 and a tenth for each name in its order → the rank of its line."""
    lines = [
        f"{head.format(name)}[22:0{step}:1{at}] it {step} loss 2.{at}"
        for step in (1, 2, 3)
        for at, name in enumerate(names)
    ]
    steps = read(str(written(folder, {"all.log": lines, "list.txt": listed}))).tables["steps"]
    return dict(steps.select("loss", "rank").iter_rows())


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("%{}", '{} 90{} 106x12 "env RANK={} LOCAL_RANK={} WORLD_SIZE=4 python t.py"'),
        ("@{}", "{} up since 0{}:10 with rank={} on device {}"),
        ("seat{}.b", "{} pid 90{} RANK={} dev {}"),
    ],
)
@pytest.mark.parametrize("head", ["{} │ ", "{} | "])
def test_a_listing_says_whose_rank_each_name_has(tmp_path: Path, name: str, row: str, head: str) -> None:
    names = [name.format(number) for number in (23, 24, 27, 31)]
    listed = [
        "$ list -a",
        *(row.format(own, at, rank, rank) for at, (own, rank) in enumerate(zip(names, ORDER, strict=True))),
    ]
    assert losses(tmp_path, listed, names, head) == {2 + at / 10: rank for at, rank in enumerate(ORDER)}


def test_a_listing_in_which_two_have_one_rank_says_nothing(tmp_path: Path) -> None:
    names = ["%23", "%24", "%27", "%31"]
    listed = [f'{name} "env RANK={rank} python t.py"' for name, rank in zip(names, (2, 0, 2, 1), strict=True)]
    assert {*losses(tmp_path, listed, names, "{} │ ").values()} == {None}


def given_up(folder: Path, joined: str, numbers: Sequence[int], ops: Sequence[str]) -> list[int]:
    said = [
        joined.format(f"2026-01-31T10:00:0{at}Z", one, number)
        for at, (one, number) in enumerate(zip(ADDRESSES, numbers, strict=True))
    ]
    for seq in range(40, 44):
        said += [
            f"ts=2026-01-31T10:0{seq - 39}:01Z lvl=debug peer={one} seq={seq} op=allreduce dur_ms=40 msg=done"
            for one in ADDRESSES
        ]
    said += [
        f'ts=2026-01-31T10:15:0{at}Z lvl=error peer={one} seq=44 op={op} waited_s=300 msg="timed out, no progress"'
        for at, (one, op) in enumerate(zip(ADDRESSES, ops, strict=True))
    ]
    return [*analyze(str(written(folder, {"hub.log": said}))).verdict.ranks]


@pytest.mark.parametrize("joined", JOINED.values(), ids=JOINED)
def test_who_joined_as_which_of_all_is_known_by_the_address(tmp_path: Path, joined: str) -> None:
    assert given_up(tmp_path, joined, ORDER, ["allreduce", "allreduce", "allgather", "allreduce"]) == [3]


@pytest.mark.parametrize(
    ("numbers", "ops"),
    [
        ((2, 0, 2, 1), ["allreduce", "allreduce", "allgather", "allreduce"]),
        ((2, 0, 4, 1), ["allreduce", "allreduce", "allgather", "allreduce"]),
        (ORDER, ["allreduce", "allreduce", "allgather", "allgather"]),
        (ORDER, ["allreduce"] * 4),
    ],
    ids=["two of one number", "one beyond all", "as many of each", "all alike"],
)
def test_nobody_where_it_is_not_clear_who_or_what(tmp_path: Path, numbers: Sequence[int], ops: Sequence[str]) -> None:
    assert given_up(tmp_path, JOINED["a member"], numbers, ops) == []
